"""Batches of tasks of which none starts before all have been created."""

from __future__ import annotations

import numpy as np

from simsched.workload.builder import Accesses, adjacency, build_graph
from simsched.workload.graph import TaskGraph

GATE = "release of the batch"  #: class of the task for which the others wait


def is_batch(graph: TaskGraph) -> bool:
    """Return whether one task spawns all others and these depend on nothing."""
    first = int(graph.parent.argmin()) if graph.n_tasks > 1 else 0
    others = np.arange(graph.n_tasks) != first
    return bool(graph.n_tasks > 1 and not len(graph.succ) and (graph.parent[others] == first).all())


def gated(graph: TaskGraph) -> TaskGraph:
    """Return a batch whose tasks wait for another one, the last child of the task that spawns all.

    The last task of the result is that child; it does nothing.
    """
    n = graph.n_tasks
    main = int(graph.parent.argmin())
    children = graph.child[graph.child_ptr[main] : graph.child_ptr[main + 1]]
    kinds = len(graph.kinds)
    nothing = np.zeros((kinds, 1))
    return build_graph(
        np.hstack((graph.ops, nothing)),
        join_ops=np.hstack((graph.join_ops, nothing)),
        kinds=graph.kinds,
        task_class=np.append(graph.task_class, len(graph.class_names)),
        class_names=(*graph.class_names, GATE),
        children=adjacency(np.full(n, main), np.append(children, n), n + 1),
        successors=adjacency(np.full(n - 1, n), children, n + 1),
        accessed=_accesses(graph),
        block_bytes=graph.block_bytes,
        alternate_block=graph.alternate_block,
        creation_ops=np.append(graph.creation_ops, 0.0),
        arrival_ps=np.append(graph.arrival_ps, 0),
        detached=None if graph.detached is None else np.append(graph.detached, False),
    )


def _accesses(graph: TaskGraph) -> Accesses:
    """Return the accesses of a graph with one more task."""
    end = graph.access_ptr[-1:]
    return Accesses(
        ptr=np.concatenate((graph.access_ptr, end)),
        join=np.concatenate((graph.join_access, end)),
        block=graph.access_block,
        read_bytes=graph.read_bytes,
        written_bytes=graph.written_bytes,
    )
