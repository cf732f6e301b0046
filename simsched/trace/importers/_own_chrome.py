"""Recordings from Chrome trace files that simsched has written."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal
from itertools import groupby
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from simsched.files.errors import ConfigurationError, SimschedError, TraceError, shown
from simsched.files.limits import TASKS, WORKERS
from simsched.files.yaml_reader import Section, validate
from simsched.trace.embedding import bytes_of
from simsched.trace.importers._slices import Found, Row, Slice, rows_of, trace_of
from simsched.trace.recording import Recording, recording_from
from simsched.trace.schema import NONE, EventKind, Trace

LOST = "execution of a task that was lost"
INCOMPLETE = "slice of a task whose beginning or end is not in the file"
ABOUT = "otherData: simsched"


class _About(Section):
    """What our exporter writes about a recording."""

    format: Literal[1]
    name: str
    worker_names: list[str]
    worker_core: list[Annotated[int, Field(ge=NONE, lt=2**31)]]
    class_names: list[str]
    tasks: Annotated[int, Field(ge=0)]
    initialisation_tasks: Annotated[int, Field(ge=0)]
    end_ps: int
    remarks: list[str]
    details: dict[str, Any]
    #: The recording without its events, empty where it has no graph.
    embedded: dict[str, str] = Field(default_factory=dict)


def own_recording(found: Found, about: dict[str, Any]) -> Recording:
    """Return the recording of a file that our exporter has written.

    Without a graph there is one table of classes, and tasks of an initialisation are numbered
    behind the others.
    """
    try:
        told = validate(about, _About, f"{found.path}: {ABOUT}")
    except ConfigurationError as error:
        raise TraceError(str(error)) from error
    TASKS.check(told.tasks + told.initialisation_tasks, found.path, TraceError)
    WORKERS.check(len(told.worker_names), found.path, TraceError)
    if len(told.worker_core) != len(told.worker_names):
        raise TraceError(
            f"{found.path}: {ABOUT}: worker_core: found {len(told.worker_core)} values, accepted "
            f"one for each of the {len(told.worker_names)} workers"
        )
    task_class = np.full(told.tasks + told.initialisation_tasks, NONE, np.int32)
    trace = trace_of(_rows(found, told, task_class), found.path)
    if told.embedded:
        recording = _complete(found.path, told, trace)
    else:
        recording = _bare(found, told, trace, task_class)
    return replace(recording, details={**recording.details, **found.details()})


def _complete(path: Path, told: _About, trace: Trace) -> Recording:
    """Return a recording with its graph."""
    where = f"{path}: {ABOUT}: embedded"
    try:
        recording = recording_from(path, bytes_of(told.embedded, where), lambda: trace)
    except SimschedError as error:
        raise TraceError(str(error)) from error
    workload, workers = recording.workload, tuple(told.worker_names)
    init = None if workload is None else workload.init
    sizes = recording.n_tasks, 0 if init is None else init.n_tasks
    if sizes != (told.tasks, told.initialisation_tasks) or recording.worker_names != workers:
        raise TraceError(f"{where}: found another recording than the one that is described")
    return recording


def _bare(found: Found, told: _About, trace: Trace, task_class: NDArray[np.int32]) -> Recording:
    """Return a recording without a graph."""
    unknown = int(np.count_nonzero(task_class < 0))
    if unknown:
        found.aside.note(f"{found.path}: {unknown} tasks are not in the file; given class 0")
    return Recording(
        told.name,
        trace,
        np.maximum(task_class, 0),
        tuple(told.class_names),
        tuple(told.worker_names),
        np.array(told.worker_core, np.int32),
        details=_plain(told.details),
    )


def _plain(data: Any) -> Any:
    """Return plain data with numbers as JSON has them instead of the exact ones of times."""
    if isinstance(data, dict):
        return {key: _plain(value) for key, value in data.items()}
    if isinstance(data, list):
        return [_plain(value) for value in data]
    return float(data) if isinstance(data, Decimal) else data


def _rows(found: Found, told: _About, task_class: NDArray[np.int32]) -> list[Row]:
    """Return the events of workers and iterations; note the classes of tasks."""
    classes = {label: i for i, label in enumerate(told.class_names)}
    parts: dict[tuple[int, int], list[Slice]] = {}
    for piece in found.slices:
        _read(found, piece, told, classes)
        place = piece.task + told.tasks * _is_early(piece.iteration, told)
        task_class[place] = classes[piece.name]
        piece.task = piece.task if told.embedded else place
        parts.setdefault((piece.iteration, piece.task), []).append(piece)
    kept = list(_whole_tasks(found, parts))
    if not kept:
        raise TraceError(f"{found.path}: found no task that is whole, accepted at least one")
    rows: list[Row] = []
    kept.sort(key=lambda s: (s.thread[1], s.start, s.end, s.event))
    for tid, mine in groupby(kept, key=lambda s: int(s.thread[1])):
        rows += rows_of([(s, s.start, s.end, s.first, s.last) for s in mine], tid - 1)
    for piece in found.iterations:
        number = _whole(found, piece, "iteration", 2**31 - 1)
        size = told.initialisation_tasks if _is_early(number, told) else told.tasks
        rows.append((piece.start, -1, EventKind.ITERATION_START, NONE, NONE, number, size))
        rows.append((piece.end, 2, EventKind.ITERATION_END, NONE, NONE, number, 0))
    return rows


def _is_early(iteration: int, told: _About) -> bool:
    """Say whether an iteration is the initialisation."""
    return iteration == 0 and told.initialisation_tasks > 0


def _read(found: Found, piece: Slice, told: _About, classes: dict[str, int]) -> None:
    """Read task, iteration and part of a slice."""
    where = f"{found.path}: event {piece.event}"
    n_workers = len(told.worker_names)
    piece.iteration = _whole(found, piece, "iteration", 2**31 - 1)
    early = _is_early(piece.iteration, told)
    piece.task = _whole(
        found, piece, "task", (told.initialisation_tasks if early else told.tasks) - 1
    )
    if not isinstance(piece.thread[1], int) or not 1 <= piece.thread[1] <= n_workers:
        raise TraceError(f"{where}: tid: found {piece.thread[1]!r}, accepted 1 to {n_workers}")
    if piece.name not in classes:
        accepted = ", ".join(classes)
        raise TraceError(f"{where}: name: found {shown(piece.name)}, accepted a class: {accepted}")
    piece.first = piece.args.get("part") in ("whole", "first")
    piece.last = piece.args.get("part") in ("whole", "last")


def _whole(found: Found, piece: Slice, key: str, most: int) -> int:
    """Return an integer among the arguments of a slice."""
    value = piece.args.get(key)
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= most:
        raise TraceError(
            f"{found.path}: event {piece.event}: args: {key}: found {shown(value)}, "
            f"accepted an integer from 0 to {most}"
        )
    return value


def _whole_tasks(found: Found, parts: dict[tuple[int, int], list[Slice]]) -> Iterator[Slice]:
    """Yield the slices of tasks that have both a beginning and an end, executions lost aside."""
    for every in parts.values():
        pieces = [piece for piece in every if piece.args.get("part") != "lost"]
        for piece in every:
            if piece.args.get("part") == "lost":
                found.set_aside(LOST, piece.event)
        if sum(s.first for s in pieces) == 1 and sum(s.last for s in pieces) == 1:
            yield from pieces
            continue
        for piece in pieces:
            found.set_aside(INCOMPLETE, piece.event)
