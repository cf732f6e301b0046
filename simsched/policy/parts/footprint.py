"""How much data the subtrees of a spawn tree involve, and where that cuts the tree into tiers.

The *footprint* of a task is the size of the data involved by its subtree (SOID, or SOSC where it is
measured as what a shared cache has to hold). It is known exactly (:func:`exact_footprint`),
estimated while the program is compiled (:func:`estimated_footprint`), or summed up from what
hardware counters say about every task (:func:`~simsched.policy.parts.subgraphs.subtree_sums`).
Sections and equations are those of Q. Chen, M. Guo, Springer 2017.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simsched.machine.model import Machine
from simsched.policy.contract.base import Counters
from simsched.policy.parts.subgraphs import depths, levels
from simsched.workload.graph import BoolArray, FloatArray, Int32Array, Int64Array, TaskGraph

Int8Array = NDArray[np.int8]

UPPER, ROOT, INNER = 0, 1, 2  #: above the boundary, on it, below it


def task_bytes(graph: TaskGraph) -> Int64Array:
    """Return the bytes of data that each task touches itself, in its body or join.

    What a task moves of a block counts once, ``min(moved, size of the block)``: reading what is
    then written does not make data larger.
    """
    task, _, n_bytes = _touched(graph)
    return np.bincount(task, n_bytes, graph.n_tasks).astype(np.int64)


def exact_footprint(graph: TaskGraph) -> Int64Array:
    """Return the bytes of data of each subtree, shared data counted once (section 3.4.2).

    Tasks of a subtree that move parts of one block are taken to share none of it until the block is
    complete: ``min(sum of moved, size of the block)``. A leaf's halo rows thus count, those between
    two leaves of the subtree do not.
    """
    task, block, n_bytes = _touched(graph)
    found = np.zeros(graph.n_tasks, np.int64)
    depth = depths(graph)
    n_levels = int(depth.max(initial=0)) + 1
    carried = (task[:0], block[:0], n_bytes[:0])
    at_depth = np.argsort(depth[task], kind="stable")
    begins = np.searchsorted(depth[task][at_depth], np.arange(n_levels + 1))
    for level in reversed(range(n_levels)):
        own = at_depth[begins[level] : begins[level + 1]]
        here = _merged(
            np.concatenate([task[own], carried[0]]),
            np.concatenate([block[own], carried[1]]),
            np.concatenate([n_bytes[own], carried[2]]),
            graph.block_bytes,
        )
        np.add.at(found, here[0], here[2])
        carried = (graph.parent[here[0]].astype(np.int64), here[1], here[2])
    return found


def estimated_footprint(graph: TaskGraph, input_bytes: float) -> FloatArray:
    """Return the footprint that a compiler derives from the size of the input (Eq. 3.5).

    ``D(t) = input / product of the numbers of children of all ancestors of t``: every task divides
    its data evenly.
    """
    n_children = np.diff(graph.child_ptr)
    found = np.full(graph.n_tasks, float(input_bytes))
    for tasks in levels(graph)[1:]:
        parent = graph.parent[tasks]
        found[tasks] = found[parent] / n_children[parent]
    return found


def input_bytes(graph: TaskGraph) -> int:
    """Return the size in bytes of all blocks that a graph touches."""
    return int(graph.block_bytes[np.unique(graph.access_block)].sum())


def shared_cache_bytes(machine: Machine, domains: NDArray[np.integer]) -> int:
    """Return the least capacity in bytes of the outermost caches of a domain that has any."""
    if not machine.caches:
        return 0
    outermost = machine.caches[-1]
    of_domain = [
        sum(
            outermost.instance(number).capacity_bytes
            for number in np.unique(outermost.core_instance[machine.core_domain == domain]).tolist()
        )
        for domain in np.unique(domains).tolist()
    ]
    return min((n_bytes for n_bytes in of_domain if n_bytes > 0), default=0)


def private_level(machine: Machine) -> int | None:
    """Return the outermost level of caches whose instances serve one core each, if there is one."""
    private = [
        level
        for level, cache in enumerate(machine.caches)
        if np.bincount(cache.core_instance).max() == 1
    ]
    return private[-1] if private else None


def missing_bytes(counters: Counters, machine: Machine) -> Int64Array | None:
    """Return the bytes that missed these caches, per counter group."""
    level = private_level(machine)
    return None if level is None else counters.group_missing_bytes[:, level]


@dataclass(frozen=True, eq=False)
class Tiers:
    """A spawn tree cut in two: *upper* tasks, *roots* of subtrees, and what is *inner* to these."""

    of_task: Int8Array  # shape (n_tasks,): `UPPER`, `ROOT` or `INNER`
    #: shape (n_tasks,): root of the subtree that a task belongs to; -1 for upper tasks
    root_of: Int32Array
    #: whether no inner task depends on one outside its subtree, so that a subtree that has been
    #: started needs nothing else
    separable: bool

    @property
    def roots(self) -> Int32Array:
        """Roots of subtrees, ascending."""
        return np.flatnonzero(self.of_task == ROOT).astype(np.int32)


def cut_by_footprint(
    graph: TaskGraph, footprint: NDArray[np.generic], capacity_bytes: float
) -> Tiers:
    """Return the tiers whose subtrees are the largest ones that fit a cache (section 3.4.2.3).

    A task that does not fit, like its parent, is upper; one that fits while its parent does not is
    a root; the others are inner. Readings: docs/sources/cab.md.
    """
    return cut_at(graph, footprint.astype(np.float64) <= capacity_bytes)


def cut_by_level(graph: TaskGraph, level: int, *, root_level: int = 1) -> Tiers:
    """Return the tiers in which the subtrees begin at one level of the tree (section 3.4.1).

    A task above the level that spawns nothing is a root as well.
    """
    return cut_at(graph, depths(graph) + root_level >= level)


def cut_at(graph: TaskGraph, low: BoolArray) -> Tiers:
    """Return the tiers whose roots are the topmost of given tasks, and tasks that spawn nothing."""
    low = low | (np.diff(graph.child_ptr) == 0)
    of_task = np.full(graph.n_tasks, UPPER, np.int8)
    root_of = np.full(graph.n_tasks, -1, np.int32)
    for depth, tasks in enumerate(levels(graph)):
        above = root_of[graph.parent[tasks]] if depth else np.full(len(tasks), -1, np.int32)
        inner = above >= 0
        is_root = ~inner & low[tasks]
        of_task[tasks[inner]], of_task[tasks[is_root]] = INNER, ROOT
        root_of[tasks] = np.where(inner, above, np.where(is_root, tasks, -1))
    source = np.repeat(np.arange(graph.n_tasks), np.diff(graph.succ_ptr))
    foreign = root_of[source] != root_of[graph.succ]
    return Tiers(of_task, root_of, not bool(np.any(foreign & (of_task[graph.succ] == INNER))))


def _touched(graph: TaskGraph) -> tuple[Int64Array, Int64Array, Int64Array]:
    """Return every pair of task and block with the bytes of the block that the task touches."""
    task = np.repeat(np.arange(graph.n_tasks), np.diff(graph.access_ptr))
    moved = graph.read_bytes + graph.written_bytes
    return _merged(task, graph.access_block.astype(np.int64), moved, graph.block_bytes)


def _merged(
    task: Int64Array, block: Int64Array, n_bytes: Int64Array, block_bytes: Int64Array
) -> tuple[Int64Array, Int64Array, Int64Array]:
    """Return the pairs of task and block once each, with the sum of bytes, at most the block's."""
    pairs, place = np.unique(task * max(len(block_bytes), 1) + block, return_inverse=True)
    total = np.bincount(place, n_bytes, len(pairs)).astype(np.int64)
    owner, part = np.divmod(pairs, max(len(block_bytes), 1))
    return owner, part, np.minimum(total, block_bytes[part])
