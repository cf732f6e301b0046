"""Random stealing in which fast cores take over what slow cores execute, by swapping threads."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from simsched.policy import (
    Counters,
    Exchange,
    HookView,
    PlanView,
    Update,
    param,
    register,
    seconds_to_ps,
)
from simsched.policy.algorithms.work_stealing.random_stealing import RandomStealing
from simsched.policy.parts.core_groups import core_groups
from simsched.workload.graph import Int32Array


class Seats:
    """Which group of cores every worker is on, and since how many looks it has been waiting."""

    def __init__(self, group: Int32Array) -> None:
        self.group = group.copy()
        slowest = group == group.max()
        self._fast = np.flatnonzero(~slowest).tolist()  # the only ones that may snatch
        self._looks = [0] * len(group)

    def snatch(
        self,
        view: HookView,
        patience: int,
        cost_ps: int,
        choose: Callable[[list[int]], int],
    ) -> list[Exchange]:
        """Return the swaps of waiting workers with workers that execute tasks on slower cores."""
        swaps: list[Exchange] = []
        for worker in self._fast:
            if not view.live.is_waiting(worker):
                self._looks[worker] = 0
                continue
            self._looks[worker] += 1
            if self._looks[worker] < patience:
                continue
            slower = np.flatnonzero(self.group > self.group[worker]).tolist()
            victims = [other for other in slower if view.live.running_task(other) >= 0]
            if victims:
                victim = choose(victims)
                swaps.append(Exchange(worker, victim, cost_ps))
                pair = [worker, victim]
                self.group[pair] = self.group[pair[::-1]]
                self._looks[worker] = 0
        if swaps:
            self._fast = np.flatnonzero(self.group < self.group.max()).tolist()
        return swaps


@register("rts")
@dataclass(frozen=True, kw_only=True)
class RandomSnatching(RandomStealing[Seats]):
    """Random task snatching: cores that find nothing to steal take over tasks of slower cores.

    Parameters
    ----------
    victim : {"random", "largest"}
        Which slower core: any that executes a task, or that with the largest task, as far as the
        policy knows the operations of tasks.
    snatch_s : float
        Time in seconds that a swap of two threads takes: the snatched task waits for it.
    look_s : float
        Time in seconds between two attempts of a waiting worker to steal.
    failed_steals : int
        Failed attempts in a row after which a worker snatches.

    Notes
    -----
    The worker on the fast core and the one on the slow core swap their hardware threads, and their
    pools go with them. The task in progress goes on at the speed of the fast core. Readings:
    docs/sources/aats.md.

    References
    ----------
    M. A. Bender, M. O. Rabin, *Online scheduling of parallel programs on heterogeneous systems with
    applications to Cilk*, Theory of Computing Systems 35(3), 2002. Q. Chen, M. Guo, Springer 2017,
    section 5.3.1.
    """

    victim: str = param("random", choices=("random", "largest"))
    snatch_s: float = param(1e-5, low=0.0, high=1000.0, is_cost=True)
    look_s: float = param(1e-5, low=1e-6, high=1e6)
    failed_steals: int = param(1, low=1)

    @property
    def timer_period_s(self) -> float:  # type: ignore[override]  # a parameter here
        return self.look_s

    def start(self, view: PlanView) -> Seats:
        return Seats(core_groups(view).of_worker)

    def seats(self, view: PlanView, state: Seats) -> Int32Array:
        return state.group

    def on_iteration(self, view: PlanView, state: Seats, counters: Counters) -> Update | None:
        """Return the plan with who is on the fastest core by now, where there is such a core."""
        if not state.group.any():
            return None
        return Update(plan=self.plan(view, state, view.workload.graph))

    def on_timer(self, view: HookView, state: Seats) -> tuple[Exchange, ...]:
        def choose(victims: list[int]) -> int:
            if self.victim == "random":
                return victims[int(view.rng.integers(len(victims)))]
            live, ops = view.live, view.estimated_ops(view.workload.graph)[0]
            return max(victims, key=lambda v: float(ops[live.running_task(v)]))

        cost_ps = seconds_to_ps(self.snatch_s)
        return tuple(state.snatch(view, self.failed_steals, cost_ps, choose))
