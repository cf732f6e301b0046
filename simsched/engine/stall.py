"""The explanation of a run that cannot go on."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from simsched.workload.graph import TaskGraph

NOT_STARTED, STARTED, ENDED = 0, 1, 2
TOO_LONG = "the simulated time exceeds 2**62 ps (53 days)"
SHOWN = 5  #: waiting tasks that a message names


def explain_stall(
    graph: TaskGraph,
    pending: NDArray[np.int32],
    outstanding: NDArray[np.int32],
    started: NDArray[np.uint8],
    pool_group: NDArray[np.int32],
    pool_instance: NDArray[np.int32],
    now_ps: int,
) -> str:
    """Return a message that names waiting tasks and what each waits for.

    Parameters
    ----------
    graph : TaskGraph
        The graph of the iteration.
    pending : ndarray of int32, shape (n_tasks,)
        Unfinished predecessors, plus 1 for a task that is not created.
    outstanding : ndarray of int32, shape (n_tasks,)
        Joined children that have not ended.
    started : ndarray of uint8, shape (n_tasks,)
        NOT_STARTED, STARTED or ENDED.
    pool_group, pool_instance : ndarray of int32, shape (n_tasks,)
        The pool that holds the task; -1 when none does.
    now_ps : int
        Time of the stall.
    """
    waiting = np.flatnonzero(started != ENDED)
    # Tasks in pools explain most, then tasks that run into unfinished predecessors, then parents.
    order = np.lexsort((waiting, started[waiting] == STARTED, pool_group[waiting] < 0))
    unfinished = set(waiting.tolist())
    source_of = np.repeat(np.arange(graph.n_tasks), np.diff(graph.succ_ptr))
    lines = []
    for task in waiting[order][:SHOWN].tolist():
        parent = int(graph.parent[task])
        if pool_group[task] >= 0:
            lines.append(
                f"task {task} is in pool group {int(pool_group[task])} instance "
                f"{int(pool_instance[task])}, from which no worker may take"
            )
            continue
        awaited = _awaited_inside(graph, task, unfinished)
        if started[task] == STARTED and awaited is not None:
            lines.append(f"task {task} waits before an access for the end of task {awaited}")
            continue
        before = [int(u) for u in source_of[graph.succ == task] if int(u) in unfinished]
        if started[task] == STARTED and outstanding[task] > 0:
            children = graph.child[graph.child_ptr[task] : graph.child_ptr[task + 1]]
            awaited = children[graph.is_joined[children]].tolist()
            lines.append(
                f"task {task} waits for its child {next(c for c in awaited if c in unfinished)}"
            )
        elif before:
            lines.append(f"task {task} waits for predecessor {before[0]}")
        elif parent >= 0:
            lines.append(f"task {task} waits for its creation by task {parent}")
        else:
            lines.append(f"task {task} has {int(pending[task])} unmet conditions")
    more = f" (and {len(waiting) - SHOWN} more)" if len(waiting) > SHOWN else ""
    reasons = "; ".join(lines)
    return f"the run has stalled at {now_ps} ps with {len(waiting)} tasks left: {reasons}{more}"


def _awaited_inside(graph: TaskGraph, task: int, unfinished: set[int]) -> int | None:
    """Return the first unfinished task that an access of a task waits for."""
    if graph.access_after is None:
        return None
    after = graph.access_after[graph.access_ptr[task] : graph.access_ptr[task + 1]].tolist()
    return next((other for other in after if other in unfinished), None)
