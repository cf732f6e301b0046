"""What every worker does when, as intervals that follow from the events of a trace.

A *stretch* is the time in which a worker is in a task: from its start or resumption until it ends,
is suspended, is preempted or has its continuation put into a pool. Costs of the runtime are
intervals of their own; those of parent-first spawns lie inside the stretch of the parent, all
others between stretches. What remains is idle time. The stretches of a worker less the spawns
inside them are its busy time (`worker_busy_ps` of the summary).

A wait for a lock that comes right before a join that only computes and was never suspended leaves
no event; it is counted as part of the join.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from simsched.policy.contract.base import PARENT_FIRST
from simsched.trace.schema import NONE, EventKind, Loss, Trace

Int64Array = NDArray[np.int64]
Mask = NDArray[np.bool_]


class Activity(IntEnum):
    """What a worker does in an interval; `arg` and `extra` of an interval depend on it."""

    TASK = 0  #: is in the task: (0, bytes that go to memory)
    SPAWN = 1  #: creates a child: (child, 0)
    POP = 2  #: takes a task from a pool of its own: (group, 0)
    STEAL = 3  #: takes a task from another pool: (victim or -1, distance class)
    RELEASE = 4  #: makes the successors of a task ready: (0, 0)
    SWITCH = 5  #: leaves a task that has been preempted or lost: (0, 0)
    TAKE = 6  #: takes over a task that has been preempted: (0, 0)
    MIGRATE = 7  #: copies a block to another node: (block, node)
    DUPLICATE = 8  #: takes a task that another worker executes: (that worker, 0)


_OPENING = (EventKind.TASK_START, EventKind.TASK_RESUME)
_CLOSING = (EventKind.TASK_END, EventKind.TASK_SUSPEND, EventKind.PREEMPT, EventKind.KILL)
_RELEVANT = (
    *_OPENING,
    *_CLOSING,
    EventKind.TASK_READY,
    EventKind.ACQUIRE,
    EventKind.STEAL,
    EventKind.ACCESS,
    EventKind.PARK,
    EventKind.MIGRATE_START,
    EventKind.MIGRATE_END,
    EventKind.SPAWN,
    EventKind.DUPLICATE,
    EventKind.FAILURE,
)
_TAKEN = 100  #: stands for a preemption on the side of the worker that takes the task


class Columns:
    """Base of dataclasses whose fields are arrays of one length: the columns of a table."""

    def __len__(self) -> int:
        return len(getattr(self, next(iter(vars(self)))))

    def chosen(self, rows: Mask | Int64Array) -> Self:
        """Return some of the rows."""
        return type(self)(**{name: column[rows] for name, column in vars(self).items()})

    @classmethod
    def joined(cls, parts: Sequence[Self]) -> Self:
        """Return the rows of several tables."""
        columns = zip(*(vars(part).values() for part in parts), strict=True)
        return cls(*map(np.concatenate, columns))


@dataclass(frozen=True, eq=False)
class Intervals(Columns):
    """Intervals in the order of the events that begin them.

    Of those without length only steals and the beginnings and ends of tasks are there.
    """

    #: An :class:`Activity`, which says what `arg` and `extra` are.
    activity: NDArray[np.int8]
    worker: NDArray[np.int32]
    #: -1 for none.
    task: NDArray[np.int32]
    iteration: NDArray[np.int32]
    start_ps: Int64Array
    end_ps: Int64Array
    #: Row of the trace that begins the interval.
    event: Int64Array
    #: Whether a stretch begins with the start of its task.
    first: Mask
    #: Whether it ends with the end of its task.
    last: Mask
    #: Whether it ends without result: the worker has lost the task.
    lost: Mask
    #: Whether the interval lies inside a stretch.
    inside: Mask
    arg: Int64Array
    extra: Int64Array


@dataclass(frozen=True, eq=False)
class Timeline:
    """The intervals of a trace and what did not fit."""

    intervals: Intervals
    #: Time of the last event.
    end_ps: int
    #: Numbers of rows that contradict others, by what is wrong with them; empty for a sound trace.
    set_aside: dict[str, int]


@dataclass(frozen=True, eq=False)
class _Rows:
    """Events that tell what a worker does, worker by worker, each in order of time."""

    event: Int64Array
    time: Int64Array
    kind: NDArray[np.int32]
    worker: NDArray[np.int32]
    task: NDArray[np.int32]
    iteration: NDArray[np.int32]
    arg0: Int64Array
    arg1: Int64Array
    end_ps: int

    def __len__(self) -> int:
        return len(self.event)

    def follows(self, row: Int64Array, after: Int64Array) -> Mask:
        """Return whether `after` are rows of the same worker as `row`."""
        last = len(self) - 1
        same: Mask = self.worker[np.minimum(after, last)] == self.worker[row]
        return same & (after < len(self))

    def kind_at(self, row: Int64Array, after: Int64Array) -> NDArray[np.int32]:
        """Return the kinds at `after`, -1 where that is no row of the same worker as `row`."""
        last = len(self) - 1
        kind: NDArray[np.int32] = np.where(
            self.follows(row, after), self.kind[np.minimum(after, last)], NONE
        ).astype(np.int32)
        return kind

    def time_at(self, row: Int64Array, after: Int64Array) -> Int64Array:
        """Return the times at `after`, the end of the trace where there is no such row."""
        last = len(self) - 1
        return np.where(self.follows(row, after), self.time[np.minimum(after, last)], self.end_ps)


def timeline(trace: Trace, *, ordered: bool = True) -> Timeline:
    """Return what the workers did; rows that are not in order of time are sorted, and counted.

    Unless `ordered`, the intervals are in any order, with those without length among them, after
    half the time.
    """
    set_aside: dict[str, int] = {}
    events = trace.events
    time = events["time_ps"].astype(np.int64, copy=False)
    back = int(np.count_nonzero(time[1:] < time[:-1]))
    if back:
        set_aside["rows earlier than the row before (sorted)"] = back
        order = np.argsort(time, kind="stable")
        events = {name: column[order] for name, column in events.items()}
    rows = _relevant(events)
    if not len(rows):
        return Timeline(_made(rows, Activity.TASK, rows.event, rows.time), rows.end_ps, set_aside)
    parts, opened = _stretches(rows, set_aside)
    others = [_spawns(rows, parts, opened), *_acquisitions(rows), *_other_costs(rows)]
    joined = Intervals.joined([parts, *others])
    if not ordered:
        return Timeline(joined, rows.end_ps, set_aside)
    joined = joined.chosen(
        (joined.end_ps > joined.start_ps)
        | joined.first
        | joined.last
        | (joined.activity == Activity.STEAL)
    )
    joined = joined.chosen(np.lexsort((joined.inside, joined.event)))
    return Timeline(joined, rows.end_ps, set_aside)


def _relevant(events: dict[str, Any]) -> _Rows:
    """Return the rows that concern workers."""
    chosen = np.flatnonzero(_among(events["kind"], _RELEVANT) & (events["worker"] >= 0))
    preempted = events["kind"][chosen] == EventKind.PREEMPT
    taken = chosen[preempted & (events["arg1"][chosen] >= 0)]
    event = np.concatenate([chosen, taken])
    kind = events["kind"][event].astype(np.int32, copy=False)
    worker = events["worker"][event].astype(np.int32, copy=False)
    kind[len(chosen) :] = _TAKEN
    worker[len(chosen) :] = events["arg1"][taken]
    order = _by_worker(worker, event, ordered=not len(taken))
    order = order[~_of_batches(kind[order], worker[order])]
    event = event[order]
    return _Rows(
        event,
        events["time_ps"][event].astype(np.int64, copy=False),
        kind[order],
        worker[order],
        events["task"][event].astype(np.int32, copy=False),
        events["iteration"][event].astype(np.int32, copy=False),
        events["arg0"][event].astype(np.int64, copy=False),
        events["arg1"][event].astype(np.int64, copy=False),
        int(events["time_ps"].max()) if len(events["time_ps"]) else 0,
    )


def _among(kind: NDArray[Any], kinds: tuple[int, ...]) -> Mask:
    """Return which rows are of some kinds; in one look each, which `np.isin` is not."""
    known = np.zeros(max(_TAKEN, *EventKind) + 2, bool)
    known[list(kinds)] = True  # -1, which is no kind, finds the last entry
    found: Mask = known[kind]
    return found


def _by_worker(worker: NDArray[np.int32], event: Int64Array, *, ordered: bool) -> Int64Array:
    if ordered and int(worker.max(initial=0)) < 2**15:
        # Numbers this small are sorted digit by digit, ten times as fast.
        return np.argsort(worker.astype(np.int16), kind="stable")
    return np.lexsort((event, worker))


def _of_batches(kind: NDArray[np.int32], worker: NDArray[np.int32]) -> Mask:
    """Return the entries that a thief puts into its own pool while it pays for the steal."""
    ready = kind == EventKind.TASK_READY
    before = np.maximum.accumulate(np.where(ready, 0, np.arange(len(kind))))
    batch: Mask = ready & (kind[before] == EventKind.STEAL) & (worker[before] == worker)
    return batch


def _past_ready(rows: _Rows) -> Int64Array:
    """Return for each row the first one from it on that makes no other task ready."""
    opening = _among(rows.kind, _OPENING)
    current = np.maximum.accumulate(np.where(opening, np.arange(len(rows)), 0))
    stays = (rows.kind != EventKind.TASK_READY) | (rows.task == rows.task[current])
    place = np.where(stays, np.arange(len(rows)), len(rows))
    following = np.minimum.accumulate(place[::-1])[::-1]
    return np.minimum(following, len(rows) - 1)


def _stretches(rows: _Rows, set_aside: dict[str, int]) -> tuple[Intervals, Int64Array]:
    """Return the stretches in tasks, and the row that opens each."""
    opening = _among(rows.kind, _OPENING)
    opened = np.flatnonzero(opening)
    current = np.maximum.accumulate(np.where(opening, np.arange(len(rows)), 0))
    continued = (rows.kind == EventKind.TASK_READY) & (rows.task == rows.task[current])
    closing = np.flatnonzero(_among(rows.kind, _CLOSING) | (continued & ~opening))
    place = np.searchsorted(closing, opened, side="right")
    closed = np.append(closing, len(rows))[place]
    following = np.append(opened, len(rows))[1:]
    broken = ~rows.follows(opened, closed) | (closed > following)
    sound = ~broken & (rows.task[np.minimum(closed, len(rows) - 1)] == rows.task[opened])
    end = np.where(sound, rows.time_at(opened, closed), rows.time_at(opened, following))
    count = int(np.count_nonzero(~sound))
    if count:
        set_aside["stretches in a task that nothing ends (cut at the next one)"] = count
    ends = np.flatnonzero(rows.kind == EventKind.TASK_END)
    lost = len(ends) - int(np.count_nonzero(np.isin(ends, closed[sound])))
    if lost:
        set_aside["ends of tasks that their worker was not in"] = lost
    moved = np.zeros(len(opened), np.int64)
    accesses = np.flatnonzero(rows.kind == EventKind.ACCESS)
    owner = np.searchsorted(opened, accesses, side="right") - 1
    inside = (owner >= 0) & (
        rows.worker[accesses] == rows.worker[opened[owner]] if len(opened) else False
    )
    np.add.at(moved, owner[inside], rows.arg1[accesses[inside]])
    closed_by = rows.kind_at(opened, closed)
    marks = {
        "first": rows.kind[opened] == EventKind.TASK_START,
        "last": sound & (closed_by == EventKind.TASK_END),
        "lost": sound & (closed_by == EventKind.KILL),
    }
    return _made(rows, Activity.TASK, opened, end, extra=moved, **marks), opened


def _spawns(rows: _Rows, stretches: Intervals, opened: Int64Array) -> Intervals:
    """Return the creation of children; docs/semantics.md, rules L8 to L10."""
    row = np.flatnonzero(rows.kind == EventKind.SPAWN)
    last = len(rows) - 1
    following = np.minimum(row + 1, last)
    # Tasks that have waited for this creation enter their pools instead of the child, which comes
    # after them.
    held = rows.kind_at(row, row + 1) == EventKind.TASK_READY
    held &= (rows.task[following] != rows.task[row]) & (rows.task[following] != rows.arg0[row])
    after = np.where(held, _past_ready(rows)[following], row + 1)
    kind = rows.kind_at(row, after)
    task = rows.task[np.minimum(after, last)]
    parent_first = rows.arg1[row] == PARENT_FIRST
    # Child-first: the parent leaves the worker at once, then the child starts.
    left = np.isin(kind, (EventKind.TASK_READY, EventKind.TASK_SUSPEND)) & (task == rows.task[row])
    end_child_first = rows.time_at(row, after + left)
    # Parent-first: the child is created, then perhaps a lock is waited for.
    pushed = (kind == EventKind.TASK_READY) & (task == rows.arg0[row])
    then = after + pushed
    known = np.isin(
        rows.kind_at(row, then), (EventKind.SPAWN, EventKind.TASK_SUSPEND, EventKind.ACCESS)
    )
    fallback = np.where(then > row + 1, rows.time_at(row, then - 1), rows.time[row])
    end = np.where(
        parent_first, np.where(known, rows.time_at(row, then), fallback), end_child_first
    )
    owner = np.searchsorted(opened, row, side="right") - 1
    if len(opened):
        within = parent_first & (owner >= 0) & (stretches.worker[owner] == rows.worker[row])
        within &= rows.time[row] <= stretches.end_ps[owner]
        end = np.where(within, np.minimum(end, stretches.end_ps[owner]), end)
    else:
        within = np.zeros(len(row), bool)
    return _made(rows, Activity.SPAWN, row, end, arg=rows.arg0[row], inside=within)


def _acquisitions(rows: _Rows) -> list[Intervals]:
    """Return the taking of tasks from pools."""
    row = np.flatnonzero(rows.kind == EventKind.ACQUIRE)
    stolen = rows.kind_at(row, row + 1) == EventKind.STEAL
    stolen &= rows.task[np.minimum(row + 1, len(rows) - 1)] == rows.task[row]
    moved = _lone(rows, row[stolen] + 1)
    start = rows.time[row]
    following = rows.time_at(row, row + 1 + stolen)
    # The cost ends before the next thing begins; the trace may end while a cost is paid.
    end = start + np.clip(rows.arg1[row], 0, np.maximum(following - start, 0))
    group = rows.arg0[row] >> 32
    pops = _made(rows, Activity.POP, row[~stolen], end[~stolen], arg=group[~stolen])
    thefts = row[stolen] + 1
    # Pools of group 0 belong to workers; those of other groups may belong to anything.
    victim = np.where(group[stolen] == 0, rows.arg0[thefts], NONE)
    steals = _made(
        rows, Activity.STEAL, row[stolen], end[stolen], arg=victim, extra=rows.arg1[thefts]
    )
    lone = _made(
        rows, Activity.STEAL, moved, rows.time[moved], arg=rows.arg0[moved], extra=rows.arg1[moved]
    )
    return [pops, steals, lone]


def _lone(rows: _Rows, taken: Int64Array) -> Int64Array:
    """Return steals that no worker has paid for: transfers, and what others have recorded."""
    row = np.flatnonzero(rows.kind == EventKind.STEAL)
    return row[~np.isin(row, taken)]


def _other_costs(rows: _Rows) -> list[Intervals]:
    """Return releases, context switches, duplicates and copies."""
    n = len(rows)
    numbers = np.where(rows.kind != EventKind.TASK_READY, np.arange(n), n)
    beyond = np.append(np.minimum.accumulate(numbers[::-1])[::-1], n)  # first row that is no push
    ended = np.flatnonzero(rows.kind == EventKind.TASK_END)
    ended = ended[rows.kind_at(ended, ended + 1) == EventKind.TASK_READY]
    lost = rows.kind == EventKind.KILL
    left = np.flatnonzero((rows.kind == EventKind.PREEMPT) | (lost & (rows.arg0 != Loss.FAILED)))
    again = np.flatnonzero(rows.kind == EventKind.DUPLICATE)
    taken = np.flatnonzero(rows.kind == _TAKEN)
    taken = taken[np.isin(rows.kind_at(taken, taken + 1), _OPENING)]
    copied = np.flatnonzero(rows.kind == EventKind.MIGRATE_START)
    copied = copied[rows.kind_at(copied, copied + 1) == EventKind.MIGRATE_END]
    return [
        _made(rows, Activity.RELEASE, ended, rows.time_at(ended, beyond[ended + 1])),
        _made(rows, Activity.SWITCH, left, rows.time_at(left, beyond[left + 1])),
        _made(
            rows, Activity.DUPLICATE, again, rows.time_at(again, again + 1), arg=rows.arg0[again]
        ),
        _made(rows, Activity.TAKE, taken, rows.time_at(taken, taken + 1)),
        _made(
            rows,
            Activity.MIGRATE,
            copied,
            rows.time_at(copied, copied + 1),
            arg=rows.arg0[copied],
            extra=rows.arg1[copied],
        ),
    ]


def _made(
    rows: _Rows, activity: Activity, row: Int64Array, end_ps: Int64Array, **columns: Any
) -> Intervals:
    """Return intervals that begin at rows; columns that are not given are 0 or False."""
    n = len(row)
    names = ("first", "last", "lost", "inside")
    marks = {name: columns.pop(name, np.zeros(n, bool)) for name in names}
    numbers = {name: columns.pop(name, np.zeros(n, np.int64)) for name in ("arg", "extra")}
    return Intervals(
        np.full(n, activity, np.int8),
        rows.worker[row],
        rows.task[row],
        rows.iteration[row],
        rows.time[row],
        end_ps,
        rows.event[row],
        **marks,
        **numbers,
    )
