"""From the runtime's records to the events of the trace schema."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from simsched.hardware.outcome import Outcome
from simsched.trace.schema import EVENT_COLUMNS, NONE, EventKind, Trace
from simsched.workload.builder import ranks
from simsched.workload.graph import Int32Array, TaskGraph, Workload

Column = NDArray[np.int64] | NDArray[np.int32]


#: Events in the order of the kinds of records in native/records.h. An acquisition may stand for
#: several, the begin of an iteration for none.
_EVENT_OF = np.array(
    [
        EventKind.TASK_READY,
        EventKind.ACQUIRE,
        EventKind.WAKE,
        EventKind.TASK_START,
        EventKind.TASK_END,
        EventKind.SPAWN,
        EventKind.TASK_SUSPEND,
        EventKind.TASK_RESUME,
        EventKind.PARK,
        EventKind.ITERATION_START,
    ],
    np.int32,
)
_ACQUISITION = np.array([EventKind.WAKE, EventKind.ACQUIRE, EventKind.STEAL], np.int32)


def to_trace(
    outcome: Outcome, workload: Workload, *, central: bool, distance: NDArray[np.int32]
) -> Trace:
    """Return what happened as events, ordered by time.

    `central` says whether the pool was one queue, `distance` the class of thief and victim.

    Tasks that are ready at the start of an iteration become so at that moment. An iteration ends
    with its last task. Times of equal stamps keep the order in which their worker recorded them.
    """
    number = np.arange(len(outcome.iteration_ticks), dtype=np.int32) + (workload.init is None)
    parts = []
    for begin, iteration in zip(outcome.iteration_ticks[:, 0], number, strict=True):
        graph = workload.init if iteration == 0 and workload.init is not None else workload.graph
        parts.append(_beginning(int(begin), int(iteration), graph, len(outcome.workers), central))
    for worker, each in enumerate(outcome.workers):
        parts.append(_own_events(each.records, worker, number, workload, central, distance[worker]))
    parts.append(_endings(outcome, number, parts))
    ticks = np.concatenate([part["time_ps"] for part in parts])
    order = np.argsort(ticks, kind="stable")
    origin = int(outcome.iteration_ticks[0, 0]) if len(outcome.iteration_ticks) else 0
    time_ps = np.rint((ticks[order] - origin) * outcome.ps_per_tick).astype(np.int64)
    events: dict[str, Column] = {"time_ps": time_ps}
    for name in [name for name in EVENT_COLUMNS if name != "time_ps"]:
        events[name] = np.concatenate([part.pop(name) for part in parts])[order]
    return Trace(events)


def ready_roots(graph: TaskGraph) -> NDArray[np.int32]:
    """Return the tasks that are ready at the start of an iteration, ascending."""
    return np.flatnonzero((graph.parent == NONE) & (graph.in_degree == 0)).astype(np.int32)


def _columns(n: int, **given: object) -> dict[str, Column]:
    """Return columns of n events; what is not given is 0, workers and tasks are nobody."""
    absent = {"worker": NONE, "task": NONE}
    return {
        name: np.broadcast_to(np.asarray(given.get(name, absent.get(name, 0)), dtype), (n,))
        for name, dtype in EVENT_COLUMNS.items()
    }


def _beginning(
    ticks: int, iteration: int, graph: TaskGraph, n_workers: int, central: bool
) -> dict[str, Column]:
    """Return the start of an iteration and of its tasks; `time_ps` holds ticks."""
    roots = ready_roots(graph)
    kind = np.full(len(roots) + 1, EventKind.TASK_READY)
    kind[0] = EventKind.ITERATION_START
    arg0, arg1 = np.zeros(len(kind), np.int64), np.zeros(len(kind), np.int64)
    arg0[0] = graph.n_tasks
    if not central:
        arg1[1:] = np.arange(len(roots)) % n_workers
    return _columns(
        len(kind),
        time_ps=ticks,
        kind=kind,
        task=np.concatenate(([NONE], roots)),
        iteration=iteration,
        arg0=arg0,
        arg1=arg1,
    )


def _own_events(
    records: NDArray[np.void],
    worker: int,
    number: Int32Array,
    workload: Workload,
    central: bool,
    distance: NDArray[np.int32],
) -> dict[str, Column]:
    """Return the events of one worker; `time_ps` holds ticks."""
    ticks, task = np.ascontiguousarray(records["ticks"]), np.ascontiguousarray(records["task"])
    kind, argument = _EVENT_OF[records["what"] & 15], (records["what"] >> 4).astype(np.int32)
    begins = kind == EventKind.ITERATION_START
    iteration = number[task[begins]][np.cumsum(begins) - 1] if len(records) else task
    is_wake = kind == EventKind.WAKE
    acquires = (kind == EventKind.ACQUIRE) | is_wake
    is_stolen = acquires & (argument != worker) & (not central)
    # A record stands for no event, one, or several: WAKE, ACQUIRE, STEAL.
    n = np.where(begins, 0, 1 + is_wake + is_stolen)
    source = np.repeat(np.arange(len(records)), n)
    place = ranks(n) + ~is_wake[source]
    acquires = acquires[source]
    event = np.where(acquires, _ACQUISITION[np.where(acquires, place, 1)], kind[source])
    arg0, arg1 = np.zeros(len(source), np.int64), np.zeros(len(source), np.int64)
    own_task, argument = task[source], argument[source]
    since = np.diff(ticks, prepend=ticks[:1])[source]

    spawns = event == EventKind.SPAWN
    arg0[spawns], arg1[spawns] = own_task[spawns], 1 - argument[spawns]
    own_task[spawns] = _parents(workload, iteration[source][spawns], own_task[spawns])
    arg1[event == EventKind.TASK_READY] = 0 if central else worker
    taken = event == EventKind.ACQUIRE
    arg0[taken] = 0 if central else argument[taken]
    arg1[taken] = np.where(is_wake[source], 0, since)[taken]
    stolen = event == EventKind.STEAL
    arg0[stolen], arg1[stolen] = argument[stolen], distance[argument[stolen]]
    suspends = event == EventKind.TASK_SUSPEND
    arg0[suspends] = argument[suspends]
    arg0[event == EventKind.WAKE] = NONE
    own_task[(event == EventKind.WAKE) | (event == EventKind.PARK)] = NONE
    return _columns(
        len(source),
        time_ps=ticks[source],
        kind=event,
        worker=worker,
        task=own_task,
        iteration=iteration[source],
        arg0=arg0,
        arg1=arg1,
    )


def _parents(workload: Workload, iteration: Int32Array, child: Int32Array) -> Int32Array:
    """Return the parents of children in given iterations."""
    if workload.init is None:
        return workload.graph.parent[child]
    later = iteration > 0
    parent = workload.graph.parent[np.where(later, child, 0)]
    return np.where(later, parent, workload.init.parent[np.where(later, 0, child)])


def _endings(
    outcome: Outcome, number: Int32Array, parts: list[dict[str, Column]]
) -> dict[str, Column]:
    """Return the ends of iterations: those of their last tasks, or when workers noticed them."""
    ticks = np.zeros(len(number), np.int64)
    for part in parts:
        ends = part["kind"] == EventKind.TASK_END
        np.maximum.at(ticks, part["iteration"][ends] - number[:1], part["time_ps"][ends])
    ticks = np.where(ticks > 0, ticks, outcome.iteration_ticks[:, 1])
    return _columns(len(number), time_ps=ticks, kind=EventKind.ITERATION_END, iteration=number)
