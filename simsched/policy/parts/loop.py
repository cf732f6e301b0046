"""Rewriting a spawn tree as a flat loop, and cutting loops into chunks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from simsched.policy.parts.subgraphs import depths, levels, preorder, subtree_sizes
from simsched.workload.builder import accesses, adjacency, build_graph, entries
from simsched.workload.graph import BoolArray, Int32Array, Int64Array, TaskGraph, Workload

ASSIGNMENTS = ("block", "cyclic")  #: of loop items to workers


@dataclass(frozen=True, eq=False)
class _Parts:
    """Tasks of the loop: the bodies and joins that are kept."""

    body: Int64Array  # shape (n_tasks,): loop index of each task's body and join; -1 when dropped
    join: Int64Array
    task: Int64Array  # shape (n_parts,): task that each part comes from
    is_join: BoolArray  # shape (n_parts,): whether a part is a join


def flatten(graph: TaskGraph) -> TaskGraph:
    """Return the work of a spawn tree as independent tasks in the order of the tree.

    Leaves are kept; bodies and joins of inner tasks only if they access data or, in a graph without
    any access, have operations. What is kept becomes a task without a parent; where the tree or the
    graph has ordered kept parts (a merge after the sorting of both halves), dataflow edges do.
    Parts are numbered in the order of a depth-first walk, joins after their subtrees.
    """
    if len(graph.child) == 0:
        return graph
    parts = _keep(graph)
    source, target = _edges(graph, parts)
    n_parts = len(parts.task)
    owner = np.repeat(np.arange(graph.n_tasks), np.diff(graph.access_ptr))
    in_join = np.arange(graph.n_accesses) >= graph.join_access[owner]
    accessed = accesses(
        np.where(in_join, parts.join[owner], parts.body[owner]),
        graph.access_block,
        graph.read_bytes,
        graph.written_bytes,
        n_parts,
    )
    is_body = ~parts.is_join
    return build_graph(
        np.where(is_body, graph.ops[:, parts.task], graph.join_ops[:, parts.task]),
        kinds=graph.kinds,
        task_class=graph.task_class[parts.task],
        class_names=graph.class_names,
        successors=adjacency(source, target, n_parts),
        accessed=accessed,
        block_bytes=graph.block_bytes,
        alternate_block=graph.alternate_block,
        arrival_ps=np.where(is_body, graph.arrival_ps[parts.task], 0),
        task_names=None if graph.task_names is None else [graph.task_names[i] for i in parts.task],
    )


def flattened(workload: Workload) -> Workload:
    """Return a program whose initialisation and iteration are loops."""
    init = None if workload.init is None else flatten(workload.init)
    return workload.changed(flatten, init=init)


def dependence_levels(graph: TaskGraph) -> Int64Array:
    """Return the tasks on the longest chain of dataflow edges that ends before each task."""
    level = np.zeros(graph.n_tasks, np.int64)
    waiting = graph.in_degree.astype(np.int64)
    ready = np.flatnonzero(waiting == 0)
    depth = 0
    while len(ready):
        level[ready] = depth
        depth += 1
        successors = graph.succ[entries(graph.succ_ptr, ready)]
        targets, released = np.unique(successors, return_counts=True)
        waiting[targets] -= released
        ready = targets[waiting[targets] == 0]
    return level


def kept(graph: TaskGraph) -> tuple[BoolArray, BoolArray]:
    """Return which bodies and joins :func:`flatten` keeps; shape (n_tasks,) each."""
    is_leaf = np.diff(graph.child_ptr) == 0
    body = is_leaf | (graph.join_access > graph.access_ptr[:-1]) | (graph.arrival_ps > 0)
    join = graph.access_ptr[1:] > graph.join_access
    if graph.n_accesses == 0:
        body |= (graph.ops > 0).any(axis=0)
        join |= (graph.join_ops > 0).any(axis=0)
    join &= ~is_leaf
    # Edges start at the end of a task and lead to its beginning, so both must exist.
    body |= graph.in_degree > 0
    join |= (np.diff(graph.succ_ptr) > 0) & ~is_leaf
    return body, join


def _keep(graph: TaskGraph) -> _Parts:
    """Return which bodies and joins become tasks of the loop, and in which order."""
    n = graph.n_tasks
    body, join = kept(graph)
    first = preorder(graph)
    last = first + subtree_sizes(graph) - 1
    depth = depths(graph)
    bodies, joins = np.flatnonzero(body), np.flatnonzero(join)
    task = np.concatenate([bodies, joins])
    is_join = np.arange(len(task)) >= len(bodies)
    place = np.where(is_join, last[task], first[task])
    # A join follows the bodies at its place, and the joins of its descendants.
    order = np.lexsort((-depth[task], is_join, place))
    index = np.full((2, n), -1, np.int64)
    index[is_join[order].astype(int), task[order]] = np.arange(len(task))
    return _Parts(index[0], index[1], task[order], is_join[order])


def _edges(graph: TaskGraph, parts: _Parts) -> tuple[Int64Array, Int64Array]:
    """Return the dataflow edges between parts: those of the tree and those of the graph."""
    # Nearest kept body and join of the proper ancestors.
    above_body, above_join = np.full((2, graph.n_tasks), -1, np.int64)
    for tasks in levels(graph)[1:]:
        parent = graph.parent[tasks]
        above_body[tasks] = np.where(
            parts.body[parent] >= 0, parts.body[parent], above_body[parent]
        )
        above_join[tasks] = np.where(
            parts.join[parent] >= 0, parts.join[parent], above_join[parent]
        )
        above_join[tasks[~graph.is_joined[tasks]]] = -1  # nobody waits for a detached child
    task, is_join = parts.task, parts.is_join
    every = np.arange(len(task))
    # A join comes after its own body, everything else after the nearest body above.
    before = np.where(is_join & (parts.body[task] >= 0), parts.body[task], above_body[task])
    own_join = ~is_join & (parts.join[task] >= 0)
    after = np.where(own_join, parts.join[task], above_join[task])
    from_task = np.repeat(np.arange(graph.n_tasks), np.diff(graph.succ_ptr))
    end = np.where(parts.join >= 0, parts.join, parts.body)
    pairs = np.concatenate(
        [
            np.column_stack([before, every]),
            np.column_stack([every, after]),
            np.column_stack([end[from_task], parts.body[graph.succ]]),
        ]
    )
    pairs = np.unique(pairs[(pairs >= 0).all(axis=1)], axis=0)
    return pairs[:, 0], pairs[:, 1]


def static_chunks(n_items: int, n_workers: int) -> Int32Array:
    """Return the worker of each loop item: contiguous parts, the first ones one item larger.

    >>> static_chunks(7, 3).tolist()
    [0, 0, 0, 1, 1, 2, 2]
    """
    share, larger = divmod(n_items, n_workers)
    sizes = np.full(n_workers, share)
    sizes[:larger] += 1
    return np.repeat(np.arange(n_workers, dtype=np.int32), sizes)


def assigned(n_items: int, n_workers: int, how: str) -> Int32Array:
    """Return the worker of each loop item: contiguous parts, or single items in turn.

    >>> assigned(5, 2, "block").tolist(), assigned(5, 2, "cyclic").tolist()
    ([0, 0, 0, 1, 1], [0, 1, 0, 1, 0])
    """
    if how == "block":
        return static_chunks(n_items, n_workers)
    return np.arange(n_items, dtype=np.int32) % np.int32(n_workers)


def least_of_loop(workload: Workload) -> Iterator[Workload]:
    """Yield a program as a loop executes it at the least, whatever loop that is.

    Leaves of a spawn tree stay, and of the rest what touches data.
    """
    init = workload.init and _least_graph(workload.init)
    yield replace(workload, graph=_least_graph(workload.graph), init=init)


def _least_graph(graph: TaskGraph) -> TaskGraph:
    """Return a graph without the operations that a loop over its leaves leaves out."""
    if len(graph.child) == 0:
        return graph
    body, join = kept(graph)
    return replace(
        graph,
        ops=np.where(body, graph.ops, 0.0),
        join_ops=np.where(join, graph.join_ops, 0.0),
        creation_ops=np.zeros(graph.n_tasks),
    )
