"""Balancing of the speeds with which threads make progress."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simsched.policy.base import Preempt, View
from simsched.policy.registry import register
from simsched.policy.threads import Move, Queues, ThreadScheduler


@register("speed_balancing")
@dataclass(frozen=True, kw_only=True)
class SpeedBalancing(ThreadScheduler):
    """Threads are pulled from slow cores to fast ones, as they turn out to be.

    Notes
    -----
    The speed of a thread is the share of the last interval in which it was executed, times the
    speed of its core relative to the fastest one; that of a core the mean of its threads', and
    without threads its own. Every core whose speed is above the mean of all cores pulls, from the
    slowest core below the mean that has not taken part in a move in this round or the one before,
    the thread that has been moved least. A thread is counted when it stops running: at the end of
    its time slice or of a phase. The interval is `balance_s`; no source states it.

    References
    ----------
    S. Hofmeyr, C. Iancu, F. Blagojevic, *Load balancing on speed*, PPoPP 2010. Q. Chen, M. Guo,
    *Task Scheduling for Multi-core and Parallel Architectures*, Springer 2017, section 5.3.5.2.
    """

    def balance(self, view: View, state: Queues) -> list[Move]:
        """Return the pulls of one round."""
        assert view.state is not None
        speed = self._core_speeds(view, state)
        mean = float(speed.mean())
        round_ = state.ticks
        used = state.notes.setdefault("used", [-(10**9)] * view.n_workers)
        recent = 2 * max(1, round(self.balance_s / self.slice_s))
        moves: list[Move] = []
        for core in np.argsort(-speed, kind="stable").tolist():
            free = [k for k in range(view.n_workers) if round_ - used[k] >= recent and k != core]
            slow = [k for k in free if speed[k] < mean and state.load(view, k) > 1]
            if speed[core] <= mean or not slow or round_ - used[core] < recent:
                continue
            source = min(slow, key=lambda k: float(speed[k]))
            moves += self._pull(view, state, source, core)
            used[core] = used[source] = round_
        return moves

    def _pull(self, view: View, state: Queues, source: int, target: int) -> list[Move]:
        """Return the move of the thread of a core that has been moved least."""
        live = view.state
        assert live is not None
        running = live.running_task(source)
        candidates = [*state.waiting[source], *([running] if running >= 0 else [])]
        if not candidates:
            return []
        task = min(candidates, key=lambda t: state.moves[state.thread_of(t)])
        if task == running and task not in state.waiting[source]:
            state.note_move(state.thread_of(task), target)
            return [Preempt(source)]
        return [state.move(task, source, target)]

    def _core_speeds(self, view: View, state: Queues) -> NDArray[np.float64]:
        """Return the speed of each core over the last interval."""
        assert view.state is not None
        assert state.task_class is not None
        done = np.zeros(len(state.home))
        for task in range(len(state.task_class)):
            done[state.thread_of(task)] += view.state.executed_ps(task)
        now = view.state.now_ps()
        before, at = state.notes.get("done", (np.zeros_like(done), 0))
        state.notes["done"] = done, now
        share = np.maximum(0.0, done - before) / max(1, now - at)
        ratio = state.groups.ops_per_s[state.groups.of_worker] / state.groups.ops_per_s[0]
        speed: NDArray[np.float64] = ratio.copy()
        for core in range(view.n_workers):
            tasks = list(state.waiting[core])
            if view.state.running_task(core) >= 0:
                tasks.append(view.state.running_task(core))
            if tasks:
                shares = [share[state.thread_of(task)] for task in tasks]
                speed[core] *= min(1.0, float(np.mean(shares)))
        return speed
