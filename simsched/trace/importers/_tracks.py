"""What tracks of slices say beyond their slices: order, devices, and the graph of it all.

Order. A task runtime puts tasks on workers as it likes: that one has run after another one on its
track is no dependence. Where the slices of a track run one after the other whoever runs them, as
those of a program's thread and of a device's stream, it is. Such a track is *ordered*: what was
nested is cut into stretches, each stretch is a task, and each waits for the one before it. The time
before a slice, since the one before it and those from which arrows lead to it had ended, is the
track's own, too, and a task of the class `BETWEEN`; a track's first slice without an arrow starts
when it did. So the graph explains all moments of ordered tracks.

An arrow that leads from an ordered track that is no device's to a slice that starts before the
first one ends cuts that one there: what comes behind goes on beside the second slice, as calls that
launch a kernel do.

Devices. Tasks of a device's tracks run on processors of the kind `DEVICE` only, others on `HOST`
only. A slice that waits for devices follows, on every track of one, the last task that had ended
when the slice ended, and lasts from then on: waiting is no work.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import replace
from fnmatch import fnmatchcase
from itertools import pairwise

import numpy as np

from simsched.files.errors import TraceError, shown
from simsched.trace.importers._events import active_ps
from simsched.trace.importers._slice_arrows import Step, arrow_edges, arrows
from simsched.trace.importers._slices import (
    NO_EVENT,
    Found,
    Interval,
    Slice,
    Thread,
    laid_out,
    numbered,
    track_names,
)
from simsched.trace.recording import Recording
from simsched.workload.builder import adjacency, build_graph
from simsched.workload.graph import FloatArray, Workload

OPS_PER_S = 1e9
PS_PER_OP = 1000
HOST, DEVICE = "cpu", "gpu"  #: kinds of processors
BETWEEN = "(between slices)"
Pieces = dict[Thread, list[Slice]]
Ties = list[tuple[Slice, Slice]]


def matching(found: Found, option: str, patterns: str) -> set[Thread]:
    """Return the tracks whose names fit patterns with commas in between; each has to fit one."""
    names = {thread: name.strip() for thread, name in track_names(found).items()}
    result: set[Thread] = set()
    for pattern in filter(None, map(str.strip, patterns.split(","))):
        fitting = {thread for thread, name in names.items() if fnmatchcase(name, pattern)}
        if not fitting:
            known = ", ".join(list(names.values())[:8]) + (", ..." if len(names) > 8 else "")
            raise TraceError(
                f"{found.path}: option {option}: found {shown(pattern)}, accepted patterns of "
                f"names of tracks: {known}"
            )
        result |= fitting
    return result


def name_tracks(found: Found, devices: str | None, ordered: str | None) -> None:
    """Take tracks that options name for those that the file itself tells to be a device's, ordered.

    A device that the file tells, or an option, is ordered unless an option says what is.
    """
    if devices is not None:
        found.devices = matching(found, "devices", devices)
    if ordered is not None:
        found.ordered = matching(found, "ordered", ordered)
    else:
        found.ordered |= found.devices


def tracked_recording(found: Found, steps: list[Step]) -> Recording:
    """Return the recording of a file of another program, with the graph where it says any.

    A task's operations are the nanoseconds in which it was active itself.
    """
    intervals = laid_out(found)
    pieces = {t: _stretches(parts) for t, parts in intervals.items() if t in found.ordered}
    _take(found, pieces)
    ties = [*_arrange(found, steps, pieces), *_waits(found, pieces)] if pieces else []
    _take(found, pieces)
    for thread, own in pieces.items():
        ties += pairwise(own)
        intervals[thread] = [(piece, piece.start, piece.end, True, True) for piece in own]
        for place, piece in enumerate(own):
            if piece.start == piece.end:  # before what starts then and lasts
                piece.rank = place - len(own)
    recording = numbered(found, intervals)
    edges = {*arrow_edges(found, steps), *((u.task, v.task) for u, v in ties if u.task < v.task)}
    recording = replace(recording, details={**recording.details, **found.details()})
    if not (edges or pieces or found.devices):
        return recording
    first = [own[0].task for own in pieces.values()]
    return replace(recording, workload=_workload(recording, found, sorted(edges), first))


def _take(found: Found, pieces: Pieces) -> None:
    """Put pieces in the place of the slices of their tracks."""
    others = [piece for piece in found.slices if piece.thread not in pieces]
    found.slices = [*others, *(piece for own in pieces.values() for piece in own)]


def _stretches(parts: list[Interval]) -> list[Slice]:
    """Return the stretches of slices as slices one by one.

    A slice that others inside it cover has one stretch without length.
    """
    lasting = {id(piece) for piece, start, end, _, _ in parts if start < end}
    return [
        Slice(piece.event, piece.thread, piece.name, start, end, piece.args)
        for piece, start, end, is_first, _ in parts
        if start < end or (is_first and id(piece) not in lasting)
    ]


def _arrange(found: Found, steps: list[Step], pieces: Pieces) -> Ties:
    """Cut pieces where arrows say so, fill the time between them; return what that waits for."""
    cuts: dict[int, set[int]] = {}
    before: dict[int, list[Slice]] = {}
    for step, source, target in arrows(found, steps):
        if source is None or target is None or step.phase == "s":
            continue
        is_host = source.thread in pieces and source.thread not in found.devices
        if source.end <= target.start:
            before.setdefault(id(target), []).append(source)
        elif is_host and source.start < target.start:
            cuts.setdefault(id(source), set()).add(target.start)
            before.setdefault(id(target), []).append(source)
    ties: Ties = []
    for thread, own in pieces.items():
        arranged: list[Slice] = []
        for piece in own:
            sources = before.get(id(piece), [])
            since = [min(s.end, piece.start) for s in sources] + [s.end for s in arranged[-1:]]
            if since and max(since) < piece.start:
                gap = Slice(NO_EVENT, thread, BETWEEN, max(since), piece.start, {})
                ties += [(source, gap) for source in sources]
                arranged.append(gap)
            for end in sorted(cuts.get(id(piece), ())):
                arranged.append(replace(piece, end=end))
                piece.start = end  # it is the last part from now, whoever waits for all of it
            arranged.append(piece)
        pieces[thread] = arranged
    return ties


def _waits(found: Found, pieces: Pieces) -> Ties:
    """Let slices that wait for devices begin when these had done; return what they wait for."""
    streams: Pieces = {}
    for piece in sorted(found.slices, key=lambda s: s.end):
        if piece.thread in found.devices:
            streams.setdefault(piece.thread, []).append(piece)
    ends = {stream: [piece.end for piece in own] for stream, own in streams.items()}
    ties: Ties = []
    for thread, own in pieces.items():
        done: dict[Thread, int] = {}
        for piece in own if thread not in found.devices else ():
            if piece.event not in found.waiting:
                continue
            for stream, until in ends.items():
                count = bisect_right(until, piece.end)
                if count > done.get(stream, 0):
                    done[stream] = count
                    ties.append((streams[stream][count - 1], piece))
                    piece.start = max(piece.start, until[count - 1])
    return ties


def _workload(
    recording: Recording, found: Found, edges: list[tuple[int, int]], first: list[int]
) -> Workload:
    """Return the graph; `first` tasks of tracks start when they did, unless others are before."""
    n_tasks = recording.n_tasks
    arrival = np.zeros(n_tasks, np.int64)
    arrival[first] = [found.slices[task].start for task in first]
    arrival[[v for _, v in edges]] = 0
    kinds, ops = _operations(recording, found)
    graph = build_graph(
        ops,
        kinds=kinds,
        task_class=recording.task_class,
        class_names=recording.class_names,
        successors=adjacency([u for u, _ in edges], [v for _, v in edges], n_tasks),
        arrival_ps=arrival,
    )
    parameters = {
        "reference_speed": OPS_PER_S,
        "reference_speed_source": "default: one operation is one measured nanosecond",
        "edges_without_bytes": len(edges),
    }
    return Workload(recording.name, graph, parameters=parameters)


def _operations(recording: Recording, found: Found) -> tuple[tuple[str, ...], FloatArray]:
    """Return the kinds of processors, and the operations of each task on them."""
    ops = active_ps(recording.trace, "task", recording.n_tasks) / PS_PER_OP
    on_device = np.array([piece.thread in found.devices for piece in found.slices])
    rows = {HOST: ~on_device, DEVICE: on_device}
    used = tuple(kind for kind, its in rows.items() if its.any())
    return used, np.stack([np.where(rows[kind], ops, np.inf) for kind in used])
