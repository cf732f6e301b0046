"""Random work stealing of workers that are not pinned to cores: MIT Cilk."""

from __future__ import annotations

from dataclasses import dataclass

from simsched.policy import (
    Counters,
    Exchange,
    HookView,
    PlanView,
    Rest,
    Update,
    param,
    preset,
    register,
)
from simsched.policy.algorithms.work_stealing.random_stealing import RandomStealing
from simsched.policy.parts.core_groups import core_groups
from simsched.workload.graph import Int32Array


@register("unpinned_stealing")
@dataclass(frozen=True, kw_only=True)
class UnpinnedStealing(RandomStealing[Int32Array]):
    """Random work stealing whose workers the operating system moves between cores.

    Parameters
    ----------
    exchange_period_s : float
        Time in seconds between two moves on the machine; 0 pins the workers.

    Notes
    -----
    At every multiple of the period two workers, drawn uniformly, swap their hardware threads.
    Readings: docs/sources/cab.md.

    References
    ----------
    Q. Chen, M. Guo, Springer 2017, chapter 3: MIT Cilk beside Cilk-a, in which worker i is pinned
    to core i.
    """

    exchange_period_s: float = param(0.01, low=0.0, high=1e6)

    @property
    def timer_period_s(self) -> float:  # type: ignore[override]  # a parameter here
        return self.exchange_period_s

    def start(self, view: PlanView) -> Int32Array:
        return core_groups(view).of_worker.copy()

    def seats(self, view: PlanView, state: Int32Array) -> Int32Array:
        return state

    def on_timer(self, view: HookView, state: Int32Array) -> tuple[Exchange | Rest, ...]:
        if view.n_workers < 2:
            return (Rest(),)
        pair = view.rng.choice(view.n_workers, 2, replace=False).tolist()
        live = view.live
        if any(map(live.has_failed, pair)):
            return ()  # nobody is moved to a core that has failed
        state[pair] = state[pair[::-1]]
        return (Exchange(*pair),)

    def on_iteration(self, view: PlanView, state: Int32Array, counters: Counters) -> Update | None:
        """Return the plan with who is on the fastest core by now, where there is such a core."""
        return Update(plan=self.plan(view, state, view.workload.graph)) if state.any() else None


preset(
    "cilk",
    UnpinnedStealing,
    "MIT Cilk: child first, data where they are first touched; the system moves its threads "
    "between cores, where cilk_a pins them.",
)
