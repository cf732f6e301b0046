"""What machine models say: counts, capacities, bandwidths, latencies and costs."""

from __future__ import annotations

from dataclasses import fields

import numpy as np

from simsched.files.errors import ConfigurationError
from simsched.files.units import PER_PS
from simsched.machine.caches import CacheLevel
from simsched.machine.facts.assumed import LINE_BYTES
from simsched.machine.model import Machine, MemoryNode, RuntimeCosts
from simsched.reproduction.probes import chosen, machine_of, probe


@probe("machine_count")
def machine_count(*, machine: str, what: str, kind: str = "") -> float:
    """Return how many parts of one sort a machine has.

    Parameters
    ----------
    what : {"sockets", "domains", "cores", "threads", "nodes", "links"}
        The parts; also ``cores_per_domain``, ``threads_per_domain``, ``cores_per_socket`` and
        ``threads_per_socket``, which are means.
    kind : str
        Memory kind of the nodes; all by default.
    """
    model = machine_of(machine)
    counts: dict[str, float] = {
        "sockets": model.n_sockets,
        "domains": model.n_domains,
        "cores": model.n_cores,
        "threads": model.n_threads,
        "nodes": len(model.nodes_of_kind(kind)) if kind else len(model.nodes),
        "links": len(model.links),
    }
    for part in ("cores", "threads"):
        counts[f"{part}_per_domain"] = counts[part] / counts["domains"]
        counts[f"{part}_per_socket"] = counts[part] / counts["sockets"]
    return float(chosen("what", what, counts))


@probe("node_capacity_bytes")
def node_capacity_bytes(*, machine: str, kind: str, total: bool = False) -> float:
    """Return the capacity of a memory node of one kind, or of all of them together."""
    nodes = _nodes(machine, kind)
    return _one([float(node.capacity_bytes) for node in nodes], f"capacity of {kind}", total)


@probe("node_bandwidth_bytes_per_s")
def node_bandwidth_bytes_per_s(
    *, machine: str, kind: str, peak: bool = False, total: bool = False
) -> float:
    """Return the bandwidth of a memory node of one kind, or of all of them together.

    Parameters
    ----------
    machine, kind : str
        The machine and the kind of memory.
    peak : bool
        The peak instead of what can be sustained.
    total : bool
        The sum over the nodes.
    """
    values = [
        node.peak_bandwidth_bytes_per_s if peak else node.bandwidth_bytes_per_s
        for node in _nodes(machine, kind)
    ]
    return _one(values, f"bandwidth of {kind}", total)


@probe("bandwidth_ratio")
def bandwidth_ratio(*, machine: str, kind: str, base: str, peak: bool = False) -> float:
    """Return the bandwidth of a node of one kind over that of a node of another kind."""
    upper = node_bandwidth_bytes_per_s(machine=machine, kind=kind, peak=peak)
    return upper / node_bandwidth_bytes_per_s(machine=machine, kind=base, peak=peak)


@probe("page_bytes")
def page_bytes(*, machine: str, kind: str) -> float:
    """Return the page size of memory of one kind."""
    return _one([float(node.page_bytes) for node in _nodes(machine, kind)], "page size", False)


@probe("cache_capacity_bytes")
def cache_capacity_bytes(*, machine: str, level: str, total: bool = False) -> float:
    """Return the capacity of one instance of a cache level, or of all of them together."""
    found = _cache(machine_of(machine), level)
    numbers = np.unique(found.core_instance).tolist()
    sizes = [float(found.instance(number).capacity_bytes) for number in numbers]
    return _one(sizes, "capacity", total)


@probe("cache_cores")
def cache_cores(*, machine: str, level: str) -> float:
    """Return how many cores share an instance of a cache level."""
    instance = _cache(machine_of(machine), level).core_instance
    counts = np.unique(instance[instance >= 0], return_counts=True)[1]
    return _one([float(count) for count in counts], f"cores per {level}", False)


@probe("access_latency_s")
def access_latency_s(*, machine: str, kind: str, hops: int = 0) -> float:
    """Return the latency from a domain to a node of one kind that is some hops away.

    Where the machine has several such paths, they have to agree.
    """
    model = machine_of(machine)
    values = [
        model.paths[domain][node].latency_ps * PER_PS
        for domain in range(model.n_domains)
        for node in model.nodes_of_kind(kind)
        if _hops(model, domain, node) == hops
    ]
    return _one(values, f"latency of {kind} at {hops} hops", False)


@probe("latency_ratio")
def latency_ratio(
    *, machine: str, kind: str, hops: int = 0, base: str = "", base_hops: int = 0
) -> float:
    """Return the latency of one path over that of another one; by default of the same memory."""
    upper = access_latency_s(machine=machine, kind=kind, hops=hops)
    return upper / access_latency_s(machine=machine, kind=base or kind, hops=base_hops)


@probe("traversal_time_s")
def traversal_time_s(
    *, machine: str, domain: int, node: int, moved_bytes: int = 2**30, write: bool = False
) -> float:
    """Return how long one core takes to walk through a buffer with one line in flight.

    Parameters
    ----------
    domain, node : int
        Numbers of the core's domain and of the memory node.
    moved_bytes : int
        Size of the buffer, which no cache holds.
    write : bool
        Whether it is written.

    Notes
    -----
    The latency of the path for every line of 64 bytes.
    """
    model = machine_of(machine)
    for name, index, count in (
        ("domain", domain, model.n_domains),
        ("node", node, len(model.nodes)),
    ):
        if not 0 <= index < count:
            raise ConfigurationError(f"{name}: found {index}, accepted: 0 to {count - 1}")
    path = model.paths[domain][node]
    latency = path.write_latency if write else path.latency_ps
    return latency * PER_PS * (moved_bytes / LINE_BYTES)


@probe("traversal_ratio")
def traversal_ratio(
    *, machine: str, domain: int, node: int, base: int, write: bool = False
) -> float:
    """Return the time to read or write a buffer on a node over that on another one: NUMA factor."""
    upper = traversal_time_s(machine=machine, domain=domain, node=node, write=write)
    return upper / traversal_time_s(machine=machine, domain=domain, node=base, write=write)


@probe("traversal_ratios")
def traversal_ratios(*, machine: str, write: bool = False) -> list[float]:
    """Return the NUMA factors of all remote nodes as seen from domain 0, nearest nodes first."""
    model = machine_of(machine)
    home = [node.domain for node in model.nodes].index(0)
    remote = [index for index, node in enumerate(model.nodes) if node.domain not in (None, 0)]
    return sorted(
        traversal_ratio(machine=machine, domain=0, node=node, base=home, write=write)
        for node in remote
    )


@probe("runtime_cost_s")
def runtime_cost_s(*, machine: str, cost: str, distance: int = 0) -> float:
    """Return a cost of the task runtime, for those that depend on it at a distance class."""
    costs = machine_of(machine).costs
    known = {
        f.name.removesuffix("_ps"): getattr(costs, f.name)
        for f in fields(RuntimeCosts)
        if f.name.endswith("_ps")
    }
    value = chosen("cost", cost, known)
    if isinstance(value, tuple):
        value = value[min(distance, len(value) - 1)]
    return float(value) * PER_PS


def _nodes(machine: str, kind: str) -> list[MemoryNode]:
    model = machine_of(machine)
    return [model.nodes[index] for index in model.nodes_of_kind(kind)]


def _cache(machine: Machine, level: str) -> CacheLevel:
    return chosen("cache level", level, {item.name: item for item in machine.caches})


def _hops(machine: Machine, domain: int, node: int) -> int:
    """Return how far a node is from a domain; one that belongs to none is near to all."""
    home = machine.nodes[node].domain
    return 0 if home is None else int(machine.domain_hops[domain, home])


def _one(values: list[float], what: str, total: bool) -> float:
    """Return the sum of values, or the value that all of them have."""
    if total:
        return float(sum(values))
    if len(set(values)) != 1:
        found = ", ".join(f"{value:g}" for value in sorted(set(values))) or "none"
        raise ConfigurationError(f"{what}: found {found}, accepted: one value")
    return values[0]
