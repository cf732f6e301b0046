"""Which tasks were ready when: the stays of tasks in pools, and the times without any.

A stay begins with TASK_READY and ends when a worker takes the task (ACQUIRE) or a transfer takes it
out of the pool. Of what is in the pools at a time, the task that has been there longest stands for
all. While no task is there, whoever makes the next one ready tells what the workers lack: a task
must end, be created or arrive, or somebody has it but has not begun.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simsched.trace.schema import NONE, EventKind, Trace
from simsched.workload.graph import TaskGraph

IntArray = NDArray[np.int64]
Mask = NDArray[np.bool_]

DEPENDENCIES, UNFOLDING, ARRIVALS = "dependencies", "unfolding", "arrivals"
ON_ITS_WAY, TAIL, BETWEEN = "on its way", "tail", "between iterations"
STEAL, POP, COPY, MESSAGE = "steal", "pop", "copy", "message"

_TAKING = (EventKind.ACQUIRE, EventKind.DUPLICATE)
_BEGINNING = (EventKind.TASK_START, EventKind.TASK_RESUME)
#: What a worker does before it makes a task ready.
_CONTEXT = (*_TAKING, EventKind.SPAWN, EventKind.TASK_END, EventKind.PREEMPT, EventKind.KILL)


@dataclass(frozen=True, eq=False)
class Stays:
    """Tasks in pools, in the order in which they entered."""

    #: Row of the trace with which each begins, and that with which it ends.
    first: IntArray
    last: IntArray
    task: IntArray
    iteration: IntArray
    group: IntArray
    instance: IntArray
    #: Whether the task came from another pool.
    landed: Mask


@dataclass(frozen=True, eq=False)
class Pieces:
    """Spans of time without gaps, each with what holds in it."""

    begin_ps: IntArray
    end_ps: IntArray
    #: Number of what holds.
    number: IntArray


def rows_of(trace: Trace, *kinds: EventKind) -> IntArray:
    """Return the rows of some kinds."""
    known = np.zeros(len(EventKind) + 1, bool)
    known[list(kinds)] = True
    return np.flatnonzero(known[trace.events["kind"]])


def stays_of(trace: Trace) -> Stays:
    """Return the stays of tasks in pools."""
    events = trace.events
    rows = rows_of(trace, EventKind.TASK_READY, EventKind.ACQUIRE)
    key = (events["iteration"][rows].astype(np.int64) << 32) + events["task"][rows]
    order = np.argsort(key, kind="stable")
    rows, key = rows[order], key[order]
    enters = events["kind"][rows] == EventKind.TASK_READY
    place = np.flatnonzero(enters)
    after = np.minimum(place + 1, len(rows) - 1)
    follows = (after > place) & (key[after] == key[place])
    moves = follows & enters[after]
    first = rows[place]
    ends = np.append(rows_of(trace, EventKind.ITERATION_END), len(trace) - 1)
    last = np.where(follows, rows[after], ends[np.searchsorted(ends[:-1], first)])
    last[moves] = _departures(trace, first[moves], last[moves])
    landed = np.zeros(len(rows), bool)
    landed[after[moves]] = True
    order = np.argsort(first)
    first = first[order]

    def column(name: str) -> IntArray:
        return events[name][first].astype(np.int64)

    return Stays(
        first,
        last[order],
        column("task"),
        column("iteration"),
        column("arg0"),
        column("arg1"),
        landed[place][order],
    )


def _departures(trace: Trace, entered: IntArray, landed: IntArray) -> IntArray:
    """Return when tasks left pools for others: rows of TRANSFER, else those of their landing.

    The trace says how many tasks each transfer takes. What leaves a pool first lands first, as when
    all transfers take as long.
    """
    events = trace.events
    pool = (events["arg0"][entered].astype(np.int64) << 32) + events["arg1"][entered]
    rows = rows_of(trace, EventKind.TRANSFER)
    rows = np.repeat(rows, events["arg1"][rows])
    rows = rows[np.argsort(events["arg0"][rows], kind="stable")]
    pools = events["arg0"][rows]
    order = np.lexsort((landed, pool))
    begins = np.searchsorted(pool[order], pool[order])
    place = np.searchsorted(pools, pool[order]) + np.arange(len(order)) - begins
    found = np.append(rows, NONE)[np.minimum(place, len(rows))]
    same = np.append(pools, NONE)[np.minimum(place, len(rows))] == pool[order]
    sound = same & (found > entered[order]) & (found < landed[order])
    result = landed.copy()
    result[order[sound]] = found[sound]
    return result


class Supply:
    """What pools hold, and why they hold nothing, over a run."""

    #: What holds in a piece without tasks, by its number.
    LACKS: tuple[tuple[str, str], ...] = (
        (DEPENDENCIES, ""),
        (UNFOLDING, ""),
        (ARRIVALS, ""),
        (TAIL, ""),
        (BETWEEN, ""),
        (ON_ITS_WAY, STEAL),
        (ON_ITS_WAY, POP),
        (ON_ITS_WAY, COPY),
        (ON_ITS_WAY, MESSAGE),
    )

    def __init__(self, trace: Trace, graph_of: Callable[[int], TaskGraph], in_place: Mask) -> None:
        """Find the stays of a trace.

        `graph_of` gives the graph of an iteration; `in_place`, shape (n_workers, n_nodes), says
        whose data workers use where they are.
        """
        self._graph_of, self._in_place = graph_of, in_place
        self._events = events = trace.events
        self._n = len(trace)
        self._time = events["time_ps"].astype(np.int64, copy=False)
        self.stays = stays_of(trace)
        self._starts = rows_of(trace, EventKind.ITERATION_START)
        self._ends = rows_of(trace, EventKind.ITERATION_END)
        #: Place of the iteration of each stay.
        self.iteration = np.searchsorted(self._starts, self.stays.first, side="right") - 1
        self._taking = self._by_worker(rows_of(trace, *_TAKING))
        preempted = rows_of(trace, EventKind.PREEMPT)
        preempted = preempted[events["arg1"][preempted] >= 0]
        taken = events["arg1"][preempted].astype(np.int64) * self._n + preempted
        self._taking = np.sort(np.append(self._taking, taken))
        self._beginning = self._by_worker(rows_of(trace, *_BEGINNING))
        self._context = self._by_worker(rows_of(trace, *_CONTEXT))
        copies = rows_of(trace, EventKind.MIGRATE_END)
        self._copies = copies[events["worker"][copies] == NONE]

    def _by_worker(self, rows: IntArray) -> IntArray:
        """Return rows as keys that sort by worker, then by row."""
        return np.sort(self._events["worker"][rows].astype(np.int64) * self._n + rows)

    def pieces(self, runs: Mask) -> Pieces:
        """Return the run in pieces, by what the pools hold of the tasks that count.

        Numbers below ``len(LACKS)`` say why there is none; the rest less that is the oldest stay.

        Parameters
        ----------
        runs : ndarray of bool, shape (n_stays,)
            Which stays count: those of tasks that some kind of processor can run.
        """
        own = np.flatnonzero(runs)
        marks = np.append(self._ends, self._starts)
        first = np.append(self.stays.first[own], marks)
        last = np.append(self.stays.last[own], marks)
        # Of a mark, which lack it ends.
        stay = np.append(own, np.repeat([-4, -5], [len(self._ends), len(self._starts)]))
        order = np.argsort(first, kind="stable")
        first, last, stay = first[order], last[order], stay[order]
        before = np.append(0, np.maximum.accumulate(last)[:-1])
        held = np.maximum(first, before)
        full, empty = last > held, first > before
        begin, end, number = self._lacks(before[empty], first[empty], stay[empty])
        begin = np.append(begin, self._time[held[full]])
        end = np.append(end, self._time[last[full]])
        number = np.append(number, stay[full] + len(self.LACKS))
        some = end > begin
        order = np.argsort(begin[some])
        return Pieces(begin[some][order], end[some][order], number[some][order])

    def _lacks(
        self, before: IntArray, row: IntArray, stay: IntArray
    ) -> tuple[IntArray, IntArray, IntArray]:
        """Return pieces between rows in which pools hold nothing: begins, ends, numbers.

        `stay` is what begins with the second row, below 0 at an end or start of an iteration.
        """
        begin, end = self._time[before], self._time[row]
        number = np.where(stay < 0, -stay - 1, 0)
        pusher = np.where(stay >= 0, self._events["worker"][row], NONE).astype(np.int64)
        outside = (stay >= 0) & (pusher == NONE)
        number[outside] = np.where(self.stays.landed[stay[outside]], 8, 2)
        inside = np.flatnonzero(pusher >= 0)
        who, when = pusher[inside], row[inside]
        context = self._context[np.searchsorted(self._context, who * self._n + when) - 1] % self._n
        number[inside[self._events["kind"][context] == EventKind.SPAWN]] = 1
        taken, begun, stolen, copied = self._acquired(who, when)
        cuts = np.stack([taken, begun, copied])
        cuts = np.clip(np.maximum.accumulate(cuts), begin[inside], end[inside])
        begins = [begin[pusher < 0], begin[inside], *cuts]
        ends = [end[pusher < 0], *cuts, end[inside]]
        own = number[inside]
        numbers = [number[pusher < 0], own, np.where(stolen, 5, 6), np.full(len(own), 7), own]
        return np.concatenate(begins), np.concatenate(ends), np.concatenate(numbers)

    def _acquired(
        self, worker: IntArray, row: IntArray
    ) -> tuple[IntArray, IntArray, Mask, IntArray]:
        """Return of what workers took last before rows: when, its start, theft, its data's time."""
        n, time = self._n, self._time
        place = np.searchsorted(self._taking, worker * n + row) - 1
        key = self._taking[np.maximum(place, 0)] if len(self._taking) else np.full(len(row), -1)
        known = (place >= 0) & (key // n == worker)
        took = np.where(known, key % n, 0)
        place = np.searchsorted(self._beginning, worker * n + took, side="right")
        key = np.append(self._beginning, -1)[place]
        known &= (key >= 0) & (key // n == worker) & (key % n <= row)
        start = np.where(known, key % n, 0)
        after = np.minimum(took + 1, n - 1)
        stolen = self._events["kind"][after] == EventKind.STEAL
        stolen |= self._events["kind"][took] != EventKind.ACQUIRE
        copied = np.where(known, self._copied(start, row, known), 0)
        return np.where(known, time[took], 0), np.where(known, time[start], 0), stolen, copied

    def _copied(self, start: IntArray, row: IntArray, known: Mask) -> IntArray:
        """Return when the last block has come that a task waited for after its start."""
        events, result = self._events, self._time[start]
        if not len(self._copies):
            return result
        first = np.searchsorted(self._copies, start)
        last = np.searchsorted(self._copies, row)
        for each in np.flatnonzero(known & (last > first)).tolist():
            rows, begun = self._copies[first[each] : last[each]], int(start[each])
            graph, task = (
                self._graph_of(int(events["iteration"][begun])),
                int(events["task"][begun]),
            )
            wanted = graph.access_block[graph.access_ptr[task] : graph.access_ptr[task + 1]]
            here = self._in_place[events["worker"][begun], events["arg1"][rows]]
            came = rows[here & np.isin(events["arg0"][rows], wanted)]
            if len(came):
                result[each] = self._time[came[-1]]
        return result
