"""Divide and conquer on clusters of clusters: pushing, hierarchical, load-based, cluster-aware.

A cluster is a NUMA domain with workers. All policies spawn parent first, their workers take the
newest of their own tasks, and what leaves a pool is its oldest task, the largest one.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from simsched.errors import PolicyError
from simsched.policy.base import (
    PARENT_FIRST,
    AcquireStep,
    EngineState,
    Plan,
    Preempt,
    Transfer,
    View,
    param,
)
from simsched.policy.placement import PlacedPolicy
from simsched.policy.registry import register
from simsched.workload.graph import TaskGraph

Int32Array = NDArray[np.int32]

OWN = AcquireStep("worker", "own", "newest")
IN_CLUSTER = AcquireStep("worker", "same_domain", "oldest")


@dataclass(eq=False)
class Clusters:
    """Workers by cluster, and which messages are on their way.

    Parameters
    ----------
    members : list of list of int
        Workers of each cluster, ascending.
    cluster_of : list of int
        Cluster of each worker.
    busy_until_ps : dict of int to list of int
        For each sender, when its messages arrive.
    load : dict of int to int
        Last reported load of each worker.
    """

    members: list[list[int]]
    cluster_of: list[int]
    busy_until_ps: dict[int, list[int]] = field(default_factory=dict)
    load: dict[int, int] = field(default_factory=dict)

    def in_flight(self, sender: int, now_ps: int) -> int:
        """Return how many messages of a sender have not arrived yet."""
        left = [end for end in self.busy_until_ps.get(sender, []) if end > now_ps]
        self.busy_until_ps[sender] = left
        return len(left)

    def sent(self, sender: int, now_ps: int, delay_s: float) -> None:
        """Note a message."""
        end = now_ps + max(1, round(delay_s / 1e-12))
        self.busy_until_ps.setdefault(sender, []).append(end)

    def other_cluster(self, cluster: int, rng: np.random.Generator) -> int:
        """Return a random other cluster."""
        return (cluster + 1 + int(rng.integers(len(self.members) - 1))) % len(self.members)


@dataclass(frozen=True, kw_only=True)
class ClusterPolicy(PlacedPolicy):
    """Base of the policies for clusters.

    Parameters
    ----------
    message_s : float
        Time in seconds that a message between clusters takes, there and back.
    period_s : float
        Time in seconds between two looks: of workers with nothing to do for work elsewhere, of
        others at their queues, of coordinators at the load of their clusters.
    """

    message_s: float = param(1e-4, low=1e-12)
    period_s: float = param(1e-4, low=1e-12, high=1e6)

    @property
    def timer_period_s(self) -> float:  # type: ignore[override]  # a parameter here
        """Time between two looks in seconds."""
        return self.period_s

    def start(self, view: View) -> Clusters:
        """Return the clusters."""
        domains = np.unique(view.worker_domain)
        members = [np.flatnonzero(view.worker_domain == d).tolist() for d in domains]
        return Clusters(members, np.searchsorted(domains, view.worker_domain).tolist())

    def _waiting_ask(self, view: View, state: Clusters) -> tuple[Preempt | Transfer, ...]:
        """Return what the waiting workers send for."""
        live = _live(view)
        waiting = [w for w in range(view.n_workers) if live.is_waiting(w)]
        found = [self.on_idle(view, state, w) for w in waiting]
        return tuple(request for request in found if isinstance(request, (Preempt, Transfer)))

    def _plan(self, *steps: AcquireStep) -> Plan:
        """Return the plan with some steps."""
        return Plan(acquire=steps, spawn_order=PARENT_FIRST, roots="first")

    def _ask(self, clusters: Clusters, now_ps: int, sender: int, victim: int, to: int) -> Transfer:
        """Return the request of a sender for a task of a victim, and note it."""
        clusters.sent(sender, now_ps, self.message_s)
        return Transfer(0, victim, 0, to, 1, self.message_s, "oldest")


@register("random_pushing")
@dataclass(frozen=True, kw_only=True)
class RandomPushing(ClusterPolicy):
    """Random pushing (RP): whoever has many tasks sends some away; nobody steals.

    Parameters
    ----------
    threshold : int
        Length of the own queue above which tasks are pushed.
    most_in_flight : int
        Tasks of one worker that may be on their way at a time.

    Notes
    -----
    A worker whose queue is longer than the threshold sends the oldest task to a uniformly random
    other worker, inside or outside its cluster, and goes on; the task arrives after `message_s`. A
    worker with an empty queue waits. The source looks at the queue after each spawn; here all
    queues are looked at every `period_s`, and each sends at most one task at a time. Thresholds are
    not published.

    References
    ----------
    R. V. van Nieuwpoort, T. Kielmann, H. E. Bal, *Efficient load balancing for wide-area
    divide-and-conquer applications*, PPoPP 2001. Q. Chen, M. Guo, *Task Scheduling for Multi-core
    and Parallel Architectures*, Springer 2017, section 4.3.1.
    """

    threshold: int = param(1, low=0)
    most_in_flight: int = param(4, low=1)

    def plan(self, view: View, state: Clusters, graph: TaskGraph) -> Plan:
        """Return the plan in which workers look at their own queue only."""
        return self._plan(OWN)

    def on_timer(self, view: View, state: Clusters) -> tuple[Preempt | Transfer, ...]:
        """Return one push for every queue that is too long."""
        live, pushes = _live(view), []
        now = live.now_ps()
        for worker in range(view.n_workers if view.n_workers > 1 else 0):
            too_long = live.queue_length(0, worker) > self.threshold
            if too_long and state.in_flight(worker, now) < self.most_in_flight:
                peer = (worker + 1 + int(view.rng.integers(view.n_workers - 1))) % view.n_workers
                pushes.append(self._ask(state, now, worker, worker, peer))
        return tuple(pushes)


@register("chs")
@dataclass(frozen=True, kw_only=True)
class Chs(ClusterPolicy):
    """Cluster-aware hierarchical stealing (CHS): along a tree of workers, then between its roots.

    Parameters
    ----------
    arity : int
        Children of each worker in the tree of its cluster.

    Notes
    -----
    The workers of a cluster form a complete tree in the order of their numbers. An idle worker
    takes a task from the first one of its subtree, in preorder, that has one; failing that from its
    parent, then from the parent's other subtrees, and so on to the root. When a whole cluster is
    idle its root asks the root of a random other cluster, which searches its tree in the same way,
    and waits for the answer: one request per cluster. The arity is not published.

    References
    ----------
    R. V. van Nieuwpoort, T. Kielmann, H. E. Bal, PPoPP 2001. Q. Chen, M. Guo, Springer 2017,
    section 4.3.2.
    """

    arity: int = param(2, low=1)

    def plan(self, view: View, state: Clusters, graph: TaskGraph) -> Plan:
        """Return the plan in which idle workers follow the tree of their cluster."""
        rank = tree_ranks(state.members, view.n_workers, self.arity)
        return self._plan(OWN, AcquireStep("worker", "same_domain", "oldest", rank=rank))

    def on_idle(self, view: View, state: Clusters, worker: int) -> Transfer | None:
        """Return the request of the root, when the whole cluster is idle."""
        live, cluster = _live(view), state.cluster_of[worker]
        members, now = state.members[cluster], live.now_ps()
        root = members[0]
        others_wait = all(live.is_waiting(w) for w in members if w != worker)
        if len(state.members) == 1 or not others_wait or state.in_flight(root, now):
            return None
        asked = state.members[state.other_cluster(cluster, view.rng)]
        order = [asked[i] for i in preorder_of_tree(len(asked), self.arity)]
        victim = next((w for w in order if live.queue_length(0, w)), asked[0])
        return self._ask(state, now, root, victim, root)

    def on_timer(self, view: View, state: Clusters) -> tuple[Preempt | Transfer, ...]:
        """Return the requests of clusters that are idle and have not asked yet."""
        return self._waiting_ask(view, state)


@register("cls")
@dataclass(frozen=True, kw_only=True)
class Cls(ClusterPolicy):
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
    below the threshold, its coordinator, the first worker, asks a random worker of a random other
    cluster for a task, without waiting; it enters the coordinator's own queue. With one cluster
    this is random stealing. Intervals and thresholds are not published; reports cost nothing.

    References
    ----------
    R. V. van Nieuwpoort, T. Kielmann, H. E. Bal, PPoPP 2001. Q. Chen, M. Guo, Springer 2017,
    section 4.3.3.
    """

    threshold: int = param(1, low=0)
    most_in_flight: int = param(1, low=1)

    def plan(self, view: View, state: Clusters, graph: TaskGraph) -> Plan:
        """Return random stealing inside clusters."""
        return self._plan(OWN, IN_CLUSTER)

    def on_idle(self, view: View, state: Clusters, worker: int) -> Transfer | None:
        """Report that there is no load; return the coordinator's request if that is too little."""
        state.load[worker] = 0
        return self._request(view, state, state.cluster_of[worker])

    def on_timer(self, view: View, state: Clusters) -> tuple[Preempt | Transfer, ...]:
        """Report all loads; return the requests of the coordinators."""
        live = _live(view)
        state.load = {w: live.queue_length(0, w) for w in range(view.n_workers)}
        found = [self._request(view, state, cluster) for cluster in range(len(state.members))]
        return tuple(request for request in found if isinstance(request, (Preempt, Transfer)))

    def _request(self, view: View, state: Clusters, cluster: int) -> Transfer | None:
        """Return the request of a cluster's coordinator, None when it has load enough."""
        members, now = state.members[cluster], _live(view).now_ps()
        load = sum(state.load.get(w, 0) for w in members)
        enough = load >= self.threshold * len(members)
        if (
            len(state.members) == 1
            or enough
            or state.in_flight(members[0], now) >= self.most_in_flight
        ):
            return None
        asked = state.members[state.other_cluster(cluster, view.rng)]
        victim = asked[int(view.rng.integers(len(asked)))]
        return self._ask(state, now, members[0], victim, members[0])


@register("crs")
@dataclass(frozen=True, kw_only=True)
class Crs(ClusterPolicy):
    """Cluster-aware random stealing (CRS): local steals go on while one remote steal is under way.

    Notes
    -----
    A worker that finds no work in its cluster asks a random worker of a random other cluster for a
    task, unless an earlier request of its own has not been answered; meanwhile it steals from
    random workers of its cluster. In the source the request goes out before the first local steal,
    also where that one succeeds. The answer is not cancelled if it has found work; the task then
    waits in its queue. A request finds what the victim has at the time when it is sent. A waiting
    worker asks again when an answer brings nothing, and every `period_s`; tasks of its cluster wake
    it.

    References
    ----------
    R. V. van Nieuwpoort, T. Kielmann, H. E. Bal, PPoPP 2001. Q. Chen, M. Guo, Springer 2017,
    section 4.3.4 and algorithm 4.
    """

    def plan(self, view: View, state: Clusters, graph: TaskGraph) -> Plan:
        """Return random stealing inside clusters."""
        return self._plan(OWN, IN_CLUSTER)

    def on_idle(self, view: View, state: Clusters, worker: int) -> Transfer | None:
        """Return the request to another cluster, if none is under way."""
        now = _live(view).now_ps()
        if len(state.members) == 1 or state.in_flight(worker, now):
            return None
        asked = state.members[state.other_cluster(state.cluster_of[worker], view.rng)]
        victim = asked[int(view.rng.integers(len(asked)))]
        return self._ask(state, now, worker, victim, worker)

    def on_timer(self, view: View, state: Clusters) -> tuple[Preempt | Transfer, ...]:
        """Return the requests of workers that wait without having asked."""
        return self._waiting_ask(view, state)


def preorder_of_tree(n: int, arity: int, root: int = 0) -> list[int]:
    """Return the nodes of a subtree of the complete tree over 0 to n - 1, parents first.

    Examples
    --------
    >>> preorder_of_tree(7, 2)
    [0, 1, 3, 4, 2, 5, 6]
    """
    below = range(arity * root + 1, min(arity * root + arity + 1, n))
    return [root, *(node for child in below for node in preorder_of_tree(n, arity, child))]


def search_order(n: int, arity: int, node: int) -> list[int]:
    """Return the order in which an idle node of a complete tree asks the others.

    Its own subtree, its parent, the parent's other subtrees, the grandparent, and so on.

    Examples
    --------
    >>> search_order(7, 2, 1)
    [3, 4, 0, 2, 5, 6]
    """
    order = preorder_of_tree(n, arity, node)
    top = node
    while top > 0:
        top = (top - 1) // arity
        known = set(order)
        order += [other for other in preorder_of_tree(n, arity, top) if other not in known]
    return order[1:]


def tree_ranks(members: list[list[int]], n_workers: int, arity: int) -> Int32Array:
    """Return the rank of every worker for every other one of its cluster, -1 for all others."""
    rank = np.full((n_workers, n_workers), -1, np.int32)
    for cluster in members:
        for place, worker in enumerate(cluster):
            for value, other in enumerate(search_order(len(cluster), arity, place)):
                rank[worker, cluster[other]] = value
    return rank


def _live(view: View) -> EngineState:
    """Return the running engine."""
    if view.state is None:
        raise PolicyError("clusters: there is no running engine to ask")
    return view.state
