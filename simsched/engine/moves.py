"""Account of tasks that only move data: how long they take, and how long others wait for them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from simsched.trace.schema import EventKind, Summary
from simsched.trace.sink import Events, EventSink
from simsched.trace.times import CLOSING, OPENING
from simsched.workload.graph import Workload

Int64Array = NDArray[np.int64]

_USED = (*OPENING, *CLOSING, EventKind.TASK_READY, EventKind.ITERATION_START)
_COLUMNS = ("time_ps", "kind", "worker", "task", "iteration")


class MoveAccount:
    """A sink that adds up the time of moves and of waiting for them, an iteration at a time.

    `others` gets the events too.

    A worker waits for moves before a task of another class from when it has ended what it did
    before, and everything else that the task depends on has ended, until the task is ready, if a
    move is the last of its predecessors. That is the *wait time* for prefetch and eviction of [1]_,
    without that for locks, which is part of taking tasks.

    References
    ----------
    .. [1] K. Chandrasekar, X. Ni, L. V. Kale, *A Memory Heterogeneity-Aware Runtime System for
       bandwidth-sensitive HPC applications*, IPDPS Workshops 2017, section V (Figs. 5 and 6).
    """

    def __init__(self, workload: Workload, n_workers: int, others: EventSink | None = None) -> None:
        graph = workload.graph
        self.capacity = 2**16 if others is None else others.capacity
        self._others = others
        self._n_tasks = graph.n_tasks
        self._moving = workload.moving_tasks()
        task = np.repeat(np.arange(graph.n_tasks), np.diff(graph.access_ptr))
        read = np.bincount(task, weights=graph.read_bytes, minlength=graph.n_tasks)
        self._read_bytes = np.where(self._moving, read, 0.0).astype(np.int64)
        self._source = np.repeat(np.arange(graph.n_tasks), np.diff(graph.succ_ptr))
        self._target = graph.succ.astype(np.int64)
        self._rows: list[list[Int64Array]] = []  # of the present iteration
        self._move_ps = np.zeros(n_workers, np.int64)
        self._wait_ps = self._moves = self._bytes = 0

    def append(self, events: Events) -> None:
        """Take the next batch; see :meth:`simsched.trace.sink.EventSink.append`."""
        used = np.isin(events["kind"], _USED) & (events["iteration"] > 0)
        rows = [events[name][used].astype(np.int64) for name in _COLUMNS]
        cuts = np.flatnonzero(rows[1] == EventKind.ITERATION_START).tolist()
        for begin, end in zip([0, *cuts], [*cuts, len(rows[0])], strict=True):
            if begin in cuts:
                self._close()
            self._rows.append([column[begin:end] for column in rows])
        if self._others is not None:
            self._others.append(events)

    def complete(self, summary: Summary) -> Summary:
        """Return the counters of the finished run with those of moves."""
        self._close()
        return replace(
            summary,
            worker_move_ps=self._move_ps,
            move_wait_ps=self._wait_ps,
            migrations=summary.migrations + self._moves,
            migrated_bytes=summary.migrated_bytes + self._bytes,
        )

    def _close(self) -> None:
        """Add up an iteration."""
        if not self._rows:
            return
        time, kind, worker, task, _ = (
            np.concatenate(part) for part in zip(*self._rows, strict=True)
        )
        self._rows = []
        if not len(time):
            return
        start_ps = int(time[0])
        moving = self._moving[np.maximum(task, 0)] & (task >= 0)
        self._add_moves(*(column[moving] for column in (time, kind, worker)))
        ended = task[(kind == EventKind.TASK_END) & moving]
        self._moves += int((self._read_bytes[ended] > 0).sum())
        self._bytes += int(self._read_bytes[ended].sum())
        last = self._last_ends(time, kind, task, start_ps)
        ready = np.full(self._n_tasks, start_ps)
        is_ready = kind == EventKind.TASK_READY
        ready[task[is_ready]] = time[is_ready]
        chosen = np.isin(kind, (EventKind.TASK_START, *CLOSING[1:])) & (worker >= 0)
        order = np.flatnonzero(chosen)
        order = order[np.argsort(worker[order], kind="stable")]
        begun = np.flatnonzero((kind[order] == EventKind.TASK_START) & ~moving[order])
        before = order[np.maximum(begun - 1, 0)]
        begun = order[begun]
        free = np.where(
            (before < begun) & (worker[before] == worker[begun]), time[before], start_ps
        )
        waits = last[1, task[begun]] > last[0, task[begun]]
        since = np.maximum(free, last[0, task[begun]])
        self._wait_ps += int(np.where(waits, np.maximum(ready[task[begun]] - since, 0), 0).sum())

    def _add_moves(self, time: Int64Array, kind: Int64Array, worker: Int64Array) -> None:
        """Add the time of each worker in tasks that move, whose events these are."""
        order = np.flatnonzero(np.isin(kind, (*OPENING, *CLOSING)))
        order = order[np.argsort(worker[order], kind="stable")]
        first, second = order[:-1], order[1:]
        whole = np.isin(kind[first], OPENING) & np.isin(kind[second], CLOSING)
        whole &= worker[first] == worker[second]
        np.add.at(self._move_ps, worker[first[whole]], (time[second] - time[first])[whole])

    def _last_ends(
        self, time: Int64Array, kind: Int64Array, task: Int64Array, start_ps: int
    ) -> Int64Array:
        """Return when the last predecessor of each task ended: row 0 of others, 1 of moves."""
        end = np.full(self._n_tasks, start_ps)
        is_end = kind == EventKind.TASK_END
        end[task[is_end]] = time[is_end]
        last = np.full((2, self._n_tasks), start_ps)
        np.maximum.at(
            last, (self._moving[self._source].astype(np.int64), self._target), end[self._source]
        )
        return last


def account_of_moves(
    workload: Workload, n_workers: int, events: bool | EventSink
) -> MoveAccount | None:
    """Return the account of a program's moves, None for one without; it passes events on."""
    if not workload.move_classes:
        return None
    return MoveAccount(workload, n_workers, None if isinstance(events, bool) else events)
