"""From tasks with a worker, a start and an end to the events of a trace."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from simsched.trace.schema import EVENT_COLUMNS, NONE, EventKind, Trace

Int64Array = NDArray[np.int64]
#: order of events of one instant; a task of no length is a start
_END, _READY, _STEAL, _START = 0, 1, 2, 3


class Steals(NamedTuple):
    """Steals: when, by which worker, which task, from which worker; arrays of shape (n_steals,)."""

    time_ps: Int64Array
    thief: Int64Array
    task: Int64Array
    victim: Int64Array


NO_STEALS = Steals(*(np.zeros(0, np.int64) for _ in range(4)))


def overlapping(worker: Int64Array, start_ps: Int64Array, end_ps: Int64Array) -> NDArray[np.bool_]:
    """Say which tasks start before an earlier one on the same worker has ended.

    A task that is marked does not stand in the way of later ones. Of tasks that start together the
    shortest counts as the earliest, then the first in the arrays.
    """
    wrong = np.zeros(len(worker), dtype=bool)
    order = np.lexsort((end_ps, start_ps, worker))
    last_worker, free_ps = -1, 0
    rows = zip(
        order.tolist(),
        worker[order].tolist(),
        start_ps[order].tolist(),
        end_ps[order].tolist(),
        strict=True,
    )
    for task, who, start, end in rows:
        if who == last_worker and start < free_ps:
            wrong[task] = True
            continue
        last_worker, free_ps = who, end
    return wrong


def make_trace(
    task: Int64Array,
    worker: Int64Array,
    start_ps: Int64Array,
    end_ps: Int64Array,
    *,
    ready_ps: Int64Array | None = None,
    n_tasks: int | None = None,
    until_ps: int = 0,
    steals: Steals = NO_STEALS,
) -> Trace:
    """Return the trace of one iteration in which tasks run without interruption.

    Arrays have shape (n_runs,); runs of one worker do not overlap. `ready_ps` is -1 where it is not
    known; `n_tasks` is `n_runs` by default. The run ends at `until_ps` if that is after all ends.
    Events of one instant are ordered: ends, then tasks that become ready, steals, starts by worker.
    How far the victim of a steal is from the thief is not known.
    """
    ready = np.full(len(task), NONE, dtype=np.int64) if ready_ps is None else ready_ps
    time, kind, workers, tasks, victim = _in_order(task, worker, start_ps, end_ps, ready, steals)
    zeros = np.zeros(len(time) + 2, dtype=np.int64)
    columns: dict[str, Int64Array] = {
        "time_ps": _framed(0, time, max(until_ps, int(end_ps.max()))),
        "kind": _framed(EventKind.ITERATION_START, kind, EventKind.ITERATION_END),
        "worker": _framed(NONE, workers, NONE),
        "task": _framed(NONE, tasks, NONE),
        "iteration": zeros,
        "arg0": _framed(0, victim, 0),
        "arg1": zeros.copy(),
    }
    columns["arg0"][0] = len(task) if n_tasks is None else n_tasks
    pool = columns["kind"] == EventKind.TASK_READY
    columns["arg0"][pool] = columns["arg1"][pool] = NONE  # no pool is known
    columns["arg1"][columns["kind"] == EventKind.STEAL] = NONE
    return Trace({name: columns[name].astype(dtype) for name, dtype in EVENT_COLUMNS.items()})


def _in_order(
    task: Int64Array,
    worker: Int64Array,
    start_ps: Int64Array,
    end_ps: Int64Array,
    ready_ps: Int64Array,
    steals: Steals,
) -> tuple[Int64Array, ...]:
    """Return time, kind, worker, task and victim of all events in the order of their happening."""
    n_runs, known = len(task), np.flatnonzero(ready_ps >= 0)
    n_steals, n_others = len(steals.task), 2 * n_runs + len(known)
    instant = start_ps == end_ps
    nobody = np.full(len(known), NONE, dtype=np.int64)
    time = np.concatenate([start_ps, end_ps, ready_ps[known], steals.time_ps])
    kind = np.repeat(
        [EventKind.TASK_START, EventKind.TASK_END, EventKind.TASK_READY, EventKind.STEAL],
        [n_runs, n_runs, len(known), n_steals],
    ).astype(np.int64)
    workers = np.concatenate([worker, worker, nobody, steals.thief])
    tasks = np.concatenate([task, task, task[known], steals.task])
    victim = np.concatenate([np.zeros(n_others, np.int64), steals.victim])
    ends = np.where(instant, _START, _END)
    later = np.repeat([_READY, _STEAL], [len(known), n_steals])
    phase = np.concatenate([np.full(n_runs, _START), ends, later])
    # A task of no length starts and ends before a longer one that starts at the same instant.
    lasting = np.concatenate([~instant, ~instant, np.zeros(len(later), dtype=bool)])
    order = np.lexsort((kind, tasks, lasting, workers, phase, time))
    return tuple(column[order] for column in (time, kind, workers, tasks, victim))


def _framed(first: int, values: Int64Array, last: int) -> Int64Array:
    """Return values between those of the iteration's start and end."""
    return np.concatenate(([first], values, [last])).astype(np.int64)


def worker_busy_ps(trace: Trace, n_workers: int) -> Int64Array:
    """Return the time that each worker spent in tasks; while one is suspended, another may run.

    Parameters
    ----------
    trace : Trace
        Every start has its end, every suspension its resumption.
    n_workers : int
        Number of workers.

    Returns
    -------
    ndarray of int64, shape (n_workers,)
        Picoseconds.
    """
    return active_ps(trace, "worker", n_workers)


def active_ps(trace: Trace, column: str, size: int) -> Int64Array:
    """Return how long each task, or each worker in tasks, was active; suspended is not active."""
    kind, result = trace.events["kind"], np.zeros(size, np.int64)
    for sign, kinds in (
        (-1, (EventKind.TASK_START, EventKind.TASK_RESUME)),
        (1, (EventKind.TASK_END, EventKind.TASK_SUSPEND)),
    ):
        rows = np.isin(kind, kinds)
        np.add.at(result, trace.events[column][rows], sign * trace.events["time_ps"][rows])
    return result


def placed_tasks(trace: Trace) -> int:
    """Return how many tasks have a start.

    Parameters
    ----------
    trace : Trace
        Of a recording.

    Returns
    -------
    int
        Each task of each iteration counts once.
    """
    started = trace.events["kind"] == EventKind.TASK_START
    return len(np.unique(trace.events["task"][started]))
