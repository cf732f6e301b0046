"""Measured runs: a trace together with the tasks, workers and graph that it speaks of."""

from __future__ import annotations

import io
import json
import struct
import zipfile
import zlib
from collections.abc import Callable
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from simsched.files.bounded import parse_json
from simsched.files.errors import ConfigurationError, SimschedError
from simsched.files.limits import TABLE_BYTES, TASKS, WORKERS
from simsched.files.yaml_reader import Section, validate
from simsched.trace.schema import Trace
from simsched.workload.graph import TaskGraph, Workload

FORMAT = 1
GRAPH = "graph"  #: key of the graph among what a file of events holds beside them
_RECORDING, _GRAPH, _INIT = b"recording", GRAPH.encode(), b"init"
_TUPLES = ("kinds", "class_names", "codelets")
Int32 = Annotated[int, Field(ge=-(2**31), lt=2**31)]
#: What NumPy and zipfile raise for an archive that is damaged or of another kind.
_UNREADABLE = (
    *(KeyError, TypeError, ValueError, AttributeError, IndexError, OSError, EOFError, MemoryError),
    *(NotImplementedError, RuntimeError, zipfile.BadZipFile, zlib.error, struct.error),
)


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

    @property
    def warnings(self) -> tuple[str, ...]:
        """What its importer wants readers to know: the texts of ``details["warnings"]``."""
        found = self.details.get("warnings")
        return tuple(map(str, found)) if isinstance(found, list | tuple) else ()

    @property
    def inferred(self) -> bool:
        """Whether its importer has reckoned when tasks started, because the trace does not say."""
        return str(self.details.get("starts", "")).startswith("inferred")


def write_recording(path: Path, recording: Recording) -> None:
    """Write a recording as one Parquet file: events as rows, everything else as its metadata."""
    from simsched.trace.parquet import write_events  # most runs need no PyArrow

    write_events(path, recording.trace, recording_metadata(recording))


def recording_metadata(recording: Recording) -> dict[str, str | bytes]:
    """Return what a file of events holds beside them when it is a recording."""
    workload = recording.workload
    if workload is not None and workload.varying is not None:
        workload = None  # one graph does not say what all iterations execute
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
        metadata[GRAPH] = _packed(workload.graph)
        if workload.init is not None:
            metadata[_INIT.decode()] = _packed(workload.init)
    metadata[_RECORDING.decode()] = json.dumps(about, default=str)
    return metadata


def read_recording(path: Path) -> Recording:
    """Return a recording that :func:`write_recording` has written.

    Parameters
    ----------
    path : Path
        A Parquet file.

    Returns
    -------
    Recording
        With its graph, if it has one.

    Raises
    ------
    ConfigurationError
        The file cannot be read, or is no recording.
    """
    from simsched.trace.parquet import read_events, read_metadata

    return recording_from(path, read_metadata(path), lambda: read_events(path))


def recording_from(
    path: Path, metadata: dict[bytes, bytes], events: Callable[[], Trace]
) -> Recording:
    """Return the recording of what :func:`recording_metadata` has returned, and of events."""
    if _RECORDING not in metadata:
        raise ConfigurationError(f"{path}: not a recording: found no description of a run")
    where = f"{path}: recording"
    try:
        found = parse_json(metadata[_RECORDING])
    except (ValueError, RecursionError) as error:
        raise ConfigurationError(f"{where}: not JSON: {error}") from error
    about = validate(found, _About, where)
    WORKERS.check(len(about.worker_names), path)
    workload = None if about.workload is None else _workload(path, about.workload, metadata)
    classes = _checked_classes(where, about, workload)
    return Recording(
        about.name,
        events(),
        classes,
        tuple(about.class_names),
        tuple(about.worker_names),
        np.array(about.worker_core, np.int32),
        workload,
        about.details,
    )


class _AboutWorkload(Section):
    """What is stored of a workload beside its graphs."""

    name: str
    iterations: int
    parameters: dict[str, Any]


class _About(Section):
    """What is stored of a recording beside its events and graphs."""

    format: Literal[1]
    name: str
    task_class: list[Int32] | None
    class_names: list[str]
    worker_names: list[str]
    worker_core: list[Int32]
    details: dict[str, Any]
    workload: _AboutWorkload | None = None


def _checked_classes(where: str, about: _About, workload: Workload | None) -> NDArray[np.int32]:
    """Return the class of each task after comparing what belongs together."""
    if len(about.worker_core) != len(about.worker_names):
        raise ConfigurationError(
            f"{where}: worker_core: found {len(about.worker_core)} values, accepted one for each "
            f"of the {len(about.worker_names)} workers"
        )
    if workload is not None:
        classes = workload.graph.task_class
    elif about.task_class is None:
        raise ConfigurationError(f"{where}: task_class: found nothing, accepted a class per task")
    else:
        classes = np.array(about.task_class, np.int32)
    TASKS.check(len(classes), where)
    last = len(about.class_names) - 1
    if len(classes) and not 0 <= classes.min() <= classes.max() <= last:
        raise ConfigurationError(
            f"{where}: task_class: found {classes.min()} to {classes.max()}, accepted 0 to {last}"
        )
    return classes


def _workload(path: Path, about: _AboutWorkload, metadata: dict[bytes, bytes]) -> Workload:
    try:
        result = Workload(
            about.name,
            _unpacked(path, metadata[_GRAPH]),
            iterations=about.iterations,
            init=_unpacked(path, metadata[_INIT]) if _INIT in metadata else None,
            parameters=about.parameters,
        )
        result.validate()
    except SimschedError as error:
        raise ConfigurationError(f"{path}: {error}") from error
    except _UNREADABLE as error:
        raise ConfigurationError(f"{path}: graph of the recording: {error!r}") from error
    return result


def _packed(graph: TaskGraph) -> bytes:
    """Return a graph as the bytes of a compressed NumPy archive."""
    buffer = io.BytesIO()
    values = {f.name: getattr(graph, f.name) for f in fields(graph)}
    if graph.task_names is not None:  # as an array of text every name takes as much as the longest
        values["task_names"] = np.frombuffer(json.dumps(graph.task_names).encode(), np.uint8)
    arrays = {name: np.asarray(value) for name, value in values.items() if value is not None}
    np.savez_compressed(buffer, allow_pickle=False, **arrays)
    return buffer.getvalue()


def _unpacked(path: Path, data: bytes) -> TaskGraph:
    with zipfile.ZipFile(io.BytesIO(data)) as packed:
        TABLE_BYTES.check(sum(member.file_size for member in packed.infolist()), path)
    with np.load(io.BytesIO(data), allow_pickle=False) as archive:
        known = [f.name for f in fields(TaskGraph) if f.name in archive]
        arrays: dict[str, Any] = {name: archive[name] for name in known}
    for name in arrays.keys() & _TUPLES:
        arrays[name] = tuple(str(text) for text in arrays[name])
    if "task_names" in arrays:
        arrays["task_names"] = tuple(parse_json(arrays["task_names"].tobytes()))
    return TaskGraph(**arrays)
