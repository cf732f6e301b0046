"""Sweeps over the rows of a matrix by the leaves of a spawn tree, shared by grid workloads.

The rows of a volume are its planes: everything that one value of the first coordinate holds.
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
    passes : int
        How often a leaf goes over its rows.
    """

    columns: int
    element_bytes: int
    copies: int
    halo_rows: int
    write_allocate: bool
    ops_per_element: float
    inner_ops: float
    passes: int = 1

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
        work = (tree.last - tree.first) * (self.columns * self.ops_per_element * self.passes)
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
        own_rows = np.maximum(own, 0)
        fetched = own_rows if self.write_allocate and self.copies > 1 else 0
        line = self.columns * self.element_bytes
        once = leaves[owner], block, (touched.items + fetched) * line, own_rows * line
        task, which, read, written = (np.tile(values, self.passes) for values in once)
        return accesses(task, which, read, written, tree.n_tasks)


@dataclass(frozen=True)
class Rows:
    """How rows are divided: for the sweep, into blocks and by the initialisation.

    Parameters
    ----------
    rows : int
        Number of rows.
    division : Division
        The rule for dividing.
    cutoff : int
        Pieces with fewer rows are leaves of the sweep.
    block_cutoff : int
        Pieces with fewer rows are blocks.
    touch_cutoff : int
        Pieces with fewer rows are leaves of the initialisation.
    """

    rows: int
    division: Division
    cutoff: int
    block_cutoff: int
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
        """Return the initialisation.

        Parameters
        ----------
        bounds : ndarray of int64, shape (n_blocks + 1,)
            Where blocks begin.
        block_bytes : ndarray of int64, shape (n_blocks,)
            Sizes of the blocks.
        ops_per_row : float
            Operations of a leaf per row.
        """
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

    Parameters
    ----------
    workload : str
        Name for messages.
    rows : int
        Number of rows.
    irregular : bool
        Divide unevenly instead of in halves.
    leaf_rows : int
        Most rows of a leaf.
    cutoff_rows : int, optional
        Pieces with fewer rows are leaves, whatever `leaf_rows` says.
    block_rows : int, optional
        Most rows of a block; one block per leaf by default.

    Raises
    ------
    ConfigurationError
        Leaves of the irregular tree that would leave quarters empty.
    """
    division = divide_unevenly if irregular else divide_in_halves
    cutoff = cutoff_above(workload, division, "leaf_rows", leaf_rows)
    if cutoff_rows is not None:
        cutoff = check_cutoff(workload, division, cutoff_rows)
    block_cutoff = cutoff
    if block_rows is not None:
        block_cutoff = cutoff_above(workload, division, "block_rows", block_rows)
    return Rows(rows, division, cutoff, block_cutoff, block_cutoff)


def cutoff_above(workload: str, division: Division, key: str, most: int) -> int:
    """Return the cut-off of pieces with at most so many items.

    Parameters
    ----------
    workload : str
        Name for the message.
    division : Division
        The rule for dividing.
    key : str
        Name of the parameter for the message.
    most : int
        Most items of a piece that is not divided.

    Raises
    ------
    ConfigurationError
        Too small for an irregular division.
    """
    if most < division.lowest_cutoff - 1:
        raise ConfigurationError(
            f"workload {workload}: {key}: found {most}, "
            f"accepted {division.lowest_cutoff - 1} or more when irregular"
        )
    return most + 1


def check_cutoff(workload: str, division: Division, cutoff_rows: int) -> int:
    """Return the cut-off if the division accepts it.

    Parameters
    ----------
    workload : str
        Name for the message.
    division : Division
        The rule for dividing.
    cutoff_rows : int
        Pieces with fewer rows are leaves.

    Raises
    ------
    ConfigurationError
        Too small for an irregular division.
    """
    if cutoff_rows < division.lowest_cutoff:
        raise ConfigurationError(
            f"workload {workload}: cutoff_rows: found {cutoff_rows}, "
            f"accepted {division.lowest_cutoff} or more when irregular"
        )
    return cutoff_rows


def sweep_workload(
    name: str, rows: Rows, sweep: RowSweep, init_ops_per_element: float, iterations: int
) -> Workload:
    """Return a workload that sweeps over all rows in every iteration.

    Parameters
    ----------
    name : str
        Name of the workload.
    rows : Rows
        How the rows are divided.
    sweep : RowSweep
        What a sweep does.
    init_ops_per_element : float
        Operations of the initialisation per element of all copies.
    iterations : int
        Number of sweeps.
    """
    traffic = rows.rows * sweep.row_bytes * sweep.passes
    check_size(name, data_bytes=3 * traffic)
    bounds = rows.bounds()
    sizes = np.diff(bounds) * sweep.row_bytes
    init_ops = sweep.columns * sweep.copies * init_ops_per_element
    return Workload(
        name,
        sweep.graph(rows.tree(), bounds),
        iterations,
        rows.first_touch(bounds, sizes, init_ops),
    )


def volume_sweep(
    name: str,
    seed: int,  # noqa: ARG001 - nothing is random here
    *,
    rows: Count = 8096,
    lines: Count = 64,
    columns: Count = 64,
    element_bytes: Size = 8,
    copies: Copies = 2,
    irregular: bool = False,
    leaf_rows: Count = 8,
    cutoff_rows: Cutoff = None,
    block_rows: Count | None = None,
    halo_rows: HaloRows = 1,
    passes: Count = 1,
    write_allocate: bool = True,
    ops_per_element: Cost = 6.0,
    init_ops_per_element: Cost = 2.0,
    inner_ops: Cost = 0.0,
    iterations: Count = 1,
) -> Workload:
    """Return a stencil of a volume that is swept plane by plane, regular or irregular.

    Parameters
    ----------
    name : str
        Name of the workload.
    seed : int
        Unused: the workload is not random.
    rows, lines, columns : int
        Size of the volume; a row is a plane of `lines` times `columns` elements.
    element_bytes : int
        Bytes of one element.
    copies : {2, 1}
        Two copies of the grid, one read and one written, or one updated in place.
    irregular : bool
        Divide unevenly instead of in halves.
    leaf_rows : int
        Most rows of a leaf; at least 3 when irregular.
    cutoff_rows : int, optional
        Pieces with fewer rows are leaves, whatever `leaf_rows` says.
    block_rows : int, optional
        Most rows of a block; a block per leaf by default.
    halo_rows : int
        Planes that a leaf reads on either side of its own.
    passes : int
        How often a leaf goes over its rows in one iteration.
    write_allocate : bool
        Whether stores to the second copy first read what they overwrite, as cached stores do.
    ops_per_element, init_ops_per_element : float
        Operations per element of a pass, and of the initialisation.
    inner_ops : float
        Operations of the body and of the join of a task that divides.
    iterations : int
        Number of sweeps.
    """
    divided = divide_rows(
        name,
        rows,
        irregular=irregular,
        leaf_rows=leaf_rows,
        cutoff_rows=cutoff_rows,
        block_rows=block_rows,
    )
    sweep = RowSweep(
        lines * columns,
        element_bytes,
        copies,
        halo_rows,
        write_allocate,
        ops_per_element,
        inner_ops,
        passes,
    )
    return sweep_workload(name, divided, sweep, init_ops_per_element, iterations)
