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
    if machine.os_distance is not None:
        return machine.os_distance.astype(np.int64)
    domain = np.arange(machine.n_domains)
    hops = [
        machine.domain_hops[domain, domain if node.domain is None else node.domain]
        for node in machine.nodes
    ]
    return 10 + 10 * np.column_stack(hops).astype(np.int64)


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
    ) -> None:
        self._kind = kind
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
        sides = {
            "output_only": [(buffers.producer, 1.0)],
            "weighted": [(buffers.consumer, input_weight), (buffers.producer, output_weight)],
        }.get(kind, [(buffers.consumer, 1.0)])
        total, found = np.zeros(graph.n_tasks, np.int64), []
        for owner, weight in sides:
            own = np.flatnonzero(owner >= 0)
            np.add.at(total, owner[own], graph.block_bytes[own])
            weights = np.full(len(own), round(weight * SCALE), np.int64)
            found.append((owner[own], own, weights))
        task, block, each = (np.concatenate(column) for column in zip(*found, strict=True))
        order = np.argsort(task, kind="stable")
        self._begin = np.searchsorted(task[order], np.arange(graph.n_tasks + 1)).tolist()
        self._block = block[order].tolist()
        self._bytes = graph.block_bytes[block[order]].tolist()
        self._weight = each[order].tolist()
        self._enough = (total >= (threshold_bytes if kind != "original" else 0)).tolist()

    @property
    def pushes(self) -> bool:
        """Whether there are tasks that may be pushed."""
        has_data = np.diff(self._begin) > 0
        return bool((has_data & np.array(self._enough)).any())

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
