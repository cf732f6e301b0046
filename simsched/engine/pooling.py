"""Block pools as both backends get them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from simsched.engine.interface.problem import Pooling
from simsched.policy.contract.base import Placement
from simsched.workload.builder import adjacency


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
    tables = []
    for task in (pools.allocate_at, pools.free_at):
        block = np.flatnonzero(task >= 0)
        tables.append(adjacency(task[block], block, n_tasks))
    return Pooling(
        size_class=np.ascontiguousarray(pools.size_class, np.int32),
        allocate_near=np.ascontiguousarray(near, np.int32),
        allocate_ptr=tables[0].ptr,
        allocate=tables[0].target,
        release_ptr=tables[1].ptr,
        release=tables[1].target,
    )
