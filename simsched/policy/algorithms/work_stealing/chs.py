"""Cluster-aware hierarchical stealing: along a tree of workers, then between its roots."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from simsched.policy import (
    SEVERAL_DOMAINS,
    AcquireStep,
    HookView,
    Need,
    Plan,
    PlanView,
    Ranked,
    Transfer,
    param,
    register,
)
from simsched.policy.parts.clusters import OWN, AskingPolicy, Clusters
from simsched.workload.graph import Int32Array, TaskGraph


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
    idle its root asks the root of a random other cluster, which searches its tree in the same way.
    Readings: docs/sources/laws.md.

    References
    ----------
    R. V. van Nieuwpoort, T. Kielmann, H. E. Bal, PPoPP 2001. Q. Chen, M. Guo, Springer 2017,
    section 4.3.2.
    """

    needs: ClassVar[tuple[Need, ...]] = (SEVERAL_DOMAINS,)

    arity: int = param(2, low=1)

    def plan(self, view: PlanView, state: Clusters, graph: TaskGraph) -> Plan:
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


def preorder_of_tree(n: int, arity: int, root: int = 0) -> list[int]:
    """Return the nodes of a subtree of the complete tree over 0 to n - 1, parents first.

    >>> preorder_of_tree(7, 2)
    [0, 1, 3, 4, 2, 5, 6]
    """
    below = range(arity * root + 1, min(arity * root + arity + 1, n))
    return [root, *(node for child in below for node in preorder_of_tree(n, arity, child))]


def search_order(n: int, arity: int, node: int) -> list[int]:
    """Return the order in which an idle node of a complete tree asks the others.

    Its own subtree, its parent, the parent's other subtrees, the grandparent, and so on.

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
