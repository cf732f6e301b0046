"""When and where the tasks of a trace ran; one reading for measured and for simulated runs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simsched.files.errors import ConfigurationError
from simsched.policy.contract.base import CHILD_FIRST
from simsched.trace.schema import NONE, EventKind, Trace
from simsched.workload.graph import Int32Array, Int64Array, Workload

#: Events that begin a stretch inside a task, and those that end it on the same worker.
_BEGINS = (EventKind.TASK_START, EventKind.TASK_RESUME)
_STOPS = (EventKind.TASK_SUSPEND, EventKind.TASK_END, EventKind.PREEMPT, EventKind.PARK)


@dataclass(frozen=True, eq=False)
class Timeline:
    """What a trace says about each task and each worker.

    Tasks of several iterations count separately: task t of the i-th iteration is
    ``i * n_tasks + t``. The initialisation is left out.
    """

    #: First start and end of each task, -1 for none; shape (n_iterations * n_tasks,).
    start_ps: Int64Array
    end_ps: Int64Array
    #: Rows of the trace in which this stands, which order what happened in one instant.
    start_event: Int64Array
    end_event: Int64Array
    #: Time that each task ran itself, not suspended; 0 without a start.
    active_ps: Int64Array
    #: Worker on which each task started.
    worker: Int32Array
    #: Time that each worker was inside tasks, creation of their children included.
    busy_ps: Int64Array
    #: End of the last task, or of the run where the trace states a later one.
    finish_ps: int

    @property
    def placed(self) -> NDArray[np.bool_]:
        """Which tasks have a start and an end."""
        return self.start_event >= 0

    @property
    def took_ps(self) -> Int64Array:
        """Time from the start of each task to its end, less what its worker did in others."""
        result = self.end_ps - self.start_ps
        order = np.lexsort((self.start_event, self.worker))
        outer, inner = order[:-1], order[1:]
        inside = (self.worker[outer] == self.worker[inner]) & (
            self.start_event[inner] < self.end_event[outer]
        )
        result[outer[inside]] = self.active_ps[outer[inside]]
        return result


def read_timeline(trace: Trace, workload: Workload, n_workers: int, name: str) -> Timeline:
    """Return when and where the tasks of a trace ran.

    Refused are tasks that start but do not end, twice, or while their worker is inside another one
    that they are no child of.

    A worker is inside a task from a start or resumption to its next event of that kind, or to the
    task's suspension, preemption or end, or until it parks. A worker that starts a child of the
    task that it is in has left that one for others to go on with (child-first spawning); it pays
    for the creation of the child in between, also of the last one, after which the task is
    suspended.
    """
    kinds = [*_BEGINS, *_STOPS, EventKind.SPAWN, EventKind.ITERATION_END]
    kept = np.isin(trace.events["kind"], kinds)
    if workload.init is not None:
        kept &= trace.events["iteration"] > 0
    rows = np.flatnonzero(kept)
    events = {column: values[rows] for column, values in trace.events.items()}
    parent = workload.graph.parent
    # Imported traces call their only iteration 0, runs call their first one 1.
    of_task = np.isin(events["kind"], _BEGINS)
    if not of_task.any():
        raise ConfigurationError(f"{name}: found no task with a start and an end")
    first = int(events["iteration"][of_task].min())
    _check_range(events, workload, n_workers, first, name)
    index = (events["iteration"] - first).astype(np.int64) * len(parent) + events["task"]
    n_runs = workload.iterations * len(parent)
    starts = events["kind"] == EventKind.TASK_START
    ends = events["kind"] == EventKind.TASK_END
    begun, ended = (np.bincount(index[which], minlength=n_runs) for which in (starts, ends))
    wrong = np.flatnonzero((begun > 1) | (begun != ended))
    if len(wrong):
        task = int(wrong[0])
        raise ConfigurationError(
            f"{name}: task {task % len(parent)} has {int(begun[task])} TASK_START and "
            f"{int(ended[task])} TASK_END events ({len(wrong)} tasks are like it); "
            "accepted one of each, or none of both"
        )
    columns = {}
    for which, column in ((starts, "start"), (ends, "end")):
        columns[f"{column}_ps"] = _scattered(n_runs, index[which], events["time_ps"][which])
        columns[f"{column}_event"] = _scattered(n_runs, index[which], rows[which])
    worker = _scattered(n_runs, index[starts], events["worker"][starts])
    busy, active = np.zeros(n_workers, np.int64), np.zeros(n_runs, np.int64)
    stays, stay_ps = _stays(events, parent, name)
    np.add.at(busy, events["worker"][stays], stay_ps)
    np.add.at(active, index[stays], stay_ps)
    return Timeline(
        **columns,
        active_ps=active,
        worker=worker.astype(np.int32),
        busy_ps=busy,
        finish_ps=int(events["time_ps"].max()),
    )


def _check_range(
    events: dict[str, NDArray[np.int64] | NDArray[np.int32]],
    workload: Workload,
    n_workers: int,
    first: int,
    name: str,
) -> None:
    """Raise an error for events of tasks, workers or iterations that do not exist."""
    of_task = np.isin(events["kind"], [*_BEGINS, EventKind.TASK_END])
    for what, column, lowest, count in (
        ("task", "task", 0, workload.graph.n_tasks),
        ("worker", "worker", 0, n_workers),
        ("iteration", "iteration", first, workload.iterations),
    ):
        values = events[column][of_task]
        wrong = values[(values < lowest) | (values >= lowest + count)]
        if len(wrong):
            raise ConfigurationError(
                f"{name}: found {what} {int(wrong[0])}, accepted {lowest} to {lowest + count - 1}"
            )


def _scattered(n: int, index: Int64Array, values: NDArray[np.integer]) -> Int64Array:
    """Return values at their indices, -1 elsewhere."""
    result = np.full(n, NONE, dtype=np.int64)
    result[index] = values
    return result


def _stays(
    events: dict[str, NDArray[np.int64] | NDArray[np.int32]],
    parent: Int32Array,
    name: str,
) -> tuple[Int64Array, Int64Array]:
    """Return the rows in which workers get into tasks, and for how long they stay."""
    own = np.flatnonzero(events["worker"] >= 0)
    order = own[np.argsort(events["worker"][own], kind="stable")]
    kind, before = events["kind"][order], np.roll(order, 1)
    dives = (events["kind"][before] == EventKind.SPAWN) & (events["arg1"][before] == CHILD_FIRST)
    creating = (kind == EventKind.TASK_SUSPEND) & dives
    order = order[(kind != EventKind.SPAWN) & ~creating]
    time, worker, task = (events[column][order] for column in ("time_ps", "worker", "task"))
    begins = np.isin(events["kind"][order], _BEGINS)
    here = np.flatnonzero(begins)
    following = np.minimum(here + 1, len(order) - 1)
    last = (here + 1 >= len(order)) | (worker[following] != worker[here])
    # A worker may leave a task only by an event of its own or for one of its children.
    left = begins[following] & (parent[task[following]] != task[here])
    if (last | left).any():
        row = int(np.flatnonzero(last | left)[0])
        inside, other = int(task[here[row]]), int(task[following[row]])
        where = f"{name}: worker {int(worker[here[row]])}: "
        if last[row]:
            raise ConfigurationError(f"{where}nothing ends its stay in task {inside}")
        raise ConfigurationError(
            f"{where}task {other} starts while task {inside} is running; "
            "accepted tasks that do not overlap"
        )
    return order[here], time[following] - time[here]
