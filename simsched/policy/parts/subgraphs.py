"""Cutting a task graph into subgraphs that are big enough to keep the cores of a domain busy."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simsched.workload.builder import entries
from simsched.workload.graph import BoolArray, Int32Array, Int64Array, TaskGraph

UPPER = -1  #: tasks above all subgraphs


@dataclass(frozen=True, eq=False)
class Subgraphs:
    """A division of the tasks of a graph."""

    #: shape (n_tasks,): subgraph of each task, numbered in the order of the spawn tree; `UPPER` for
    #: the tasks above all subgraphs
    of_task: Int32Array
    is_root: BoolArray  # shape (n_tasks,): tasks through which a subgraph is entered
    #: whether each subgraph has one root and waits for nothing outside once it has started, so that
    #: one subgraph at a time can be worked on without coming to a standstill
    separable: bool

    @property
    def n_subgraphs(self) -> int:
        return int(self.of_task.max(initial=UPPER)) + 1


def levels(graph: TaskGraph) -> list[Int64Array]:
    """Return the tasks of each level of the spawn tree, from the parentless ones down.

    Children stand in the order of their parents and, for one parent, in spawn order.
    """
    found = [np.flatnonzero(graph.parent < 0)]
    while True:
        below = graph.child[entries(graph.child_ptr, found[-1])]
        if len(below) == 0:
            return found
        found.append(below.astype(np.int64))


def main_tasks(graph: TaskGraph) -> BoolArray:
    """Return which tasks without a parent spawn others; shape (n_tasks,)."""
    main: BoolArray = (graph.parent < 0) & (np.diff(graph.child_ptr) > 0)
    return main


def depths(graph: TaskGraph) -> Int64Array:
    """Return the level of each task in the spawn tree, 0 for parentless ones; shape (n_tasks,)."""
    depth = np.zeros(graph.n_tasks, np.int64)
    for level, tasks in enumerate(levels(graph)):
        depth[tasks] = level
    return depth


def subtree_sums(graph: TaskGraph, own: NDArray[np.generic]) -> Int64Array:
    """Return a quantity of each task added up over its subtree (Chen and Guo 2017, Eq. 3.6).

    Data shared by tasks count several times.
    """
    total = own.astype(np.int64)
    for tasks in reversed(levels(graph)[1:]):
        np.add.at(total, graph.parent[tasks], total[tasks])
    return total


def subtree_sizes(graph: TaskGraph) -> Int64Array:
    """Return the number of tasks in the subtree of each task, itself included; shape (n_tasks,)."""
    return subtree_sums(graph, np.ones(graph.n_tasks, np.int64))


def preorder(graph: TaskGraph) -> Int64Array:
    """Return the position of each task in a depth-first walk of the spawn tree; shape (n_tasks,).

    This is the order of task identifiers, of which the i-th child of S has S_i; parentless tasks
    follow each other by index.
    """
    size = subtree_sizes(graph)
    position = np.zeros(graph.n_tasks, np.int64)
    for depth, tasks in enumerate(levels(graph)):
        before = np.cumsum(size[tasks]) - size[tasks]
        if depth == 0:
            position[tasks] = before
            continue
        parent = graph.parent[tasks]
        is_eldest = np.append(True, parent[1:] != parent[:-1])
        eldest = np.maximum.accumulate(np.where(is_eldest, np.arange(len(tasks)), 0))
        position[tasks] = position[parent] + 1 + before - before[eldest]
    return position


def group_tasks(graph: TaskGraph, least_tasks: int) -> Subgraphs:
    """Return the smallest subgraphs with a given number of tasks (BATS, section 7).

    A task is the root of a subgraph when its subtree has at least `least_tasks` tasks and no
    child's subtree has. Tasks above are *upper* tasks. Readings: docs/sources/bats.md.
    """
    size = subtree_sizes(graph)
    parent = graph.parent
    is_big = size >= least_tasks
    has_big_child = np.zeros(graph.n_tasks, bool)
    has_big_child[parent[is_big & (parent >= 0)]] = True
    below_upper = (parent >= 0) & has_big_child[parent]
    single = (is_big & ~has_big_child) | (~is_big & below_upper)
    packed = np.flatnonzero((parent < 0) & ~is_big)
    pack = (np.cumsum(size[packed]) - size[packed]) // least_tasks

    # A subgraph is named after its first root, then numbered by that root's place in the tree.
    name = np.full(graph.n_tasks, UPPER, np.int64)
    name[single] = np.flatnonzero(single)
    starts = np.flatnonzero(np.append(True, pack[1:] != pack[:-1])) if len(pack) else packed
    name[packed] = np.repeat(packed[starts], np.diff(np.append(starts, len(packed))))
    is_root = single.copy()
    is_root[packed] = True
    for tasks in levels(graph)[1:]:
        inherit = tasks[~is_root[tasks]]
        name[inherit] = name[parent[inherit]]
    roots = np.unique(name[name >= 0])
    number = np.full(graph.n_tasks + 1, UPPER, np.int32)  # the last entry serves the name UPPER
    number[roots[np.argsort(preorder(graph)[roots])]] = np.arange(len(roots))
    of_task = number[name]
    return Subgraphs(of_task, is_root, _separable(graph, of_task, is_root, len(roots)))


def _separable(graph: TaskGraph, of_task: Int32Array, is_root: BoolArray, n_subgraphs: int) -> bool:
    """Return whether each subgraph has one root and no inner task depends on another subgraph."""
    if int(is_root.sum()) != n_subgraphs:
        return False
    source = np.repeat(np.arange(graph.n_tasks), np.diff(graph.succ_ptr))
    inner = ~is_root[graph.succ] & (of_task[graph.succ] != UPPER)
    return not bool(np.any(inner & (of_task[source] != of_task[graph.succ])))
