"""Recordings to be exported: of simulated runs, from files, and whether they are sound."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simsched.files.errors import ConfigurationError
from simsched.files.limits import DOMAINS, TASKS, WORKERS
from simsched.machine.model import Machine
from simsched.machine.paths import path_nodes
from simsched.trace.parquet import read_events, read_metadata
from simsched.trace.recording import Recording, read_recording
from simsched.trace.run import Run
from simsched.trace.schema import NONE, EventKind, Trace
from simsched.workload.graph import Workload

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


def recording_of(run: Run, name: str | None = None) -> Recording:
    """Return a simulated run as a recording.

    Parameters
    ----------
    run : Run
        A run with its events.
    name : str, optional
        Name of the recording; by default workload, policy and seed.

    Returns
    -------
    Recording
        Its details hold machine, policy, backend and seed, the domain of each worker, the names of
        the memory nodes, and the node that each path leads to (-1 for copies between nodes).

    Raises
    ------
    ConfigurationError
        The run was simulated without events.
    """
    if run.trace is None:
        raise ConfigurationError("run: found no event trace, accepted a run with events=True")
    policy = run.policy.name or type(run.policy).__name__
    return simulated_recording(
        name or f"{run.workload.name} {policy} seed {run.seed}",
        run.trace,
        run.machine,
        run.workload,
        run.worker_thread,
        {"policy": policy, "backend": run.backend, "seed": run.seed},
    )


def simulated_recording(
    name: str,
    trace: Trace,
    machine: Machine,
    workload: Workload,
    worker_thread: NDArray[np.int32],
    details: Mapping[str, Any],
) -> Recording:
    """Return events of a simulated run as a recording.

    Parameters
    ----------
    name : str
        Name of the recording.
    trace : Trace
        The events, or none if they are kept elsewhere.
    machine, workload : Machine, Workload
        What was simulated, the program as the policy's runtime ran it.
    worker_thread : ndarray of int32, shape (n_workers,)
        Hardware thread of each worker.
    details : mapping
        What else is to be known; see :func:`recording_of` for what is added.

    Returns
    -------
    Recording
        With the graph of the program.
    """
    core = machine.thread_core[worker_thread]
    return Recording(
        name,
        trace,
        workload.graph.task_class,
        workload.graph.class_names,
        tuple(_thread_names(machine.thread_core, worker_thread)),
        core.astype(np.int32),
        workload,
        {
            "machine": machine.name,
            **details,
            "worker_domain": machine.core_domain[core].tolist(),
            "memory_nodes": [node.name for node in machine.nodes],
            "path_node": path_nodes(machine, worker_thread).tolist(),
        },
    )


def _thread_names(thread_core: NDArray[np.int32], threads: NDArray[np.int32]) -> list[str]:
    """Return a name for each hardware thread: its core and its rank there."""
    rank: dict[int, int] = {}
    names = []
    for core in thread_core.tolist():
        rank[core] = rank.get(core, -1) + 1
        names.append(f"core {core}, thread {rank[core]}")
    return [names[thread] for thread in threads.tolist()]


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

    Parameters
    ----------
    recording : Recording
        What is checked.
    where : str, optional
        What messages call it; by default its name.

    Raises
    ------
    ConfigurationError
        No events, or a row with an unknown kind, a negative time, or a worker, task or memory node
        that is not there. The message names the row, counted from 0.
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
            events["arg1"],
            copies & ((events["arg1"] < 0) | (events["arg1"] > last_node)),
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
    """Return a list among the details of a recording, None where it has none.

    Parameters
    ----------
    recording : Recording
        Its details may come from a file.
    key : str
        Name of the entry.
    kind : type
        What the list holds.

    Raises
    ------
    ConfigurationError
        Something else stands there.
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
