"""Chrome Trace Event JSON: slices of threads become tasks of workers.

Our own files (:mod:`simsched.trace.exporters.chrome`) give back tasks with their numbers, classes,
workers, iterations and the program, to the nanosecond; costs of the runtime, arrows and bandwidth
are not read. As a recording without a graph has one table of classes, tasks of an initialisation
are numbered behind the others there.

In other files every slice, ``X`` or a pair of ``B`` and ``E``, is a task whose class is its name,
as in :mod:`~simsched.trace.importers._slices`. Slices without a known end, and events without a
phase, a thread or a time, are set aside. Times are microseconds whatever ``displayTimeUnit`` says,
and count from the first slice.

Arrows, ``s``, ``t`` and ``f`` of one category, name and ``id`` (or ``id2``, whose ``local`` counts
in one process only), or slices with one ``bind_id``, are the edges of the graph, as
:mod:`~simsched.trace.importers._slice_arrows` says. ``f`` belongs to the next slice of its thread,
of whatever category, unless ``bp`` is "e". Of slices with ``bind_id``, those with ``flow_in`` wait
for the last one before them that has ``flow_out``.

Which tracks are ordered, and which are a device's, in the words of
:mod:`~simsched.trace.importers._tracks`, options say; else PyTorch's profiler does, as in
:mod:`~simsched.trace.importers._kineto`: streams are both, threads with its operators, and those
from which arrows lead to a device, are ordered.
"""

from __future__ import annotations

import gc
from collections.abc import Hashable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

from simsched.files.bounded import goes_on, read_head, read_text
from simsched.files.errors import TraceError, shown
from simsched.files.json_members import has_member
from simsched.trace.importers._chrome_json import EVENTS, ChromeFile
from simsched.trace.importers._kineto import is_work, launching, note_track
from simsched.trace.importers._own_chrome import own_recording
from simsched.trace.importers._slice_arrows import PHASES, Step
from simsched.trace.importers._slices import LIMIT_PS, Found, PairRow, Slice
from simsched.trace.importers._tracks import name_tracks, tracked_recording
from simsched.trace.importers.registry import trace_importer
from simsched.trace.recording import Recording

PS_PER_US = 10**6
UNITS = ("ms", "ns")
UNNAMED = "(no name)"  #: class of slices that have none
OWN_ARGS = ("task", "iteration", "part")
NO_OBJECT = "entry that is no object"
NO_PHASE = "event without a phase (ph)"
NO_THREAD = "slice whose pid or tid is no whole number or text"
NO_START = "slice whose ts is no number of microseconds"
NO_TEXT = "slice whose name is no text"
NO_PLACE = "step of an arrow without a time or a thread"
NO_ID = "step of an arrow without an id"
NO_END = "X without dur, or with one that is no number of microseconds"
NEGATIVE = "X with a dur below 0"
NO_BEGIN = "E without its B"
NEVER_ENDED = "B without its E"


def _looks_like_chrome(path: Path) -> bool:
    """Say whether a file is an object with events, or an array of what has phases."""
    if path.is_dir():
        return False
    head = read_head(path, TraceError)
    if head.lstrip().startswith(b"["):
        return b'"ph"' in head or (goes_on(head) and '"ph"' in read_text(path, TraceError))
    return has_member(path, EVENTS, "[", TraceError, unless=("workflow",))


@trace_importer("chrome", recognises=_looks_like_chrome)
def read_chrome(
    path: Path,
    *,
    category: str | None = None,
    devices: str | None = None,
    ordered: str | None = None,
) -> Recording:
    """Chrome Trace Event JSON, simsched's own or of another program.

    Parameters
    ----------
    path : Path
        The file: an array of events or an object that holds one, gzip or not.
    category : str, optional
        Only slices of this category are tasks. By default all are; in our own files, those of
        category "task".
    devices : str, optional
        Patterns of the names of tracks that are a device's, with commas in between; nothing for
        none. By default the streams of PyTorch's profiler.
    ordered : str, optional
        Patterns of the names of tracks on which each slice waits for the one before it; nothing for
        none. By default the tracks of devices, and of PyTorch's profiler those of the host.
    """
    file, found = ChromeFile(path), Found(path, "chrome")
    steps: list[Step] = []
    with _no_collection():
        for number, event in enumerate(file.events()):
            own = category is None and _about(file) is not None
            _take(found, number, event, "task" if own else category, steps)
    about = _about(file)
    unit = file.members.get("displayTimeUnit", "ms")
    if unit not in UNITS:
        found.aside.note(
            f"{path}: displayTimeUnit: found {shown(unit)}, accepted ms or ns; times are read as "
            "microseconds all the same"
        )
    if file.truncated:
        found.aside.note(f"{path}: the file is cut off; the events before its end are read")
    _match_pairs(found)
    if not found.slices:
        why = "".join(f"; {count} set aside: {what}" for what, count in found.aside.counts.items())
        raise TraceError(f"{path}: found no slices that are tasks, accepted at least one{why}")
    if about is not None:
        return own_recording(found, about)
    name_tracks(found, devices, ordered)
    if ordered is None:
        found.ordered |= launching(found, steps)
    recording = tracked_recording(found, steps)
    origin_us = str(Decimal(found.origin) / PS_PER_US)
    return replace(recording, details={**recording.details, "origin_us": origin_us})


@contextmanager
def _no_collection() -> Iterator[None]:
    """Keep Python from searching millions of events for cycles again and again."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def _about(file: ChromeFile) -> dict[str, Any] | None:
    """Return what our own exporter has written about the recording."""
    other = file.members.get("otherData")
    about = other.get("simsched") if isinstance(other, dict) else None
    return about if isinstance(about, dict) else None


def _take(
    found: Found, number: int, event: object, category: str | None, steps: list[Step]
) -> None:
    if not isinstance(event, dict):
        found.set_aside(NO_OBJECT, number)
        return
    phase = event.get("ph")
    if not isinstance(phase, str) or not phase:
        found.set_aside(NO_PHASE, number)
        return
    if phase == "M":
        _take_name(found, event)
        return
    categories = str(event.get("cat", "")).split(",")
    is_iteration = category == "task" and "iteration" in categories and phase == "X"
    # The end of a pair need not repeat its category.
    wanted = category is None or category in categories or (phase == "E" and "cat" not in event)
    if phase in PHASES or "bind_id" in event:
        _take_arrow(found, number, event, steps)
    wanted = wanted and (category is not None or is_work(event))
    is_task = phase in ("X", "B", "E") and (wanted or is_iteration)
    if not is_task:
        found.others[phase] += 1
        _take_beside(found, number, event)
        return
    pid, tid = _identity(event.get("pid")), _identity(event.get("tid"))
    start, name = _picoseconds(event.get("ts")), event.get("name", "")
    if pid is None or tid is None:
        found.set_aside(NO_THREAD, number)
        return
    if start is None or not isinstance(name, str):
        found.set_aside(NO_START if start is None else NO_TEXT, number)
        return
    thread = pid, tid
    given = event.get("args")
    args = {k: given[k] for k in OWN_ARGS if k in given} if isinstance(given, dict) else {}
    if phase != "X":
        found.pairs.setdefault(thread, []).append((start, number, phase, args, name, True))
    elif (length := _picoseconds(event.get("dur"))) is None:
        found.set_aside(NO_END, number)
    elif length < 0:
        found.set_aside(NEGATIVE, number)
    else:
        into = found.iterations if is_iteration else found.slices
        named = name or UNNAMED
        piece = Slice(number, thread, named, start, start + length, args)
        into.append(piece)
        note_track(found, piece, event)


def _take_beside(found: Found, number: int, event: dict[str, Any]) -> None:
    """Take a slice of another category: arrows may lead to it, ends of pairs may be its."""
    phase, name = event["ph"], event.get("name", "")
    if phase not in ("X", "B", "E"):
        return
    thread = _identity(event.get("pid")), _identity(event.get("tid"))
    start = _picoseconds(event.get("ts"))
    if start is None or None in thread or not isinstance(name, str):
        return
    if phase in ("X", "B"):
        found.beside.setdefault(thread, []).append(start)
    if phase in ("B", "E"):
        found.pairs.setdefault(thread, []).append((start, number, phase, {}, name, False))


def _take_arrow(found: Found, number: int, event: dict[str, Any], steps: list[Step]) -> None:
    """Take a step of an arrow: an event of its own, or members of a slice."""
    pid, tid = _identity(event.get("pid")), _identity(event.get("tid"))
    time, phase = _picoseconds(event.get("ts")), event["ph"]
    is_slice = phase not in PHASES
    if is_slice:
        comes, goes = event.get("flow_in") is True, event.get("flow_out") is True
        if not (comes or goes):
            return
        phase = "s" if not comes else "t" if goes else "f"
    if pid is None or tid is None or time is None:
        found.set_aside(NO_PLACE, number)
        return
    key = _arrow(event, is_slice, pid)
    if key is None:
        found.set_aside(NO_ID, number)
        return
    to_next = phase == "f" and event.get("bp") != "e"
    steps.append(Step(number, phase, key, (pid, tid), time, to_next, is_own=is_slice))


def _arrow(event: dict[str, Any], is_slice: bool, pid: int | str) -> Hashable | None:
    """Return what steps of one arrow have in common, None where the event does not say it."""
    if is_slice:
        bound = event["bind_id"]
        return None if bound is None else ("bind_id", repr(bound))
    about, given = (str(event.get("cat", "")), str(event.get("name", ""))), event.get("id")
    other = event.get("id2")
    if given is None and isinstance(other, dict):
        given = other.get("global")
        if given is None and other.get("local") is not None:
            return (*about, pid, repr(other["local"]))
    return None if given is None else (*about, repr(given))


def _take_name(found: Found, event: dict[str, Any]) -> None:
    """Take a name or a place in the order; other metadata say nothing about workers."""
    thread = _identity(event.get("pid")), _identity(event.get("tid"))
    args = event.get("args")
    if not isinstance(args, dict):
        return
    kind, value = event.get("name"), args.get("name")
    if kind == "thread_name" and isinstance(value, str):
        found.threads[thread] = value
    elif kind == "process_name" and isinstance(value, str):
        found.processes[thread[0]] = value
    elif kind == "thread_sort_index" and isinstance(args.get("sort_index"), int):
        found.order[thread] = args["sort_index"]


def _identity(value: object) -> int | str | None:
    """Return the number or name of a process or thread, None where it is neither."""
    if isinstance(value, Decimal) and value.is_finite() and value.copy_abs() < LIMIT_PS:
        whole = int(value)
        return whole if whole == value else None
    return value if isinstance(value, (int, str)) and not isinstance(value, bool) else None


def _picoseconds(value: object) -> int | None:
    """Return a time in microseconds, a number or text that spells one, as picoseconds."""
    if isinstance(value, bool) or not isinstance(value, (int, str, Decimal)):
        return None
    try:
        number = Decimal(value)
        if not number.is_finite() or number.copy_abs() >= LIMIT_PS:
            return None
        return int((number * PS_PER_US).to_integral_value())
    except ArithmeticError:
        return None


def _match_pairs(found: Found) -> None:
    """Turn pairs of beginnings and ends into slices, thread by thread."""
    for thread, rows in found.pairs.items():
        back = sum(rows[i + 1][0] < rows[i][0] for i in range(len(rows) - 1))
        if back:
            first = next(rows[i + 1][1] for i in range(len(rows)) if rows[i + 1][0] < rows[i][0])
            found.aside.note(
                f"{found.path}: event {first}: the clock of thread {thread[0]}/{thread[1]} goes "
                f"backwards; {back} times, its events are sorted"
            )
            rows = _by_time(rows)
        stack: list[PairRow] = []
        for row in rows:
            end, number, phase, args, name, wanted = row
            if phase == "B":
                stack.append(row)
            elif stack and name in ("", stack[-1][4]):
                start, event, _, begun, called, is_task = stack.pop()
                if is_task:
                    piece = Slice(event, thread, called or UNNAMED, start, end, {**begun, **args})
                    found.slices.append(piece)
                elif wanted:  # an end that does not say of which category it is
                    found.others["E"] += 1
            elif wanted:
                found.set_aside(NO_BEGIN, number)
        for row in stack:
            if row[-1]:
                found.set_aside(NEVER_ENDED, row[1])


def _by_time(rows: list[Any]) -> list[Any]:
    """Return begins and ends in order of time.

    Ends come before begins of the same instant, unless there are more ends than slices begun
    before: these belong to slices without length.
    """
    result: list[Any] = []
    depth = 0
    instants: dict[int, list[Any]] = {}
    for row in rows:
        instants.setdefault(row[0], []).append(row)
    for _, here in sorted(instants.items()):
        ends = [row for row in here if row[2] == "E"]
        begins = [row for row in here if row[2] == "B"]
        early = min(depth, len(ends))
        result += [*ends[:early], *begins, *ends[early:]]
        depth = max(0, depth + len(begins) - len(ends))
    return result
