"""Sweeps over the rows of a matrix by the leaves of a spawn tree, shared by grid workloads."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from simsched.workload.builder import Accesses, accesses, build_graph, overlaps
from simsched.workload.graph import Int64Array, TaskGraph
from simsched.workload.spawn_tree import SpawnTree


@dataclass(frozen=True)
class RowSweep:
    """What a sweep over a matrix reads, writes and computes.

    Parameters
    ----------
    columns : int
        Elements per row.
    element_bytes : int
        Bytes of one element.
    copies : int
        Copies of the matrix that a block holds.
    halo_rows : int
        Rows that a leaf reads above and below its own.
    write_allocate : bool
        Whether what is written is also read first; without effect on a single copy, which is read
        anyway.
    ops_per_element : float
        Operations per element.
    inner_ops : float
        Operations of the body and of the join of a task that divides.
    """

    columns: int
    element_bytes: int
    copies: int
    halo_rows: int
    write_allocate: bool
    ops_per_element: float
    inner_ops: float

    @property
    def row_bytes(self) -> int:
        """Bytes of one row of all copies."""
        return self.columns * self.element_bytes * self.copies

    def graph(self, tree: SpawnTree, bounds: Int64Array) -> TaskGraph:
        """Return the task graph of one sweep.

        Parameters
        ----------
        tree : SpawnTree
            Division of the rows.
        bounds : ndarray of int64, shape (n_blocks + 1,)
            Block b holds the rows ``bounds[b]`` to ``bounds[b + 1] - 1``.
        """
        inner = np.where(tree.is_leaf, 0.0, self.inner_ops)
        work = (tree.last - tree.first) * (self.columns * self.ops_per_element)
        return build_graph(
            np.where(tree.is_leaf, work, inner),
            join_ops=inner,
            task_class=tree.task_class,
            class_names=("divide", "sweep"),
            children=tree.children,
            accessed=self._accesses(tree, bounds),
            block_bytes=np.diff(bounds) * self.row_bytes,
        )

    def _accesses(self, tree: SpawnTree, bounds: Int64Array) -> Accesses:
        """Return the accesses of the leaves, each block once, in the order of rows."""
        leaves = tree.leaves
        first, last = tree.first[leaves], tree.last[leaves]
        read_first = np.maximum(first - self.halo_rows, 0)
        read_last = np.where(
            last > first, np.minimum(last + self.halo_rows, bounds[-1]), read_first
        )
        touched = overlaps(read_first, read_last, bounds)
        owner, block = touched.owner, touched.part
        own = np.minimum(last[owner], bounds[block + 1]) - np.maximum(first[owner], bounds[block])
        own_rows = np.maximum(own, 0)
        fetched = own_rows if self.write_allocate and self.copies > 1 else 0
        line = self.columns * self.element_bytes
        return accesses(
            leaves[owner], block, (touched.items + fetched) * line, own_rows * line, tree.n_tasks
        )
