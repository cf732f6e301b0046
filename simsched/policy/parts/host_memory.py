"""Memory that the operating system hands out: that of the host, not that of devices."""

from __future__ import annotations

import numpy as np

from simsched.files.units import PER_PS
from simsched.machine.model import Machine
from simsched.workload.graph import Int64Array


def host_nodes(machine: Machine) -> list[int]:
    """Return the memory nodes that the operating system hands out: all but those of devices."""
    return [i for i, node in enumerate(machine.nodes) if not node.has_driver]


def room_of(machine: Machine) -> Int64Array:
    """Return the capacity in bytes of every memory node."""
    return np.array([node.capacity_bytes for node in machine.nodes], np.int64)


def nearest_host(machine: Machine, domain: int) -> int:
    """Return the memory node of the host that comes first at a touch from a domain."""
    hosts = host_nodes(machine)
    return next(int(node) for node in machine.touch_order[domain] if node in hosts)


def host_path(machine: Machine, domain: int) -> tuple[float, float]:
    """Return latency and bytes per second between a domain and its nearest main memory."""
    path = machine.paths[domain][nearest_host(machine, domain)]
    return path.latency_ps * PER_PS, min(path.core_cap_bytes_per_s[0], machine.link_rate(path))
