"""Gaussian elimination of a square matrix, every step swept by the same spawn tree over all rows.

Step k of n - 1 subtracts multiples of row k, the pivot row, from the rows below it, in columns k to
n - 1. So row i is touched in the ``s(i) = min(i, s)`` of the first s steps before it becomes the
pivot row, in ``T(i) = s(i) n - s(i) (s(i) - 1) / 2`` elements altogether. All iterations of a
workload have the same graph; each is the *mean* of the first s steps, in which every row moves an
s-th of what it moves in all of them. Rows are the hotter the further down they are. `steps` says
what s is: the whole elimination by default.

* *Tasks.* The tree of :mod:`~simsched.workload.row_sweep` over all n rows: rows above the
  pivot row keep their place in it.
* *Blocks.* One per leaf, or per `block_rows` rows, and a last one for the pivot row.
* *Bytes.* A leaf with rows f to l - 1 reads ``e T(l - 1) / s`` of the pivot row, then reads
  ``e (T(f) + ... + T(l - 1)) / s`` of its own rows, e being the bytes of an element, and writes
  them; these are accesses of their own, since a block has more bytes than the two touch. In the
  mean step of the whole elimination the rows of all leaves move ``e n (n + 1) / 3`` bytes each way.
  The body of the root divides the pivot row by its first element: it reads and then writes
  ``e T(n - 1) / s``.
* *Operations.* ``ops_per_element`` per element touched, the pivot row's included.
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

from dataclasses import replace
from typing import Annotated

import numpy as np

from simsched.workload.builder import (
    Accesses,
    accesses,
    build_graph,
    check_size,
    overlaps,
)
from simsched.workload.graph import Int64Array, TaskGraph, Workload
from simsched.workload.registry import Bounds, Cost, Count, Size, generator
from simsched.workload.row_sweep import Cutoff, Rows, divide_rows
from simsched.workload.spawn_tree import SpawnTree, first_touch_tree

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
    """Gaussian elimination: mean steps swept by a spawn tree over rows, regular or irregular.

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
        First steps of the elimination that an iteration is the mean of; all by default, which is
        also the most.
    iterations : int
        Number of steps that are executed; the whole elimination has `size` - 1.
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
    steps = min(steps or size - 1, size - 1)
    touched = touched_elements(size, steps)
    before = np.concatenate(([0], np.cumsum(touched)))
    tree = divided.tree()
    elements = np.where(tree.is_leaf, before[tree.last] - before[tree.first], 0)
    elements[0] += touched[-1]
    inner = np.where(tree.is_leaf, 0.0, inner_ops)
    kind = tree.task_class
    kind[0] = _PIVOT
    graph = build_graph(
        elements * (ops_per_element / steps) + inner,
        join_ops=inner,
        task_class=kind,
        class_names=CLASSES,
        children=tree.children,
        accessed=_accesses(tree, bounds, touched * element_bytes, steps),
        block_bytes=blocks,
    )
    init = _first_touch(divided, bounds, blocks, size * init_ops_per_element)
    return Workload("ge", graph, iterations, init)


def touched_elements(size: int, steps: int) -> Int64Array:
    """Return the elements T(i) of each row that the first steps touch, at most `size` - 1.

    >>> touched_elements(4, 3).tolist()
    [0, 4, 7, 9]
    >>> touched_elements(4, 1).tolist()
    [0, 4, 4, 4]
    """
    row = np.minimum(np.arange(size, dtype=np.int64), steps)
    touched: Int64Array = row * size - row * (row - 1) // 2
    return touched


def _accesses(tree: SpawnTree, bounds: Int64Array, n_bytes: Int64Array, steps: int) -> Accesses:
    """Return the accesses: a leaf's of the pivot row, then of its rows; the root's.

    What is updated in place is a part of a block, which one access with both would count as two.
    `n_bytes` are those of each row that all steps touch.
    """
    pivot_block = len(bounds) - 1
    before = np.concatenate(([0], np.cumsum(n_bytes))) // steps
    leaves = tree.leaves
    first, last = tree.first[leaves], tree.last[leaves]
    own = overlaps(first, last, bounds)
    moved = before[own.first + own.items] - before[own.first]
    pivot_read = n_bytes[last - 1] // steps
    scaled = n_bytes[-1:] // steps
    updated = np.concatenate((scaled, moved))
    none = np.zeros_like(updated)
    once, twice = slice(len(leaves)), slice(len(leaves), None)
    task = np.concatenate((leaves, np.repeat(np.append(0, leaves[own.owner]), 2)))
    block = np.concatenate(
        (np.full(len(leaves), pivot_block), np.repeat(np.append(pivot_block, own.part), 2))
    )
    read, written = np.zeros((2, len(task)), np.int64)
    read[once] = pivot_read
    read[twice] = np.column_stack((updated, none)).ravel()
    written[twice] = np.column_stack((none, updated)).ravel()
    some = read + written > 0
    return accesses(task[some], block[some], read[some], written[some], tree.n_tasks)


def _first_touch(
    divided: Rows, bounds: Int64Array, blocks: Int64Array, ops_per_row: float
) -> TaskGraph:
    """Return the initialisation; its last leaf also covers the pivot row, as a row below all."""
    tree = divided.division.grow(divided.rows, divided.touch_cutoff)
    below = divided.rows + 1
    last = np.where(tree.last == divided.rows, below, tree.last)
    return first_touch_tree(replace(tree, last=last), np.append(bounds, below), blocks, ops_per_row)
