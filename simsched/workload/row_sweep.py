"""Sweeps over the rows of a matrix by the leaves of a spawn tree, shared by grid workloads.

The rows of a volume are its planes: everything that one value of the first coordinate holds. With R
rows, C elements in each, element size e, m copies and cut-off c (the smallest number of rows that
is divided: `cutoff_rows`, or 1 + the largest number of rows in a leaf):

* *Tasks.* The root covers all rows. A piece of c rows or more is divided, the others are the L
  leaves. Division in halves gives 2 L - 1 tasks, with L = 2^k when R = 2^k n and n < c <= 2 n. The
  irregular tree is :func:`~simsched.workload.spawn_tree.unbalanced`.
* *Blocks.* The initialisation divides in the same way until a piece is no larger than a block; each
  such piece is one block of each copy, ``rows * C * e`` bytes. The blocks of the first copy come
  first. The copies change places after every sweep (`TaskGraph.alternate_block`), unless the second
  one is only read. *Interleaved* copies share their blocks.
* *Bytes.* A leaf with rows f to l - 1 reads rows f - h to l + h - 1, clipped to the matrix, of one
  copy and writes its own rows of the other, which it also reads with `write_allocate`. In place it
  writes its own rows of the copy that it reads, and reads them of the other one, if there is one.
  Blocks are accessed in the order of rows, once each, what is read before what is written.
* *Operations.* ``C * ops_per_element`` per row, in the leaves.
* *Initialisation.* Leaves write all bytes of the blocks they cover.

Leaves should not be smaller than blocks when caches are simulated: a cache remembers how much of a
block it holds, not which rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from simsched.files.errors import ConfigurationError
from simsched.workload.builder import (
    MAX_INDEX,
    Accesses,
    accesses,
    build_graph,
    check_size,
    overlaps,
)
from simsched.workload.graph import Int64Array, TaskGraph, Workload
from simsched.workload.registry import Bounds, Cost, Count, Size
from simsched.workload.spawn_tree import (
    Division,
    SpawnTree,
    divide_in_halves,
    divide_unevenly,
    first_touch_tree,
)

Cutoff = Annotated[int, Bounds(2, MAX_INDEX)] | None
Copies = Annotated[int, Bounds(1, 2)]
HaloRows = Annotated[int, Bounds(0, MAX_INDEX)]
Radius = Annotated[int, Bounds(0, 1000)]
Colours = Annotated[int, Bounds(1, 2)]


@dataclass(frozen=True)
class RowSweep:
    """What a sweep over a matrix reads, writes and computes."""

    columns: int
    element_bytes: int
    #: Copies of the matrix.
    copies: int
    #: Rows that a leaf reads above and below its own.
    halo_rows: int
    #: Whether what is written is also read first; without effect on a single copy, which is read
    #: anyway.
    write_allocate: bool
    ops_per_element: float
    #: Operations of the body and of the join of a task that divides.
    inner_ops: float
    #: How often a leaf goes over its rows.
    passes: int = 1
    #: Whether the copy that is read is written, too; the other one holds a right-hand side.
    in_place: bool = False
    #: Whether a block holds a row of one copy behind that of the other.
    is_interleaved: bool = False

    @property
    def row_bytes(self) -> int:
        """Bytes of one row of all copies."""
        return self.columns * self.element_bytes * self.copies

    @property
    def arrays(self) -> int:
        """Blocks of a piece of rows."""
        return 1 if self.is_interleaved else self.copies

    def block_bytes(self, bounds: Int64Array) -> Int64Array:
        """Return the sizes of all blocks."""
        return np.tile(np.diff(bounds) * (self.row_bytes // self.arrays), self.arrays)

    def alternates(self, bounds: Int64Array) -> Int64Array | None:
        """Return which blocks change places after a sweep."""
        if self.arrays == 1 or self.in_place or self.passes % 2 == 0:
            return None
        blocks = np.arange(len(bounds) - 1)
        return np.concatenate([blocks + len(blocks), blocks])

    def graph(self, tree: SpawnTree, bounds: Int64Array) -> TaskGraph:
        """Return the task graph of one sweep; a piece of rows begins at row ``bounds[b]``."""
        inner = np.where(tree.is_leaf, 0.0, self.inner_ops)
        work = (tree.last - tree.first) * (self.columns * self.ops_per_element * self.passes)
        return build_graph(
            np.where(tree.is_leaf, work, inner),
            join_ops=inner,
            task_class=tree.task_class,
            class_names=("divide", "sweep"),
            children=tree.children,
            accessed=self._accesses(tree, bounds),
            block_bytes=self.block_bytes(bounds),
            alternate_block=self.alternates(bounds),
        )

    def _accesses(self, tree: SpawnTree, bounds: Int64Array) -> Accesses:
        """Return the accesses of the leaves, in each pass every block once, in order of rows."""
        leaves = tree.leaves
        first, last = tree.first[leaves], tree.last[leaves]
        read_first = np.maximum(first - self.halo_rows, 0)
        read_last = np.where(
            last > first, np.minimum(last + self.halo_rows, bounds[-1]), read_first
        )
        touched = overlaps(read_first, read_last, bounds)
        owner, block = touched.owner, touched.part
        own = np.minimum(last[owner], bounds[block + 1]) - np.maximum(first[owner], bounds[block])
        line = self.columns * self.element_bytes
        seen, own_bytes = touched.items * line, np.maximum(own, 0) * line
        is_second_read = self.copies > 1 and (self.in_place or self.write_allocate)
        fetched = own_bytes if is_second_read else np.zeros_like(own_bytes)
        if self.arrays == 1:
            task, which, read, written = (
                np.tile(values, self.passes)
                for values in (leaves[owner], block, seen + fetched, own_bytes)
            )
            return accesses(task, which, read, written, tree.n_tasks)
        # Behind what is read of a block come the leaf's own rows of the second copy.
        from_piece = np.repeat(np.arange(len(block)), 1 + (own > 0))
        is_second = np.append(False, from_piece[1:] == from_piece[:-1])
        copy = is_second[None, :] ^ (np.arange(self.passes)[:, None] % 2 * (not self.in_place))
        read = np.where(is_second, fetched[from_piece], seen[from_piece])
        written = np.where(is_second != self.in_place, own_bytes[from_piece], 0)
        return accesses(
            np.tile(leaves[owner][from_piece], self.passes),
            (block[from_piece] + copy * (len(bounds) - 1)).ravel(),
            np.tile(read, self.passes),
            np.tile(written, self.passes),
            tree.n_tasks,
        )


@dataclass(frozen=True)
class Rows:
    """How rows are divided: for the sweep, into blocks and by the initialisation."""

    rows: int
    division: Division
    #: Pieces with fewer rows are leaves of the sweep.
    cutoff: int
    #: Pieces with fewer rows are blocks.
    block_cutoff: int
    #: Pieces with fewer rows are leaves of the initialisation.
    touch_cutoff: int

    def tree(self) -> SpawnTree:
        """Return the spawn tree of the sweep."""
        return self.division.grow(self.rows, self.cutoff)

    def bounds(self) -> Int64Array:
        """Return where blocks begin, and the number of rows; shape (n_blocks + 1,)."""
        return self.division.grow(self.rows, self.block_cutoff).bounds

    def first_touch(
        self, bounds: Int64Array, block_bytes: Int64Array, ops_per_row: float
    ) -> TaskGraph:
        """Return the initialisation of one or several arrays."""
        tree = self.division.grow(self.rows, self.touch_cutoff)
        return first_touch_tree(tree, bounds, block_bytes, ops_per_row)


def divide_rows(
    workload: str,
    rows: int,
    *,
    irregular: bool,
    leaf_rows: int,
    cutoff_rows: int | None,
    block_rows: int | None,
) -> Rows:
    """Return how rows are divided, from the parameters that grid workloads share.

    Pieces with fewer than `cutoff_rows` are leaves, whatever `leaf_rows` says; by default there is
    a block per leaf. Leaves of the irregular tree that would leave quarters empty are refused.
    """
    division = divide_unevenly if irregular else divide_in_halves
    cutoff = cutoff_above(workload, division, "leaf_rows", leaf_rows)
    if cutoff_rows is not None:
        cutoff = cutoff_above(workload, division, "cutoff_rows", cutoff_rows, beyond=0)
    block_cutoff = cutoff
    if block_rows is not None:
        block_cutoff = cutoff_above(workload, division, "block_rows", block_rows)
    return Rows(rows, division, cutoff, block_cutoff, block_cutoff)


def cutoff_above(
    workload: str, division: Division, key: str, given: int, *, beyond: int = 1
) -> int:
    """Return the cut-off of pieces with at most `given` items, or fewer if nothing is `beyond`.

    Parameter `key` is refused if the division does not accept the cut-off.
    """
    if given + beyond < division.lowest_cutoff:
        raise ConfigurationError(
            f"workload {workload}: {key}: found {given}, "
            f"accepted {division.lowest_cutoff - beyond} or more when irregular"
        )
    return given + beyond


def row_sweep(
    name: str,
    *,
    rows: Count = 1024,
    lines: Count = 1,
    columns: Count = 512,
    element_bytes: Size = 8,
    copies: Copies = 2,
    irregular: bool = False,
    radius: Radius | None = None,
    leaf_rows: Count = 8,
    leaf_bytes: Size | None = None,
    cutoff_rows: Cutoff = None,
    block_rows: Count | None = None,
    block_bytes: Size | None = None,
    init_leaf_bytes: Size | None = None,
    halo_rows: HaloRows = 1,
    colours: Colours = 1,
    passes: Count = 1,
    in_place: bool = False,
    write_allocate: bool = True,
    ops_per_element: Cost | None = None,
    init_ops_per_element: Cost = 2.0,
    inner_ops: Cost = 0.0,
    iterations: Count = 1,
) -> Workload:
    """Return a grid that is swept row by row; its leaves are limited in rows or in bytes.

    Parameters
    ----------
    name : str
        Name of the workload.
    rows, lines, columns : int
        Size of the matrix.
    element_bytes : int
        Bytes of one element.
    copies : {2, 1}
        Two copies of the grid, one read and one written, or one updated in place.
    irregular : bool
        Divide unevenly instead of in halves.
    radius : int, optional
        Rows and columns on either side that the filter covers; it has ``(2 radius + 1)^2`` taps.
    leaf_rows : int
        Most rows of a leaf; at least 3 when irregular.
    leaf_bytes : int, optional
        Largest leaf, in bytes of all copies.
    cutoff_rows : int, optional
        Pieces with fewer rows are leaves, whatever `leaf_rows` says.
    block_rows : int, optional
        Most rows of a block; a block per leaf by default.
    block_bytes : int, optional
        Largest block, in bytes of all copies.
    init_leaf_bytes : int, optional
        Largest leaf of the initialisation; one block each by default.
    halo_rows : int
        Rows that a leaf reads above and below its own.
    colours : {2, 1}
        Half sweeps of an iteration, one for each colour; or one sweep in the order of rows.
    passes : int
        How often a leaf goes over its rows in one iteration.
    in_place : bool
        Write the copy that is read; a second one is only read.
    write_allocate : bool
        Whether stores to the second copy first read what they overwrite, as cached stores do.
    ops_per_element : float, optional
        Operations per element; two per tap by default.
    init_ops_per_element : float
        Operations per element of the initialisation.
    inner_ops : float
        Operations of the body and of the join of a task that divides.
    iterations : int
        Number of sweeps.
    """
    if radius is not None:
        halo_rows = radius
    if ops_per_element is None:
        ops_per_element = 2.0 * (2 * halo_rows + 1) ** 2
    sweep = RowSweep(
        lines * columns,
        element_bytes,
        copies,
        halo_rows,
        write_allocate,
        ops_per_element / colours,
        inner_ops,
        passes,
        in_place,
    )
    division = divide_unevenly if irregular else divide_in_halves
    if leaf_bytes is None:
        divided = divide_rows(
            name,
            rows,
            irregular=irregular,
            leaf_rows=leaf_rows,
            cutoff_rows=cutoff_rows,
            block_rows=block_rows,
        )
    else:
        if cutoff_rows is not None:
            cutoff_above(name, division, "cutoff_rows", cutoff_rows, beyond=0)
        blocks = block_bytes or leaf_bytes
        divided = Rows(
            rows,
            division,
            cutoff_rows or division.cutoff(leaf_bytes, sweep.row_bytes),
            division.cutoff(blocks, sweep.row_bytes),
            division.cutoff(init_leaf_bytes or blocks, sweep.row_bytes),
        )
    check_size(name, data_bytes=3 * rows * sweep.row_bytes * passes)
    bounds = divided.bounds()
    sizes = sweep.block_bytes(bounds)
    init = divided.first_touch(bounds, sizes, lines * columns * copies * init_ops_per_element)
    return Workload(name, sweep.graph(divided.tree(), bounds), colours * iterations, init)
