"""Slices of threads as tasks of workers: what formats of traces have in common.

A slice inside another one is a task of its own during which the outer one is suspended. A slice
that begins inside another and ends after it is set aside. What is said of tracks beyond that is in
:mod:`~simsched.trace.importers._tracks`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from simsched.files.errors import TraceError
from simsched.files.units import PS_PER_S
from simsched.trace.importers._rows import SetAside
from simsched.trace.recording import Recording
from simsched.trace.schema import EVENT_COLUMNS, NONE, EventKind, Trace

LIMIT_PS = 2**62
NO_EVENT = -1  #: event of a slice that the file does not have
OVERLAPPING = "slice that begins inside another one of its thread and ends after it"
Thread = tuple[Any, Any]
Row = tuple[int, int, int, int, int, int, int]
#: Beginning or end of a slice: time, event, phase, arguments, name, whether it may be a task's.
PairRow = tuple[int, int, str, dict[str, Any], str, bool]


@dataclass(slots=True)
class Slice:
    """One slice; times in picoseconds as the file counts them."""

    event: int
    thread: Thread
    name: str
    start: int
    end: int
    args: dict[str, Any]
    task: int = NONE
    rank: int = 0  #: of slices of one start, those of a lower rank come first
    iteration: int = 0
    first: bool = True
    last: bool = True


#: Part of a slice, its start and end, and whether these are the slice's.
Interval = tuple[Slice, int, int, bool, bool]


@dataclass
class Found:
    """What the events of a file say."""

    path: Path
    format: str
    slices: list[Slice] = field(default_factory=list)
    iterations: list[Slice] = field(default_factory=list)
    #: When slices begin that are no tasks, as the file counts.
    beside: dict[Thread, list[int]] = field(default_factory=dict)
    pairs: dict[Thread, list[PairRow]] = field(default_factory=dict)
    threads: dict[Thread, str] = field(default_factory=dict)
    processes: dict[Any, str] = field(default_factory=dict)
    order: dict[Thread, int] = field(default_factory=dict)
    #: Tracks whose slices run one after the other, those of a device, and slices that wait for it.
    ordered: set[Thread] = field(default_factory=set)
    devices: set[Thread] = field(default_factory=set)
    waiting: set[int] = field(default_factory=set)
    others: Counter[str] = field(default_factory=Counter)
    aside: SetAside = field(default_factory=lambda: SetAside("event", "{}: event {}"))
    origin: int = 0  #: the time of the first slice, from which times of slices count in the end

    def set_aside(self, reason: str, event: int) -> None:
        """Leave an event out."""
        self.aside.rows(self.path, [event], reason)

    def details(self) -> dict[str, Any]:
        """Return what a recording says about what was left out."""
        others = dict(sorted(self.others.items()))
        return {"format": self.format, **self.aside.details(), "other_events": others}


def laid_out(found: Found) -> dict[Thread, list[Interval]]:
    """Return what the slices of each worker consist of outside of those inside them.

    Times count from the first slice on from now. Slices that are set aside are no longer among
    those that were found.
    """
    found.origin = origin = min(s.start for s in found.slices)
    own: dict[Thread, list[Slice]] = {}
    for piece in found.slices:
        piece.start, piece.end = piece.start - origin, piece.end - origin
        own.setdefault(piece.thread, []).append(piece)
    workers = track_names(found)
    intervals = {worker: list(_nested(found, own[worker])) for worker in workers}
    found.slices = [part[0] for parts in intervals.values() for part in parts if part[-1]]
    return intervals


def numbered(found: Found, intervals: dict[Thread, list[Interval]]) -> Recording:
    """Return the recording of a file of another program, whose slices get their numbers as tasks.

    `intervals` has the stretches of each worker's slices in order of time.
    """
    found.slices.sort(key=lambda s: (s.start, s.rank, s.event))
    kept = found.slices
    for task, piece in enumerate(kept):
        piece.task = task
    classes = {name: i for i, name in enumerate(dict.fromkeys(s.name for s in kept))}
    rows = [row for i, parts in enumerate(intervals.values()) for row in rows_of(parts, i)]
    end = max(s.end for s in kept)
    rows.append((0, -1, EventKind.ITERATION_START, NONE, NONE, 0, len(kept)))
    rows.append((end, 2, EventKind.ITERATION_END, NONE, NONE, 0, 0))
    return Recording(
        found.path.name,
        trace_of(rows, found.path),
        np.array([classes[s.name] for s in kept], np.int32),
        tuple(classes),
        tuple(track_names(found).values()),
        np.full(len(intervals), NONE, np.int32),
        details=found.details(),
    )


def _thread_key(found: Found, thread: Thread) -> tuple[Any, ...]:
    """Return what threads are sorted by: process, place given by the file, number or name."""
    pid, tid = ((isinstance(part, str), part) for part in thread)
    return pid, found.order.get(thread, 0), tid


def track_names(found: Found) -> dict[Thread, str]:
    """Return a name for each thread with slices that no other one has, in the order of workers."""
    tracks = sorted({s.thread for s in found.slices}, key=lambda t: _thread_key(found, t))
    names = [found.threads.get(t, f"{t[0]}/{t[1]}") for t in tracks]
    counts = Counter(names)
    return {
        t: name
        if counts[name] == 1
        else f"{found.processes.get(t[0], t[0])}/{name} ({t[0]}/{t[1]})"
        for name, t in zip(names, tracks, strict=True)
    }


def _nested(found: Found, pieces: list[Slice]) -> Iterator[Interval]:
    """Yield what slices of a thread consist of outside of those inside them, in order of time."""
    stack: list[tuple[Slice, int, bool]] = []  # with the beginning of the present interval
    for piece in [*sorted(pieces, key=lambda s: (s.start, -s.end, s.event)), None]:
        while stack and (piece is None or stack[-1][0].end <= piece.start):
            inner, since, is_first = stack.pop()
            yield inner, since, inner.end, is_first, True
            if stack:
                stack[-1] = stack[-1][0], inner.end, False
        if piece is None:
            return
        if stack and piece.end > stack[-1][0].end:
            found.set_aside(OVERLAPPING, piece.event)
            found.beside.setdefault(piece.thread, []).append(piece.start + found.origin)
            continue
        if stack:
            outer, since, is_first = stack[-1]
            yield outer, since, piece.start, is_first, False
        stack.append((piece, piece.start, True))


def rows_of(intervals: Iterable[Interval], worker: int) -> Iterator[Row]:
    """Yield the events of one worker: (time, phase, kind, worker, task, iteration, arg0).

    Of one instant, phase 0 is for what ends intervals that began before.
    """
    for piece, start, end, is_first, is_last in intervals:
        about = (worker, piece.task, piece.iteration, 0)
        yield start, 1, EventKind.TASK_START if is_first else EventKind.TASK_RESUME, *about
        kind = EventKind.TASK_END if is_last else EventKind.TASK_SUSPEND
        yield end, int(start >= end), kind, *about


def trace_of(rows: list[Row], path: Path) -> Trace:
    """Return events in order of time; of one instant: ends, then the rest worker by worker."""
    if any(abs(row[0]) >= LIMIT_PS for row in rows):
        raise TraceError(f"{path}: found times more than {LIMIT_PS // PS_PER_S} s apart")
    time, phase, kind, worker, task, iteration, arg0 = np.array(rows, np.int64).T
    order = np.lexsort((phase, time))
    columns = {
        "time_ps": time,
        "kind": kind,
        "worker": worker,
        "task": task,
        "iteration": iteration,
        "arg0": arg0,
        "arg1": np.zeros(len(rows), np.int64),
    }
    return Trace({name: columns[name][order].astype(d) for name, d in EVENT_COLUMNS.items()})
