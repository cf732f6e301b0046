"""AATS-TS: AATS in which cores without tasks also snatch the largest ones of slower cores."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from simsched.policy import (
    AcquireOrder,
    Exchange,
    HookView,
    Plan,
    PlanView,
    Rest,
    Wake,
    param,
    register,
    seconds_to_ps,
)
from simsched.policy.algorithms.asymmetric.aats import Aats, AatsState, search
from simsched.policy.parts.thread_swaps import REFILLS, SwapCost
from simsched.workload.graph import TaskGraph


@register("aats_ts")
@dataclass(frozen=True, kw_only=True)
class AatsSnatching(Aats):
    """AATS that also snatches the largest tasks.

    Parameters
    ----------
    look_s : float
        Time in seconds between two looks of cores without tasks for one to snatch.
    snatch_s, refill : float, {"streamed", "by_line", "none"}
        As for `RandomSnatching`.

    Notes
    -----
    A core that finds no task takes over the largest one that a slower core executes, as far as the
    history knows. The first look of the helper thread in an iteration comes at or after the first
    one of the thieves.

    References
    ----------
    Q. Chen, M. Guo, Springer 2017, sections 5.4-5.9.
    """

    look_s: float = param(1e-5, low=1e-6, high=1e6)
    snatch_s: float = param(1e-5, low=0.0, high=1000.0, is_cost=True)
    refill: str = param("streamed", choices=REFILLS)

    @property
    def timer_period_s(self) -> float:  # type: ignore[override]  # a parameter here
        return self.look_s

    def plan(self, view: PlanView, state: AatsState, graph: TaskGraph) -> Plan:
        """Return the plan; a look that the helper thread has asked for is forgotten."""
        state.helper_rests = False
        return super().plan(view, state, graph)

    def on_timer(
        self, view: HookView, state: AatsState
    ) -> tuple[Exchange | AcquireOrder | Wake | Rest, ...]:
        """Return swaps with the new order of pools, and when the helper thread looks."""
        if state.steals or state.graph is None:
            return (Rest(),)
        swaps = self._snatch(view, state)
        order = (AcquireOrder(search(self.ranks(view, state))),) if swaps else ()
        calls = self._call_helper(view, state)
        rest = (Rest(),) if state.helper_rests and not swaps else ()  # else it may be called later
        return *swaps, *order, *calls, *rest

    def on_wake(
        self, view: HookView, state: AatsState, tag: int
    ) -> tuple[AcquireOrder | Wake, ...]:
        """Let the helper thread look, now and in a period."""
        order = self.help(view, state)
        state.helper_rests = not order
        return *order, self._next_look(view, state, least_ps=1)

    def _call_helper(self, view: HookView, state: AatsState) -> tuple[Wake, ...]:
        """Return the next look of the helper thread unless it is to come in this iteration."""
        if state.helper_rests or state.helper_ps >= view.live.now_ps():
            return ()
        return (self._next_look(view, state, least_ps=0),)

    def _next_look(self, view: HookView, state: AatsState, *, least_ps: int) -> Wake:
        """Return the look of the helper thread at the next multiple of its period."""
        period_ps = seconds_to_ps(self.helper_period_s)
        state.helper_ps = -(-(view.live.now_ps() + least_ps) // period_ps) * period_ps
        return Wake(state.helper_ps, step_ps=period_ps * state.helper_rests)

    def _snatch(self, view: HookView, state: AatsState) -> list[Exchange]:
        """Return swaps with those who execute the largest tasks, as far as these are known."""
        live, graph = view.live, state.graph
        assert graph is not None

        def size(worker: int) -> float:
            place = np.flatnonzero(state.classes == graph.task_class[live.running_task(worker)])
            return float(state.history.time_s[place[0], 0]) if len(place) else 0.0

        cost = SwapCost(self.snatch_s, self.refill)
        return state.seats.snatch(view, graph, lambda victims: max(victims, key=size), cost)
