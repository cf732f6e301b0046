"""Where CAB cuts a full spawn tree in two tiers, and where a subtree was before."""

from __future__ import annotations

import numpy as np

from simsched.workload.graph import Int32Array, TaskGraph


def root_degree(graph: TaskGraph) -> int:
    """Return the children of the first task without a parent, at which the recursion begins."""
    root = int(np.flatnonzero(graph.parent < 0)[0])
    return int(graph.child_ptr[root + 1] - graph.child_ptr[root])


def boundary_level(degree: int, n_sockets: int, data_bytes: int, cache_bytes: int) -> int:
    """Return the level of a full tree at which its subtrees fit and are enough for all sockets.

    ``max(ceil(log_D M + 1), ceil(log_D(S_d / S_c) + 1))``, in integers: the lowest level L with
    ``D^(L - 1) >= M`` and ``S_d <= S_c D^(L - 1)``.

    References
    ----------
    Q. Chen, M. Guo, Springer 2017, Eq. 3.1-3.4.

    Heat on 3072 x 2048 doubles in two copies, 96 MB, on four sockets with 6 MB each:

    >>> boundary_level(2, 4, 96 * 2**20, 6 * 2**20)
    5
    """
    if n_sockets < 2 or degree < 2:
        return 0
    level, subtrees = 1, 1
    while subtrees < n_sockets or (cache_bytes > 0 and data_bytes > cache_bytes * subtrees):
        level, subtrees = level + 1, subtrees * degree
    return level


def same_places(
    graph: TaskGraph, roots: Int32Array, other: TaskGraph, socket: Int32Array
) -> Int32Array:
    """Return for each root the socket of the task with the same identifier in another graph.

    Child i of a task with the identifier S has the identifier S_i. Where the other tree ends
    earlier, the nearest ancestor counts.
    """
    tops, other_tops = (np.flatnonzero(tree.parent < 0).tolist() for tree in (graph, other))
    found = np.full(graph.n_tasks, -1, np.int32)
    for root in roots.tolist():
        path, task = [], root
        while (parent := int(graph.parent[task])) >= 0:
            siblings = graph.child[graph.child_ptr[parent] : graph.child_ptr[parent + 1]]
            path.append(int(np.flatnonzero(siblings == task)[0]))
            task = parent
        there = other_tops[min(tops.index(task), len(other_tops) - 1)]
        for number in reversed(path):
            first, end = other.child_ptr[there : there + 2].tolist()
            if first + number >= end:
                break
            there = int(other.child[first + number])
        found[root] = socket[there]
    return found
