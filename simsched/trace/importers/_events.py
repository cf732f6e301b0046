"""From tasks with a worker, a start and an end to the events of a trace."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from simsched.trace.schema import EVENT_COLUMNS, NONE, EventKind, Trace

Int64Array = NDArray[np.int64]
_END, _READY, _START = 0, 1, 2  # order of events of one instant; a task of no length is a start


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
) -> Trace:
    """Return the trace of one iteration in which tasks run without interruption.

    Arrays have shape (n_runs,); runs of one worker do not overlap. `ready_ps` is -1 where it is not
    known; `n_tasks` is `n_runs` by default. The run ends at `until_ps` if that is after all ends.
    Events of one instant are ordered: ends, then tasks that become ready, then starts by worker.
    """
    ready = np.full(len(task), NONE, dtype=np.int64) if ready_ps is None else ready_ps
    time, kind, workers, tasks = _in_order(task, worker, start_ps, end_ps, ready)
    zeros = np.zeros(len(time) + 2, dtype=np.int64)
    columns: dict[str, Int64Array] = {
        "time_ps": _framed(0, time, max(until_ps, int(end_ps.max()))),
        "kind": _framed(EventKind.ITERATION_START, kind, EventKind.ITERATION_END),
        "worker": _framed(NONE, workers, NONE),
        "task": _framed(NONE, tasks, NONE),
        "iteration": zeros,
        "arg0": zeros.copy(),
        "arg1": zeros.copy(),
    }
    columns["arg0"][0] = len(task) if n_tasks is None else n_tasks
    pool = columns["kind"] == EventKind.TASK_READY
    columns["arg0"][pool] = columns["arg1"][pool] = NONE  # no pool is known
    return Trace({name: columns[name].astype(dtype) for name, dtype in EVENT_COLUMNS.items()})


def _in_order(
    task: Int64Array,
    worker: Int64Array,
    start_ps: Int64Array,
    end_ps: Int64Array,
    ready_ps: Int64Array,
) -> tuple[Int64Array, Int64Array, Int64Array, Int64Array]:
    """Return time, kind, worker and task of all events in the order in which they happened."""
    n_runs, known = len(task), np.flatnonzero(ready_ps >= 0)
    instant = start_ps == end_ps
    nobody = np.full(len(known), NONE, dtype=np.int64)
    time = np.concatenate([start_ps, end_ps, ready_ps[known]])
    kind = np.repeat(
        [EventKind.TASK_START, EventKind.TASK_END, EventKind.TASK_READY],
        [n_runs, n_runs, len(known)],
    ).astype(np.int64)
    workers = np.concatenate([worker, worker, nobody])
    tasks = np.concatenate([task, task, task[known]])
    ends = np.where(instant, _START, _END)
    phase = np.concatenate([np.full(n_runs, _START), ends, np.full(len(known), _READY)])
    # A task of no length starts and ends before a longer one that starts at the same instant.
    lasting = np.concatenate([~instant, ~instant, np.zeros(len(known), dtype=bool)])
    order = np.lexsort((kind, tasks, lasting, workers, phase, time))
    return time[order], kind[order], workers[order], tasks[order]


def _framed(first: int, values: Int64Array, last: int) -> Int64Array:
    """Return values between those of the iteration's start and end."""
    return np.concatenate(([first], values, [last])).astype(np.int64)


def worker_busy_ps(trace: Trace, n_workers: int) -> Int64Array:
    """Return the time that each worker spent between starts and ends of tasks.

    Parameters
    ----------
    trace : Trace
        Every start has its end.
    n_workers : int
        Number of workers.

    Returns
    -------
    ndarray of int64, shape (n_workers,)
        Picoseconds.
    """
    kind, worker = trace.events["kind"], trace.events["worker"]
    result = np.zeros(n_workers, dtype=np.int64)
    for which, sign in ((EventKind.TASK_START, -1), (EventKind.TASK_END, 1)):
        rows = kind == which
        np.add.at(result, worker[rows], sign * trace.events["time_ps"][rows].astype(np.int64))
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
