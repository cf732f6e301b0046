"""Recordings to be exported: of simulated runs, from files, and whether they are sound."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simsched.files.errors import ConfigurationError
from simsched.files.limits import DOMAINS, TASKS, WORKERS
from simsched.trace.flows import copy_ends
from simsched.trace.parquet import read_events, read_metadata
from simsched.trace.recording import Recording, read_recording
from simsched.trace.schema import NONE, EventKind, Trace

_OF_TASKS = (
    EventKind.TASK_START,
    EventKind.TASK_RESUME,
    EventKind.TASK_SUSPEND,
    EventKind.TASK_END,
    EventKind.PREEMPT,
    EventKind.KILL,
    EventKind.SPAWN,
)
_OF_COPIES = (EventKind.MIGRATE_START, EventKind.MIGRATE_END)


def open_recording(path: Path) -> Recording:
    """Return the recording, or the bare events of a simulated run, in a Parquet file.

    Parameters
    ----------
    path : Path
        A recording, as ``simsched run --events`` keeps them too, or the events of a run alone.
        These know neither classes nor workers: all tasks are of class "task", workers are called
        "worker 0", ...

    Returns
    -------
    Recording
        Checked; times in picoseconds.

    Raises
    ------
    ConfigurationError
        The file cannot be read or contradicts itself.
    """
    recording = read_recording(path) if b"recording" in read_metadata(path) else _bare(path)
    check_recording(recording, str(path))
    return recording


def _bare(path: Path) -> Recording:
    """Return a recording that consists of events only."""
    trace = read_events(path)
    if not len(trace):
        raise ConfigurationError(f"{path}: found no events, accepted at least one")
    n_workers = max(0, int(trace.events["worker"].max()) + 1)
    n_tasks = max(0, int(trace.events["task"].max()) + 1)
    WORKERS.check(n_workers, path)
    TASKS.check(n_tasks, path)
    return Recording(
        path.stem,
        trace,
        np.zeros(n_tasks, np.int32),
        ("task",),
        tuple(f"worker {i}" for i in range(n_workers)),
        np.full(n_workers, NONE, np.int32),
    )


def check_recording(recording: Recording, where: str | None = None) -> None:
    """Check that the events of a recording are about its tasks and workers.

    There must be events, and no row with an unknown kind, a negative time, or a worker, task or
    memory node that is not there. Messages name the row, counted from 0, and `where`, or the
    recording.
    """
    where = f"recording {recording.name!r}" if where is None else where
    events = recording.trace.events
    if not len(recording.trace):
        raise ConfigurationError(f"{where}: found no events, accepted at least one")
    task = events["task"]
    limit = _task_limits(recording, events["iteration"])
    about_task = np.isin(events["kind"], _OF_TASKS)
    taker = np.where(events["kind"] == EventKind.PREEMPT, events["arg1"], NONE)
    copies = np.isin(events["kind"], _OF_COPIES)
    begins = events["kind"] == EventKind.MIGRATE_START
    source, target = copy_ends(recording.trace)
    last_node = _last_node(recording)
    last_worker = recording.n_workers - 1
    for column, values, bad, accepted in (
        ("time_ps", events["time_ps"], events["time_ps"] < 0, "0 or more"),
        (
            "kind",
            events["kind"],
            ~np.isin(events["kind"], list(EventKind)),
            f"0 to {max(EventKind)}",
        ),
        (
            "worker",
            events["worker"],
            _outside(events["worker"], last_worker),
            f"-1 to {last_worker}",
        ),
        ("arg1", taker, _outside(taker, last_worker), f"-1 to {last_worker} (the taker)"),
        (
            "arg1",
            target,
            copies & ((target < 0) | (target > last_node)),
            f"0 to {last_node} (a memory node)",
        ),
        (
            "arg1",
            source,
            begins & ((source < 0) | (source > last_node)),
            f"0 to {last_node} (a memory node)",
        ),
        ("worker", events["worker"], about_task & (events["worker"] < 0), "a worker"),
        ("task", task, (task < NONE) | (task >= limit), "a task of the recording"),
        ("task", task, about_task & (task < 0), "a task"),
    ):
        rows = np.flatnonzero(bad)
        if len(rows):
            row = int(rows[0])
            raise ConfigurationError(
                f"{where}: row {row}: {column}: found {int(values[row])}, accepted {accepted}"
            )


def detail(recording: Recording, key: str, kind: type) -> list[Any] | None:
    """Return a list of a kind among the details of a recording, None where it has none.

    Details may come from a file; something else there is an error.
    """
    found = recording.details.get(key)
    if found is None:
        return None
    if not isinstance(found, list) or any(type(value) is not kind for value in found):
        raise ConfigurationError(
            f"recording {recording.name!r}: details: {key}: accepted a list of {kind.__name__}"
        )
    if kind is int and any(abs(value) >= 2**31 for value in found):
        raise ConfigurationError(
            f"recording {recording.name!r}: details: {key}: accepted numbers below 2**31"
        )
    return found


def _last_node(recording: Recording) -> int:
    """Return the largest number that a memory node can have, named or not."""
    names = detail(recording, "memory_nodes", str)
    return (DOMAINS.value if names is None else len(names)) - 1


def _outside(values: NDArray[np.int64] | NDArray[np.int32], last: int) -> NDArray[np.bool_]:
    """Return where values are neither -1 nor an index up to the last one."""
    return (values < NONE) | (values > last)


def _task_limits(recording: Recording, iteration: NDArray[Any]) -> NDArray[np.int64]:
    """Return for each row how many tasks its iteration has."""
    init = recording.workload.init if recording.workload is not None else None
    if init is None:
        return np.full(len(iteration), recording.n_tasks, np.int64)
    return np.where(iteration == 0, init.n_tasks, recording.n_tasks)


def events_of(recording: Recording) -> Trace:
    """Return the trace of a recording in order of time."""
    time = recording.trace.events["time_ps"]
    if np.all(time[1:] >= time[:-1]):
        return recording.trace
    order = np.argsort(time, kind="stable")
    return Trace({name: column[order] for name, column in recording.trace.events.items()})
