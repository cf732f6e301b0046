"""The parts of a machine file about caches."""

from __future__ import annotations

from typing import Literal, Self

from pydantic import Field, model_validator

from simsched.files.yaml_reader import FieldError, Section
from simsched.machine.values import (
    Bandwidth,
    Count,
    EffectiveCapacities,
    Factor,
    Name,
    Share,
    Size,
    SizeOrNone,
    Sourced,
    Time,
)


class CacheOfCores(Section):
    """What the instances of a level have for one kind of core, where that differs.

    Parameters
    ----------
    capacity, bandwidth, latency, shared_by, effective_capacities
        As for :class:`Cache`. A capacity of 0 B, given alone: such cores have no such level.
    """

    capacity: Sourced[SizeOrNone] | None = None
    bandwidth: Sourced[Bandwidth] | None = None
    latency: Sourced[Time] | None = None
    shared_by: Sourced[Count] | None = None
    effective_capacities: Sourced[EffectiveCapacities] | None = None

    @property
    def is_absent(self) -> bool:
        """Whether such cores have no such level."""
        return self.capacity is not None and self.capacity.value == 0


class Cache(Section):
    """A level of processor caches; consecutive cores share an instance.

    Parameters
    ----------
    capacity : size
        Of each instance.
    bandwidth : bandwidth
        Rate at which one core reads what it finds in the cache.
    latency : time
        Of what is found, once for every access.
    shared_by : int
        Number of consecutive cores that share an instance.
    counted_per_line : number, optional
        How often counters of the processor count a line that misses the level; 1 by default.
    transfer_bandwidth, transfer_latency : bandwidth, time, optional
        Of blocks that another instance of the level has written; both or none.
    displacement_bandwidth : bandwidth, optional
        Of blocks that another instance has written where they displace others, in addition; only
        with `transfer_bandwidth`.
    upgrade_bandwidth : bandwidth, optional
        Of bytes that others give up because they are written; only with `transfer_bandwidth`.
    overlap : number, optional
        Share of the time of hits that goes on beside computing; 1 by default.
    effective_capacities : list of sizes, optional
        What equal slices of the level's sets have room for, as capacities of the whole instance;
        by default its capacity.
    filled_by : str, optional
        ``misses`` (the default): the level takes in what is asked for; ``evictions``: a victim
        cache, which takes in what the level before drops and gives up what goes back there.
    cores : mapping of str to mapping, optional
        By kind of core: what their instances have instead. No instance is shared by cores of such
        a kind and others.
    """

    capacity: Sourced[Size]
    bandwidth: Sourced[Bandwidth]
    latency: Sourced[Time]
    shared_by: Sourced[Count]
    counted_per_line: Sourced[Factor] | None = None
    transfer_bandwidth: Sourced[Bandwidth] | None = None
    transfer_latency: Sourced[Time] | None = None
    displacement_bandwidth: Sourced[Bandwidth] | None = None
    upgrade_bandwidth: Sourced[Bandwidth] | None = None
    overlap: Sourced[Share] | None = None
    effective_capacities: Sourced[EffectiveCapacities] | None = None
    filled_by: Sourced[Literal["misses", "evictions"]] | None = None
    cores: dict[Name, CacheOfCores] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _check_transfer(self) -> Self:
        if (self.transfer_bandwidth is None) != (self.transfer_latency is None):
            raise FieldError(
                (), "found one of transfer_bandwidth and transfer_latency, accepted: both or none"
            )
        for name in ("displacement_bandwidth", "upgrade_bandwidth"):
            if getattr(self, name) is not None and self.transfer_bandwidth is None:
                raise FieldError((name,), "found without transfer_bandwidth, accepted: with it")
        if self.is_victim and self.transfer_bandwidth is not None:
            message = "found in a level filled by evictions, accepted: in one filled by misses"
            raise FieldError(("transfer_bandwidth",), message)
        return self

    @model_validator(mode="after")
    def _check_cores(self) -> Self:
        for kind, own in self.cores.items():
            if all(getattr(own, name) is None for name in CacheOfCores.model_fields):
                message = f"found nothing, accepted: {', '.join(CacheOfCores.model_fields)}"
                raise FieldError(("cores", kind), message)
            if own.is_absent:
                self._check_absent(kind, own)
            else:
                self._check_slices(kind, own)
        return self

    def _check_absent(self, kind: str, own: CacheOfCores) -> None:
        """Refuse what is said of a level that cores of a kind do not have."""
        for name in CacheOfCores.model_fields:
            if name != "capacity" and getattr(own, name) is not None:
                message = "found beside a capacity of 0 B, accepted: with cores that have the level"
                raise FieldError(("cores", kind, name), message)

    def _check_slices(self, kind: str, own: CacheOfCores) -> None:
        """Refuse a kind of core whose instances would not have the slices of the level."""
        loc = ("cores", kind, "effective_capacities")
        if self.effective_capacities is None:
            if own.effective_capacities is not None:
                raise FieldError(loc, "found in a level without, accepted: in one that has them")
        elif own.effective_capacities is not None:
            wanted, found = (
                len(self.effective_capacities.value),
                len(own.effective_capacities.value),
            )
            if found != wanted:
                raise FieldError((*loc, 0), f"found {found}, accepted: {wanted}, as in the level")
        elif own.capacity is not None:
            message = "found without effective_capacities, accepted: both, as in the level"
            raise FieldError(("cores", kind, "capacity"), message)

    @property
    def is_victim(self) -> bool:
        """Whether the level is filled by evictions."""
        return self.filled_by is not None and self.filled_by.value == "evictions"


#: Pieces of a memory-side cache: what a run keeps of each is memory of the simulator.
MOST_GRANULES = 1 << 26


class SideCache(Section):
    """A direct-mapped cache in front of a memory node.

    Parameters
    ----------
    capacity : size
        Size of the cache.
    granule : size
        Pieces of memory that are mapped; a divisor of the capacity.
    bandwidth : bandwidth
        Shared by what is found and by what is filled after it was not.
    hit_latency, miss_latency : time
        Latency of what is found, and of what the node behind has to answer.
    mapping : {"random", "contiguous"}
        Whether granules have random physical addresses or consecutive ones.
    """

    capacity: Sourced[Size]
    granule: Sourced[Size]
    bandwidth: Sourced[Bandwidth]
    hit_latency: Sourced[Time]
    miss_latency: Sourced[Time]
    mapping: Literal["random", "contiguous"] = "random"

    @model_validator(mode="after")
    def _check_granule(self) -> Self:
        if self.capacity.value % self.granule.value:
            message = f"found {self.granule.value} bytes, accepted: a divisor of the capacity"
            raise FieldError(("granule", 0), message)
        pieces = self.capacity.value // self.granule.value
        if pieces > MOST_GRANULES:
            message = f"found {pieces} pieces of the capacity, accepted at most {MOST_GRANULES}"
            raise FieldError(("granule", 0), message)
        if self.miss_latency.value < self.hit_latency.value:
            raise FieldError(
                ("miss_latency", 0), "found less than hit_latency, accepted: at least that"
            )
        return self
