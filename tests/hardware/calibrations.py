"""Calibrations that nobody has measured, for tests of what is made of them."""

from __future__ import annotations

import math

from simsched.hardware.calibrate_host import Domain, Host, HostCache, HostNode
from simsched.hardware.calibrate_memory import (
    STATED,
    STREAMS,
    CacheLevelValues,
    Effort,
    Latency,
    Stream,
)
from simsched.hardware.calibrate_probes import Measured
from simsched.hardware.calibration import Calibration

GB = 1e9
#: Share that triad counts of the bytes that move: it reads 16 and writes 8, and fetches these 8.
COUNTED = 24 / 32
#: Costs in seconds; all different.
COSTS = {
    "pop": 13e-9,
    "push": 7e-9,
    "spawn_child_first": 17e-9,
    "spawn_parent_first": 11e-9,
    "lock_hold": 5e-9,
    "barrier": 400e-9,
}
#: Enough to measure something, whatever it is worth.
TINY = Effort(2, 0, 2**21, 2**20, 2**14)


def is_plausible(value: float, most: float) -> bool:
    return 0 < value < most and math.isfinite(value)


def measured(value: float, how: str = "made up") -> Measured:
    return Measured(value, 0.03, 7, how)


def host(domains: tuple[Domain, ...], nodes: tuple[HostNode, ...], **changes: object) -> Host:
    apart = {
        (a, b): 10 if a == b else 21
        for a in {*(d.node for d in domains), *(n.number for n in nodes)}
        for b in {*(d.node for d in domains), *(n.number for n in nodes)}
    }
    in_socket = sum(len(d.cores) for d in domains if d.socket == domains[0].socket)
    values: dict[str, object] = {
        "processor": "Example Processor: 9000",
        "clock_hz": 2.5e9,
        "domains": domains,
        "nodes": nodes,
        "distance": apart,
        "caches": (HostCache(1, 32 * 2**10, 1), HostCache(3, 8 * 2**20, in_socket)),
        "page_bytes": 4096,
    }
    return Host(**{**values, **changes})  # type: ignore[arg-type]


def small(**changes: object) -> Host:
    """One node with two cores."""
    domains = (Domain(0, 0, ((0,), (1,))),)
    return host(domains, (HostNode(0, 4 * 2**30, 0),), **changes)


def two_nodes(**changes: object) -> Host:
    """Two sockets with a node and two cores each."""
    domains = (Domain(0, 0, ((0,), (1,))), Domain(1, 1, ((2,), (3,))))
    return host(domains, (HostNode(0, 4 * 2**30, 0), HostNode(1, 4 * 2**30, 1)), **changes)


def two_threads(**changes: object) -> Host:
    """One node with two cores of two hardware threads."""
    domains = (Domain(0, 0, ((0, 2), (1, 3))),)
    return host(domains, (HostNode(0, 4 * 2**30, 0),), **changes)


def calibration(of: Host) -> Calibration:
    """Return a calibration: own nodes give 10 GB/s per core, others 4 GB/s; 90 ns and 150 ns.

    These are bytes that triad moves; it counts 7.5 and 3 GB/s, and so do the other operations.
    """
    streams, latencies = [], []
    for d, domain in enumerate(of.domains):
        for n, node in enumerate(of.nodes):
            own = node.domain in {d, None}
            for operation in STREAMS:
                for count in range(1, len(domain.cores) + 1):
                    counted = (10 if own else 4) * GB * count * COUNTED
                    rate = measured(counted, f"{operation} of {count}")
                    streams.append(Stream(d, n, operation, count, rate))
            idle = measured(90e-9 if own else 150e-9)
            latencies += [Latency(d, n, 0, idle), Latency(d, n, 1, measured(idle.value * 2))]
    levels = tuple(
        CacheLevelValues(
            name=f"L{cache.level}",
            capacity_bytes=cache.capacity_bytes,
            capacity_how=STATED,
            shared_by=cache.shared_by,
            shared_how=STATED if cache.is_even else "assumed: not even",
            latency=measured(1e-9 * cache.level),
            bandwidth=measured(60 * GB / cache.level),
        )
        for cache in of.caches
    )
    ways = len(of.domains[0].cores[0])
    distances = sorted({1, *(1 + h for row in of.hops() for h in row), *([0] if ways > 1 else [])})
    return Calibration(
        host=of,
        streams=tuple(streams),
        siblings=tuple(measured(GB * (10 + 2 * k)) for k in range(ways)),
        latencies=tuple(latencies),
        sweep=((4096, measured(1e-9)), (8192, measured(2e-9))),
        caches=levels,
        smt=tuple(measured(1 + 0.25 * k) for k in range(ways)),
        costs={name: measured(value) for name, value in COSTS.items()},
        by_distance={
            name: {d: measured((d + 1) * 20e-9) for d in distances}
            for name in ("steal", "steal_probe")
        },
        started="2026-01-02 03:04 UTC",
        duration_s=12.0,
    )
