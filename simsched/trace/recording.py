"""Measured runs: a trace together with the tasks, workers and graph that it speaks of."""

from __future__ import annotations

import io
import json
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simsched.errors import ConfigurationError
from simsched.trace.parquet import read_events, read_table, write_events
from simsched.trace.schema import Trace
from simsched.workload.graph import TaskGraph, Workload

FORMAT = 1
_RECORDING, _GRAPH, _INIT = b"recording", b"graph", b"init"
_TUPLES = ("kinds", "class_names", "codelets")


@dataclass(frozen=True, eq=False)
class Recording:
    """A run that was measured, here or elsewhere, in the terms of the simulator.

    Parameters
    ----------
    name : str
        For tables and files.
    trace : Trace
        What happened; see :mod:`simsched.trace.schema`. A measured run has at least TASK_START and
        TASK_END of every task.
    task_class : ndarray of int32, shape (n_tasks,)
        Class of each task, an index into `class_names`.
    class_names : tuple of str
        Names of the task classes.
    worker_names : tuple of str
        Workers, in the order in which the trace numbers them.
    worker_core : ndarray of int32, shape (n_workers,)
        Core of each worker as the operating system numbers it, -1 where that is not known.
    workload : Workload or None
        The graph that was executed, where it is known.
    details : dict
        Where the run comes from and what was set aside: plain data (host, policy, seed, counters).
    """

    name: str
    trace: Trace
    task_class: NDArray[np.int32]
    class_names: tuple[str, ...]
    worker_names: tuple[str, ...]
    worker_core: NDArray[np.int32]
    workload: Workload | None = None
    details: dict[str, Any] = field(default_factory=dict)

    @property
    def n_tasks(self) -> int:
        """Number of tasks."""
        return len(self.task_class)

    @property
    def n_workers(self) -> int:
        """Number of workers."""
        return len(self.worker_names)


def write_recording(path: Path, recording: Recording) -> None:
    """Write a recording as one Parquet file: events as rows, everything else as its metadata.

    Raises
    ------
    ConfigurationError
        The file cannot be written.
    """
    write_events(path, recording.trace, recording_metadata(recording))


def recording_metadata(recording: Recording) -> dict[str, str | bytes]:
    """Return what a file of events holds beside them when it is a recording."""
    workload = recording.workload
    about: dict[str, Any] = {
        "format": FORMAT,
        "name": recording.name,
        "task_class": recording.task_class.tolist() if workload is None else None,
        "class_names": list(recording.class_names),
        "worker_names": list(recording.worker_names),
        "worker_core": recording.worker_core.tolist(),
        "details": recording.details,
    }
    metadata: dict[str, str | bytes] = {}
    if workload is not None:
        about["workload"] = {
            "name": workload.name,
            "iterations": workload.iterations,
            "parameters": workload.parameters,
        }
        metadata[_GRAPH.decode()] = _packed(workload.graph)
        if workload.init is not None:
            metadata[_INIT.decode()] = _packed(workload.init)
    metadata[_RECORDING.decode()] = json.dumps(about, default=str)
    return metadata


def read_recording(path: Path) -> Recording:
    """Return a recording that :func:`write_recording` has written.

    Raises
    ------
    ConfigurationError
        The file cannot be read, or is no recording.
    """
    metadata = read_table(path).schema.metadata or {}
    try:
        about = json.loads(metadata[_RECORDING])
        if about["format"] != FORMAT:
            raise ConfigurationError(f"{path}: found format {about['format']}, accepted {FORMAT}")
        workload = None
        if "workload" in about:
            workload = Workload(
                about["workload"]["name"],
                _unpacked(metadata[_GRAPH]),
                iterations=about["workload"]["iterations"],
                init=_unpacked(metadata[_INIT]) if _INIT in metadata else None,
                parameters=about["workload"]["parameters"],
            )
            workload.validate()
        classes = about["task_class"] if workload is None else workload.graph.task_class
        return Recording(
            about["name"],
            read_events(path),
            np.asarray(classes, np.int32),
            tuple(about["class_names"]),
            tuple(about["worker_names"]),
            np.asarray(about["worker_core"], np.int32),
            workload,
            about["details"],
        )
    except (KeyError, TypeError, ValueError) as error:
        raise ConfigurationError(f"{path}: not a recording: {error!r}") from error


def _packed(graph: TaskGraph) -> bytes:
    """Return a graph as the bytes of a compressed NumPy archive."""
    buffer = io.BytesIO()
    values = {f.name: getattr(graph, f.name) for f in fields(graph)}
    arrays = {name: np.asarray(value) for name, value in values.items() if value is not None}
    np.savez_compressed(buffer, allow_pickle=False, **arrays)
    return buffer.getvalue()


def _unpacked(data: bytes) -> TaskGraph:
    """Return the graph in such an archive."""
    with np.load(io.BytesIO(data), allow_pickle=False) as archive:
        known = [f.name for f in fields(TaskGraph) if f.name in archive]
        arrays: dict[str, Any] = {name: archive[name] for name in known}
    for name in arrays.keys() & _TUPLES:
        arrays[name] = tuple(str(text) for text in arrays[name])
    return TaskGraph(**arrays)
