"""Gaussian elimination by blocks of pivot rows, each step a spawn tree over the rows below.

With n x n elements, steps of b pivot rows and W = ceil(n / b) steps:

* *Tasks.* Step k has a task ``pivot`` that eliminates the b pivot rows within themselves, and below
  it, if rows are left, a spawn tree over these whose leaves ``eliminate`` the pivots from their
  rows. A step starts when the one before has ended, which an edge between their ``pivot`` tasks
  says: W - 1 edges.
* *Blocks.* One per b rows of the matrix, with the padding of its rows.
* *Bytes.* A task reads and writes the columns of its rows from the first pivot on; a leaf also
  reads those of the pivot rows.
* *Operations.* Elements that change, once per pivot: n - p in every row below pivot p, including
  the factor that replaces the element made zero; (n - 1) n (n + 1) / 3 altogether.
* *Initialisation.* One independent task per block writes it.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Annotated

import numpy as np
from numpy.typing import ArrayLike

from simsched.hardware.program import Program, program
from simsched.hardware.programs._common import (
    DOUBLE_BYTES,
    Seed,
    hashed_units,
    largest_error,
    untouched,
)
from simsched.workload.builder import (
    Accesses,
    accesses,
    adjacency,
    build_graph,
    first_touch_loop,
    overlaps,
)
from simsched.workload.graph import FloatArray, Int32Array, Int64Array, TaskGraph, Workload
from simsched.workload.registry import Bounds, Count
from simsched.workload.spawn_tree import divide_in_halves

CLASSES = ("divide", "pivot", "eliminate", "initialise")
_DIVIDE, _PIVOT, _ELIMINATE, _ = range(4)
TOLERANCE = 1e-11  # of n, the largest element; a row that is left out differs by 1e-4 or more


@program(small={"size": 75, "pivot_rows": 8, "leaf_rows": 9})
def ge(
    *,
    size: Annotated[int, Bounds(1, 50_000)] = 2048,
    pivot_rows: Count = 32,
    leaf_rows: Count = 32,
    seed: Seed = 0,
) -> Program:
    """Gaussian elimination: step by step, pivot rows are eliminated from all rows below.

    Parameters
    ----------
    size : int
        Rows and columns of the matrix, of 8 bytes per element.
    pivot_rows : int
        Rows of a step.
    leaf_rows : int
        Most rows of a leaf.
    seed : int
        Of the matrix.

    Notes
    -----
    There are no exchanges of rows: the matrix is diagonally dominant. The factors stay in place of
    the zeros, so that the matrix becomes L (its unit diagonal left out) and U; the check multiplies
    these.

    References
    ----------
    Golub and Van Loan, *Matrix Computations*, 4th edition 2013, section 3.2. The program ``GE`` of
    Chen and Guo, *Task Scheduling for Multi-core and Parallel Architectures*, Springer 2017.
    """
    stride = _padded(size)
    matrix = untouched((size, stride), np.float64)
    bounds = np.minimum(np.arange(-(-size // pivot_rows) + 1) * pivot_rows, size)
    tasks = _enumerate(bounds, leaf_rows)
    blocks = np.diff(bounds) * (stride * DOUBLE_BYTES)
    init = first_touch_loop(blocks, (np.diff(bounds) * stride).astype(np.float64))

    def check() -> float:
        made = hashed_units(seed, size * size).reshape(size, size) - 0.5
        made[np.diag_indices(size)] += size
        found = matrix[:, :size]
        with np.errstate(all="ignore"):  # where elements were not initialised
            product = (np.tril(found, -1) + np.eye(size)) @ np.triu(found)
        return largest_error(product, made, TOLERANCE)

    return Program(
        name="ge",
        workload=Workload("ge", _graph(tasks, bounds, blocks), 1, init.with_classes(CLASSES)),
        args=np.stack((bounds[tasks.step], tasks.first, tasks.last), axis=1),
        init_args=np.stack((bounds[:-1], bounds[:-1], bounds[1:]), axis=1),
        arrays=(matrix,),
        blocks=(len(blocks),),
        check=check,
        params=(size, stride, pivot_rows, seed),
    )


@dataclass(frozen=True)
class _Tasks:
    """All tasks in order, a step's pivot first: class, step, rows first to last - 1, and parent."""

    kind: Int32Array
    step: Int64Array
    first: Int64Array
    last: Int64Array
    parent: Int64Array


def _enumerate(bounds: Int64Array, leaf_rows: int) -> _Tasks:
    """Return the tasks of all steps; the parent of a step's pivot is -1."""
    size = int(bounds[-1])
    counts: list[int] = []
    parts: list[tuple[ArrayLike, ...]] = []
    for first, begin in pairwise(bounds.tolist()):
        pivot = sum(counts)
        parts.append(([_PIVOT], [first], [begin], [-1]))
        counts.append(1)
        if begin < size:
            tree = divide_in_halves.grow(size - begin, leaf_rows + 1)
            above = np.repeat(np.arange(tree.n_tasks), np.diff(tree.children.ptr))
            parent = np.full(tree.n_tasks, pivot)
            parent[tree.children.target] = pivot + 1 + above
            kind = np.where(tree.is_leaf, _ELIMINATE, _DIVIDE)
            parts.append((kind, begin + tree.first, begin + tree.last, parent))
            counts[-1] += tree.n_tasks
    kinds, firsts, lasts, parents = (np.concatenate(part) for part in zip(*parts, strict=True))
    step = np.repeat(np.arange(len(counts)), counts)
    return _Tasks(kinds.astype(np.int32), step, firsts, lasts, parents)


def _graph(tasks: _Tasks, bounds: Int64Array, blocks: Int64Array) -> TaskGraph:
    n_tasks = len(tasks.kind)
    spawned = np.flatnonzero(tasks.parent >= 0)
    pivots = np.flatnonzero(tasks.kind == _PIVOT)
    return build_graph(
        _operations(tasks, bounds),
        task_class=tasks.kind,
        class_names=CLASSES,
        children=adjacency(tasks.parent[spawned], spawned, n_tasks),
        successors=adjacency(pivots[:-1], pivots[1:], n_tasks),
        accessed=_accesses(tasks, bounds),
        block_bytes=blocks,
    )


def _operations(tasks: _Tasks, bounds: Int64Array) -> FloatArray:
    """Return the number of elements that each task changes, once per pivot."""
    size = bounds[-1]
    changed = np.concatenate(([0], np.cumsum(size - np.arange(size))))  # by pivots 0 to p - 1
    begin, end = bounds[tasks.step], bounds[tasks.step + 1]
    below = (tasks.last - tasks.first) * (changed[end] - changed[begin])
    # Row begin + r of a pivot block is changed by r pivots.
    summed = np.concatenate(([0], np.cumsum(changed[:-1])))
    within = summed[end] - summed[begin] - (end - begin) * changed[begin]
    is_pivot, is_leaf = tasks.kind == _PIVOT, tasks.kind == _ELIMINATE
    return np.where(is_pivot, within, np.where(is_leaf, below, 0)).astype(np.float64)


def _accesses(tasks: _Tasks, bounds: Int64Array) -> Accesses:
    """Return the accesses: the pivot rows, unless they are the task's own, then its rows."""
    width = (bounds[-1] - bounds[:-1]) * DOUBLE_BYTES  # bytes of a row from a step's pivots on
    working = np.flatnonzero(tasks.kind != _DIVIDE)
    eliminating = np.flatnonzero(tasks.kind == _ELIMINATE)
    own = overlaps(tasks.first[working], tasks.last[working], bounds)
    task = np.concatenate((eliminating, working[own.owner]))
    block = np.concatenate((tasks.step[eliminating], own.part))
    rows = np.concatenate((np.diff(bounds)[tasks.step[eliminating]], own.items))
    read = rows * width[tasks.step[task]]
    written = np.where(np.arange(len(task)) < len(eliminating), 0, read)
    return accesses(task, block, read, written, len(tasks.kind))


def _padded(size: int) -> int:
    """Return the elements from one row to the next: an odd number of cache lines.

    With a power of two, the rows of a pivot block would meet in few sets of a cache.
    """
    return 8 * (-(-size // 8) | 1)
