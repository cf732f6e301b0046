"""How fast workers computed at any time of a run.

A worker computes at the rate of the core that it is on, times what is left of that core's speed,
times its own pace. All three may change: workers swap threads (EXCHANGE), cores change their speed
(SPEED), policies set paces (PACE). :class:`Rates` follows these events through a trace.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from simsched.engine.interface.problem import Problem
from simsched.policy.contract.decisions import WHOLE_PACE
from simsched.trace.schema import EventKind, Trace

IntArray = NDArray[np.int64]
FloatArray = NDArray[np.float64]


class _Steps:
    """Values that change at rows of a trace, one for each of several things.

    Each has an initial value; `thing`, `row` and `value` say, in any order, which thing has which
    value from which row on.
    """

    def __init__(
        self,
        n_rows: int,
        initial: NDArray[Any],
        thing: IntArray,
        row: IntArray,
        value: NDArray[Any],
    ) -> None:
        self._width = n_rows + 1
        things = np.concatenate([np.arange(len(initial)), thing])
        rows = np.concatenate([np.full(len(initial), -1), row])
        key = things * self._width + rows + 1
        order = np.argsort(key, kind="stable")
        self._key = key[order]
        self.thing, self.row = things[order], rows[order]
        self.value = np.concatenate([initial, value])[order]

    def place(self, thing: IntArray, row: IntArray) -> IntArray:
        """Return where the values of things stand that hold after rows."""
        key = thing * self._width + row + 1
        found: IntArray = np.searchsorted(self._key, key, side="right") - 1
        return found

    def at(self, thing: IntArray, row: IntArray) -> NDArray[Any]:
        """Return the values of things after rows."""
        found: NDArray[Any] = self.value[self.place(thing, row)]
        return found


class Rates:
    """Cores and rates of all workers over a run, all workers of a core being busy.

    Moments are given by rows of the trace, because several things may happen at the same time; what
    a row says holds from that row on. A run without changes costs one look at the kinds of its
    events.
    """

    def __init__(self, problem: Problem, trace: Trace) -> None:
        _, first = np.unique(problem.worker_core, return_index=True)
        sharing = np.bincount(problem.worker_core)
        self._busy = np.minimum(sharing, problem.n_smt) - 1  # of each core
        self._kind = problem.worker_kind[first]
        self._described = problem.worker_rate[first, self._busy]
        self._worker_core = problem.worker_core.astype(np.int64)
        self._exchanges: _Steps | None = None
        self._rate: _Steps | None = None
        kind = trace.events["kind"]
        rows = np.flatnonzero(np.isin(kind, [EventKind.EXCHANGE, EventKind.SPEED, EventKind.PACE]))
        if len(rows):
            self._follow(problem, trace, rows)

    def _follow(self, problem: Problem, trace: Trace, rows: IntArray) -> None:
        """Find the rates of all workers between the given rows."""
        events, n = trace.events, len(trace)
        swaps, speeds, paces = (
            rows[events["kind"][rows] == kind]
            for kind in (EventKind.EXCHANGE, EventKind.SPEED, EventKind.PACE)
        )
        worker = np.arange(problem.n_workers)
        one, other = (events[name][swaps] for name in ("arg0", "arg1"))
        self._exchanges = _Steps(
            n, self._worker_core, *_swapped(self._worker_core, one, other, swaps)
        )
        change = events["arg0"][speeds]
        which, core = np.nonzero(problem.change_core[change])
        speed = _Steps(
            n, np.ones(len(self._busy)), core, speeds[which], problem.change_speed[change[which]]
        )
        paced, part = events["worker"][paces].astype(np.int64), events["arg0"][paces] / WHOLE_PACE
        pace = _Steps(n, np.ones(len(worker)), paced, paces, part)
        # Rates can only change where one of the three does.
        of_worker = np.concatenate([one, other, np.tile(worker, len(speeds)), paced])
        at = np.concatenate([swaps, swaps, np.repeat(speeds, len(worker)), paces])
        self._rate = _Steps(n, np.zeros(len(worker)), of_worker, at, np.zeros(len(at)))
        of_worker, at = self._rate.thing, self._rate.row
        on = self._exchanges.at(of_worker, at).astype(np.int64)
        self._rate.value = self._described[on] * speed.at(on, at) * pace.at(of_worker, at)
        time = np.append(events["time_ps"], 0)  # row -1 is the start of the run
        self._since = time[at].astype(np.float64)
        self._end_ps = float(events["time_ps"][-1]) + 1.0

    def core(self, worker: IntArray, row: IntArray) -> IntArray:
        """Return the cores that workers are on after rows."""
        if self._exchanges is None:
            return self._worker_core[worker]
        return self._exchanges.at(worker, row).astype(np.int64)

    def kind(self, worker: IntArray, row: IntArray) -> NDArray[np.int32]:
        """Return the kinds of these cores: rows of the graphs' operations."""
        found: NDArray[np.int32] = self._kind[self.core(worker, row)]
        return found

    def time_ps(
        self, worker: IntArray, begin: IntArray, end: IntArray, start_ps: IntArray, ops: FloatArray
    ) -> FloatArray:
        """Return how long operations of workers, which ascend, take between two rows.

        A time that ends after the second row is only known to do so: it is not exact. `start_ps` is
        the time of the first row.
        """
        if self._rate is None:
            return np.asarray(ops / self._described[self._worker_core[worker]])
        first, last = self._rate.place(worker, begin), self._rate.place(worker, end)
        taken: FloatArray = ops / self._rate.value[first]
        mixed = np.flatnonzero(first != last)
        for who in np.unique(worker[mixed]).tolist():
            mine = mixed[worker[mixed] == who]
            since, done = self._progress(who)
            goal = np.interp(start_ps[mine], since, done) + ops[mine]
            taken[mine] = np.interp(goal, done, since) - start_ps[mine]
        return taken

    def _progress(self, worker: int) -> tuple[FloatArray, FloatArray]:
        """Return at which times a worker changed its rate, with what it could have done by then."""
        assert self._rate is not None
        own = slice(*np.searchsorted(self._rate.thing, [worker, worker + 1]).tolist())
        since = np.append(self._since[own], self._end_ps)
        done = np.cumsum(np.diff(since) * self._rate.value[own])
        return since, np.concatenate([[0.0], done])


def _swapped(
    core: IntArray, one: IntArray, other: IntArray, row: IntArray
) -> tuple[IntArray, IntArray, IntArray]:
    """Return who is on which core after each swap: workers, rows and cores."""
    on = core.tolist()
    after = []
    for first, second in zip(one.tolist(), other.tolist(), strict=True):
        on[first], on[second] = on[second], on[first]
        after += [on[first], on[second]]
    worker = np.stack([one, other], axis=1).ravel()
    return worker, np.repeat(row, 2), np.array(after, np.int64)
