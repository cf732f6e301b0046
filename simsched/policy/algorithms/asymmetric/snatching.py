"""Random stealing in which fast cores take over what slow cores execute, by swapping threads."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from simsched.policy import (
    SEVERAL_SPEEDS,
    AcquireOrder,
    AcquireStep,
    Counters,
    Exchange,
    HookView,
    Need,
    Plan,
    PlanView,
    Ranked,
    Uniform,
    Update,
    Wake,
    param,
    register,
    seconds_to_ps,
)
from simsched.policy.algorithms.work_stealing.random_stealing import RandomStealing
from simsched.policy.parts.thread_swaps import REFILLS, Seats, SwapCost
from simsched.workload.graph import Int32Array, TaskGraph


@dataclass(eq=False)
class SnatchState:
    """Where workers are, and when those that wait try again."""

    seats: Seats
    graph: TaskGraph
    steps: tuple[AcquireStep, ...] = ()  # of stealing
    looks: int = 0  # asked for so far; only the last one counts
    asked_ps: int = -1  # when on_idle has asked for one the last time
    vain_ps: int = -1  # when one has found nobody to snatch from the last time


@register("rts")
@dataclass(frozen=True, kw_only=True)
class RandomSnatching(RandomStealing[SnatchState]):
    """Random task snatching: cores that fail to steal take over tasks of slower cores.

    Parameters
    ----------
    victim : {"random", "largest"}
        Which slower core: any that executes a task, or that with the largest task, as far as the
        policy knows the operations of tasks.
    failed_steals : int
        Random victims in a row of which none has had anything to steal, after which a worker
        snatches. Workers on the slowest cores go on stealing.
    look_s : float
        Time in seconds after which a worker that has found nobody to snatch from tries again.
    snatch_s : float
        Time in seconds that a swap of two threads takes: the snatched task waits for it.
    refill : {"streamed", "by_line", "none"}
        What the private caches that the snatched task loses cost besides
        (:func:`~simsched.policy.parts.thread_swaps.swap_ps`).

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

    needs: ClassVar[tuple[Need, ...]] = (SEVERAL_SPEEDS,)

    victim: str = param("random", choices=("random", "largest"))
    failed_steals: int = param(1, low=1)
    look_s: float = param(1e-5, low=1e-6, high=1e6)
    snatch_s: float = param(1e-5, low=0.0, high=1000.0, is_cost=True)
    refill: str = param("streamed", choices=REFILLS)

    def start(self, view: PlanView) -> SnatchState:
        return SnatchState(Seats(view), view.workload.graph)

    def seats(self, view: PlanView, state: SnatchState) -> Int32Array:
        return state.seats.group

    def plan(self, view: PlanView, state: SnatchState, graph: TaskGraph) -> Plan:
        """Return the plan of stealing, in which fast workers give up early."""
        plan = super().plan(view, state, graph)
        state.graph, state.steps = graph, plan.acquire
        state.asked_ps = state.vain_ps = -1
        return replace(plan, acquire=self._search(state)) if state.seats.group.any() else plan

    def _search(self, state: SnatchState) -> tuple[AcquireStep, ...]:
        """Return the steps of stealing, the last of them only for workers that cannot snatch."""
        *own, steal = state.steps
        group = state.seats.group
        slowest = np.repeat((group == group.max())[:, None], len(group), axis=1)
        rank = Ranked(slowest.astype(np.int32) - 1)
        return (
            *own,
            replace(steal, choice=Uniform(attempts=self.failed_steals)),
            replace(steal, choice=rank),
        )

    def on_iteration(self, view: PlanView, state: SnatchState, counters: Counters) -> Update | None:
        """Return the plan with who is on the fastest core by now, where there is such a core."""
        if not state.seats.group.any():
            return None
        return Update(plan=self.plan(view, state, view.workload.graph))

    def on_idle(self, view: HookView, state: SnatchState, worker: int) -> Wake | None:
        """Let a worker that has failed to steal snatch at once."""
        now_ps = view.live.now_ps()
        if not state.seats.is_fast(worker) or now_ps in (state.asked_ps, state.vain_ps):
            return None
        state.asked_ps = now_ps
        return self._look(state, now_ps)

    def on_wake(
        self, view: HookView, state: SnatchState, tag: int
    ) -> tuple[Exchange | AcquireOrder | Wake, ...]:
        """Return swaps, and let all who wait look for work again."""
        if tag != state.looks:
            return ()
        live, state.asked_ps = view.live, -1
        cost = SwapCost(self.snatch_s, self.refill)
        swaps = state.seats.snatch(view, state.graph, lambda v: self._victim(view, state, v), cost)
        missed = any(live.queue_length(0, worker) for worker in range(view.n_workers))
        search = (AcquireOrder(self._search(state)),) if swaps or missed else ()
        if not swaps:
            state.vain_ps, look_ps = live.now_ps(), seconds_to_ps(self.look_s)
            step_ps = 0 if search else look_ps
            return (*search, self._look(state, state.vain_ps + look_ps, step_ps))
        return (*swaps, *search)

    def _look(self, state: SnatchState, at_ps: int, step_ps: int = 0) -> Wake:
        """Return a look for somebody to snatch from."""
        state.looks += 1
        return Wake(at_ps, state.looks, step_ps=step_ps)

    def _victim(self, view: HookView, state: SnatchState, victims: list[int]) -> int:
        """Return one of the workers that may be snatched from."""
        if self.victim == "random":
            return victims[int(view.rng.integers(len(victims)))]
        ops = view.estimated_ops(state.graph)[0]
        return max(victims, key=lambda v: float(ops[view.live.running_task(v)]))
