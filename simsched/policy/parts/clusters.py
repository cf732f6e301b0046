"""Workers in clusters that send each other tasks: a cluster is a NUMA domain with workers.

All policies spawn parent first, their workers take the newest of their own tasks, and what leaves a
pool is its oldest task, the largest one.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field

import numpy as np

from simsched.policy.contract.base import (
    PARENT_FIRST,
    AcquireStep,
    HookView,
    Plan,
    PlanView,
    Rest,
    Transfer,
    param,
)
from simsched.policy.parts.placement import PlacedPolicy

OWN = AcquireStep("worker", "own", "newest")
IN_CLUSTER = AcquireStep("worker", "same_domain", "oldest")


@dataclass(eq=False)
class Clusters:
    """Workers by cluster, and which messages are on their way."""

    members: list[list[int]]  # workers of each cluster, ascending
    cluster_of: list[int]  # cluster of each worker
    #: for each sender, when its messages arrive
    arrival_ps: defaultdict[int, list[int]] = field(default_factory=lambda: defaultdict(list))
    load: dict[int, int] = field(default_factory=dict)  # last reported load of each worker
    #: workers that have stolen what they are about to execute
    thieves: set[int] = field(default_factory=set)

    def in_flight(self, sender: int, now_ps: int) -> int:
        """Return how many messages of a sender have not arrived yet."""
        self.arrival_ps[sender] = [end for end in self.arrival_ps[sender] if end >= now_ps]
        return sum(end > now_ps for end in self.arrival_ps[sender])

    def rest(self, now_ps: int) -> tuple[Rest, ...]:
        """Return that nobody asks before something happens, unless a message may still arrive."""
        waits = any(end > now_ps for ends in self.arrival_ps.values() for end in ends)
        return () if waits else (Rest(),)

    def is_answered(self, sender: int, now_ps: int) -> bool:
        """Return whether a message of a sender arrives right now."""
        return now_ps in self.arrival_ps[sender]

    def other_cluster(self, cluster: int, rng: np.random.Generator) -> int:
        """Return a random other cluster."""
        return (cluster + 1 + int(rng.integers(len(self.members) - 1))) % len(self.members)


@dataclass(frozen=True, kw_only=True)
class ClusterPolicy(PlacedPolicy[Clusters]):
    """Base of the policies for clusters.

    Parameters
    ----------
    message_factor : float
        Time that a task takes to another worker, request included, in units of what a steal costs
        between the two on this machine.
    """

    message_factor: float = param(1.0, low=0.0, high=1e3)

    def start(self, view: PlanView) -> Clusters:
        domains = np.unique(view.worker_domain)
        members = [np.flatnonzero(view.worker_domain == d).tolist() for d in domains]
        return Clusters(members, np.searchsorted(domains, view.worker_domain).tolist())

    def _plan(self, *steps: AcquireStep) -> Plan:
        """Return the plan with some steps."""
        return Plan(acquire=steps, spawn_order=PARENT_FIRST, roots="first")

    def _send(self, view: HookView, state: Clusters, sender: int, victim: int, to: int) -> Transfer:
        """Return the message that lets a task of a victim go to a worker, and note it."""
        thread = view.worker_thread
        cost_ps = view.machine.steal_ps(int(thread[to]), int(thread[victim]))
        delay_ps = max(1, round(self.message_factor * cost_ps))
        state.arrival_ps[sender].append(view.live.now_ps() + delay_ps)
        return Transfer(0, victim, 0, to, 1, delay_ps, "oldest")


@dataclass(frozen=True, kw_only=True)
class AskingPolicy(ClusterPolicy):
    """Base of the policies in which clusters ask each other for tasks.

    Parameters
    ----------
    period_s : float
        Time in seconds between two looks: of workers with nothing to do for work elsewhere, of
        coordinators at the load of their clusters.
    """

    period_s: float = param(1e-4, low=1e-6, high=1e6)

    @property
    def timer_period_s(self) -> float:  # type: ignore[override]  # a parameter here
        return self.period_s

    def on_idle(self, view: HookView, state: Clusters, worker: int) -> Transfer | None:
        """Return what a worker asks for, unless an answer has just brought nothing."""
        if state.is_answered(self._sender(state, worker), view.live.now_ps()):
            return None
        return self._request(view, state, worker)

    def on_timer(self, view: HookView, state: Clusters) -> tuple[Transfer | Rest, ...]:
        """Return the requests of workers that wait and have none under way."""
        live = view.live
        waiting = [w for w in range(view.n_workers) if live.is_waiting(w)]
        found = [self._request(view, state, w) for w in waiting]
        asked = tuple(request for request in found if request is not None)
        return asked or state.rest(live.now_ps())

    def _sender(self, state: Clusters, worker: int) -> int:
        """Return who asks for a worker: the first one of its cluster."""
        return state.members[state.cluster_of[worker]][0]

    def _request(self, view: HookView, state: Clusters, worker: int) -> Transfer | None:
        """Return what is asked for because a worker has nothing, None for nothing."""
        raise NotImplementedError

    def _ask_any(self, view: HookView, state: Clusters, sender: int) -> Transfer:
        """Return the request for a task of a random worker of a random other cluster."""
        asked = state.members[state.other_cluster(state.cluster_of[sender], view.rng)]
        victim = asked[int(view.rng.integers(len(asked)))]
        return self._send(view, state, sender, victim, sender)
