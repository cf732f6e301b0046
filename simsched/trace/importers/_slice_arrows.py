"""Arrows between slices as edges of the graph that was executed.

An arrow has steps with one key: a beginning, steps on its way and ends. A step belongs to the
innermost task around it, to the next slice that begins on its thread, or is one itself. Where that
next slice is no task, it belongs to the task that the slice is inside of. From each
step to the next one leads an edge between their slices. An edge says that the second task waits for
the first one, so it is set aside where the second had started before the first ended.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass

from simsched.trace.importers._slices import NO_EVENT, Found, Slice, Thread

PHASES = ("s", "t", "f")
NO_SLICE = "step of an arrow that no slice is around, or behind"
NO_TASK = "step of an arrow that is no slice, or one that is no task"
NO_SOURCE = "end of an arrow that has not begun"
INSIDE = "arrow inside one slice"
BACK = "arrow to a slice that had started before the first one ended"
#: Of a slice that is several tasks, the first and the last one.
Ends = tuple[Slice, Slice]


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


def arrow_edges(found: Found, steps: list[Step]) -> list[tuple[int, int]]:
    """Return the edges between tasks along arrows; what leads to none is set aside."""
    edges = []
    for step, source, target in arrows(found, steps):
        if target is None:
            found.set_aside(NO_TASK if step.is_own else NO_SLICE, step.event)
        elif step.phase == "s":
            continue
        elif source is None:
            found.set_aside(NO_SOURCE, step.event)
        elif source.task == target.task:
            found.set_aside(INSIDE, step.event)
        elif source.end > target.start or source.task > target.task:
            found.set_aside(BACK, step.event)
        else:
            edges.append((source.task, target.task))
    return edges


def arrows(found: Found, steps: list[Step]) -> Iterator[tuple[Step, Slice | None, Slice | None]]:
    """Yield steps in order of time, each with the slice of the one before it and with its own."""
    bound = _bound(found, steps)
    last: dict[Hashable, Slice] = {}
    for step in sorted(steps, key=lambda s: (s.time, PHASES.index(s.phase), s.event)):
        here = bound.get(step.event)
        yield step, last.get(step.key), here and here[0]
        if here is not None and step.phase != "f":
            last[step.key] = here[1]


def _bound(found: Found, steps: list[Step]) -> dict[int, Ends]:
    """Return where each step ends and begins, by the number of its event."""
    slices: dict[Thread, list[Slice]] = {}
    by_event: dict[int, list[Slice]] = {}
    asked: dict[Thread, list[Step]] = {}
    result: dict[int, Ends] = {}
    for piece in found.slices:
        if piece.event == NO_EVENT:
            continue
        slices.setdefault(piece.thread, []).append(piece)
        by_event.setdefault(piece.event, []).append(piece)
    for step in steps:
        if not step.is_own:
            asked.setdefault(step.thread, []).append(step)
        elif step.event in by_event:
            own = sorted(by_event[step.event], key=lambda s: (s.start, s.rank))
            result[step.event] = own[0], own[-1]
    for thread, wanted in asked.items():
        here = sorted(slices.get(thread, ()), key=lambda s: (s.start, -s.end, s.event))
        beside = [time - found.origin for time in found.beside.get(thread, ())]
        starts = sorted([*beside, *(piece.start for piece in here)])
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
    slices: list[Slice], moments: Iterable[tuple[int, Step]], result: dict[int, Ends]
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
            result[step.event] = begun[0], begun[0]
        elif around:
            result[step.event] = around[-1], around[-1]
