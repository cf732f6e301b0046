"""Hardware threads of this host, what they share, and its memory nodes, as Linux describes them."""

from __future__ import annotations

import os
import platform
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simsched.files.errors import HardwareError
from simsched.files.limits import WORKERS

SYSTEM = Path("/sys/devices/system")
CPUINFO = Path("/proc/cpuinfo")


@dataclass(frozen=True)
class Site:
    """What a hardware thread belongs to, by numbers that are equal for threads that share it."""

    #: Core, caches of the second and third level (the core, if there is none), memory node and
    #: socket.
    core: int
    l2: int
    l3: int
    node: int
    socket: int


@dataclass(frozen=True)
class Topology:
    """Hardware threads and memory nodes of a host."""

    #: The hardware threads that are on line, by the number that the system gives them.
    sites: dict[int, Site]
    #: Nodes that have memory, ascending.
    nodes: tuple[int, ...]
    #: Distance between nodes as the firmware states it, 10 being the node itself.
    node_distance: dict[tuple[int, int], int]

    def distance(self, thread: int, other: int) -> int:
        """Return the distance class of two threads as :meth:`Machine.thread_distance` has them.

        0 is the same core, 1 the same node, and then one class for each distance between nodes.
        """
        one, two = self.sites[thread], self.sites[other]
        if one.core == two.core:
            return 0
        if one.node == two.node:
            return 1
        classes = sorted({d for (a, b), d in self.node_distance.items() if a != b})
        between = self.node_distance.get((one.node, two.node), 0)
        return 2 + classes.index(between) if between in classes else 2


def allowed_cores() -> list[int]:
    """Return the hardware threads on which this process may run, ascending."""
    return sorted(os.sched_getaffinity(0))


def processor_name() -> str:
    """Return what the processor calls itself, nothing where it does not tell."""
    return value_in(CPUINFO, "model name")


def described_host(topology: Topology) -> dict[str, Any]:
    """Return what recordings and measurements say about this host."""
    return {
        "system": platform.platform(),
        "machine": platform.machine(),
        "processor": processor_name(),
        "hardware_threads": len(topology.sites),
        "memory_nodes": list(topology.nodes),
    }


def read_topology(system: Path = SYSTEM) -> Topology:
    """Return the topology of this host; `system` is the folder with `cpu` and `node`.

    What is not described, as in many containers, is taken to be different for every thread (cores,
    caches) or the same for all (sockets, nodes).
    """
    try:
        node_of: dict[int, int] = {}
        for node, folder in numbered(system / "node", "node").items():
            node_of |= dict.fromkeys(parse_list(file_text(folder / "cpulist")), node)
        threads = numbered(system / "cpu", "cpu")
        online = parse_list(file_text(system / "cpu" / "online")) or threads
        sites = {t: _site(system / "cpu" / f"cpu{t}", t, node_of.get(t, 0)) for t in online}
        nodes = parse_list(file_text(system / "node" / "has_memory")) or [0]
        return Topology(sites, tuple(nodes), _node_distances(system / "node"))
    except ValueError as error:
        raise HardwareError(f"{system}: not understood: {error}") from error


def distance_classes(topology: Topology, cores: Sequence[int]) -> NDArray[np.int32]:
    """Return the distance class of each pair of workers; shape (n_workers, n_workers)."""
    known = {(a, b): topology.distance(a, b) for a in set(cores) for b in set(cores)}
    return np.array([[known[a, b] for b in cores] for a in cores], np.int32)


def parse_list(text: str) -> list[int]:
    """Return the numbers of a list as the kernel writes it.

    >>> parse_list("0-2,8")
    [0, 1, 2, 8]
    >>> parse_list("")
    []
    """
    numbers: list[int] = []
    for part in text.split(",") if text else []:
        first, dash, last = part.partition("-")
        low, high = int(first), int(last if dash else first)
        # A list may come from the command line: "0-9999999999" must not fill the memory.
        if not low <= high < low + WORKERS.value:
            raise ValueError(part)
        numbers += range(low, high + 1)
    return numbers


def _site(folder: Path, thread: int, node: int) -> Site:
    """Return where one hardware thread is; things are numbered by their first thread."""
    siblings = parse_list(file_text(folder / "topology" / "thread_siblings_list")) or [thread]
    core = min(siblings)
    shared = {}
    for index in numbered(folder / "cache", "index").values():
        if file_text(index / "type") != "Instruction":
            threads = parse_list(file_text(index / "shared_cpu_list")) or [core]
            shared[file_text(index / "level")] = min(threads)
    socket = file_text(folder / "topology" / "physical_package_id")
    return Site(core, shared.get("2", core), shared.get("3", core), node, int(socket or 0))


def _node_distances(folder: Path) -> dict[tuple[int, int], int]:
    nodes = numbered(folder, "node")
    return {
        (a, b): int(distance)
        for a, node in nodes.items()
        for b, distance in zip(nodes, file_text(node / "distance").split(), strict=False)
    }


def numbered(folder: Path, prefix: str) -> dict[int, Path]:
    """Return the entries whose names are the prefix and a number, by number."""
    paths = {path.name.removeprefix(prefix): path for path in folder.glob(f"{prefix}[0-9]*")}
    return dict(sorted((int(name), path) for name, path in paths.items() if name.isdigit()))


def file_text(path: Path) -> str:
    """Return the content of a file, nothing if there is no such file."""
    try:
        return path.read_text(encoding="utf-8").strip()
    except OSError:
        return ""


def value_in(path: Path, key: str) -> str:
    """Return what the first line ``key: value`` of a file says, nothing if there is none."""
    for line in file_text(path).splitlines():
        name, _, value = line.partition(":")
        if name.strip() == key:
            return value.strip()
    return ""
