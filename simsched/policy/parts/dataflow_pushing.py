"""Work pushing: to which worker a task that has just become ready goes."""

from __future__ import annotations

import numpy as np

from simsched.machine.model import Machine
from simsched.policy.contract.base import HookView, PlanView
from simsched.policy.parts.dataflow_buffers import Buffers
from simsched.workload.graph import Int64Array, TaskGraph

PUSHINGS = ("none", "original", "input_only", "output_only", "weighted")
SCALE = 1000  #: weights are whole thousandths, so that equal costs are equal


def os_distances(machine: Machine) -> Int64Array:
    """Return the distances between memory nodes as the operating system gives them.

    Local 10, others from the machine's `os_distance`; where the file has none, 10 and 10 per hop.
    Shape (n_domains, n_nodes).
    """
    distance = np.zeros((machine.n_domains, len(machine.nodes)), np.int64)
    for domain in range(machine.n_domains):
        for index, node in enumerate(machine.nodes):
            home = domain if node.domain is None else node.domain
            given = machine.os_distance
            hops = int(machine.domain_hops[domain, home])
            distance[domain, index] = 10 + 10 * hops if given is None else given[domain, index]
    return distance


def write_read_ratio(machine: Machine) -> float:
    """Return how many times longer a local write takes than a local read, at least 1."""
    path = next(
        path
        for node, path in zip(machine.nodes, machine.paths[0], strict=True)
        if node.domain in (0, None)
    )
    read, write = path.core_cap_bytes_per_s[0], path.write_core_cap[0]
    return max(1.0, read / write) if np.isfinite(read) and np.isfinite(write) else 1.0


class Pushing:
    """Algorithm 1 for one run."""

    def __init__(
        self,
        view: PlanView,
        graph: TaskGraph,
        buffers: Buffers,
        *,
        kind: str,
        input_weight: float,
        output_weight: float,
        threshold_bytes: int,
        tracked_bytes: int,
    ) -> None:
        self._kind = kind
        self._threshold = threshold_bytes if kind != "original" else 0
        self._rng = view.rng
        self._domain = view.worker_domain.tolist()
        domains = np.unique(view.worker_domain)
        self._workers = {
            int(d): np.flatnonzero(view.worker_domain == d).tolist() for d in domains.tolist()
        }
        distance = os_distances(view.machine)
        self._candidates = [int(d) for d in domains]
        self._distance = distance[domains].T.copy()  # by node: to every domain with workers
        self._column = {domain: i for i, domain in enumerate(self._candidates)}
        self._node_domain = [node.domain for node in view.machine.nodes]
        uses_in, uses_out = kind != "output_only", kind in ("output_only", "weighted")
        weighted = kind == "weighted"
        self._total = np.zeros(graph.n_tasks, np.int64)
        sizes, owners, blocks, weights = [], [], [], []
        for used, owner, weight in (
            (uses_in, buffers.consumer, input_weight if weighted else 1.0),
            (uses_out, buffers.producer, output_weight if weighted else 1.0),
        ):
            if not used:
                continue
            own = np.flatnonzero(owner >= 0)
            np.add.at(self._total, owner[own], graph.block_bytes[own])
            tracked = own[graph.block_bytes[own] >= tracked_bytes]
            owners.append(owner[tracked])
            blocks.append(tracked)
            sizes.append(graph.block_bytes[tracked])
            weights.append(np.full(len(tracked), round(weight * SCALE), np.int64))
        task = np.concatenate(owners)
        order = np.argsort(task, kind="stable")
        self._begin = np.searchsorted(task[order], np.arange(graph.n_tasks + 1)).tolist()
        self._block = np.concatenate(blocks)[order].tolist()
        self._bytes = np.concatenate(sizes)[order].tolist()
        self._weight = np.concatenate(weights)[order].tolist()
        self._enough = (self._total >= self._threshold).tolist()

    def target(self, view: HookView, task: int, worker: int) -> int | None:
        """Return the worker that a task is to be handed to; None keeps it with `worker`."""
        begin, end = self._begin[task], self._begin[task + 1]
        if begin == end or not self._enough[task]:
            return None
        home = view.live.block_home
        local = self._domain[worker]
        if self._kind == "original":
            largest = max(range(begin, end), key=self._bytes.__getitem__)
            node = home(self._block[largest])
            chosen = local if node < 0 else self._node_domain[node]
        else:
            data: dict[int, int] = {}
            for i in range(begin, end):
                node = home(self._block[i])
                if node >= 0:
                    data[node] = data.get(node, 0) + self._weight[i] * self._bytes[i]
            chosen = self._cheapest(data, local)
        if chosen is None or chosen == local or chosen not in self._workers:
            return None
        workers = self._workers[chosen]
        return int(workers[int(self._rng.integers(len(workers)))])

    def _cheapest(self, data: dict[int, int], local: int) -> int:
        """Return the domain with the smallest access cost; the local one wins ties."""
        if not data or (len(data) == 1 and local == self._node_domain[next(iter(data))]):
            return local
        cost = np.zeros(len(self._candidates), np.int64)
        for node, n_bytes in data.items():
            cost += n_bytes * self._distance[node]
        least = cost.min()
        if cost[self._column[local]] == least:
            return local
        best = np.flatnonzero(cost == least)
        pick = 0 if len(best) == 1 else int(self._rng.integers(len(best)))
        return self._candidates[int(best[pick])]
