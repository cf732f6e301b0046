"""Arrows between slices as edges of the graph that was executed.

An arrow has steps with one key: a beginning, steps on its way and ends. A step belongs to the
innermost task around it, to the next slice that begins on its thread, or is one itself. Where that
next slice is no task, it belongs to the task that the slice is inside of. From each
step to the next one leads an edge between their slices. An edge says that the second task waits for
the first one, so it is set aside where the second had started before the first ended.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Hashable, Iterable
from dataclasses import dataclass, replace

from simsched.trace.importers._events import active_ps
from simsched.trace.importers._slices import Found, Slice, Thread
from simsched.trace.recording import Recording
from simsched.workload.builder import adjacency, build_graph
from simsched.workload.graph import Workload

OPS_PER_S = 1e9
PS_PER_OP = 1000
PHASES = ("s", "t", "f")
NO_SLICE = "step of an arrow that no slice is around, or behind"
NO_TASK = "step of an arrow that is no slice, or one that is no task"
NO_SOURCE = "end of an arrow that has not begun"
INSIDE = "arrow inside one slice"
BACK = "arrow to a slice that had started before the first one ended"


@dataclass(slots=True)
class Step:
    """One step of an arrow; times in picoseconds as the file counts them."""

    event: int
    phase: str
    key: Hashable
    thread: Thread
    time: int
    #: whether it belongs to the next slice that begins, task or not, rather than the task around it
    to_next: bool = False
    #: whether it rather belongs to the slice that ends then than to the one that begins
    at_end: bool = False
    #: whether its event is the slice
    is_own: bool = False


def with_graph(recording: Recording, found: Found, steps: list[Step]) -> Recording:
    """Return a recording with the graph that arrows describe; as it is where there are none.

    A task's operations are the nanoseconds in which it was active itself.
    """
    if not steps:
        return recording
    edges = _edges(found, steps)
    recording = replace(recording, details={**recording.details, **found.details()})
    if not edges:
        return recording
    n_tasks = recording.n_tasks
    graph = build_graph(
        active_ps(recording.trace, "task", n_tasks) / PS_PER_OP,
        task_class=recording.task_class,
        class_names=recording.class_names,
        successors=adjacency([u for u, _ in edges], [v for _, v in edges], n_tasks),
    )
    workload = Workload(
        recording.name,
        graph,
        parameters={
            "reference_speed": OPS_PER_S,
            "reference_speed_source": "default: one operation is one measured nanosecond",
            "edges_without_bytes": len(edges),
        },
    )
    return replace(recording, workload=workload)


def _edges(found: Found, steps: list[Step]) -> list[tuple[int, int]]:
    """Return the edges between tasks, ascending, each once."""
    bound = _bound(found, steps)
    edges: dict[tuple[int, int], None] = {}
    last: dict[Hashable, Slice] = {}
    for step in sorted(steps, key=lambda s: (s.time, PHASES.index(s.phase), s.event)):
        target = bound.get(step.event)
        if target is None:
            found.set_aside(NO_TASK if step.is_own else NO_SLICE, step.event)
            continue
        source = last.get(step.key)
        if step.phase != "s":
            if source is None:
                found.set_aside(NO_SOURCE, step.event)
            elif source.task == target.task:
                found.set_aside(INSIDE, step.event)
            elif source.end > target.start or source.task > target.task:
                found.set_aside(BACK, step.event)
            else:
                edges[source.task, target.task] = None
        if step.phase != "f":
            last[step.key] = target
    return sorted(edges)


def _bound(found: Found, steps: list[Step]) -> dict[int, Slice]:
    """Return the slice of each step by the number of its event."""
    slices: dict[Thread, list[Slice]] = {}
    by_event: dict[int, Slice] = {}
    asked: dict[Thread, list[Step]] = {}
    result: dict[int, Slice] = {}
    beside = {thread: [t - found.origin for t in ts] for thread, ts in found.beside.items()}
    for piece in found.slices:
        if piece.task < 0:
            beside.setdefault(piece.thread, []).append(piece.start)
        else:
            slices.setdefault(piece.thread, []).append(piece)
            by_event[piece.event] = piece
    for step in steps:
        if not step.is_own:
            asked.setdefault(step.thread, []).append(step)
        elif step.event in by_event:
            result[step.event] = by_event[step.event]
    for thread, wanted in asked.items():
        here = sorted(slices.get(thread, ()), key=lambda s: (s.start, -s.end, s.event))
        starts = sorted([*beside.get(thread, ()), *(piece.start for piece in here)])
        _bind_thread(here, _moments(wanted, starts, found.origin), result)
    return result


def _moments(steps: list[Step], starts: list[int], origin: int) -> list[tuple[int, Step]]:
    """Return when each step counts, in order: those that belong to the next slice, at its start."""
    moments = []
    for step in steps:
        time = step.time - origin
        if step.to_next:
            following = bisect_left(starts, time)
            if following == len(starts):
                continue
            time = starts[following]
        moments.append((time, step))
    return sorted(moments, key=lambda moment: moment[0])


def _bind_thread(
    slices: list[Slice], moments: Iterable[tuple[int, Step]], result: dict[int, Slice]
) -> None:
    """Find the tasks of the steps of one thread."""
    open_ones: list[Slice] = []
    place = 0
    for time, step in moments:
        while place < len(slices) and slices[place].start <= time:
            open_ones.append(slices[place])
            place += 1
        open_ones = [piece for piece in open_ones if piece.end >= time]
        later = [piece for piece in open_ones if piece.end > time]
        earlier = [piece for piece in open_ones if piece.start < time]
        around = (earlier if step.at_end else later) or open_ones
        begun = [piece for piece in open_ones if step.to_next and piece.start == time]
        if begun:
            result[step.event] = begun[0]
        elif around:
            result[step.event] = around[-1]
