"""Block pools as both backends get them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simsched.policy.contract.base import Placement
from simsched.workload.builder import adjacency


@dataclass(frozen=True, eq=False)
class Pooling:
    """Pools of blocks with what happens at the creation and the end of each task.

    Parameters
    ----------
    size_class : ndarray of int32, shape (n_blocks,)
        log2 of the bytes that the block takes; -1 for blocks of no pool.
    allocate_near : ndarray of int32, shape (n_blocks,)
        Block on whose node the block is allocated at the creation of a task; -1 for the creator's.
    is_fresh : ndarray of uint8, shape (n_blocks,)
        Whether the first touch takes memory of the system: blocks that are allocated at creation.
    is_untracked : ndarray of uint8, shape (n_blocks,)
    allocate_ptr, allocate : CSR over tasks of the iterated graph
        Blocks allocated when a task is created, ascending.
    release_ptr, release : CSR over tasks of the iterated graph
        Blocks freed when a task has ended, ascending.
    """

    size_class: NDArray[np.int32]
    allocate_near: NDArray[np.int32]
    is_fresh: NDArray[np.uint8]
    is_untracked: NDArray[np.uint8]
    allocate_ptr: NDArray[np.int64]
    allocate: NDArray[np.int32]
    release_ptr: NDArray[np.int64]
    release: NDArray[np.int32]

    @property
    def n_tasks(self) -> int:
        """Number of tasks of the iterated graph."""
        return len(self.allocate_ptr) - 1


def taken_bytes(placement: Placement, block_bytes: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the bytes that each block takes on its node: those of its class or its own."""
    sizes = np.ascontiguousarray(block_bytes, np.int64)
    if placement.pools is None:
        return sizes
    classes = placement.pools.size_class
    return np.where(classes >= 0, np.int64(1) << np.maximum(classes, 0).astype(np.int64), sizes)


def resolve_pooling(placement: Placement, n_tasks: int) -> Pooling | None:
    """Return the pools of a placement by task, None when it has none."""
    pools = placement.pools
    if pools is None:
        return None
    n_blocks = len(pools.size_class)
    none = np.full(n_blocks, -1, np.int32)
    near = none if pools.allocate_near is None else pools.allocate_near
    untracked = np.zeros(n_blocks) if pools.is_untracked is None else pools.is_untracked
    tables = []
    for task in (pools.allocate_at, pools.free_at):
        block = np.flatnonzero(task >= 0)
        tables.append(adjacency(task[block], block, n_tasks))
    return Pooling(
        size_class=np.ascontiguousarray(pools.size_class, np.int32),
        allocate_near=np.ascontiguousarray(near, np.int32),
        is_fresh=(pools.allocate_at >= 0).astype(np.uint8),
        is_untracked=untracked.astype(np.uint8),
        allocate_ptr=tables[0].ptr,
        allocate=tables[0].target,
        release_ptr=tables[1].ptr,
        release=tables[1].target,
    )
