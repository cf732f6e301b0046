"""Private buffers of data-flow programs, and who allocates them where.

A block is a *private buffer* if one task writes it, one other task reads it, and the reader starts
after the writer. All other blocks belong to global arrays.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from simsched.policy.contract.blocks import BlockPools, size_classes
from simsched.workload.graph import BoolArray, Int32Array, Int64Array, TaskGraph

ALLOCATIONS = ("immediate", "deferred", "dependence_aware", "interleaved_static")
NOBODY = -1


@dataclass(frozen=True, eq=False)
class Buffers:
    """Private buffers of a program."""

    #: shape (n_blocks,): task that writes and that reads each block; -1 for blocks that are no
    #: buffers
    producer: Int32Array
    consumer: Int32Array

    @property
    def is_buffer(self) -> BoolArray:
        """Which blocks are private buffers; shape (n_blocks,)."""
        return self.consumer >= 0


def find_buffers(graph: TaskGraph) -> Buffers:
    """Return the private buffers of a program."""
    n_blocks = graph.n_blocks
    task = np.repeat(np.arange(graph.n_tasks, dtype=np.int32), np.diff(graph.access_ptr))
    writes, reads = graph.written_bytes > 0, graph.read_bytes > 0
    writer, n_writes = _only(task, graph.access_block, writes, n_blocks)
    reader, n_reads = _only(task, graph.access_block, reads, n_blocks)
    fits = (n_writes == 1) & (n_reads == 1) & (writer != reader)
    source = np.repeat(np.arange(graph.n_tasks, dtype=np.int64), np.diff(graph.succ_ptr))
    fits &= np.isin((writer.astype(np.int64) << 32) | reader, (source << 32) | graph.succ)
    return Buffers(
        np.where(fits, writer, NOBODY).astype(np.int32),
        np.where(fits, reader, NOBODY).astype(np.int32),
    )


def _only(
    task: Int32Array, block: Int32Array, chosen: BoolArray, n_blocks: int
) -> tuple[Int32Array, Int64Array]:
    """Return the task of a chosen access to each block, 0 for none, and how many there are."""
    found = np.zeros(n_blocks, np.int32)
    found[block[chosen]] = task[chosen]
    return found, np.bincount(block[chosen], minlength=n_blocks)


def block_pools(graph: TaskGraph, buffers: Buffers, allocation: str) -> BlockPools:
    """Return how the buffers of a program are allocated, and freed when their consumer has ended.

    `immediate`: the inputs of a task are allocated when it is created, on its creator's node.
    `deferred`: just before their producer writes them, on its node. `dependence_aware`: when their
    consumer is created, on the node of the producer's own largest input.
    """
    classes = np.where(buffers.is_buffer, size_classes(graph.block_bytes), NOBODY)
    classes = classes.astype(np.int32)
    freed = np.where(classes >= 0, buffers.consumer, NOBODY).astype(np.int32)
    none = np.full(graph.n_blocks, NOBODY, np.int32)
    near = largest_input(graph, buffers) if allocation == "dependence_aware" else None
    return BlockPools(
        size_class=classes,
        allocate_at=none if allocation == "deferred" else freed,
        free_at=freed,
        allocate_near=near,
    )


def largest_input(graph: TaskGraph, buffers: Buffers) -> Int32Array:
    """Return the largest input buffer of the producer of each buffer, the first of equal ones.

    Shape (n_blocks,); -1 for blocks that are no buffers or whose producer has no input buffer.
    """
    owned = np.flatnonzero(buffers.is_buffer)
    order = owned[np.argsort(-graph.block_bytes[owned], kind="stable")]
    largest = np.full(graph.n_tasks, NOBODY, np.int32)
    consumer = buffers.consumer[order][::-1]
    largest[consumer] = order[::-1]  # the last assignment, of the largest, stays
    near = np.full(graph.n_blocks, NOBODY, np.int32)
    near[owned] = largest[buffers.producer[owned]]
    return near
