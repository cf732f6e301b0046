"""Divide-and-conquer spawn trees over a range of items, built level by level.

Tasks are numbered in preorder (a task, then its children's subtrees in spawn order), so that
ascending leaves are in the order of the items, parents precede their children and every subtree is
one range of numbers.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import ArrayLike, NDArray

from simsched.files.errors import ConfigurationError
from simsched.files.limits import TASKS
from simsched.workload.builder import (
    MAX_TASKS,
    Adjacency,
    accesses,
    adjacency,
    build_graph,
    overlaps,
)
from simsched.workload.graph import Int32Array, Int64Array, TaskGraph

DIVIDE, LEAF = 0, 1


@dataclass(frozen=True)
class Pieces:
    """Ranges of items, one per task, with the function each task runs."""

    #: A task covers the items `first` to `last` - 1; shape (n,).
    first: Int64Array
    last: Int64Array
    #: Which of several mutually recursive functions the task runs; 0 at the root; shape (n,).
    rule: NDArray[np.int8]


Split = Callable[[Pieces], tuple[Int64Array, Pieces]]
"""Number of children of each piece, 0 for a leaf, and all children in spawn order."""


@dataclass(frozen=True)
class SpawnTree:
    """A spawn tree whose tasks cover ranges of items; task 0 is the root."""

    #: Children of each task in spawn order.
    children: Adjacency
    #: Distance from the root, which has level 0; shape (n_tasks,).
    level: Int32Array
    #: A task's subtree covers the items `first` to `last` - 1; shape (n_tasks,).
    first: Int64Array
    last: Int64Array

    @property
    def n_tasks(self) -> int:
        """Number of tasks."""
        return len(self.level)

    @property
    def is_leaf(self) -> NDArray[np.bool_]:
        """Whether a task spawns nothing; shape (n_tasks,)."""
        childless: NDArray[np.bool_] = np.diff(self.children.ptr) == 0
        return childless

    @property
    def leaves(self) -> Int64Array:
        """Tasks that spawn nothing, ascending, which is the order of their items."""
        return np.flatnonzero(self.is_leaf)

    @property
    def bounds(self) -> Int64Array:
        """Items at which the leaves begin, and the number of items; shape (n_leaves + 1,)."""
        leaves = self.leaves
        return np.append(self.first[leaves], self.last[leaves[-1]])

    @property
    def task_class(self) -> Int32Array:
        """`LEAF` for leaves, `DIVIDE` for the others; shape (n_tasks,)."""
        return np.where(self.is_leaf, LEAF, DIVIDE).astype(np.int32)


def grow(n_items: int, split: Split) -> SpawnTree:
    """Return the spawn tree of some items; `split` is called with all pieces of a level."""
    levels = [Pieces(np.zeros(1, np.int64), np.full(1, n_items, np.int64), np.zeros(1, np.int8))]
    degrees: list[Int64Array] = []
    n_tasks = 1
    while len(levels[-1].first):
        counts, below = split(levels[-1])
        n_tasks += int(counts.sum())
        TASKS.check(n_tasks, f"a spawn tree over {n_items} items")
        degrees.append(counts)
        levels.append(below)
    new, children = number_levels(degrees)
    flat = np.concatenate(new)
    level = np.empty(n_tasks, dtype=np.int32)
    first, last = np.empty(n_tasks, np.int64), np.empty(n_tasks, np.int64)
    level[flat] = np.repeat(np.arange(len(new), dtype=np.int32), [len(ids) for ids in new])
    first[flat] = np.concatenate([pieces.first for pieces in levels[:-1]])
    last[flat] = np.concatenate([pieces.last for pieces in levels[:-1]])
    return SpawnTree(children, level, first, last)


def number_levels(degrees: list[Int64Array]) -> tuple[list[Int64Array], Adjacency]:
    """Return the tasks of each level of a spawn tree, and the children of all tasks.

    `degrees` are numbers of children, level by level from the root, those of one level in the order
    of their parents; the last level has none.

    >>> numbers, children = number_levels([np.array([2]), np.array([1, 0]), np.array([0])])
    >>> [level.tolist() for level in numbers]
    [[0], [1, 3], [2]]
    >>> children.target.tolist()
    [1, 3, 2]
    """
    new = _preorder(degrees)
    flat = np.concatenate(new)
    parent = np.concatenate(
        [np.repeat(ids, count) for ids, count in zip(new, degrees, strict=True)]
    )
    return new, adjacency(parent, flat[1:], len(flat))


def cut_tree(
    degrees: list[Int64Array], weights: ArrayLike, class_names: tuple[str, str], ops: float
) -> TaskGraph:
    """Return a spawn tree whose tasks on the last level stand for several nodes of a search each.

    `degrees` are those of the levels above, `weights` the nodes of each task of the last level;
    `ops` are the operations of a node.
    """
    last = np.asarray(weights, dtype=np.float64)
    numbers, children = number_levels([*degrees, np.zeros(len(last), dtype=np.int64)])
    n_tasks = len(children.ptr) - 1
    nodes, kind = np.ones(n_tasks), np.full(n_tasks, DIVIDE)
    nodes[numbers[-1]] = last
    kind[numbers[-1]] = LEAF
    return build_graph(nodes * ops, task_class=kind, class_names=class_names, children=children)


def equal_parts(degree: int, cutoff: int) -> Split:
    """Return the rule that divides a piece into equal parts.

    Part k of a piece of n items begins at item ``n * k // degree``; empty parts are left out.
    Pieces with fewer than `cutoff` items, at least 2, are leaves.
    """

    def split(pieces: Pieces) -> tuple[Int64Array, Pieces]:
        size = pieces.last - pieces.first
        inner = size >= cutoff
        shares: Int64Array = size[inner, None] * np.arange(degree + 1) // degree
        cuts = pieces.first[inner, None] + shares
        kept = cuts[:, 1:] > cuts[:, :-1]
        counts = np.zeros(len(size), dtype=np.int64)
        counts[inner] = kept.sum(axis=1)
        first, last = cuts[:, :-1][kept], cuts[:, 1:][kept]
        return counts, Pieces(first, last, np.zeros(len(first), dtype=np.int8))

    return split


def unbalanced(cutoff: int) -> Split:
    """Return the rule that alternates between two and four parts (irregular Heat).

    Pieces with fewer than `cutoff` items, at least 4, are leaves; with fewer, quarters would be
    empty.

    Two functions call each other. The first divides a piece in halves and calls the second on the
    left half and itself on the right one. The second cuts a piece of n items into quarters of ``n
    // 4`` items, the last one with the remainder, and calls itself on the third and the first
    function on the others. The root runs the first function.

    Chen and Guo, *Task Scheduling for Multi-core and Parallel Architectures*, Springer 2017,
    Algorithm 3.
    """
    rules = np.array([[1, 0, 0, 0], [0, 0, 1, 0]], dtype=np.int8)

    def split(pieces: Pieces) -> tuple[Int64Array, Pieces]:
        size = pieces.last - pieces.first
        inner = size >= cutoff
        begin, end, rule = pieces.first[inner], pieces.last[inner], pieces.rule[inner]
        quarter = size[inner] // 4
        is_half = rule == 0
        step: Int64Array = np.where(is_half, size[inner] // 2, quarter)
        cuts: Int64Array = begin[:, None] + step[:, None] * np.arange(5)
        cuts[is_half, 2] = end[is_half]
        cuts[:, 4] = end
        kept = np.ones((len(begin), 4), dtype=bool)
        kept[is_half, 2:] = False
        counts = np.zeros(len(size), dtype=np.int64)
        counts[inner] = kept.sum(axis=1)
        return counts, Pieces(cuts[:, :-1][kept], cuts[:, 1:][kept], rules[rule][kept])

    return split


@dataclass(frozen=True)
class Division:
    """A rule for dividing, for any cut-off."""

    #: Returns the rule for a cut-off.
    split_below: Callable[[int], Split]
    #: Smallest cut-off that the rule accepts.
    lowest_cutoff: int

    def cutoff(self, leaf_bytes: int, item_bytes: float) -> int:
        """Return the cut-off below which a piece has at most `leaf_bytes` bytes.

        >>> divide_in_halves.cutoff(2 * 2**20, 64 * 2**10)
        33
        """
        return max(int(leaf_bytes // item_bytes) + 1, self.lowest_cutoff)

    def grow(self, n_items: int, cutoff: int) -> SpawnTree:
        """Return the spawn tree over `n_items` items with fewer than `cutoff` per leaf."""
        least = n_items // max(cutoff - 1, 1)
        if least > MAX_TASKS:
            raise ConfigurationError(
                f"found at least {least} leaves ({n_items} items in leaves of fewer than "
                f"{cutoff}), accepted at most {MAX_TASKS}"
            )
        return grow(n_items, self.split_below(cutoff))


divide_in_halves = Division(partial(equal_parts, 2), 2)
divide_unevenly = Division(unbalanced, 4)


def first_touch_tree(
    tree: SpawnTree, bounds: Int64Array, block_bytes: Int64Array, ops_per_item: float
) -> TaskGraph:
    """Return an initialisation whose leaves write every byte of the blocks they cover.

    Block b holds the items ``bounds[b]`` to ``bounds[b + 1] - 1``. Several arrays have their blocks
    one after the other, and of each piece the leaf writes those of all arrays.

    A leaf that covers part of a block writes its share, rounded so that the shares add up to the
    block.
    """
    leaves = tree.leaves
    pieces = overlaps(tree.first[leaves], tree.last[leaves], bounds)
    n_pieces = len(bounds) - 1
    arrays = len(block_bytes) // n_pieces
    block = (pieces.part[:, None] + n_pieces * np.arange(arrays)).ravel()
    size, held = block_bytes[pieces.part], np.diff(bounds)[pieces.part]
    begin = pieces.first - bounds[pieces.part]
    written = size * (begin + pieces.items) // held - size * begin // held
    return build_graph(
        np.where(tree.is_leaf, (tree.last - tree.first) * ops_per_item, 0.0),
        task_class=tree.task_class,
        class_names=("divide", "initialise"),
        children=tree.children,
        accessed=accesses(
            np.repeat(leaves[pieces.owner], arrays),
            block,
            0,
            np.repeat(written, arrays),
            tree.n_tasks,
        ),
        block_bytes=block_bytes,
    )


def _preorder(degrees: list[Int64Array]) -> list[Int64Array]:
    """Return the preorder number of each task, level by level, from the number of its children."""
    sizes = [np.ones(len(count), dtype=np.int64) for count in degrees]
    for upper in range(len(degrees) - 2, -1, -1):
        before = np.concatenate(([0], np.cumsum(sizes[upper + 1])))
        ends = np.cumsum(degrees[upper])
        sizes[upper] += before[ends] - before[ends - degrees[upper]]
    numbers = [np.zeros(1, dtype=np.int64)]
    for upper, count in enumerate(degrees[:-1]):
        before = np.cumsum(sizes[upper + 1]) - sizes[upper + 1]
        parent = np.repeat(np.arange(len(count), dtype=np.int64), count)
        eldest = np.repeat(np.cumsum(count) - count, count)
        numbers.append(numbers[upper][parent] + 1 + before - before[eldest])
    return numbers
