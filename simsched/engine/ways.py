"""What the paths of a run cross, with names and what it sustains, for those who read its trace."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from simsched.engine.machine_fields import N_KEPT, paths_of
from simsched.machine.caches import MemorySideCache
from simsched.machine.model import (
    Controller,
    IntArray,
    Link,
    Machine,
    MemoryNode,
    most_bytes_per_s,
)
from simsched.machine.resources import Resources
from simsched.trace.flows import CACHE_OF, Ways

MOST = 1e18  #: bytes per second: more is without bound


def ways_of(machine: Machine, worker_thread: IntArray) -> Ways:
    """Return what the paths of a run cross; a path's number is the one that its trace has."""
    return _ways(machine, np.asarray(worker_thread, np.int32).tobytes())


@lru_cache(maxsize=N_KEPT)
def _ways(machine: Machine, worker_thread: bytes) -> Ways:
    paths = paths_of(machine, np.frombuffer(worker_thread, np.int32))
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


class LoadMeter:
    """What counters of controllers and links show from one reading to the next."""

    def __init__(self, machine: Machine, worker_thread: IntArray) -> None:
        self._machine, self._thread = machine, worker_thread
        self._ways: Ways | None = None
        self._before = np.zeros(0, np.int64)

    def read(
        self, path_bytes: NDArray[np.int64], seconds: float
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return loads of nodes and of links: what they have moved over their bandwidth.

        Of a node, a cache in front of it and its controller, the fullest counts.

        Parameters
        ----------
        path_bytes : ndarray of int64, shape (P,)
            Bytes moved so far, by path.
        seconds : float
            Time since the last reading.

        Returns
        -------
        tuple of ndarray of float64, shapes (n_nodes,), (n_links,)
            Shares; 0 where no time has passed.
        """
        if self._ways is None:
            self._ways = ways_of(self._machine, self._thread)
            self._resources = Resources(self._machine)
            self._before = np.zeros_like(path_bytes)
        moved, self._before = path_bytes - self._before, path_bytes
        most = np.array(self._resources.bytes_per_s) * seconds
        share = np.divide(self._ways.loads(moved), most, out=np.zeros(len(most)), where=most > 0)
        nodes = np.array([share[own].max() for own in self._resources.of_node])
        first = self._resources.first_link
        return nodes, share[first : first + len(self._machine.links)]
