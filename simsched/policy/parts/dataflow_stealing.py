"""Where workers of the dataflow run-time look for work: own queues, then nearer victims."""

from __future__ import annotations

import numpy as np

from simsched.policy.contract.base import AcquireStep, PlanView, Ranked, Uniform, Weighted
from simsched.workload.graph import Int32Array

STEALINGS = ("random", "hierarchical")


def search_order(stealing: str, view: PlanView) -> tuple[AcquireStep, ...]:
    """Return how a worker looks for work."""
    own = (
        AcquireStep("pushed", "own", "newest"),
        AcquireStep("slot", "own", "newest"),
        AcquireStep("deque", "own", "newest"),
    )
    if stealing == "random":
        return (*own, AcquireStep("deque", "anywhere", "oldest"))
    hops = view.machine.domain_hops[view.worker_domain][:, view.worker_domain]
    first_round = [
        AcquireStep(
            "deque",
            "other_domains",
            "oldest",
            choice=Ranked(np.where(hops == distance, 0, -1).astype(np.int32), attempts=1),
        )
        for distance in np.unique(hops[hops > 0]).tolist()
    ]
    return (
        *own,
        AcquireStep("deque", "same_domain", "oldest", choice=Ranked(near_ranks(view))),
        *first_round,
        AcquireStep("deque", "anywhere", "oldest", choice=Uniform(attempts=1)),
        AcquireStep("deque", "other_domains", "oldest", choice=Weighted(far_weights(view))),
    )


def near_ranks(view: PlanView) -> Int32Array:
    """Return 0 for workers that share the smallest shared cache, 1 for others of the domain.

    Shape (n_workers, n_workers); -1 elsewhere.
    """
    domain = view.worker_domain
    rank = np.where(domain[:, None] == domain[None, :], 1, -1).astype(np.int32)
    core = view.machine.thread_core[view.worker_thread]
    for level in view.machine.caches:
        instance = level.core_instance[core]
        together = (instance[:, None] == instance[None, :]) & (rank >= 0)
        if together.sum() > len(core):
            rank[together] = 0
            break
    return rank


def far_weights(view: PlanView) -> Int32Array:
    """Return how often workers of other domains are tried after the first round.

    Shape (n_workers, n_workers). Per round one attempt at each hop distance and one at the whole
    machine: ``1 / n_h + 1 / n`` for each of the n_h workers h hops away, of n workers, in units of
    a millionth.
    """
    domain, n = view.worker_domain, view.n_workers
    hops = view.machine.domain_hops[domain][:, domain]
    weight = np.zeros((n, n), np.int32)
    for row in range(n):
        counts = np.bincount(hops[row])
        share = np.round(1e6 / np.maximum(counts, 1) + 1e6 / n).astype(np.int32)
        weight[row] = share[hops[row]]
    weight[domain[:, None] == domain[None, :]] = 0
    return weight
