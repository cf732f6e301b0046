"""The shape of a machine file.

Every quantity is written as ``[value, source]``: the value with its unit, and a text whose first
word is a key of the file's ``sources``. Names, selectors and positions are not quantities and stand
alone. See ``docs/adding-a-machine.md``.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Field, model_validator

from simsched.files.errors import unknown_name
from simsched.files.yaml_reader import FieldError, KeyPath, Section
from simsched.machine.schema_caches import Cache, SideCache
from simsched.machine.schema_links import ControllerSpec, LinkSpec, check_saturation
from simsched.machine.values import (
    Bandwidth,
    Bandwidths,
    Count,
    Curve,
    Durations,
    Factor,
    Frequency,
    Growth,
    Index,
    Indices,
    Name,
    OperationTimes,
    Share,
    Size,
    Sourced,
    Time,
    Times,
    Weight,
    sizes_in_bytes,
    value_or,
)
from simsched.names.yaml_fields import as_list


class Source(Section):
    """Where values come from.

    Parameters
    ----------
    kind : str
        ``published`` (paper or book), ``datasheet``, ``measured``, ``derived`` (arithmetic on the
        others), ``assumed`` or ``calibrated``.
    reference : str
        Citation, or the reason of an assumption.
    calibrated_on : str, optional
        The data it was fitted to; required when calibrated.
    """

    kind: Literal["published", "datasheet", "measured", "derived", "assumed", "calibrated"]
    reference: Annotated[str, Field(min_length=1)]
    calibrated_on: str | None = None

    @model_validator(mode="after")
    def _name_calibration(self) -> Self:
        if self.kind == "calibrated" and not (self.calibrated_on or "").strip():
            message = "missing, accepted: the data that a calibrated value was fitted to"
            raise FieldError(("calibrated_on",), message)
        if self.kind != "calibrated" and self.calibrated_on is not None:
            raise FieldError(
                ("calibrated_on",),
                f"found in a {self.kind} source, accepted: only in calibrated ones",
            )
        return self


class Cores(Section):
    """One kind of core: how fast it computes, alone and with its hardware threads.

    Parameters
    ----------
    processor : str
        The kind of processor that the costs of tasks refer to.
    clock : frequency
        Cycles per second.
    ops_per_cycle : float
        Operations of one busy hardware thread in a cycle; the speed of a core is `clock` times
        this.
    smt_throughput : list of float, optional
        Throughput of the core with 1, 2, ... busy hardware threads, relative to one; as many
        numbers as the core has threads.
    module : int, optional
        So many cores next to each other draw from memory together: `core_cap` of paths is what they
        draw with 1, 2, ... busy threads, as two cores of a tile do whose second-level cache has one
        port. 1 by default; it divides the cores of a domain.
    accesses : {"flows", "in_costs"}
        Whether what tasks access takes time of its own, or the costs of tasks on these cores
        include it, as measured durations do.
    """

    processor: Name = "cpu"
    clock: Sourced[Frequency]
    ops_per_cycle: Sourced[Factor]
    smt_throughput: Sourced[list[Factor]] | None = None
    module: Sourced[Count] | None = None
    accesses: Literal["flows", "in_costs"] = "flows"

    @model_validator(mode="after")
    def _check_smt(self) -> Self:
        if self.smt_throughput is not None:
            values = self.smt_throughput.value
            if not values or values[0] != 1 or sorted(values) != values:
                message = f"found {values}, accepted: non-decreasing numbers that start with 1"
                raise FieldError(("smt_throughput", 0), message)
        return self


class Sockets(Section):
    """Equal sockets: domains in each, and cores of each kind in a domain.

    Parameters
    ----------
    count : int
        Number of these sockets.
    domains : int
        NUMA domains in each.
    cores : dict of str to int
        Cores in each domain, by kind: the keys of `cores` at the top of the file.
    """

    count: Sourced[Count]
    domains: Sourced[Count]
    cores: Annotated[dict[Name, Sourced[Count]], Field(min_length=1)]


class Memory(Section):
    """Equal memory nodes: one at each domain, at some domains, or one for the whole machine.

    Parameters
    ----------
    kind : str
        What it is made of, as ``DRAM``, ``HBM``, ``NVM``; policies and rules of paths refer to it.
    at : {"each domain", "machine"}, or list of int
        One node at each domain, one that is equally far from all, or one at each of these domains.
    capacity : size
        What blocks may occupy in each node.
    used_by : list of str, or {"all", "own"}
        Kinds of processors that use its data in place, or only those of the node's own domain;
        other processors use copies of them.
    managed_by : {"system", "driver"}
        Whether the operating system hands it out, or the driver of a device copies blocks in and
        out, with an engine for each direction.
    bandwidth : bandwidth
        What the controller sustains.
    peak_bandwidth : bandwidth, optional
        What the data sheet says; policies that read data sheets see it.
    bandwidth_by_flows : list of bandwidths, or mapping of int to bandwidth, optional
        What it sustains with 1, 2, ... accesses at the same time, or with these numbers of them:
        linear in between, the first and the last value hold beyond.
    saturates : {"at_once", "gradually"}
        Whether accesses get all that their cores draw until the bandwidth is reached, or less
        before it; then `bandwidth` is what all cores of the node's domain get together.
    latency_under_load : pair of float, optional
        Slope a and bend b: with a share u of the bandwidth in use, latencies are
        1 + a u / (1 - b u) times those of the paths; by default they stay.
    page : size
        Size of a page, for migration.
    cache : mapping, optional
        A direct-mapped cache in front of each node.
    """

    kind: Name
    at: Literal["each domain", "machine"] | Annotated[list[Index], Field(min_length=1)] = (
        "each domain"
    )
    capacity: Sourced[Size]
    used_by: Annotated[list[Name], BeforeValidator(as_list), Field(min_length=1)] = Field(
        default_factory=lambda: ["all"]
    )
    managed_by: Literal["system", "driver"] = "system"
    bandwidth: Sourced[Bandwidth]
    peak_bandwidth: Sourced[Bandwidth] | None = None
    bandwidth_by_flows: Sourced[Curve] | None = None
    saturates: Literal["at_once", "gradually"] = "at_once"
    latency_under_load: Sourced[Growth] | None = None
    page: Sourced[Size]
    cache: SideCache | None = None

    @model_validator(mode="after")
    def _check_rates(self) -> Self:
        check_saturation(self.bandwidth_by_flows, self.saturates)
        if self.peak_bandwidth is None:
            return self
        peak = self.peak_bandwidth.value
        for key, values in (
            ("bandwidth", [self.bandwidth.value]),
            ("bandwidth_by_flows", [rate for _, rate in value_or(self.bandwidth_by_flows, ())]),
        ):
            if any(value > peak for value in values):
                raise FieldError((key, 0), "found more than peak_bandwidth, accepted: at most that")
        return self


class PathRule(Section):
    """Values for the paths that it selects; later rules override earlier ones, value by value.

    Parameters
    ----------
    to : list of str, optional
        Memory kinds or names of memory entries (``HBM``, ``dram``) or single nodes (``dram2``).
    domains : list of int, optional
        Domains that the path starts from.
    hops : list of int, or {"remote"}, optional
        Hops from the domain to the node.
    socket : {"same", "other"}, optional
        Whether the node is in the domain's own socket.
    latency : time, optional
        Of the first byte of an access. Every path needs one, by some rule.
    core_cap : bandwidth or list of bandwidths, optional
        Most that one core, or module of cores, draws with 1, 2, ... busy hardware threads. Every
        path needs it.
    thread_cap : bandwidth or list of bandwidths, optional
        Instead: most that each thread draws when 1, 2, ... of its core or module are busy; the last
        value holds beyond.
    node_weight : float, optional
        Load of a byte on the controller: 1, or more where remote bytes cost more.
    write_latency : time, optional
        Of the first byte that is written; `latency` by default.
    write_core_cap : bandwidth or list of bandwidths, optional
        Most that one core writes; `core_cap` by default.
    write_weight : float, optional
        Load of a written byte on the controller, 1 or more, as it fetches the line and takes it
        back; `node_weight` by default.
    os_distance : int, optional
        Distance as ``numactl --hardware`` prints it; it orders first touch.
    links : list of str, optional
        Names of links that are ``crossed_by: listed``, as often as a byte crosses each.
    """

    to: Annotated[list[Name], BeforeValidator(as_list), Field(min_length=1)] | None = None
    domains: Indices | None = None
    hops: Literal["remote"] | Indices | None = None
    socket: Literal["same", "other"] | None = None
    latency: Sourced[Time] | None = None
    core_cap: Sourced[Bandwidths] | None = None
    thread_cap: Sourced[Bandwidths] | None = None
    node_weight: Sourced[Weight] | None = None
    write_latency: Sourced[Time] | None = None
    write_core_cap: Sourced[Bandwidths] | None = None
    write_weight: Sourced[Weight] | None = None
    os_distance: Sourced[Count] | None = None
    links: Sourced[list[Name]] | None = None

    @model_validator(mode="after")
    def _check_caps(self) -> Self:
        if self.core_cap is not None and self.thread_cap is not None:
            raise FieldError(("thread_cap",), "found beside core_cap, accepted: one of them")
        return self


class Costs(Section):
    """Costs of the task runtime; lists are by distance: same core, same domain, 1 hop, 2 hops, ...

    A cost that is left out is zero.

    Parameters
    ----------
    spawn_child_first, spawn_parent_first : time, optional
        Of creating a task that begins at once, or of one that waits while its parent goes on.
    pop, push : time, optional
        Of taking a task from the worker's own pool, or of adding one to a pool.
    steal_probe : time or list of times, optional
        Of looking into the pool of another worker and finding it empty, by distance.
    steal : time or list of times, optional
        Of taking a task from the pool of another worker, by distance.
    lock_hold : time, optional
        For how long the lock of a shared pool is held.
    barrier : time, optional
        Of the barrier at the end of an iteration.
    context_switch : time, optional
        Of taking a task off its core.
    page_migration : time, optional
        Of copying one page to another node between iterations.
    page_fault : time, optional
        Of handling one fault, where pages follow accesses.
    page_move : time, optional
        Of each page that follows an access, besides copying its bytes.
    hotness_sample : time, optional
        Of sampling how often one page is accessed.
    counter_read : time, optional
        Of reading a counter of a memory controller or a link.
    kernel_launch : time, optional
        Of starting a kernel on a device and waiting for its end.
    driver_look : time, optional
        Of a look of a device's driver at what is wanted, before it hands anything over; where data
        are copied.
    copy_hand_over : time, optional
        Of handing a copy over, while the driver of its device does nothing else; where data are
        copied.
    device_allocation : time, optional
        Of allocating memory on a device, one allocation after the other on all devices.
    device_chunk : size, optional
        How much is allocated on a device at a time; without it nothing is.
    """

    spawn_child_first: Sourced[Time] | None = None
    spawn_parent_first: Sourced[Time] | None = None
    pop: Sourced[Time] | None = None
    push: Sourced[Time] | None = None
    steal_probe: Sourced[Times] | None = None
    steal: Sourced[Times] | None = None
    lock_hold: Sourced[Time] | None = None
    barrier: Sourced[Time] | None = None
    context_switch: Sourced[Time] | None = None
    page_migration: Sourced[Time] | None = None
    page_fault: Sourced[Time] | None = None
    page_move: Sourced[Time] | None = None
    hotness_sample: Sourced[Time] | None = None
    counter_read: Sourced[Time] | None = None
    kernel_launch: Sourced[Time] | None = None
    driver_look: Sourced[Time] | None = None
    copy_hand_over: Sourced[Time] | None = None
    device_allocation: Sourced[Time] | None = None
    device_chunk: Sourced[Size] | None = None


class ChangeSpec(Section):
    """What happens to the cores of some domains during a run.

    Parameters
    ----------
    at : time
        When, from the start of the run.
    domains : list of int
        Domains all cores of which are concerned.
    speed : float
        What is left of their speed from then on, 0 to 1; 0 if they fail for good.
    """

    at: Sourced[Annotated[Time, Field(ge=0)]]
    domains: Annotated[list[Index], Field(min_length=1)]
    speed: Sourced[Annotated[float, Field(ge=0, le=1)]]


class MachineFile(Section):
    """A machine file.

    Parameters
    ----------
    description : str
        What the machine is, in one sentence.
    sources : dict of str to mapping
        Where values come from; the source of a value begins with one of these keys.
    cores : dict of str to mapping
        Kinds of cores.
    sockets : list of mapping
        Groups of equal sockets.
    caches : dict of str to mapping
        Levels of processor caches, from the core outwards.
    memory : dict of str to mapping
        Memory nodes, in the order of the operating system.
    controllers : dict of str to mapping
        Memory controllers that several nodes share.
    links : dict of str to mapping
        Links between domains, with bandwidths of their own.
    hops : list of lists of int, optional
        Hops between domains, where they do not follow from the links.
    copy_shares : {"equal", "by_latency"}
        How copies share what they cross together: equally, or in inverse proportion to the latency
        of their paths.
    paths : dict of str to mapping
        Rules that give every path from a domain to a node its latency and bandwidth.
    costs : mapping
        What the task runtime charges.
    kernels : dict of str to mapping
        By task class (``program.class``) and processor kind: the compute time of one operation on
        an idle core of the first group of that kind, beside what its accesses take; one time, or
        times by the size of all data of the program.
    exposures : dict of str to float
        By task class of `kernels`: the part of the waiting for hits in caches that its computation
        does not hide.
    timings : dict of str to mapping
        By measured codelet, bytes of all data of the task and processor kind: mean and deviation of
        how long tasks last.
    changes : list of mapping
        What happens to cores while a program runs; policies do not see it.
    """

    description: Annotated[str, Field(min_length=1)]
    sources: Annotated[dict[Name, Source], Field(min_length=1)]
    cores: Annotated[dict[Name, Cores], Field(min_length=1)]
    sockets: Annotated[list[Sockets], Field(min_length=1)]
    caches: dict[Name, Cache] = Field(default_factory=dict)
    memory: Annotated[dict[Name, Memory], Field(min_length=1)]
    controllers: dict[Name, ControllerSpec] = Field(default_factory=dict)
    links: dict[Name, LinkSpec] = Field(default_factory=dict)
    hops: Sourced[list[list[Index]]] | None = None
    copy_shares: Literal["equal", "by_latency"] = "equal"
    paths: Annotated[dict[Name, PathRule], Field(min_length=1)]
    costs: Costs = Field(default_factory=Costs)
    kernels: dict[Name, Annotated[dict[Name, Sourced[OperationTimes]], Field(min_length=1)]] = (
        Field(default_factory=dict)
    )
    exposures: dict[Name, Sourced[Share]] = Field(default_factory=dict)
    timings: dict[
        Name,
        Annotated[
            dict[int, Annotated[dict[Name, Sourced[Durations]], Field(min_length=1)]],
            BeforeValidator(sizes_in_bytes),
            Field(min_length=1),
        ],
    ] = Field(default_factory=dict)
    changes: list[ChangeSpec] = Field(default_factory=list)

    @model_validator(mode="after")
    def _check_names(self) -> Self:
        for loc, item in sourced_values(self):
            check_known((*loc, 1), "source", source_key(item.source), self.sources)
        for position, block in enumerate(self.sockets):
            for name in block.cores:
                check_known(("sockets", position, "cores", name), "core kind", name, self.cores)
        self._check_caches()
        processors = sorted({core.processor for core in self.cores.values()})
        for kernel, times in self.kernels.items():
            for name in times:
                check_known(("kernels", kernel, name), "processor", name, processors)
        for kernel in self.exposures:
            check_known(("exposures", kernel), "kernel", kernel, self.kernels)
        self._check_timings(processors)
        return self

    def _check_caches(self) -> None:
        """Refuse levels that contradict each other."""
        passing = [name for name, cache in self.caches.items() if cache.transfer_bandwidth]
        if len(passing) > 1:
            raise FieldError(
                ("caches", passing[1], "transfer_bandwidth"),
                f"found also in {passing[0]}, accepted: at one level",
            )
        for position, (name, cache) in enumerate(self.caches.items()):
            for kind in cache.cores:
                check_known(("caches", name, "cores", kind), "core kind", kind, self.cores)
            if cache.cores.keys() == self.cores.keys():
                message = (
                    "found all kinds of core, accepted: all but one, which the level describes"
                )
                raise FieldError(("caches", name, "cores"), message)
            if cache.is_victim and position == 0:
                message = "found evictions in the first level, accepted: misses"
                raise FieldError(("caches", name, "filled_by", 0), message)

    def _check_timings(self, processors: list[str]) -> None:
        """Refuse timings of unknown processors, and durations of zero."""
        for codelet, sizes in self.timings.items():
            for size, times in sizes.items():
                for name, time in times.items():
                    loc = ("timings", codelet, f"{size} B", name)
                    check_known(loc, "processor", name, processors)
                    if not time.value[0] > 0.0:
                        raise FieldError((*loc, 0), "found a mean of zero, accepted: more")


def check_known(loc: KeyPath, what: str, name: str, known: Collection[str]) -> None:
    """Refuse a name that nothing in the file has."""
    if name not in known:
        raise FieldError(loc, unknown_name(what, name, known))


def source_key(text: str) -> str:
    """Return the key of a source text: its first word.

    >>> source_key("paper, section 9.1")
    'paper'
    """
    return text.split()[0].rstrip(":,;")


def sourced_values(section: Section, loc: KeyPath = ()) -> Iterator[tuple[KeyPath, Sourced[Any]]]:
    """Yield every sourced value below a section with its keys and positions."""
    for name in type(section).model_fields:
        yield from _sourced_in(getattr(section, name), (*loc, name))


def _sourced_in(value: object, loc: KeyPath) -> Iterator[tuple[KeyPath, Sourced[Any]]]:
    if isinstance(value, Sourced):
        yield loc, value
    elif isinstance(value, Section):
        yield from sourced_values(value, loc)
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from _sourced_in(item, (*loc, key))
    elif isinstance(value, list):
        for position, item in enumerate(value):
            yield from _sourced_in(item, (*loc, position))
