"""The part of this host that a process may use, in the shape of a machine file.

What Linux describes is cut down to the hardware threads that are calibrated: domains without any of
them vanish, caches are shared by those that are left.
"""

from __future__ import annotations

import math
import os
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from simsched.files.units import parse_size
from simsched.hardware.topology import (
    CPUINFO,
    SYSTEM,
    Site,
    Topology,
    file_text,
    numbered,
    parse_list,
    processor_name,
    read_topology,
    value_in,
)

MEMINFO = Path("/proc/meminfo")


@dataclass(frozen=True)
class Domain:
    """Cores with a memory node, or with none."""

    node: int
    socket: int
    #: Hardware threads of each core, ascending; cores with more of them come first.
    cores: tuple[tuple[int, ...], ...]

    @property
    def threads(self) -> list[int]:
        """The first hardware thread of each core."""
        return [core[0] for core in self.cores]


@dataclass(frozen=True)
class HostNode:
    """A memory node: its number, its size, and the index of its domain, None if it has no cores."""

    number: int
    capacity_bytes: int
    domain: int | None


@dataclass(frozen=True)
class HostCache:
    """A level of caches as the system states it."""

    #: 1 for the data cache next to the core.
    level: int
    capacity_bytes: int
    #: Number of calibrated cores that share an instance.
    shared_by: int
    #: Whether all instances have that many of the calibrated cores.
    is_even: bool = True
    #: Lines of a set; 0 where the system does not state them.
    ways: int = 0


@dataclass(frozen=True)
class Host:
    """What is known about the host without measuring."""

    processor: str
    clock_hz: float | None
    #: In the order of sockets and nodes; the index is the domain's number in the machine.
    domains: tuple[Domain, ...]
    nodes: tuple[HostNode, ...]
    #: Distance between nodes, by their numbers, as the firmware states it.
    distance: dict[tuple[int, int], int]
    #: From the core outwards.
    caches: tuple[HostCache, ...]
    page_bytes: int

    @property
    def threads(self) -> list[int]:
        """The first hardware thread of each core of all domains."""
        return [thread for domain in self.domains for thread in domain.threads]

    def hops(self) -> list[list[int]]:
        """Return the hops between domains: classes of the firmware's distances, 1 the nearest.

        Domains without a stated distance are 20 apart.
        """
        stated = np.array(
            [[self.distance.get((a.node, b.node), 20) for b in self.domains] for a in self.domains]
        )
        apart = np.maximum(stated, stated.T)
        np.fill_diagonal(apart, 0)
        hops: list[list[int]] = np.searchsorted(np.unique(apart), apart).tolist()
        return hops


def read_host(
    cores: Sequence[int], system: Path = SYSTEM, cpuinfo: Path = CPUINFO, meminfo: Path = MEMINFO
) -> Host:
    """Return what Linux tells about some hardware threads of this host."""
    topology, clock_mhz = read_topology(system), value_in(cpuinfo, "cpu MHz")
    domains = _domains(topology, cores)
    by_node = {domain.node: index for index, domain in enumerate(domains)}
    nodes = tuple(
        HostNode(node, _node_bytes(node, system, meminfo), by_node.get(node))
        for node in topology.nodes
    )
    return Host(
        processor=processor_name() or "unknown processor",
        clock_hz=float(clock_mhz) * 1e6 if clock_mhz else None,
        domains=domains,
        nodes=nodes,
        distance=dict(topology.node_distance),
        caches=_caches(domains, system),
        page_bytes=os.sysconf("SC_PAGE_SIZE"),
    )


def _domains(topology: Topology, cores: Sequence[int]) -> tuple[Domain, ...]:
    """Return the domains of the chosen threads; cores that share caches follow each other."""

    def place(thread: int) -> tuple[int, ...]:
        site: Site = topology.sites[thread]
        return (site.socket, site.node, site.l3, site.l2, site.core, thread)

    threads_of: dict[tuple[int, int], dict[int, list[int]]] = {}
    for thread in sorted(set(cores), key=place):
        site = topology.sites[thread]
        threads_of.setdefault((site.socket, site.node), {}).setdefault(site.core, []).append(thread)
    return tuple(
        Domain(
            node,
            socket,
            # A machine file lists the cores of a domain kind by kind.
            tuple(sorted(map(tuple, by_core.values()), key=lambda core: -len(core))),
        )
        for (socket, node), by_core in threads_of.items()
    )


def _caches(domains: Sequence[Domain], system: Path) -> tuple[HostCache, ...]:
    """Return the levels that the first thread has, and how its siblings share them."""
    cores = [core for domain in domains for core in domain.cores]
    found = []
    for folder in numbered(system / "cpu" / f"cpu{cores[0][0]}" / "cache", "index").values():
        kind, level, size = (file_text(folder / name) for name in ("type", "level", "size"))
        if kind == "Instruction" or not level.isdigit() or not size.endswith("K"):
            continue
        instances: Counter[tuple[int, ...]] = Counter()
        for core in cores:
            cache = system / "cpu" / f"cpu{core[0]}" / "cache" / folder.name
            instances[tuple(parse_list(file_text(cache / "shared_cpu_list"))) or core] += 1
        counts = sorted(set(instances.values()))
        share = counts[0] if len(counts) == 1 else _divisor(domains, counts[-1])
        capacity = parse_size(f"{size.removesuffix('K')} KiB")
        ways = file_text(folder / "ways_of_associativity")
        found.append(HostCache(int(level), capacity, share, len(counts) == 1, int(ways or 0)))
    return tuple(sorted(found, key=lambda cache: cache.level))


def _divisor(domains: Sequence[Domain], wanted: int) -> int:
    """Return the largest number up to the wanted one by which the cores of each socket divide."""
    counts = Counter(domain.socket for domain in domains for _ in domain.cores)
    common = math.gcd(*counts.values())
    return max(share for share in range(1, wanted + 1) if common % share == 0)


def _node_bytes(node: int, system: Path, meminfo: Path) -> int:
    """Return the memory of a node; of the host, if the system does not tell it by node."""
    own = value_in(system / "node" / f"node{node}" / "meminfo", f"Node {node} MemTotal")
    return _bytes(own or value_in(meminfo, "MemTotal"))


def available_bytes(meminfo: Path = MEMINFO) -> int:
    """Return how much memory the system thinks it can give."""
    return _bytes(value_in(meminfo, "MemAvailable"))


def _bytes(text: str) -> int:
    """Return a size as the kernel writes it, 1 GiB where it does not tell."""
    return parse_size(f"{text.split()[0]} KiB") if text else 2**30
