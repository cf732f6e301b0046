"""Gaussian elimination of a square matrix, step by step, each a spawn tree over all rows.

Step k of n - 1, from 0 on, subtracts multiples of row k, the pivot row, from the rows below it, in
columns k to n - 1: n - k elements of each. Rows are finished one after the other, and what is left
shrinks. An iteration of a workload is a step: of the first s steps (`steps`), all by default, I
iterations execute every (s / I)-th one, ``k(i) = floor((i - 1) s / I)`` for i = 1 to I, which are
all of them if I = s.

* *Tasks.* The tree of :mod:`~simsched.workload.row_sweep` over all n rows in every step: rows that
  are finished keep their place in it, and leaves that have no others do nothing.
* *Blocks.* One per leaf, or per `block_rows` rows, and a last one for the pivot row.
* *Bytes.* A leaf with a rows below the pivot row reads ``e (n - k)`` of the latter, then reads
  ``e a (n - k)`` of its own rows, e being the bytes of an element, and writes them; these are
  accesses of their own, since a block has more bytes than the two touch. The body of the root
  divides the pivot row by its first element: it reads and then writes ``e (n - k)``. The rows of
  all leaves move ``e (n - 1) n (n + 1) / 3`` bytes each way in the whole elimination.
* *Operations.* ``ops_per_element`` per element touched, the pivot row's included.
* *Mean.* The graph of the workload (`Workload.graph`) has the mean costs of the steps that are
  executed, bytes rounded down.
* *Initialisation.* Leaves write all bytes of the blocks they cover, the last one also the pivot
  row.

The pivot row has a block of its own because it lies in another block in every step; what it costs
is that all caches fetch it again after the root has written it.

References
----------
Golub and Van Loan, *Matrix Computations*, 4th edition 2013, section 3.2. Book of docs/sources,
chapters 3 and 4 (programs ``GE`` and ``GE-ir``, divided by rows; more is not said).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated

import numpy as np

from simsched.workload.builder import accesses, build_graph, check_size, overlaps
from simsched.workload.graph import Int64Array, TaskGraph, Workload
from simsched.workload.registry import Bounds, Cost, Count, Size, generator
from simsched.workload.row_sweep import Cutoff, Rows, divide_rows
from simsched.workload.spawn_tree import SpawnTree, first_touch_tree
from simsched.workload.varying import Varying

CLASSES = ("divide", "eliminate", "pivot")
_PIVOT = 2


@generator("ge", small={"size": 64, "iterations": 7})
def ge(
    *,
    size: Annotated[int, Bounds(2, 100_000)] = 1024,
    element_bytes: Size = 8,
    irregular: bool = False,
    leaf_rows: Count = 8,
    cutoff_rows: Cutoff = None,
    block_rows: Count | None = None,
    ops_per_element: Cost = 2.0,
    init_ops_per_element: Cost = 2.0,
    inner_ops: Cost = 0.0,
    steps: Count | None = None,
    iterations: Count = 1,
) -> Workload:
    """Gaussian elimination: steps swept by a spawn tree over rows, regular or irregular.

    Parameters
    ----------
    size : int
        Rows and columns n of the matrix, updated in place.
    element_bytes : int
        Bytes of one element.
    irregular : bool
        Divide unevenly instead of in halves.
    leaf_rows : int
        Most rows of a leaf; at least 3 when irregular.
    cutoff_rows : int, optional
        Pieces with fewer rows are leaves, whatever `leaf_rows` says.
    block_rows : int, optional
        Most rows of a block; a block per leaf by default.
    ops_per_element, init_ops_per_element : float
        Operations per element: 1 multiplication and 1 subtraction; of the initialisation.
    inner_ops : float
        Operations of the body and of the join of a task that divides.
    steps : int, optional
        First steps of the elimination, of which the iterations are taken evenly; all by default,
        which are `size` - 1 and the most.
    iterations : int
        Number of steps that are executed.
    """
    check_size("ge", data_bytes=3 * size**2 * element_bytes)
    divided = divide_rows(
        "ge",
        size,
        irregular=irregular,
        leaf_rows=leaf_rows,
        cutoff_rows=cutoff_rows,
        block_rows=block_rows,
    )
    bounds = divided.bounds()
    blocks = np.append(np.diff(bounds), 1) * (size * element_bytes)
    first = np.arange(iterations, dtype=np.int64) * min(steps or size - 1, size - 1)
    elimination = Elimination(
        divided.tree(),
        bounds,
        blocks,
        first // iterations,
        element_bytes,
        ops_per_element,
        inner_ops,
    )
    varying = None if (elimination.pivots == 0).all() else Varying(elimination.step)
    init = _first_touch(divided, bounds, blocks, size * init_ops_per_element)
    return Workload("ge", elimination.mean(), iterations, init, varying=varying)


@dataclass(frozen=True, eq=False)
class Elimination:
    """Steps of an elimination as graphs."""

    tree: SpawnTree  # over all rows
    bounds: Int64Array  # rows with which blocks begin, and all rows
    blocks: Int64Array  # bytes of the blocks
    pivots: Int64Array  # pivot row of each iteration
    element_bytes: int
    ops_per_element: float
    inner_ops: float

    def step(self, number: int) -> TaskGraph:
        """Return what an iteration executes, numbered from 1."""
        pivot, size = int(self.pivots[number - 1]), int(self.bounds[-1])
        touched = np.where(np.arange(size) > pivot, size - pivot, 0)
        return self._graph(touched, size - pivot, 1)

    def mean(self) -> TaskGraph:
        """Return a graph with the mean costs of all iterations."""
        size = int(self.bounds[-1])
        widths = np.bincount(self.pivots, size - self.pivots, size).astype(np.int64)
        touched = np.append(0, np.cumsum(widths)[:-1])
        return self._graph(touched, int(widths.sum()), len(self.pivots))

    def _graph(self, touched: Int64Array, scaled: int, steps: int) -> TaskGraph:
        """Return the mean of some steps, which touch so many elements of each row.

        A leaf reads as many elements of pivot rows as it touches of its last row. All pivot rows
        together have `scaled` elements.
        """
        tree = self.tree
        before = np.append(0, np.cumsum(touched))
        elements = np.where(tree.is_leaf, before[tree.last] - before[tree.first], 0)
        elements[0] += scaled
        kind = tree.task_class
        kind[0] = _PIVOT
        inner = np.where(tree.is_leaf, 0.0, self.inner_ops)
        pieces = overlaps(tree.first[tree.leaves], tree.last[tree.leaves], self.bounds)
        own = before[pieces.first + pieces.items] - before[pieces.first]
        pivot = len(self.blocks) - 1
        # What is updated in place is a part of a block, which one access with both would count as
        # two: it is read, then written.
        updates = np.append(0, tree.leaves[pieces.owner])
        task = np.concatenate((tree.leaves, np.repeat(updates, 2)))
        block = np.append(np.full(len(tree.leaves), pivot), np.repeat([pivot, *pieces.part], 2))
        moved = np.append(touched[tree.last[tree.leaves] - 1], np.repeat([scaled, *own], 2))
        n_bytes = moved * self.element_bytes // steps
        writes = np.append(np.zeros(len(tree.leaves), bool), np.tile([False, True], len(updates)))
        some = n_bytes > 0
        return build_graph(
            elements * (self.ops_per_element / steps) + inner,
            join_ops=inner,
            task_class=kind,
            class_names=CLASSES,
            children=tree.children,
            accessed=accesses(
                task[some],
                block[some],
                np.where(writes, 0, n_bytes)[some],
                np.where(writes, n_bytes, 0)[some],
                tree.n_tasks,
            ),
            block_bytes=self.blocks,
        )


def _first_touch(
    divided: Rows, bounds: Int64Array, blocks: Int64Array, ops_per_row: float
) -> TaskGraph:
    """Return the initialisation; its last leaf also covers the pivot row, as a row below all."""
    tree = divided.division.grow(divided.rows, divided.touch_cutoff)
    below = divided.rows + 1
    last = np.where(tree.last == divided.rows, below, tree.last)
    return first_touch_tree(replace(tree, last=last), np.append(bounds, below), blocks, ops_per_row)
