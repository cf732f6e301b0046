"""The n queens puzzle: an irregular spawn tree whose leaves search, bound by the processor.

* *Tasks.* One per way to place queens in the first rows so that none attacks another, up to
  `prefix_rows` rows: a task spawns one child per place for a queen in the next row, from the first
  column to the last. Tasks of the last of these rows, and those that leave no place in the next,
  are leaves (``search``) and count the solutions they lead to, by trying row after row. Joins of
  the others (``place``) add their children's counts up.
* *Blocks.* One line of 64 bytes per task, of which 8 bytes hold its count.
* *Bytes.* A leaf writes its count; a join reads its children's and writes its own.
* *Operations.* Nodes of the search tree (ways to place queens in the first rows, whatever their
  number), which the builder counts exactly: those below and including its own for a leaf, one per
  child for a join. With 14 queens and three rows, leaves have 8,148 to 32,518 of them.
* *Initialisation.* Independent tasks clear 64 lines each.

References
----------
The On-Line Encyclopedia of Integer Sequences, A000170 (solutions). Richards, *Backtracking
algorithms in MCPL using bit patterns and recursion*, University of Cambridge, 1997. Frigo,
Leiserson and Randall, *The implementation of the Cilk-5 multithreaded language*, PLDI 1998 (program
``queens``).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from simsched.hardware.program import Program, program
from simsched.hardware.programs._common import (
    INFINITE_ERROR,
    AccessList,
    ProgramData,
    exact,
    refusal,
    untouched,
)
from simsched.workload.graph import Int64Array, TaskGraph, Workload
from simsched.workload.registry import Bounds
from simsched.workload.spawn_tree import Pieces, SpawnTree, grow

CLASSES = ("initialise", "place", "search")
_INITIALISE, _PLACE, _SEARCH = range(3)
SOLUTIONS = (1, 1, 0, 0, 2, 10, 4, 40, 92, 352, 724, 2680, 14200, 73712, 365596, 2279184)
LINE_BYTES = 64
_LINES_PER_INIT_TASK = 64
_LEAVES_AT_A_TIME = 256

#: Ways to place queens in the first rows, as bit sets of what they attack in the next row: columns,
#: places along the left and along the right diagonals; shape (3, n).
Placements = NDArray[np.uint32]


def next_row(board: Placements, queens: int) -> tuple[Int64Array, Placements]:
    """Return which placement each of the next row's extends, and these, in any order."""
    free = np.uint32(2**queens - 1) & ~np.bitwise_or.reduce(board)
    index = np.arange(len(free), dtype=np.int64)
    found: list[tuple[Int64Array, NDArray[np.uint32]]] = []
    while len(index):
        kept = free != 0
        index, free = index[kept], free[kept]
        queen = free & (~free + np.uint32(1))
        found.append((index, queen))
        free = free ^ queen
    parent, queen = (np.concatenate(column) for column in zip(*found, strict=True))
    below = board[:, parent] | queen
    below[1] <<= 1
    below[2] >>= 1
    return parent, below


@program(small={"queens": 8, "prefix_rows": 3, "iterations": 2})
def nqueens(
    *,
    queens: Annotated[int, Bounds(1, 15)] = 14,
    prefix_rows: Annotated[int, Bounds(0, 6)] = 3,
    iterations: Annotated[int, Bounds(1, 10**6)] = 2,
) -> Program:
    """Solutions of the n queens puzzle, by a spawn tree over the first rows.

    Parameters
    ----------
    queens : int
        Size of the board.
    prefix_rows : int
        Rows whose placements are tasks.
    iterations : int
        How often everything is counted.
    """
    if prefix_rows > queens:
        accepted = f"0 to {queens} for {queens} queens"
        raise refusal("nqueens", "prefix_rows", prefix_rows, accepted)
    search = _search_tree(queens, prefix_rows)
    n_tasks = search.tree.n_tasks
    begins = np.arange(0, n_tasks, _LINES_PER_INIT_TASK, dtype=np.int64)
    ends = np.minimum(begins + _LINES_PER_INIT_TASK, n_tasks)
    data = ProgramData(len(begins), n_tasks)
    slots = untouched((n_tasks, LINE_BYTES // 8), np.int64)
    blocks = data.add(slots, LINE_BYTES * np.arange(1, n_tasks + 1, dtype=np.int64))

    def result_error() -> float:
        counts = slots[search.slot, 0]
        leaves = exact(counts[search.tree.leaves], search.solved)
        return leaves if counts[0] == SOLUTIONS[queens] else INFINITE_ERROR

    return data.program(
        Workload(
            "nqueens",
            _graph(search, data, blocks),
            iterations,
            _init(begins, ends, data, blocks),
        ),
        args=search.args,
        init_args=np.stack((begins, ends, ends, ends), axis=1),
        functions=(frozenset({"initialise", "search"}), frozenset({"place"})),
        result_error=result_error,
        params=(2**queens - 1,),
    )


@dataclass(frozen=True)
class _Search:
    """The spawn tree, what its tasks know and what its leaves will find.

    Slots are numbered row by row, so that the children of a task have consecutive ones.
    """

    tree: SpawnTree
    slot: Int64Array
    args: Int64Array
    nodes: Int64Array
    solved: Int64Array


@lru_cache(maxsize=4)
def _search_tree(queens: int, prefix_rows: int) -> _Search:
    """Return the spawn tree over the first rows, searched to the end."""
    rows: list[Placements] = [np.zeros((3, 1), dtype=np.uint32)]
    counts: list[Int64Array] = []
    for _ in range(prefix_rows):
        parent, below = next_row(rows[-1], queens)
        counts.append(np.bincount(parent, minlength=rows[-1].shape[1]))
        rows.append(below[:, np.argsort(parent, kind="stable")])
    counts.append(np.zeros(rows[-1].shape[1], dtype=np.int64))
    level = iter(counts)

    def split(pieces: Pieces) -> tuple[Int64Array, Pieces]:
        children = next(level)
        assert len(children) == len(pieces.first)
        number = np.arange(children.sum(), dtype=np.int64)
        return children, Pieces(number, number + 1, np.zeros(len(number), dtype=np.int8))

    tree = grow(1, split)
    starts = np.cumsum([0, *(len(children) for children in counts)])
    slot = starts[tree.level] + tree.first
    args = np.zeros((tree.n_tasks, 4), dtype=np.int64)
    args[:, 0] = slot
    leaves, inner = tree.leaves, np.flatnonzero(~tree.is_leaf)
    start = np.concatenate(rows, axis=1)[:, slot[leaves]]
    args[leaves, 1:] = start.T
    args[inner, 1] = slot[tree.children.target[tree.children.ptr[inner]]]
    args[inner, 2] = np.diff(tree.children.ptr)[inner]
    nodes, solved = _search_all(start, queens)
    return _Search(tree, slot, args, nodes, solved)


def _search_all(start: Placements, queens: int) -> tuple[Int64Array, Int64Array]:
    """Return nodes of the search tree and solutions below each placement, itself included.

    The placements are all leaves in order, so that the mirror image of the first is the last one,
    and so on: searching half of them is enough.
    """
    n_leaves = start.shape[1]
    half = (n_leaves + 1) // 2
    nodes, solved = np.zeros((2, half), dtype=np.int64)
    for begin in range(0, half, _LEAVES_AT_A_TIME):
        part = slice(begin, min(begin + _LEAVES_AT_A_TIME, half))
        now, leaf = start[:, part], np.arange(part.start, part.stop)
        while len(leaf):
            nodes += np.bincount(leaf, minlength=half)
            solved += np.bincount(leaf[now[0] == 2**queens - 1], minlength=half)
            parent, now = next_row(now, queens)
            leaf = leaf[parent]
    mirrored = np.minimum(np.arange(n_leaves), np.arange(n_leaves)[::-1])
    return nodes[mirrored], solved[mirrored]


def _init(begins: Int64Array, ends: Int64Array, data: ProgramData, blocks: Int64Array) -> TaskGraph:
    accessed = AccessList()
    accessed.add(np.repeat(np.arange(len(begins)), ends - begins), blocks, written=LINE_BYTES)
    return data.graph(
        8.0 * (ends - begins),
        accessed,
        task_class=np.full(len(begins), _INITIALISE),
        class_names=CLASSES,
    )


def _graph(search: _Search, data: ProgramData, blocks: Int64Array) -> TaskGraph:
    tree = search.tree
    degree = np.diff(tree.children.ptr)
    ops = np.zeros(tree.n_tasks)
    ops[tree.leaves] = search.nodes
    inner = np.flatnonzero(degree)
    accessed = AccessList()
    accessed.add(tree.leaves, blocks[search.slot[tree.leaves]], written=8)
    parent = np.repeat(np.arange(tree.n_tasks), degree)
    accessed.add(parent, blocks[search.slot[tree.children.target]], read=8, in_join=True)
    accessed.add(inner, blocks[search.slot[inner]], written=8, in_join=True)
    return data.graph(
        ops,
        accessed,
        join_ops=degree,
        task_class=np.where(tree.is_leaf, _SEARCH, _PLACE),
        class_names=CLASSES,
        children=tree.children,
    )
