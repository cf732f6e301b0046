"""Recordings from Paje files that simsched has written."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

from pydantic import Field

from simsched.files.bounded import parse_json
from simsched.files.errors import SimschedError, TraceError
from simsched.files.units import PS_PER_S
from simsched.files.yaml_reader import Section, validate
from simsched.trace.importers._paje_events import Event, PajeFile
from simsched.trace.importers._rows import SetAside
from simsched.trace.importers._slices import LIMIT_PS, Row, trace_of
from simsched.trace.recording import Recording, recording_from
from simsched.trace.schema import NONE, EventKind
from simsched.workload.listed import MAX_INDEX

TIMELINE = b"timeline"
ITERATION_ENDS = (EventKind.ITERATION_START, EventKind.ITERATION_END)
Number = Annotated[int, Field(gt=-LIMIT_PS, lt=LIMIT_PS)]
Stretch = tuple[int, int, int, int]  # start, end, worker and whether it was lost


class _Beside(Section):
    """What the exporter says beside states."""

    #: Time, kind, iteration and number of tasks of the beginnings and ends of iterations.
    iterations: list[Annotated[list[Number], Field(min_length=4, max_length=4)]]
    #: Time, worker, task, iteration and, if the worker lost the task, 1.
    instants: list[Annotated[list[Number], Field(min_length=5, max_length=5)]]
    #: Worker and start of stretches that were lost.
    lost: list[Annotated[list[Number], Field(min_length=2, max_length=2)]]


def own_recording(path: Path, file: PajeFile, embedded: Mapping[bytes, bytes]) -> Recording:
    """Return the recording of a file of our own from its states and comments."""
    try:
        beside = validate(
            parse_json(embedded.get(TIMELINE, b"")), _Beside, f"{path}: comments: timeline"
        )
    except (ValueError, RecursionError) as error:
        raise TraceError(f"{path}: comments: timeline: not JSON: {error}") from error
    except SimschedError as error:
        raise TraceError(str(error)) from error
    stretches = _stretches(file)
    for time, worker, task, iteration, lost in beside.instants:
        stretches.setdefault((iteration, task), []).append((time, time, worker, lost))
    ended = {(worker, start) for worker, start in beside.lost}
    rows = _iterations(path, beside)
    aside = SetAside("execution of a task", "{}: task {}")
    for (iteration, task), every in stretches.items():
        kept = sorted(s for s in every if not s[3] and (s[2], s[0]) not in ended)
        if len(kept) < len(every):
            aside.rows(path, [task], "execution of a task that was lost")
        rows += _rows(kept, task, iteration)
    if not rows:
        raise TraceError(f"{path}: found no iterations and no tasks, accepted at least one")
    metadata = {key: value for key, value in embedded.items() if key != TIMELINE}
    try:
        recording = recording_from(path, metadata, lambda: trace_of(rows, path))
    except SimschedError as error:
        raise TraceError(str(error)) from error
    _check(path, recording, stretches)
    if file.cut_off:
        aside.note(f"{path}: the file is cut off; the lines before its end are read")
    recording.details.update({"format": "paje", **aside.details()})
    return recording


def _iterations(path: Path, beside: _Beside) -> list[Row]:
    """Return the beginnings and ends of iterations."""
    rows: list[Row] = []
    for place, (time, kind, number, size) in enumerate(beside.iterations):
        where = f"{path}: comments: timeline: iterations[{place}]"
        if kind not in ITERATION_ENDS:
            accepted = " or ".join(f"{end:d}" for end in ITERATION_ENDS)
            raise TraceError(f"{where}: kind: found {kind}, accepted {accepted}")
        if not 0 <= number <= MAX_INDEX or not 0 <= size <= MAX_INDEX:
            raise TraceError(
                f"{where}: found iteration {number} of {size} tasks, accepted 0 to {MAX_INDEX}"
            )
        phase = -1 if kind == EventKind.ITERATION_START else 2
        rows.append((time, phase, kind, NONE, NONE, number, size))
    return rows


def _check(
    path: Path, recording: Recording, stretches: Mapping[tuple[int, int], list[Stretch]]
) -> None:
    """Check that states are about tasks and workers of the recording."""
    workload = recording.workload
    init = recording.n_tasks if workload is None or workload.init is None else workload.init.n_tasks
    for (iteration, task), every in stretches.items():
        n_tasks = init if iteration == 0 else recording.n_tasks
        worker = max(s[2] for s in every)
        if not 0 <= iteration <= MAX_INDEX or not 0 <= task < n_tasks:
            raise TraceError(
                f"{path}: found task {task} of iteration {iteration}, accepted tasks 0 to "
                f"{n_tasks - 1} of iterations 0 to {MAX_INDEX}"
            )
        if worker >= recording.n_workers or min(s[2] for s in every) < 0:
            raise TraceError(
                f"{path}: found worker {worker}, accepted 0 to {recording.n_workers - 1}"
            )


def _rows(kept: list[Stretch], task: int, iteration: int) -> list[Row]:
    """Return the events of the stretches of a task, in order of time."""
    rows: list[Row] = []
    for place, (start, end, worker, _) in enumerate(kept):
        begins = EventKind.TASK_START if place == 0 else EventKind.TASK_RESUME
        ends = EventKind.TASK_END if place == len(kept) - 1 else EventKind.TASK_SUSPEND
        rows.append((start, 1, begins, worker, task, iteration, 0))
        rows.append((end, int(start >= end), ends, worker, task, iteration, 0))
    return rows


def _stretches(file: PajeFile) -> dict[tuple[int, int], list[Stretch]]:
    """Return when and where each task of each iteration was active, from states of workers."""
    found: dict[tuple[int, int], list[Stretch]] = {}
    going_on: dict[str, tuple[Event, int]] = {}
    for event in file.events():
        is_state = event.name == "PajeSetState"
        if not is_state and event.name != "PajeDestroyContainer":
            continue
        container = event.value("Container") if is_state else event.value("Name")
        time = event.time_ps(PS_PER_S)
        if container in going_on:
            began, start = going_on.pop(container)
            key = _number(began, "Iteration"), _number(began, "Task")
            worker = _number(began, "Container")
            found.setdefault(key, []).append((start, time, worker, 0))
        if is_state and event.value("Value").startswith("C"):
            going_on[container] = event, time
    return found


def _number(event: Event, key: str) -> int:
    """Return a number of a state; containers are called W and their number."""
    text = event.value(key).removeprefix("W")
    if not text.isdecimal() or len(text) > 9:
        raise TraceError(f"{event.where}: {key}: found {event.value(key)!r}, accepted a number")
    return int(text)
