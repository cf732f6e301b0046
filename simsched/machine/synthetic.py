"""Small regular machines made in one call, for tests and benchmarks."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from simsched.machine.caches import CacheLevel, MemorySideCache
from simsched.machine.model import (
    CoreGroup,
    IntArray,
    Link,
    Machine,
    MemoryNode,
    Path,
    RuntimeCosts,
)
from simsched.machine.topology import default_touch_order, number_threads

GIB = 2**30


def make_machine(
    *,
    name: str = "synthetic",
    domains: int = 2,
    cores_per_domain: int = 2,
    domains_per_socket: int = 1,
    smt_throughput: tuple[float, ...] = (1.0,),
    ops_per_s: float = 1e9,
    dram_bandwidth_bytes_per_s: float = 10e9,
    dram_capacity_bytes: int = 4 * GIB,
    hbm_per_domain: bool = False,
    hbm_bandwidth_bytes_per_s: float = 40e9,
    hbm_capacity_bytes: int = GIB,
    core_cap_bytes_per_s: float | tuple[float, ...] | None = None,
    remote_weight: float = 1.0,
    link_bandwidth_bytes_per_s: float | None = None,
    local_latency_ps: int = 0,
    remote_latency_ps: int = 0,
    caches: Sequence[tuple[Any, ...]] = (),
    memory_side_cache: MemorySideCache | None = None,
    page_bytes: int = 4096,
    costs: RuntimeCosts | None = None,
) -> Machine:
    """Return a regular machine: equal domains, each with one DRAM node and on request one HBM node.

    Nodes 0 to `domains` - 1 are DRAM, one per domain; the next `domains` nodes are HBM. Different
    domains are one hop apart. First touch tries DRAM before HBM and near before far.

    Bandwidths are peak and sustained, sizes those of each node. `smt_throughput` and
    `core_cap_bytes_per_s` are by 1, 2, ... busy hardware threads of a core, the latter without
    bound by default. `remote_weight` is the load of a remote byte on the controller. A link of
    `link_bandwidth_bytes_per_s` is crossed by every remote path. The memory-side cache is in front
    of every DRAM node.

    Cache levels, from the core outwards, are (name, capacity_bytes, bandwidth_bytes_per_s,
    latency_ps, cores_per_instance); consecutive cores share an instance. What may
    follow are the fields of :class:`CacheLevel` from transfer_bandwidth_bytes_per_s on; transfers
    are at one level only.

    >>> machine = make_machine(domains=4, smt_throughput=(1.0, 1.2), hbm_per_domain=True)
    >>> machine.n_cores, machine.n_threads, len(machine.nodes)
    (8, 16, 8)
    """
    n_cores = domains * cores_per_domain
    nodes = [
        MemoryNode(
            f"{kind.lower()}{domain}",
            kind,
            capacity,
            rate,
            rate,
            domain,
            page_bytes=page_bytes,
            memory_side_cache=cache,
        )
        for kind, capacity, rate, cache, present in (
            ("DRAM", dram_capacity_bytes, dram_bandwidth_bytes_per_s, memory_side_cache, True),
            ("HBM", hbm_capacity_bytes, hbm_bandwidth_bytes_per_s, None, hbm_per_domain),
        )
        if present
        for domain in range(domains)
    ]
    crossbar = link_bandwidth_bytes_per_s
    links = () if crossbar is None else (Link("crossbar", crossbar),)
    cap = math.inf if core_cap_bytes_per_s is None else core_cap_bytes_per_s
    caps = cap if isinstance(cap, tuple) else (cap,)
    local = Path(local_latency_ps, caps)
    remote = Path(
        remote_latency_ps, caps, links=tuple(range(len(links))), node_weight=remote_weight
    )
    hops = (1 - np.eye(domains, dtype=np.int32)).astype(np.int32)
    cores = np.arange(n_cores, dtype=np.int32)
    return Machine(
        name=name,
        description=f"{domains} domains of {cores_per_domain} cores",
        core_groups=(CoreGroup("core", "cpu", ops_per_s, smt_throughput),),
        thread_core=number_threads([len(smt_throughput)] * n_cores),
        core_group=np.zeros(n_cores, dtype=np.int32),
        core_domain=cores // np.int32(cores_per_domain),
        domain_socket=np.arange(domains, dtype=np.int32) // np.int32(domains_per_socket),
        domain_hops=hops,
        nodes=tuple(nodes),
        links=links,
        paths=tuple(
            tuple(local if node.domain == domain else remote for node in nodes)
            for domain in range(domains)
        ),
        touch_order=default_touch_order(nodes, hops),
        caches=tuple(_cache_level(level, cores) for level in caches),
        costs=RuntimeCosts() if costs is None else costs,
    )


def _cache_level(values: tuple[Any, ...], cores: IntArray) -> CacheLevel:
    """Return a cache level whose instances consecutive cores share."""
    name, capacity_bytes, bandwidth, latency_ps, per_instance, *others = values
    instance = cores // np.int32(per_instance)
    return CacheLevel(name, capacity_bytes, bandwidth, latency_ps, instance, *others)
