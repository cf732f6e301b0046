"""Caches of a machine: levels of processor caches, and caches in front of memory nodes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from simsched.files.errors import ModelError


@dataclass(frozen=True)
class MemorySideCache:
    """Direct-mapped cache in front of one memory node (KNL cache mode).

    Parameters
    ----------
    capacity_bytes : int
        Size of the cache.
    granule_bytes : int
        Size of the pieces of memory that are mapped; a multiple of the line size chosen for speed.
    bandwidth_bytes_per_s : float
        Bandwidth shared by hits and by the fills that misses cause.
    hit_latency_ps, miss_latency_ps : int
        Latency of an access that hits, and of one that goes on to the node behind.
    mapping : str
        ``"random"``: granules have random physical addresses (seeded); ``"contiguous"``:
        consecutive ones.
    """

    capacity_bytes: int
    granule_bytes: int
    bandwidth_bytes_per_s: float
    hit_latency_ps: int
    miss_latency_ps: int
    mapping: str = "random"


@dataclass(frozen=True)
class CacheInstance:
    """What may differ between the caches of one level: see :class:`CacheLevel`."""

    capacity_bytes: int
    bandwidth_bytes_per_s: float
    latency_ps: int
    effective_capacities_bytes: tuple[int, ...] = ()


@dataclass(frozen=True)
class CacheLevel:
    """One level of processor caches.

    Parameters
    ----------
    name : str
        ``"L1"``, ``"L2"``, ...
    capacity_bytes : int
        Capacity of each instance; policies that cut work to fit a cache go by it.
    bandwidth_bytes_per_s : float
        Rate at which one core reads hits.
    latency_ps : int
        Latency of a hit, charged once per access.
    core_instance : ndarray of int32, shape (n_cores,)
        The instance that each core uses.
    transfer_bandwidth_bytes_per_s : float
        Rate at which one core gets blocks that another instance has written; 0 when they come from
        the next level like others.
    transfer_latency_ps : int
        Latency of such a transfer, charged once per access.
    displacement_bandwidth_bytes_per_s : float
        Rate at which such blocks displace others, in addition; 0 when that takes no time.
    upgrade_bandwidth_bytes_per_s : float
        Rate at which other instances give up what a core that has it, too, is to write; 0 when that
        takes no time.
    overlap : float
        Share of the time of hits that goes on beside computing; the core waits for the rest.
    effective_capacities_bytes : tuple of int
        The instance behaves as if equal slices of its sets, between which every block is divided,
        were parts of caches of these capacities, in each of which the least recently used blocks
        leave. Empty: all of it has its capacity.
    counted_per_line : float
        How often counters of the processor count a line that misses the level.
    filled_by : str
        ``"misses"``: the level takes in what is asked for. ``"evictions"``: a victim cache, which
        takes in what the level before drops and gives up what goes back there.
    differing : dict of int to CacheInstance
        Instances of other capacity, bandwidth or latency, such as those of small cores.
    """

    name: str
    capacity_bytes: int
    bandwidth_bytes_per_s: float
    latency_ps: int
    core_instance: NDArray[np.int32]
    transfer_bandwidth_bytes_per_s: float = 0.0
    transfer_latency_ps: int = 0
    upgrade_bandwidth_bytes_per_s: float = 0.0
    overlap: float = 1.0
    effective_capacities_bytes: tuple[int, ...] = ()
    counted_per_line: float = 1.0
    filled_by: str = "misses"
    displacement_bandwidth_bytes_per_s: float = 0.0
    differing: Mapping[int, CacheInstance] = field(default_factory=dict)

    def __post_init__(self) -> None:
        there = set(self.core_instance.tolist())
        for number, own in self.differing.items():
            where = f"cache {self.name}: instance {number}"
            if number not in there:
                raise ModelError(f"{where}: found no core that uses it")
            if len(own.effective_capacities_bytes) != len(self.effective_capacities_bytes):
                raise ModelError(f"{where}: found another number of slices than that of the level")
            sizes = (own.capacity_bytes, own.latency_ps, *own.effective_capacities_bytes)
            if min(sizes) < 0 or not own.bandwidth_bytes_per_s > 0.0:
                raise ModelError(f"{where}: found a negative size or time, or no bandwidth")

    @property
    def shared_by(self) -> int:
        """Most cores that share an instance as the level describes it."""
        counts = np.bincount(self.core_instance)
        counts[list(self.differing)] = 0
        return int(counts.max())

    def instance(self, number: int) -> CacheInstance:
        """Return what an instance of the level is like."""
        usual = CacheInstance(
            self.capacity_bytes,
            self.bandwidth_bytes_per_s,
            self.latency_ps,
            self.effective_capacities_bytes,
        )
        return self.differing.get(number, usual)
