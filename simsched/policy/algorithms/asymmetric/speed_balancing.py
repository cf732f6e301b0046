"""Balancing of the speeds with which threads make progress."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from simsched.policy import (
    SEVERAL_SPEEDS,
    HookView,
    Need,
    register,
)
from simsched.policy.parts.threads import Move, Queues, ThreadScheduler
from simsched.workload.graph import FloatArray, Int64Array


@register("speed_balancing")
@dataclass(frozen=True, kw_only=True)
class SpeedBalancing(ThreadScheduler):
    """Threads are pulled from slow cores to fast ones, as they turn out to be.

    Notes
    -----
    The speed of a thread is the share of the last interval in which it was executed, times that of
    its core. A core faster than the mean pulls the thread that has been moved least from the
    slowest core below the mean. Readings: docs/sources/aats.md.

    References
    ----------
    S. Hofmeyr, C. Iancu, F. Blagojevic, *Load balancing on speed*, PPoPP 2010. Q. Chen, M. Guo,
    Springer 2017, section 5.3.5.2.
    """

    needs: ClassVar[tuple[Need, ...]] = (SEVERAL_SPEEDS,)

    def on_acquire(
        self, view: HookView, state: Queues, task: int, worker: int, group: int, instance: int
    ) -> None:
        """Note how long a task had been executed before it goes on."""
        super().on_acquire(view, state, task, worker, group, instance)
        if state.is_used:
            state.notes.setdefault("before", {})[task] = view.live.executed_ps(task)

    def balance(self, view: HookView, state: Queues) -> list[Move]:
        speed = self._core_speeds(view, state)
        mean = float(speed.mean())
        round_ = state.ticks
        used = state.notes.setdefault("used", [-(10**9)] * view.n_workers)
        recent = 2 * self.slices_each
        moves: list[Move] = []
        load = [state.load(view, core) for core in range(view.n_workers)]
        group = state.groups.of_worker
        for core in sorted(range(view.n_workers), key=lambda k: (-float(speed[k]), load[k])):
            slow = [
                k
                for k in range(view.n_workers)
                if speed[k] < mean < speed[core]
                and round_ - used[k] >= recent
                and (load[k] > 1 or (load[k] == 1 and group[k] > group[core]))
            ]
            if not slow:
                continue
            source = min(slow, key=lambda k: float(speed[k]))
            pulled = self._pull(view, state, source, core)
            if pulled:
                used[core] = used[source] = round_
            moves += pulled
        return moves

    def rests(self, view: HookView, state: Queues) -> bool:
        """Return whether the last interval is like those to come, and no core has to wait."""
        recent = state.ticks - 2 * self.slices_each
        is_steady = np.array_equal(state.notes["share"], self._shares_to_come(view, state))
        return is_steady and all(round_ <= recent for round_ in state.notes["used"])

    def _shares_to_come(self, view: HookView, state: Queues) -> FloatArray:
        """Return the share of each thread in intervals in which nothing happens."""
        share = np.zeros(len(state.home))
        for core in range(view.n_workers):
            seen = view.live.progress(core)
            if seen is not None and seen.task in state.notes.get("before", {}):
                share[state.thread_of(seen.task)] += 1.0
        return share

    def _pull(self, view: HookView, state: Queues, source: int, target: int) -> list[Move]:
        """Return the move of the thread of a core that has been moved least."""
        candidates = present(view, state, source)
        if not candidates:
            return []
        task = min(candidates, key=lambda t: state.moves[state.thread_of(t)])
        return [self.relocate(view, state, task, source, target)]

    def _executed_ps(self, view: HookView, state: Queues) -> Int64Array:
        """Return how long each thread has been executed, also since it was resumed."""
        live = view.live
        ran_ps = [live.executed_ps(task) for task in range(len(state.task_class))]
        before = state.notes.get("before", {})
        for core in range(view.n_workers):
            seen = live.progress(core)
            if seen is not None and seen.task in before:
                since_ps = before[seen.task] + live.now_ps() - seen.began_ps
                ran_ps[seen.task] = max(ran_ps[seen.task], since_ps)
        done = np.zeros(len(state.home), np.int64)
        for task, time_ps in enumerate(ran_ps):
            done[state.thread_of(task)] += time_ps
        return done

    def _core_speeds(self, view: HookView, state: Queues) -> FloatArray:
        """Return the speed of each core over the last interval."""
        done = self._executed_ps(view, state)
        now = view.live.now_ps()
        last, at = state.notes.get("done", (np.zeros_like(done), 0))
        state.notes["done"] = done, now
        share = np.maximum(0, done - last) / max(1, now - at)
        state.notes["share"] = share
        ratio = state.groups.ops_per_s[state.groups.of_worker] / state.groups.ops_per_s[0]
        speed: FloatArray = ratio.copy()
        for core in range(view.n_workers):
            shares = [share[state.thread_of(task)] for task in present(view, state, core)]
            if shares:
                speed[core] *= min(1.0, float(np.mean(shares)))
        return speed


def present(view: HookView, state: Queues, core: int) -> list[int]:
    """Return the tasks that wait in the queue of a core, and the one that it is running."""
    running = view.live.running_task(core)
    return [*state.waiting[core], *([running] if running >= 0 else [])]
