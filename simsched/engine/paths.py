"""Ways for bytes through a machine, and what their flows load."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from simsched.engine.interface.problem import Paths
from simsched.files.units import PER_PS
from simsched.machine.model import IntArray, Machine

Int32Array = NDArray[np.int32]
Int64Array = NDArray[np.int64]
FloatArray = NDArray[np.float64]


@dataclass
class _Table:
    """Paths so far; like paths are one: fewer classes, same rates."""

    latency: list[int] = field(default_factory=list)
    share: list[float] = field(default_factory=list)
    cap: list[list[float]] = field(default_factory=list)
    loads: list[list[tuple[int, float]]] = field(default_factory=list)
    known: dict[tuple[object, ...], int] = field(default_factory=dict)

    def add(
        self,
        latency_ps: int,
        caps: list[float],
        load: list[tuple[int, float]],
        share: float = 1.0,
    ) -> int:
        """Return the number of a path, a new one if there is none like it."""
        merged: dict[int, float] = {}
        for resource, weight in load:
            merged[resource] = merged.get(resource, 0.0) + weight * share
        levels = [cap / share for cap in caps]
        path = (latency_ps, share, tuple(levels), tuple(sorted(merged.items())))
        if path not in self.known:
            self.known[path] = len(self.latency)
            self.latency.append(latency_ps)
            self.share.append(share)
            self.cap.append(levels)
            self.loads.append(sorted(merged.items()))
        return self.known[path]


def make_paths(machine: Machine, n_mates: int) -> Paths:
    """Return the paths for accesses (misses), memory-side hits, writes and copies."""
    table = _Table()
    with_cache = [i for i, node in enumerate(machine.nodes) if node.memory_side_cache is not None]
    cache_resource = {node: len(machine.nodes) + i for i, node in enumerate(with_cache)}
    first_link = len(machine.nodes) + len(with_cache)
    access, hit, write = _access_paths(machine, n_mates, table, cache_resource, first_link)
    copy = _copy_paths(machine, n_mates, table, first_link)
    ptr = np.zeros(len(table.loads) + 1, np.int32)
    np.cumsum([len(load) for load in table.loads], out=ptr[1:])
    crossings = [crossing for load in table.loads for crossing in load]
    return Paths(
        latency_ps=np.array(table.latency, np.int64),
        share=np.array(table.share, np.float64),
        cap=np.array(table.cap, np.float64),
        resource_ptr=ptr,
        resource=np.array([resource for resource, _ in crossings], np.int32),
        weight=np.array([weight for _, weight in crossings], np.float64),
        access=access,
        hit=hit,
        write=write,
        copy=copy,
    )


def most_mates(machine: Machine, worker_thread: IntArray) -> int:
    """Return the number of busy workers of one module beyond which none draws less.

    Without modules it is that of workers on one core.
    """
    module = machine.core_module[machine.thread_core[worker_thread]]
    most = int(np.unique(module, return_counts=True)[1].max())
    if all(group.module_cores == 1 for group in machine.core_groups):
        return most
    tables = {
        tuple(_shared_caps(caps, most))
        for row in machine.paths
        for path in row
        for caps in (path.core_cap_bytes_per_s, path.write_core_cap)
    }
    different = [
        busy
        for caps in tables
        for busy in range(1, most)
        if not math.isclose(caps[busy], caps[busy - 1], rel_tol=1e-12)
    ]
    return max(different, default=0) + 1


def _access_paths(
    machine: Machine, n_mates: int, table: _Table, cache_resource: dict[int, int], first_link: int
) -> tuple[Int32Array, Int32Array, Int32Array]:
    """Return the paths from each domain to each node: misses, memory-side hits, writes."""
    shape = (machine.n_domains, len(machine.nodes))
    access, write = np.zeros(shape, np.int32), np.zeros(shape, np.int32)
    hit = np.full(shape, -1, np.int32)
    for domain, node in np.ndindex(shape):
        path = machine.paths[domain][node]
        caps = _shared_caps(path.core_cap_bytes_per_s, n_mates)
        write_caps = _shared_caps(path.write_core_cap, n_mates)
        links = [(first_link + link, load) for link, load in path.link_loads]
        own = _controllers(machine, node, first_link, path.node_weight)
        written = _controllers(machine, node, first_link, path.write_weight)
        cache = machine.nodes[node].memory_side_cache
        if cache is None:
            access[domain, node] = table.add(path.latency_ps, caps, own + links)
            write[domain, node] = table.add(path.write_latency, write_caps, written + links)
        else:
            front = [(cache_resource[node], path.node_weight)]
            behind = own + front + links
            access[domain, node] = table.add(cache.miss_latency_ps, caps, behind)
            hit[domain, node] = table.add(cache.hit_latency_ps, caps, front + links)
            behind = written + front + links
            write[domain, node] = table.add(cache.miss_latency_ps, write_caps, behind)
    return access, hit, write


def _controllers(
    machine: Machine, node: int, first_link: int, weight: float = 1.0
) -> list[tuple[int, float]]:
    """Return what a byte of a node loads behind caches: the node, and a controller it shares."""
    shared = machine.nodes[node].controller
    if shared is None:
        return [(node, weight)]
    return [(node, weight), (first_link + len(machine.links) + shared, weight)]


def _copy_paths(machine: Machine, n_mates: int, table: _Table, first_link: int) -> Int32Array:
    """Return the paths of copies from node to node."""
    n_nodes = len(machine.nodes)
    copy = np.zeros((n_nodes, n_nodes), np.int32)
    page_ps = machine.costs.page_migration_ps
    shares, space = _copy_shares(machine), machine.node_space
    for source, target in np.ndindex(n_nodes, n_nodes):
        near = machine.nodes[target].domain
        crossed = () if near is None else machine.paths[near][source].link_loads
        load = _controllers(machine, source, first_link) + _controllers(machine, target, first_link)
        load += [(first_link + link, weight) for link, weight in crossed]
        if space[source] != space[target] and near is not None:
            path = machine.paths[near][source]
            caps = _shared_caps(path.core_cap_bytes_per_s, n_mates)
            copy[source, target] = table.add(path.latency_ps, caps, load, shares[near][source])
        else:
            page = machine.nodes[source].page_bytes
            rate = page / page_ps if page_ps > 0 else float("inf")
            copy[source, target] = table.add(0, [rate] * n_mates, load)
    return copy


def _copy_shares(machine: Machine) -> list[list[float]]:
    """Return the share of copies to each domain from each node; the largest one is 1."""
    latency = [[path.latency_ps for path in row] for row in machine.paths]
    least = min((ps for row in latency for ps in row if ps > 0), default=1)
    if not machine.shares_by_latency:
        return [[1.0] * len(row) for row in latency]
    return [[least / ps if ps > 0 else 1.0 for ps in row] for row in latency]


def _shared_caps(table: tuple[float, ...], n_mates: int) -> list[float]:
    """Return what one thread moves at most with 1, 2, ... busy threads, in bytes per ps."""
    return [held(table, k) * PER_PS / (k + 1) for k in range(n_mates)]


def held(table: tuple[float, ...], index: int) -> float:
    """Return the table's entry; the last one holds beyond its end."""
    return table[min(index, len(table) - 1)]
