"""Divide and conquer on clusters of clusters: pushing, hierarchical, load-based, cluster-aware.

A cluster is a NUMA domain with workers. All policies spawn parent first, their workers take the
newest of their own tasks, and what leaves a pool is its oldest task, the largest one.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from simsched.policy.contract.base import (
    PARENT_FIRST,
    AcquireStep,
    HookView,
    Plan,
    PlanView,
    Ranked,
    Transfer,
    param,
)
from simsched.policy.contract.registry import register
from simsched.policy.parts.placement import PlacedPolicy
from simsched.workload.graph import TaskGraph

Int32Array = NDArray[np.int32]

OWN = AcquireStep("worker", "own", "newest")
IN_CLUSTER = AcquireStep("worker", "same_domain", "oldest")


@dataclass(eq=False)
class Clusters:
    """Workers by cluster, and which messages are on their way."""

    members: list[list[int]]  # workers of each cluster, ascending
    cluster_of: list[int]  # cluster of each worker
    #: for each sender, when its messages arrive
    arrival_ps: dict[int, list[int]] = field(default_factory=dict)
    load: dict[int, int] = field(default_factory=dict)  # last reported load of each worker
    #: workers that have stolen what they are about to execute
    thieves: set[int] = field(default_factory=set)

    def in_flight(self, sender: int, now_ps: int) -> int:
        """Return how many messages of a sender have not arrived yet."""
        left = [end for end in self.arrival_ps.get(sender, []) if end >= now_ps]
        self.arrival_ps[sender] = left
        return sum(end > now_ps for end in left)

    def is_answered(self, sender: int, now_ps: int) -> bool:
        """Return whether a message of a sender arrives right now."""
        return now_ps in self.arrival_ps.get(sender, [])

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
        """Return the clusters."""
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
        state.arrival_ps.setdefault(sender, []).append(view.live.now_ps() + delay_ps)
        return Transfer(0, victim, 0, to, 1, delay_ps, "oldest")


@dataclass(frozen=True, kw_only=True)
class AskingPolicy(ClusterPolicy):
    """Base of the policies in which clusters ask each other for tasks.

    Parameters
    ----------
    period_s : float
        Time in seconds between two looks: of workers with nothing to do for work elsewhere, of
        coordinators at the load of their clusters. An answer that brings nothing is followed by the
        next request at the next look, not at once.
    """

    period_s: float = param(1e-4, low=1e-6, high=1e6)

    @property
    def timer_period_s(self) -> float:  # type: ignore[override]  # a parameter here
        """Time between two looks in seconds."""
        return self.period_s

    def on_idle(self, view: HookView, state: Clusters, worker: int) -> Transfer | None:
        """Return the request that a worker which has found nothing causes.

        After an answer that has brought nothing it is left to the timer: where messages take next
        to no time, workers would do nothing but ask.
        """
        if state.is_answered(self._sender(state, worker), view.live.now_ps()):
            return None
        return self._request(view, state, worker)

    def on_timer(self, view: HookView, state: Clusters) -> tuple[Transfer, ...]:
        """Return the requests of workers that wait and have none under way."""
        live = view.live
        waiting = [w for w in range(view.n_workers) if live.is_waiting(w)]
        found = [self._request(view, state, w) for w in waiting]
        return tuple(request for request in found if request is not None)

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


@register("random_pushing")
@dataclass(frozen=True, kw_only=True)
class RandomPushing(ClusterPolicy):
    """Random pushing (RP): whoever generates many tasks sends some away; nobody steals.

    Parameters
    ----------
    threshold : int
        Length of the own queue above which tasks are pushed.
    most_in_flight : int
        Tasks of one worker that may be on their way at a time.

    Notes
    -----
    A worker that has generated a task (spawned it, or ended the last one for which it waited) and
    whose queue, with this task, is longer than the threshold sends its oldest task to a uniformly
    random other worker, inside or outside its cluster, and goes on. It keeps the task if as many as
    allowed are on their way. Tasks with which iterations begin, and those that arrive, count
    as the first worker's. A worker with an empty queue waits; one that receives tasks does not
    send them on before it generates some. A push takes as long as a steal, although it asks for
    nothing. Thresholds are not published.

    References
    ----------
    R. V. van Nieuwpoort, T. Kielmann, H. E. Bal, *Efficient load balancing for wide-area
    divide-and-conquer applications*, PPoPP 2001. Q. Chen, M. Guo, *Task Scheduling for Multi-core
    and Parallel Architectures*, Springer 2017, section 4.3.1.
    """

    threshold: int = param(1, low=0)
    most_in_flight: int = param(4, low=1)

    def plan(self, view: PlanView, state: Clusters, graph: TaskGraph) -> Plan:
        """Return the plan in which workers look at their own queue only."""
        return self._plan(OWN)

    def on_ready(
        self, view: HookView, state: Clusters, task: int, worker: int
    ) -> tuple[Transfer, ...] | None:
        """Return the push of a worker whose queue a new task makes too long."""
        live, sender = view.live, max(worker, 0)
        too_long = live.queue_length(0, sender) + 1 > self.threshold
        if view.n_workers == 1 or not too_long:
            return None
        if state.in_flight(sender, live.now_ps()) >= self.most_in_flight:
            return None
        peer = (sender + 1 + int(view.rng.integers(view.n_workers - 1))) % view.n_workers
        return (self._send(view, state, sender, sender, peer),)


@register("chs")
@dataclass(frozen=True, kw_only=True)
class Chs(AskingPolicy):
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

    def plan(self, view: PlanView, state: Clusters, graph: TaskGraph) -> Plan:
        """Return the plan in which idle workers follow the tree of their cluster."""
        rank = tree_ranks(state.members, view.n_workers, self.arity)
        return self._plan(OWN, AcquireStep("worker", "same_domain", "oldest", choice=Ranked(rank)))

    def _request(self, view: HookView, state: Clusters, worker: int) -> Transfer | None:
        """Return the request of the root, when the whole cluster is idle."""
        live, cluster = view.live, state.cluster_of[worker]
        members = state.members[cluster]
        root = members[0]
        others_wait = all(live.is_waiting(w) for w in members if w != worker)
        if len(state.members) == 1 or not others_wait or state.in_flight(root, live.now_ps()):
            return None
        asked = state.members[state.other_cluster(cluster, view.rng)]
        order = [asked[i] for i in preorder_of_tree(len(asked), self.arity)]
        victim = next((w for w in order if live.queue_length(0, w)), asked[0])
        return self._send(view, state, root, victim, root)


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

    def plan(self, view: PlanView, state: Clusters, graph: TaskGraph) -> Plan:
        """Return random stealing inside clusters."""
        return self._plan(OWN, IN_CLUSTER)

    def on_idle(self, view: HookView, state: Clusters, worker: int) -> Transfer | None:
        """Report that there is no load; return the coordinator's request if that is too little."""
        state.load[worker] = 0
        return super().on_idle(view, state, worker)

    def on_timer(self, view: HookView, state: Clusters) -> tuple[Transfer, ...]:
        """Report all loads; return the requests of the coordinators."""
        live = view.live
        state.load = {w: live.queue_length(0, w) for w in range(view.n_workers)}
        found = [self._request(view, state, members[0]) for members in state.members]
        return tuple(request for request in found if request is not None)

    def _request(self, view: HookView, state: Clusters, worker: int) -> Transfer | None:
        """Return the request of a cluster's coordinator, None when it has load enough."""
        members = state.members[state.cluster_of[worker]]
        load = sum(state.load.get(w, 0) for w in members)
        if len(state.members) == 1 or load >= self.threshold * len(members):
            return None
        if state.in_flight(members[0], view.live.now_ps()) >= self.most_in_flight:
            return None
        return self._ask_any(view, state, members[0])


@register("crs")
@dataclass(frozen=True, kw_only=True)
class Crs(AskingPolicy):
    """Cluster-aware random stealing (CRS): local steals go on while one remote steal is under way.

    Notes
    -----
    A worker whose own queue is empty asks a random worker of a random other cluster for a task,
    unless an earlier request of its own has not been answered, and steals from random workers of
    its cluster meanwhile. The answer is not cancelled if that succeeds; the task then waits in the
    worker's queue.

    Differences from algorithm 4: where a local steal succeeds, the request goes out when the steal
    is over and its task starts, not before the steal. A request finds what the victim has at the
    time when it is sent. A task that arrives while the worker's queue is not empty is the next one
    that the worker takes; in the source it enters at the end of thieves. A waiting worker does not
    search again and again but is woken by tasks of its cluster, and asks again at the next look,
    every `period_s`, not as soon as an answer brings nothing.

    References
    ----------
    R. V. van Nieuwpoort, T. Kielmann, H. E. Bal, PPoPP 2001. Q. Chen, M. Guo, Springer 2017,
    section 4.3.4 and algorithm 4.
    """

    def plan(self, view: PlanView, state: Clusters, graph: TaskGraph) -> Plan:
        """Return random stealing inside clusters."""
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
