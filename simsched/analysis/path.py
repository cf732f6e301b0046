"""The critical path of a run: the chain of tasks and waits that its makespan consists of.

It is followed backwards from the last end of each iteration. What a worker did before something on
the path is on the path, too, as long as it was not idle; where it was idle, the path goes on with
whoever has made the task ready that it took then, through the pool in which that task has waited;
or with the task whose end let it take that one, or with itself if the task was ready before.
So the path has no gaps: its pieces add up to the makespan, and shortening a piece by little
shortens the run, unless others then wait instead.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simsched.analysis.schedule import IDLE, TAKEN, steps_of
from simsched.analysis.supply import BETWEEN, rows_of, stays_of
from simsched.trace.run import Run
from simsched.trace.schema import NONE, EventKind, Trace

IntArray = NDArray[np.int64]

#: What happens in a piece of the path.
ACTIVITIES = {
    "task": "a worker is in the task",
    "spawn": "a worker creates a child of the task",
    "pop": "a worker takes the task out of a pool of its own",
    "steal": "a worker takes the task from others",
    "release": "a worker makes the successors of the task ready",
    "switch": "a worker leaves a task that it has lost",
    "move": "a worker moves a block",
    "pool": "the task is ready and nobody takes it",
    "message": "the task is sent from one pool to another one",
    "arrival": "the task has not arrived yet",
    "idle": "a worker is idle, and the trace does not say what ends that",
    BETWEEN: "the iteration has ended and the next one has not begun",
}
_ACTIVITY = {
    EventKind.TASK_START: "task",
    EventKind.TASK_RESUME: "task",
    EventKind.ACCESS: "task",
    EventKind.TASK_SUSPEND: "spawn",
    EventKind.SPAWN: "spawn",
    EventKind.ACQUIRE: "pop",
    EventKind.STEAL: "steal",
    EventKind.DUPLICATE: "steal",
    TAKEN: "steal",
    EventKind.TASK_END: "release",
    EventKind.TASK_READY: "",  # as what comes before it
    EventKind.PREEMPT: "switch",
    EventKind.KILL: "switch",
    EventKind.MIGRATE_START: "move",
}


@dataclass(frozen=True, eq=False)
class CriticalPath:
    """Pieces of the path in the order of time, without gaps: columns of one length."""

    iteration: NDArray[np.int32]
    #: -1 where no worker is concerned, as for the task.
    worker: IntArray
    #: Of `ACTIVITIES`.
    activity: NDArray[np.str_]
    task: NDArray[np.int32]
    start_ps: IntArray
    end_ps: IntArray

    def by_activity(self) -> dict[str, int]:
        """Return the picoseconds of each activity that occurs."""
        length = self.end_ps - self.start_ps
        found = {name: int(length[self.activity == name].sum()) for name in ACTIVITIES}
        return {name: time for name, time in found.items() if time}


@dataclass(frozen=True)
class _Piece:
    iteration: int
    worker: int
    activity: str
    task: int
    start_ps: int
    end_ps: int


def critical_path(run: Run) -> CriticalPath:
    """Return the critical path of a run.

    Parameters
    ----------
    run : Run
        A run with its event trace, or with that of some iterations.

    Returns
    -------
    CriticalPath
        From the start of the first iteration in the trace to the end of the last one.

    Raises
    ------
    ValueError
        The run has no trace.
    """
    if run.trace is None:
        raise ValueError("run: found no event trace, accepted: a run with events=True")
    walk = _Walk(run.trace, len(run.worker_thread))
    pieces = _merged(walk.pieces())
    columns = ([getattr(piece, name) for piece in pieces] for name in _Piece.__annotations__)
    iteration, worker, activity, task, start, end = columns
    return CriticalPath(
        np.array(iteration, np.int32),
        np.array(worker, np.int64),
        np.array(activity, np.str_),
        np.array(task, np.int32),
        np.array(start, np.int64),
        np.array(end, np.int64),
    )


def _merged(pieces: list[_Piece]) -> list[_Piece]:
    """Return pieces in the order of time, those that are alike and follow each other as one."""
    found: list[_Piece] = []
    for piece in reversed(pieces):
        if piece.start_ps == piece.end_ps:
            continue
        last = found[-1] if found else None
        alike = last is not None and (last.iteration, last.worker, last.activity, last.task) == (
            piece.iteration,
            piece.worker,
            piece.activity,
            piece.task,
        )
        if last is not None and alike:
            found[-1] = _Piece(
                piece.iteration,
                piece.worker,
                piece.activity,
                piece.task,
                last.start_ps,
                piece.end_ps,
            )
        else:
            found.append(piece)
    return found


class _Walk:
    """The way back through a trace."""

    def __init__(self, trace: Trace, n_workers: int) -> None:
        self._events, self._n = trace.events, len(trace)
        self._time = trace.events["time_ps"]
        steps = steps_of(trace)
        #: Rows of each worker, one worker after the other.
        self._key, self._kind = steps.worker * self._n + steps.row, steps.kind
        self._stays = stays_of(trace)
        self._by_last = np.argsort(self._stays.last, kind="stable")
        self._last = self._stays.last[self._by_last]
        name = (self._stays.iteration << 32) + self._stays.task
        self._by_task = np.lexsort((self._stays.first, name))
        self._place = np.empty(len(name), np.int64)
        self._place[self._by_task] = np.arange(len(name))
        self._starts = rows_of(trace, EventKind.ITERATION_START)
        self._ends = rows_of(trace, EventKind.ITERATION_END)
        self._task_ends = rows_of(trace, EventKind.TASK_END)

    def pieces(self) -> list[_Piece]:
        """Return the pieces of the path, the last one first."""
        found: list[_Piece] = []
        after: int | None = None
        for start, end in zip(self._starts[::-1].tolist(), self._ends[::-1].tolist(), strict=True):
            number, time = int(self._events["iteration"][start]), int(self._time[end])
            if after is not None:
                found.append(_Piece(number, NONE, BETWEEN, NONE, time, after))
            found += self._iteration(number, start, end)
            after = int(self._time[start])
        return found

    def _iteration(self, number: int, start: int, end: int) -> Iterator[_Piece]:
        """Yield the pieces of an iteration, the last one first."""
        row = int(self._task_ends[np.searchsorted(self._task_ends, end) - 1])
        begin, now = int(self._time[start]), int(self._time[end])
        worker = int(self._events["worker"][row])
        if int(self._time[row]) < now:  # a block was moved after the last task
            yield _Piece(number, NONE, "move", NONE, int(self._time[row]), now)
            now = int(self._time[row])
        while now > begin:
            where = worker, row
            for piece, *then in self._step(number, start, *where, now):
                yield piece
                now = piece.start_ps
                worker, row = then

    def _before(self, worker: int, row: int) -> int:
        """Return the place of the last thing that a worker did before a row; -1 without one."""
        place = int(np.searchsorted(self._key, worker * self._n + row)) - 1
        return place if place >= 0 and int(self._key[place]) // self._n == worker else -1

    def _step(
        self, number: int, start: int, worker: int, row: int, now: int
    ) -> Iterator[tuple[_Piece, int, int]]:
        """Yield what went on before a row of a worker, and with which worker and row it goes on."""
        place = self._before(worker, row)
        since = int(self._key[place]) % self._n if place >= 0 else -1
        kind = int(self._kind[place]) if since > start else int(EventKind.PARK)
        if kind in IDLE:
            yield from self._idle(number, start, worker, row, max(since, start), now)
            return
        task = int(self._events["task"][since])
        activity = _ACTIVITY[kind]
        if kind == EventKind.ACQUIRE and self._is_steal(since):
            activity = "steal"
        while kind == EventKind.TASK_READY and place > 0:  # what has made the task ready
            place -= 1
            kind = int(self._kind[place])
            task = int(self._events["task"][self._key[place] % self._n])
            activity = _ACTIVITY.get(kind, "")
        begin = int(self._time[since])
        yield _Piece(number, worker, activity or "release", task, begin, now), worker, since

    def _is_steal(self, row: int) -> bool:
        after = min(row + 1, self._n - 1)
        return int(self._events["kind"][after]) == EventKind.STEAL

    def _idle(
        self, number: int, start: int, worker: int, row: int, since: int, now: int
    ) -> Iterator[tuple[_Piece, int, int]]:
        """Yield what a worker waited for until a row, from the row on that made it idle."""
        kind = int(self._events["kind"][row])
        stay = self._stay(row)
        other, waited = NONE, int(self._events["kind"][since])
        if kind == EventKind.ACQUIRE and stay is not None:
            end = self._let(start, row, now, stay)
            if end is None:
                idle = self._idle_from(worker, row, start)
                yield from self._through_pools(number, start, stay, now, (worker, idle))
                return
            other, row = int(self._events["worker"][end]), end
        if kind == EventKind.PREEMPT:  # of a task that this worker has taken
            other = int(self._events["worker"][row])
        elif kind == EventKind.DUPLICATE:
            other = int(self._events["arg0"][row])
        elif kind != EventKind.ACQUIRE and waited == EventKind.TASK_AWAIT:
            row = int(self._task_ends[np.searchsorted(self._task_ends, row) - 1])
            other = int(self._events["worker"][row])
        if other in (NONE, worker) or int(self._time[row]) != now:
            begin = int(self._time[since])
            yield _Piece(number, worker, "idle", NONE, begin, now), worker, since
            return
        yield _Piece(number, other, "task", NONE, now, now), other, row

    def _let(self, start: int, row: int, now: int, stay: int) -> int | None:
        """Return the end of a task with which an idle worker may take one that was ready before."""
        place = int(np.searchsorted(self._task_ends, row)) - 1
        if place < 0 or int(self._time[self._stays.first[stay]]) >= now:
            return None
        end = int(self._task_ends[place])
        return end if end > start and int(self._time[end]) == now else None

    def _stay(self, row: int) -> int | None:
        """Return the stay in a pool that a row has ended."""
        place = int(np.searchsorted(self._last, row))
        if place < len(self._last) and int(self._last[place]) == row:
            return int(self._by_last[place])
        return None

    def _idle_from(self, worker: int, row: int, start: int) -> int:
        """Return the row since which a worker is idle before a row."""
        place, found = self._before(worker, row), start
        while place >= 0 and int(self._kind[place]) in IDLE:
            before = int(self._key[place]) - worker * self._n
            if before <= start:  # of an iteration before, or of another worker
                return start
            found, place = before, place - 1
        return found

    def _through_pools(
        self, number: int, start: int, stay: int, now: int, taker: tuple[int, int]
    ) -> Iterator[tuple[_Piece, int, int]]:
        """Yield the way of a task from where it became ready to where it was taken.

        If that was before its taker was idle, the path goes on with what the taker did until then.
        """
        task, idle = int(self._stays.task[stay]), int(self._time[taker[1]])
        while True:
            first = int(self._stays.first[stay])
            ready = int(self._time[first])
            pusher = int(self._events["worker"][first])
            if ready < idle:
                yield _Piece(number, NONE, "pool", task, idle, now), *taker
                return
            yield _Piece(number, NONE, "pool", task, ready, now), pusher, first
            if pusher != NONE:
                return
            if not self._stays.landed[stay]:
                begin = int(self._time[start])
                yield _Piece(number, NONE, "arrival", task, begin, ready), NONE, start
                return
            stay = int(self._by_task[self._place[stay] - 1])
            now = int(self._time[self._stays.last[stay]])
            if now < idle:
                yield _Piece(number, NONE, "message", task, idle, ready), *taker
                return
            yield _Piece(number, NONE, "message", task, now, ready), NONE, first
