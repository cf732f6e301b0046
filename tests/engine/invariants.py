"""What every event trace must satisfy, whatever the policy.

The checks read the trace and the program only, never an engine's inside, so that they can find
errors in both backends.
"""

from __future__ import annotations

from collections import Counter

import numpy as np

from simsched.trace.run import Run
from simsched.trace.schema import EventKind, Trace
from simsched.workload.graph import TaskGraph, Workload

Row = tuple[int, int, int, int, int, int, int]

#: Kinds that a worker records for the task it is in.
ACTING = (EventKind.ACCESS, EventKind.FLOW_END, EventKind.TASK_END, EventKind.SPAWN)

#: Kinds after which the worker is in no task.
LEAVING = (EventKind.TASK_END, EventKind.TASK_SUSPEND, EventKind.PREEMPT, EventKind.KILL)


def trace_violations(run: Run) -> list[str]:
    """Return a sentence for every broken rule; an empty list for a sound trace.

    Checked are: time never goes back; every task starts and ends once in every iteration, after its
    predecessors and its creation, and ends after its children; a worker is in one task at a time;
    all bytes that go to memory arrive; no memory node delivers more than its bandwidth allows.

    Parameters
    ----------
    run : Run
        A run with its event trace.
    """
    assert run.trace is not None
    return [
        *execution_violations(run.trace, run.workload),
        *_flow_violations(run, _rows(run.trace)),
    ]


def execution_violations(trace: Trace, workload: Workload) -> list[str]:
    """Return a sentence for every broken rule of order: what also holds for measured runs.

    Checked are: time never goes back; every task starts and ends once in every iteration, after its
    predecessors and its creation, and ends after its children; a worker is in one task at a time.

    Parameters
    ----------
    trace : Trace
        All events of a run.
    workload : Workload
        What was executed.
    """
    rows = _rows(trace)
    found = []
    if any(rows[i][0] > rows[i + 1][0] for i in range(len(rows) - 1)):
        found.append("time goes back")
    for number in sorted({row[4] for row in rows}):
        graph = workload.init if number == 0 else workload.graph
        assert graph is not None
        own = [row for row in rows if row[4] == number]
        found += [f"iteration {number}: {text}" for text in _order_violations(graph, own)]
    return found + _occupancy_violations(rows)


def _rows(trace: Trace) -> list[Row]:
    """Return the events as tuples."""
    events = trace.events
    return list(zip(*(events[name].tolist() for name in events), strict=True))


def _order_violations(graph: TaskGraph, rows: list[Row]) -> list[str]:
    """Return what is wrong with starts and ends of one iteration."""
    kinds = (EventKind.TASK_START, EventKind.TASK_END)
    positions: dict[int, dict[int, int]] = {kind: {} for kind in kinds}
    created: dict[int, int] = {}
    again: Counter[int] = Counter()  # how often each task may start once more
    for position, (_, kind, _, task, _, arg0, _) in enumerate(rows):
        if kind == EventKind.SPAWN:
            created[arg0] = position
        elif kind in (EventKind.DUPLICATE, EventKind.KILL):
            again[task] += 1
        elif kind == EventKind.TASK_START and again[task] > 0 and task in positions[kind]:
            again[task] -= 1
        elif kind in kinds:
            if task in positions[kind]:
                return [f"task {task} starts or ends twice"]
            positions[kind][task] = position
    start, end = (positions[kind] for kind in kinds)
    if len(start) != graph.n_tasks or len(end) != graph.n_tasks:
        return [f"{len(start)} starts and {len(end)} ends of {graph.n_tasks} tasks"]
    found = [f"task {t} ends before it starts" for t in start if start[t] > end[t]]
    for task, parent in enumerate(graph.parent.tolist()):
        if parent >= 0 and not start[parent] < created.get(task, -1) < start[task]:
            found.append(f"task {task} starts before its parent {parent} has created it")
        if graph.is_joined[task] and end[parent] < end[task]:
            found.append(f"task {parent} ends before its child {task}")
    sources = np.repeat(np.arange(graph.n_tasks), np.diff(graph.succ_ptr)).tolist()
    found += [
        f"task {v} starts before its predecessor {u} has ended"
        for u, v in zip(sources, graph.succ.tolist(), strict=True)
        if start[v] < end[u]
    ]
    return found


def _occupancy_violations(rows: list[Row]) -> list[str]:
    """Return where a worker is in two tasks, or a task on two workers."""
    on_worker: dict[int, int] = {}
    duplicated: set[tuple[int, int]] = set()  # (worker, task)
    found = []
    for time, kind, worker, task, *_ in rows:
        if kind in (EventKind.TASK_START, EventKind.TASK_RESUME):
            if worker in on_worker:
                found.append(
                    f"at {time} ps worker {worker} is in task {on_worker[worker]} and {task}"
                )
            if task in on_worker.values() and (worker, task) not in duplicated:
                found.append(f"at {time} ps task {task} is on two workers")
            on_worker[worker] = task
        elif kind in ACTING and on_worker.get(worker) != task:
            found.append(f"at {time} ps worker {worker} acts for task {task}, which it is not in")
        if kind == EventKind.DUPLICATE:
            duplicated.add((worker, task))
        if kind in LEAVING:
            on_worker.pop(worker, None)
        elif kind == EventKind.TASK_READY and on_worker.get(worker) == task:
            on_worker.pop(worker)  # its continuation has entered a pool
    return found


def _flow_violations(run: Run, rows: list[Row]) -> list[str]:
    """Return where bytes are lost or a node is faster than it can be."""
    wanted: Counter[int] = Counter()
    delivered: Counter[int] = Counter()
    preempted = Counter(
        task for _, kind, _, task, *_ in rows if kind in (EventKind.PREEMPT, EventKind.KILL)
    )
    for _, kind, _, task, _, _, arg1 in rows:
        if kind == EventKind.ACCESS:
            wanted[task] += arg1
        elif kind == EventKind.FLOW_END:
            delivered[task] += arg1
    # What a flow has moved before a preemption is not recorded; the rest is rounded up to a byte.
    found = [
        f"task {task} moved {delivered[task]} bytes of {n}"
        for task, n in wanted.items()
        if delivered[task] > n + preempted[task] or (delivered[task] < n and preempted[task] == 0)
    ]
    # Without a cache in front, its bandwidth limits what a node has delivered since the start.
    summary = run.summary
    for node, description in enumerate(run.machine.nodes):
        if description.memory_side_cache is not None:
            continue
        rate = max([description.bandwidth_bytes_per_s, *description.bandwidth_curve])
        rate = max(rate, description.ceiling_bytes_per_s or 0.0)
        moved = np.cumsum(summary.node_bytes[:, :, node].sum(axis=1))
        room = summary.iteration_end_ps * (rate * 1e-12) * (1 + 1e-9) + len(rows)
        if np.any(moved > room):
            found.append(f"node {description.name} delivers more than its bandwidth allows")
    return found
