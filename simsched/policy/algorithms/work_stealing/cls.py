"""Cluster-aware load-based stealing: a coordinator fetches tasks ahead of need."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from simsched.policy import (
    SEVERAL_DOMAINS,
    HookView,
    Need,
    Plan,
    PlanView,
    Rest,
    Transfer,
    param,
    register,
)
from simsched.policy.parts.clusters import IN_CLUSTER, OWN, AskingPolicy, Clusters
from simsched.workload.graph import TaskGraph


@register("cls")
@dataclass(frozen=True, kw_only=True)
class Cls(AskingPolicy):
    """Cluster-aware load-based stealing (CLS): a coordinator fetches tasks ahead of need.

    Parameters
    ----------
    threshold : int
        Load of a cluster, in queued tasks per worker, below which tasks are fetched.
    most_in_flight : int
        Requests of one cluster that may be on their way at a time.

    Notes
    -----
    Inside a cluster workers steal from uniformly random others. Each reports the length of its
    queue every `period_s`, and 0 when it finds nothing. When the sum of a cluster's reports is
    below the threshold, its coordinator asks a random worker of a random other cluster for a task,
    without waiting; it enters the coordinator's own queue. Readings: docs/sources/laws.md.

    References
    ----------
    R. V. van Nieuwpoort, T. Kielmann, H. E. Bal, PPoPP 2001. Q. Chen, M. Guo, Springer 2017,
    section 4.3.3.
    """

    needs: ClassVar[tuple[Need, ...]] = (SEVERAL_DOMAINS,)

    threshold: int = param(1, low=0)
    most_in_flight: int = param(1, low=1)

    def plan(self, view: PlanView, state: Clusters, graph: TaskGraph) -> Plan:
        return self._plan(OWN, IN_CLUSTER)

    def on_idle(self, view: HookView, state: Clusters, worker: int) -> Transfer | None:
        """Report that there is no load; return the coordinator's request if that is too little."""
        state.load[worker] = 0
        return super().on_idle(view, state, worker)

    def on_timer(self, view: HookView, state: Clusters) -> tuple[Transfer | Rest, ...]:
        """Report all loads; return the requests of the coordinators."""
        live = view.live
        state.load = {w: live.queue_length(0, w) for w in range(view.n_workers)}
        found = [self._request(view, state, members[0]) for members in state.members]
        asked = tuple(request for request in found if request is not None)
        return asked or state.rest(live.now_ps())

    def _request(self, view: HookView, state: Clusters, worker: int) -> Transfer | None:
        """Return the request of a cluster's coordinator, None when it has load enough."""
        members = state.members[state.cluster_of[worker]]
        load = sum(state.load.get(w, 0) for w in members)
        if len(state.members) == 1 or load >= self.threshold * len(members):
            return None
        if state.in_flight(members[0], view.live.now_ps()) >= self.most_in_flight:
            return None
        return self._ask_any(view, state, members[0])
