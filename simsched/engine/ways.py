"""What the paths of a run cross, with names and what it sustains, for those who read its trace."""

from __future__ import annotations

import numpy as np

from simsched.engine.paths import make_paths, most_mates
from simsched.machine.caches import MemorySideCache
from simsched.machine.model import (
    Controller,
    IntArray,
    Link,
    Machine,
    MemoryNode,
    most_bytes_per_s,
)
from simsched.trace.flows import CACHE_OF, Ways

MOST = 1e18  #: bytes per second: more is without bound


def ways_of(machine: Machine, worker_thread: IntArray) -> Ways:
    """Return what the paths of a run cross; a path's number is the one that its trace has."""
    paths = make_paths(machine, most_mates(machine, worker_thread))
    cached = [node for node in machine.nodes if node.memory_side_cache is not None]
    caches = [node.memory_side_cache for node in cached if node.memory_side_cache is not None]
    resources: list[MemoryNode | MemorySideCache | Link | Controller]
    resources = [*machine.nodes, *caches, *machine.links, *machine.controllers]
    return Ways(
        names=(
            *(node.name for node in machine.nodes),
            *(CACHE_OF.format(node.name) for node in cached),
            *(link.name for link in machine.links),
            *(controller.name for controller in machine.controllers),
        ),
        bytes_per_s=np.array([min(most_bytes_per_s(each), MOST) for each in resources]),
        ptr=paths.resource_ptr.astype(np.int64),
        resource=paths.resource.astype(np.int64),
        weight=paths.weight / np.repeat(paths.share, np.diff(paths.resource_ptr)),
        copy=paths.copy.astype(np.int64),
        latency_ps=paths.latency_ps,
    )
