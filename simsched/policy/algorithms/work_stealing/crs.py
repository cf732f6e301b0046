"""Cluster-aware random stealing: local steals go on while a remote one is under way."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from simsched.policy import (
    SEVERAL_DOMAINS,
    HookView,
    Need,
    Plan,
    PlanView,
    Transfer,
    register,
)
from simsched.policy.parts.clusters import IN_CLUSTER, OWN, AskingPolicy, Clusters
from simsched.workload.graph import TaskGraph


@register("crs")
@dataclass(frozen=True, kw_only=True)
class Crs(AskingPolicy):
    """Cluster-aware random stealing (CRS): local steals go on while one remote steal is under way.

    Notes
    -----
    A worker whose own queue is empty asks a random worker of a random other cluster for a task,
    unless an earlier request of its own has not been answered, and steals from random workers of
    its cluster meanwhile. The answer is not cancelled if that succeeds; the task then waits in the
    worker's queue. Readings: docs/sources/laws.md.

    References
    ----------
    R. V. van Nieuwpoort, T. Kielmann, H. E. Bal, PPoPP 2001. Q. Chen, M. Guo, Springer 2017,
    section 4.3.4 and algorithm 4.
    """

    needs: ClassVar[tuple[Need, ...]] = (SEVERAL_DOMAINS,)

    def plan(self, view: PlanView, state: Clusters, graph: TaskGraph) -> Plan:
        return self._plan(OWN, IN_CLUSTER)

    def on_acquire(
        self, view: HookView, state: Clusters, task: int, worker: int, group: int, instance: int
    ) -> None:
        """Note a local steal: the own queue is empty."""
        if instance != worker:
            state.thieves.add(worker)

    def on_start(
        self, view: HookView, state: Clusters, task: int, worker: int
    ) -> tuple[Transfer, ...] | None:
        """Return the request to another cluster that goes with a local steal."""
        if worker not in state.thieves:
            return None
        state.thieves.remove(worker)
        request = self._request(view, state, worker)
        return None if request is None else (request,)

    def _sender(self, state: Clusters, worker: int) -> int:
        """Return who asks for a worker: itself."""
        return worker

    def _request(self, view: HookView, state: Clusters, worker: int) -> Transfer | None:
        """Return the request to another cluster, if none is under way."""
        if len(state.members) == 1 or state.in_flight(worker, view.live.now_ps()):
            return None
        return self._ask_any(view, state, worker)
