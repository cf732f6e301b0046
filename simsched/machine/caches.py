"""Caches of a machine: levels of processor caches, and caches in front of memory nodes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from simsched.files.errors import ModelError


@dataclass(frozen=True)
class MemorySideCache:
    """Direct-mapped cache in front of one memory node (KNL cache mode)."""

    capacity_bytes: int
    #: Size of the pieces of memory that are mapped; a multiple of the line size chosen for speed.
    granule_bytes: int
    #: Shared by hits and by the fills that misses cause.
    bandwidth_bytes_per_s: float
    hit_latency_ps: int
    #: Of an access that goes on to the node behind.
    miss_latency_ps: int
    #: ``"random"``: granules have random physical addresses (seeded); ``"contiguous"``: consecutive
    #: ones.
    mapping: str = "random"


@dataclass(frozen=True)
class CacheInstance:
    """What may differ between the caches of one level: see :class:`CacheLevel`."""

    #: 0: the cores that use it have no such level.
    capacity_bytes: int
    bandwidth_bytes_per_s: float
    latency_ps: int
    effective_capacities_bytes: tuple[int, ...] = ()


@dataclass(frozen=True)
class CacheLevel:
    """One level of processor caches."""

    name: str
    #: Of each instance; policies that cut work to fit a cache go by it.
    capacity_bytes: int
    #: Rate at which one core reads hits.
    bandwidth_bytes_per_s: float
    #: Of a hit, charged once per access.
    latency_ps: int
    #: The instance that each core uses, shape (n_cores,).
    core_instance: NDArray[np.int32]
    #: Rate at which one core gets blocks that another instance has written; 0 when they come from
    #: the next level like others.
    transfer_bandwidth_bytes_per_s: float = 0.0
    #: Of such a transfer, charged once per access.
    transfer_latency_ps: int = 0
    #: Rate at which other instances give up what a core that has it, too, is to write; 0 when that
    #: takes no time.
    upgrade_bandwidth_bytes_per_s: float = 0.0
    #: Share of the time of hits that goes on beside computing; the core waits for the rest.
    overlap: float = 1.0
    #: The instance behaves as if equal slices of its sets, between which every block is divided,
    #: were parts of caches of these capacities, in each of which the least recently used blocks
    #: leave. Empty: all of it has its capacity.
    effective_capacities_bytes: tuple[int, ...] = ()
    #: How often counters of the processor count a line that misses the level.
    counted_per_line: float = 1.0
    #: ``"misses"``: the level takes in what is asked for. ``"evictions"``: a victim cache, which
    #: takes in what the level before drops and gives up what goes back there.
    filled_by: str = "misses"
    #: Rate at which transferred blocks displace others, in addition; 0 when that takes no time.
    displacement_bandwidth_bytes_per_s: float = 0.0
    #: Instances of other capacity, bandwidth or latency, such as those of small cores.
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
