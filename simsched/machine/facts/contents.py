"""What files say about a machine; every value with the file and the place where it stands."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

T = TypeVar("T", covariant=True)


@dataclass(frozen=True)
class Fact(Generic[T]):
    """A value, and where in its file it stands, for instance ``line 7``."""

    value: T
    place: str


@dataclass(frozen=True)
class Core:
    """A core: numbers of its package and its NUMA domain, its hardware threads, its kind."""

    package: int
    domain: int
    threads: tuple[int, ...]
    kind: str = ""


@dataclass(frozen=True)
class CacheInstance:
    """An instance of a data cache: its level, bytes, and the cores, by position, that share it."""

    level: int
    capacity_bytes: int
    cores: frozenset[int]


@dataclass(frozen=True)
class Node:
    """A memory node: its number in the system, its domain, bytes if known, what it is made of.

    `domain` is None where all domains are equally near, `side_cache_bytes` the memory-side cache in
    front of it.
    """

    number: int
    domain: int | None
    capacity_bytes: int | None
    kind: str = "DRAM"
    side_cache_bytes: int | None = None


@dataclass(frozen=True)
class Device:
    """A device with memory of its own: its name, and the package or memory node that it is near.

    `peers` are numbers of links to other devices by their names.
    """

    name: str
    package: int | None = None
    node: int | None = None
    peers: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Topology:
    """Cores in the order of packages, domains and numbers; caches; memory nodes by number."""

    cores: tuple[Core, ...]
    caches: tuple[CacheInstance, ...]
    nodes: tuple[Node, ...]
    devices: tuple[Device, ...] = ()

    @property
    def n_domains(self) -> int:
        """Number of NUMA domains."""
        return 1 + max(core.domain for core in self.cores)

    def package_of(self, domain: int) -> int:
        """Return the package of a domain."""
        return next(core.package for core in self.cores if core.domain == domain)


@dataclass(frozen=True)
class Matrix:
    """Values between two lists of things: rows, columns, and the line of the first row."""

    values: tuple[tuple[float, ...], ...]
    place: str

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of rows and columns."""
        return len(self.values), len(self.values[0])


#: What matters for programs that wait for memory, the most important first.
WEIGHTS = ("bandwidth of", "core_cap", "bandwidth between", "latency of paths", "cache")


@dataclass(frozen=True)
class Assumed:
    """An assumed value: what it is, as a person would say it, and the value."""

    what: str
    value: str

    @property
    def weight(self) -> int:
        """Place among what matters for bandwidth-bound programs; the least is first."""
        found = (i for i, start in enumerate(WEIGHTS) if self.what.startswith(start))
        return next(found, len(WEIGHTS))


@dataclass(frozen=True)
class Whole:
    """All of a machine, from one file alone.

    Parameters
    ----------
    document : dict of str to object
        Content of the machine file.
    summary : dict of str to object
        What is counted in it, and the formats.
    assumed : tuple of Assumed
        Every assumed value.
    """

    document: dict[str, Any]
    summary: dict[str, Any]
    assumed: tuple[Assumed, ...]


@dataclass(frozen=True)
class Facts:
    """What one file says; what it does not say is None or empty.

    Parameters
    ----------
    format, reference : str
        Name of the format, and what is cited as the source.
    model : str, optional
        Of the processor.
    clock_hz : Fact of float, optional
        Highest clock.
    topology : Topology, optional
        Cores, caches and memory nodes.
    distances : Matrix, optional
        Between memory nodes as the operating system gives them, local 10.
    latency_ns, bandwidth_bytes_per_s : Matrix, optional
        Idle latency from each domain to each node; what all cores of a domain read from a node.
    rates_bytes_per_s : dict of int to Fact of float
        What 1, 2, ... threads of a domain draw together from its own node.
    rates_count_writes : bool
        Whether these are of programs that write, with written bytes counted like read ones.
    write_weight : Fact of float, optional
        What a written byte costs a controller, in read bytes: its fetch, and taking it back.
    latency_growth : Fact of tuple of float, optional
        Slope and bend of the latency of a node under load.
    transfer_ns : dict of str to Fact of float
        One-way latency of a line between cores that are ``near`` (one domain) or ``far``.
    one_way_ns : Matrix, optional
        The same between all pairs of hardware threads; NaN where it was not measured.
    devices : tuple of Device
        Beside those of the topology.
    copy_in, copy_out : dict of int to Fact of float
        Bytes per second of copies to a device, and from it, by its number.
    copy_between : dict of tuple of int to Fact of float
        The same from one device to another.
    own_rate : dict of int to Fact of float
        Bytes per second that a device moves of its own memory.
    warnings : tuple of str
        What a user should know.
    whole : Whole, optional
        The machine, where the file says everything: then it comes alone.
    """

    format: str
    reference: str
    model: str | None = None
    clock_hz: Fact[float] | None = None
    topology: Topology | None = None
    distances: Matrix | None = None
    latency_ns: Matrix | None = None
    bandwidth_bytes_per_s: Matrix | None = None
    rates_bytes_per_s: Mapping[int, Fact[float]] = field(default_factory=dict)
    rates_count_writes: bool = False
    write_weight: Fact[float] | None = None
    latency_growth: Fact[tuple[float, float]] | None = None
    transfer_ns: Mapping[str, Fact[float]] = field(default_factory=dict)
    one_way_ns: Matrix | None = None
    devices: tuple[Device, ...] = ()
    copy_in: Mapping[int, Fact[float]] = field(default_factory=dict)
    copy_out: Mapping[int, Fact[float]] = field(default_factory=dict)
    copy_between: Mapping[tuple[int, int], Fact[float]] = field(default_factory=dict)
    own_rate: Mapping[int, Fact[float]] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    whole: Whole | None = None
