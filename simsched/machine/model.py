"""The resolved machine model: indices, picoseconds, bytes per second.

`simsched.machine.load` turns a YAML file into a :class:`Machine`; engines, policies and reports
read only this.

Indices
-------
thread : hardware thread; core : core; domain : NUMA domain; socket : package or cluster;
node : memory node; link : interconnect link. All are dense and start at 0.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from simsched.files.errors import ModelError, unknown_name
from simsched.machine.caches import CacheLevel, MemorySideCache
from simsched.machine.spaces import number_spaces
from simsched.names.shown import Shown

IntArray = NDArray[np.int32]
BoolArray = NDArray[np.bool_]


@dataclass(frozen=True)
class KernelTime:
    """Compute time of an operation, by the size of all data of the program (ascending)."""

    data_bytes: tuple[int, ...]
    seconds: tuple[float, ...]

    def at(self, data_bytes: int) -> float:
        """Return the time for data of a size: linear over its logarithm, constant beyond the ends.

        >>> KernelTime((1024, 4096), (1.0, 3.0)).at(2048)
        2.0
        """
        sizes = np.log2(self.data_bytes)
        return float(np.interp(math.log2(max(1, data_bytes)), sizes, self.seconds))


@dataclass(frozen=True)
class CodeletTime:
    """Measured duration of a task."""

    mean_s: float
    deviation_s: float = 0.0


@dataclass(frozen=True)
class CoreGroup:
    """Cores of one kind."""

    name: str
    #: Processor kind that task costs refer to, ``"cpu"`` for ordinary cores.
    kind: str
    #: Of one core with one busy hardware thread: clock times operations per cycle.
    ops_per_s: float
    #: Throughput of the core, relative to one busy thread, with 1, 2, ... busy threads; its length
    #: is the number of hardware threads of a core. Non-decreasing, starts with 1.
    smt_throughput: tuple[float, ...] = (1.0,)
    #: Cores next to each other that draw from memory together; 1: each by itself.
    module_cores: int = 1
    #: Whether the operations of its tasks include what their accesses take.
    includes_accesses: bool = False
    #: Of one busy hardware thread.
    ops_per_cycle: float = 1.0


@dataclass(frozen=True)
class MemoryNode:
    """A memory node with its controller."""

    name: str
    #: What it is made of or belongs to, for instance ``"DRAM"``, ``"HBM"``, ``"NVM"``, ``"GPU"``.
    kind: str
    #: What blocks may occupy.
    capacity_bytes: int
    #: What the controller sustains.
    bandwidth_bytes_per_s: float
    #: Of the data sheet; policies that read data sheets see this one.
    peak_bandwidth_bytes_per_s: float
    #: None when the node is equally far from all.
    domain: int | None = None
    #: Sustained bandwidth (bytes/s) with 1, 2, ... concurrent flows; the last value holds beyond
    #: the end.
    bandwidth_curve: tuple[float, ...] = ()
    #: What its flows near together the more they could draw; None: it sustains all of its
    #: bandwidth at once.
    ceiling_bytes_per_s: float | None = None
    #: Slope and bend of the latency with the load, rule F13 of docs/semantics.md; None: it is the
    #: idle one at any load.
    latency_under_load: tuple[float, float] | None = None
    #: For migration and hotness sampling.
    page_bytes: int = 4096
    memory_side_cache: MemorySideCache | None = None
    #: Whether the driver of a device manages it, with engines that copy blocks in and out;
    #: otherwise the operating system hands it out.
    has_driver: bool = False
    #: Index of the controller that it shares with other nodes.
    controller: int | None = None


@dataclass(frozen=True)
class Link:
    """An interconnect link: a bandwidth shared by all flows that cross it."""

    name: str
    bandwidth_bytes_per_s: float
    #: By number of flows, as of memory nodes.
    bandwidth_curve: tuple[float, ...] = ()
    #: As of memory nodes.
    ceiling_bytes_per_s: float | None = None


@dataclass(frozen=True)
class Controller:
    """A memory controller that several nodes share."""

    name: str
    #: What it sustains for all of them together.
    bandwidth_bytes_per_s: float
    #: By number of flows, as of memory nodes.
    bandwidth_curve: tuple[float, ...] = ()
    #: Of the data sheet, 0 where that is the same; nodes behind it share it as their peaks.
    peak_bandwidth_bytes_per_s: float = 0.0


@dataclass(frozen=True)
class Path:
    """How the cores of one domain reach one memory node."""

    #: Of the first byte; charged once per memory flow.
    latency_ps: int
    #: Most that one core (a module of cores that draw together) can draw with 1, 2, ... busy
    #: hardware threads; the last value holds beyond the end.
    core_cap_bytes_per_s: tuple[float, ...]
    #: Links crossed by data, as often as they occur.
    links: tuple[int, ...] = ()
    #: Load on the controller per byte moved; 1 for local bytes, more when a remote byte costs more.
    node_weight: float = 1.0
    #: None, here and in the next: as for what is read.
    write_latency_ps: int | None = None
    write_core_cap_bytes_per_s: tuple[float, ...] | None = None
    #: Load on the controller per byte written; None: `node_weight`.
    write_node_weight: float | None = None
    #: Links crossed by messages of cache coherence, with their bytes per byte of data.
    message_loads: tuple[tuple[int, float], ...] = ()

    @property
    def link_loads(self) -> tuple[tuple[int, float], ...]:
        """Links, and the bytes of data and messages that cross each per byte of data."""
        loads = {link: float(self.links.count(link)) for link in self.links}
        for link, load in self.message_loads:
            loads[link] = loads.get(link, 0.0) + load
        return tuple(sorted(loads.items()))

    @property
    def write_latency(self) -> int:
        """Latency of the first written byte in picoseconds."""
        return self.latency_ps if self.write_latency_ps is None else self.write_latency_ps

    @property
    def write_weight(self) -> float:
        """Load on the controller per byte written."""
        weight = self.write_node_weight
        return self.node_weight if weight is None else weight

    @property
    def write_core_cap(self) -> tuple[float, ...]:
        """Most that one core can write, in bytes per second, with 1, 2, ... busy threads."""
        cap = self.write_core_cap_bytes_per_s
        return self.core_cap_bytes_per_s if cap is None else cap


@dataclass(frozen=True)
class RuntimeCosts:
    """What the task runtime and the operating system charge, in picoseconds.

    Costs "by distance" are indexed by :meth:`Machine.thread_distance`: 0 the same core, 1 the same
    domain, 1 + h another domain h hops away; the last value holds beyond the end.

    What each of them is for, `simsched.machine.schema.Costs` says.
    """

    spawn_child_first_ps: int = 0
    spawn_parent_first_ps: int = 0
    pop_ps: int = 0
    push_ps: int = 0
    steal_probe_ps: tuple[int, ...] = (0,)
    steal_ps: tuple[int, ...] = (0,)
    lock_hold_ps: int = 0
    barrier_ps: int = 0
    context_switch_ps: int = 0
    page_migration_ps: int = 0
    page_fault_ps: int = 0
    page_move_ps: int = 0
    hotness_sample_ps: int = 0
    counter_read_ps: int = 0
    kernel_launch_ps: int = 0
    driver_look_ps: int = 0
    copy_hand_over_ps: int = 0
    device_allocation_ps: int = 0
    device_chunk_bytes: int = 0


def node_name(entry: str, domain: int | None) -> str:
    """Return the name of a machine file's memory entry in a domain, or of the whole machine.

    >>> node_name("hbm", 8), node_name("hbm2", 8), node_name("disk", None)
    ('hbm8', 'hbm2_8', 'disk')
    """
    between = "_" if entry[-1].isdigit() else ""
    return entry if domain is None else f"{entry}{between}{domain}"


def entry_of(node: MemoryNode) -> str:
    """Return the name of the machine file's entry that a node was made from; see `node_name`.

    >>> entry_of(MemoryNode("dram3", "DRAM", 1, 1.0, 1.0, domain=3))
    'dram'
    >>> entry_of(MemoryNode("hbm2_8", "HBM", 1, 1.0, 1.0, domain=8))
    'hbm2'
    """
    if node.domain is None:
        return node.name
    name = node.name.removesuffix(str(node.domain))
    return name[:-1] if name.endswith("_") and name[-2:-1].isdigit() else name


def cost_name(field_name: str) -> str:
    """Return how machine files call a field of :class:`RuntimeCosts`: without its unit."""
    return field_name.removesuffix("_ps").removesuffix("_bytes")


@dataclass(frozen=True)
class Change:
    """Cores that become slower or faster again while a program runs, or fail."""

    at_ps: int
    cores: tuple[int, ...]
    #: What is left of their described speed from then on, 0 to 1: less than 1 under other load, 0
    #: if they fail for good.
    speed: float


@dataclass(frozen=True, eq=False)
class Machine(Shown):
    """A resolved machine.

    Parameters
    ----------
    name, description : str
        Identification.
    core_groups : tuple of CoreGroup
        Kinds of cores.
    thread_core : ndarray of int32, shape (n_threads,)
        Core of each hardware thread. Threads are numbered so that the first thread of every core
        comes before the second thread of any core; inside a rank, by core.
    core_group, core_domain : ndarray of int32, shape (n_cores,)
        Group and domain of each core.
    domain_socket : ndarray of int32, shape (n_domains,)
        Socket of each domain.
    domain_hops : ndarray of int32, shape (n_domains, n_domains)
        Interconnect hops between domains; 0 on the diagonal.
    nodes : tuple of MemoryNode
        Memory nodes in operating-system numbering.
    links : tuple of Link
        Interconnect links.
    paths : tuple of tuple of Path, shape (n_domains, n_nodes)
        How each domain reaches each node.
    touch_order : ndarray of int32, shape (n_domains, n_nodes)
        Nodes by increasing operating-system distance from each domain: the order in which first
        touch tries them.
    caches : tuple of CacheLevel
        From the level nearest the core outwards.
    costs : RuntimeCosts
        Costs of the task runtime.
    in_place : ndarray of bool, shape (n_domains, n_nodes), optional
        Which domains use the data of which nodes in place: all of all by default. Data on other
        nodes are copied to the domain's own space before they are used.
    shares_by_latency : bool
        Whether copies get shares of what they cross together in inverse proportion to the latency
        of their paths; otherwise equal ones.
    kernels : dict of str to dict of str to KernelTime
        Per task class (``program.class``) and processor kind, what one operation takes on a core of
        the first group of that kind beside its accesses.
    exposures : dict of str to float
        Per task class of `kernels`, the part of the waiting for hits in caches that its computation
        does not hide; 1 where none is given.
    timings : dict of str to dict of str to dict of int to CodeletTime
        Per codelet, processor kind and bytes of all data of a task: how long it lasts.
    sources : dict of str to str
        Where each number comes from, keyed by its YAML path.
    os_distance : ndarray of int32, shape (n_domains, n_nodes), optional
        Distances as the operating system gives them (local 10).
    changes : tuple of Change
        What happens to cores during a run, in the order of time. Policies do not see it.
    controllers : tuple of Controller
        Memory controllers that several nodes share.
    """

    name: str
    description: str
    core_groups: tuple[CoreGroup, ...]
    thread_core: IntArray
    core_group: IntArray
    core_domain: IntArray
    domain_socket: IntArray
    domain_hops: IntArray
    nodes: tuple[MemoryNode, ...]
    links: tuple[Link, ...]
    paths: tuple[tuple[Path, ...], ...]
    touch_order: IntArray
    caches: tuple[CacheLevel, ...] = ()
    costs: RuntimeCosts = field(default_factory=RuntimeCosts)
    in_place: BoolArray | None = None
    shares_by_latency: bool = False
    kernels: dict[str, dict[str, KernelTime]] = field(default_factory=dict)
    exposures: dict[str, float] = field(default_factory=dict)
    timings: dict[str, dict[str, dict[int, CodeletTime]]] = field(default_factory=dict)
    sources: dict[str, str] = field(default_factory=dict)
    os_distance: IntArray | None = None
    changes: tuple[Change, ...] = ()
    controllers: tuple[Controller, ...] = ()

    def __repr__(self) -> str:
        return f"<Machine {self.name}: {self.description}>"

    @property
    def n_threads(self) -> int:
        """Number of hardware threads."""
        return len(self.thread_core)

    @property
    def thread_domain(self) -> IntArray:
        """NUMA domain of each hardware thread; shape (n_threads,)."""
        return self.core_domain[self.thread_core]

    @property
    def thread_group(self) -> IntArray:
        """Group of the core of each hardware thread, an index into `core_groups`."""
        return self.core_group[self.thread_core]

    @property
    def n_cores(self) -> int:
        """Number of cores."""
        return len(self.core_group)

    @cached_property
    def core_module(self) -> IntArray:
        """Module of each core, numbered in order; cores of one draw from memory together."""
        size = np.array([group.module_cores for group in self.core_groups])[self.core_group]
        # Domains of a kind of cores are whole modules.
        place = ranks(self.core_domain * len(self.core_groups) + self.core_group) // size
        rows = np.column_stack([self.core_domain, self.core_group, place])
        return np.unique(rows, axis=0, return_inverse=True)[1].reshape(-1).astype(np.int32)

    @property
    def n_domains(self) -> int:
        """Number of NUMA domains."""
        return len(self.domain_socket)

    @cached_property
    def node_space(self) -> IntArray:
        """Memory space of each node: nodes that the same domains use in place are one."""
        if self.in_place is None:
            return np.zeros(len(self.nodes), np.int32)
        return number_spaces(self.in_place)

    @property
    def n_spaces(self) -> int:
        """Number of memory spaces."""
        return int(self.node_space.max()) + 1

    @property
    def copies_data(self) -> bool:
        """Whether data are copied between memory spaces, of which there are several."""
        return self.n_spaces > 1

    def uses_in_place(self, domain: int, node: int) -> bool:
        """Return whether a domain uses the data of a memory node in place.

        Parameters
        ----------
        domain, node : int
            Indices of a NUMA domain and of a memory node.

        Returns
        -------
        bool
            Otherwise data are copied from there before they are used.
        """
        return self.in_place is None or bool(self.in_place[domain, node])

    def own_node(self, domain: int) -> int:
        """Return the memory node of a domain; the nearest that it uses when it has none of its own.

        Parameters
        ----------
        domain : int
            Index of a NUMA domain.

        Returns
        -------
        int
            Index in `nodes`.
        """
        for index, node in enumerate(self.nodes):
            if node.domain == domain and self.uses_in_place(domain, index):
                return index
        return next(int(n) for n in self.touch_order[domain] if self.uses_in_place(domain, int(n)))

    @property
    def n_sockets(self) -> int:
        """Number of sockets."""
        return int(self.domain_socket.max()) + 1

    @property
    def kinds(self) -> tuple[str, ...]:
        """Processor kinds present, in order of first appearance."""
        return tuple(dict.fromkeys(group.kind for group in self.core_groups))

    def nodes_of_kind(self, kind: str) -> list[int]:
        """Return the memory nodes of one kind that the operating system hands out, ascending.

        Parameters
        ----------
        kind : str
            For instance ``DRAM`` or ``HBM``.

        Returns
        -------
        list of int
            Indices in `nodes`, at least one.

        Raises
        ------
        ModelError
            When the machine has no node of this kind.
        """
        handed_out = [(i, node) for i, node in enumerate(self.nodes) if not node.has_driver]
        found = [i for i, node in handed_out if node.kind == kind]
        if not found:
            kinds = {node.kind for _, node in handed_out}
            raise ModelError(f"machine {self.name}: {unknown_name('memory kind', kind, kinds)}")
        return found

    def other_caches(self, level: CacheLevel) -> dict[str, int]:
        """Return the kinds of core that have other caches at a level than others.

        Parameters
        ----------
        level : CacheLevel
            One of the machine's.

        Returns
        -------
        dict of str to int
            By name of the kind, the number of one of its instances.
        """
        found: dict[str, int] = {}
        for number in sorted(level.differing):
            core = int(np.flatnonzero(level.core_instance == number)[0])
            found.setdefault(self.core_groups[self.core_group[core]].name, number)
        return found

    def thread_distance(self, thread: int, other: int) -> int:
        """Return the distance class of two threads: 0 same core, 1 same domain, else 1 + hops.

        Parameters
        ----------
        thread, other : int
            Indices of hardware threads.

        Returns
        -------
        int
            0 or more.
        """
        core, other_core = int(self.thread_core[thread]), int(self.thread_core[other])
        if core == other_core:
            return 0
        return 1 + int(self.domain_hops[self.core_domain[core], self.core_domain[other_core]])

    def link_rate(self, path: Path) -> float:
        """Return the rate that the links of a path let through when nobody else uses them.

        Parameters
        ----------
        path : Path
            One of the machine's.

        Returns
        -------
        float
            Bytes of data per second; infinite without links.
        """
        rates = (self.links[link].bandwidth_bytes_per_s / load for link, load in path.link_loads)
        return min(rates, default=math.inf)

    def steal_ps(self, thread: int, other: int) -> int:
        """Return what it costs a thread to steal from another one, in ps.

        Parameters
        ----------
        thread, other : int
            Indices of hardware threads.

        Returns
        -------
        int
            The cost of their distance class; the farthest one that the machine names covers those
            beyond.
        """
        cost = self.costs.steal_ps
        return cost[min(self.thread_distance(thread, other), len(cost) - 1)]

    def place_workers(self, n_workers: int | None = None, pinning: str = "scatter") -> IntArray:
        """Return the hardware thread of each worker.

        Workers are numbered domain by domain, core by core, thread by thread, so that neighbouring
        worker numbers are neighbours in the machine.

        Parameters
        ----------
        n_workers : int, optional
            Number of workers; by default one per hardware thread.
        pinning : {"scatter", "compact"}
            With fewer workers than threads: spread them evenly over domains and cores, or fill
            cores in order.

        Returns
        -------
        ndarray of int32, shape (n_workers,)
            Index of a hardware thread, each at most once.

        Raises
        ------
        ModelError
            When there are more workers than hardware threads, or fewer than one.
        """
        count = self.n_threads if n_workers is None else n_workers
        if not 1 <= count <= self.n_threads:
            raise ModelError(
                f"machine {self.name}: workers: found {count}, accepted 1 to {self.n_threads} "
                "(hardware threads)"
            )
        cores = self.thread_core
        rank = ranks(cores)
        domain = self.core_domain[cores]
        if pinning == "compact":
            chosen = np.lexsort((rank, cores, domain))[:count]
        elif pinning == "scatter":
            # A round takes one core of every domain.
            position = ranks(self.core_domain)
            chosen = np.lexsort((domain, position[cores], rank))[:count]
        else:
            raise ModelError(
                f"machine {self.name}: {unknown_name('pinning', pinning, ['compact', 'scatter'])}"
            )
        chosen = chosen[np.lexsort((rank[chosen], cores[chosen], domain[chosen]))]
        return chosen.astype(np.int32)


def most_bytes_per_s(each: MemoryNode | MemorySideCache | Link | Controller) -> float:
    """Return the highest rate that something sustains, with whatever flows.

    Parameters
    ----------
    each : MemoryNode, MemorySideCache, Link or Controller
        One of a machine's.

    Returns
    -------
    float
        Bytes per second: the largest of its curve, or what it nears where it saturates gradually.
    """
    curve = getattr(each, "bandwidth_curve", ())
    nears = getattr(each, "ceiling_bytes_per_s", None)
    return float(max(curve or (each.bandwidth_bytes_per_s if nears is None else nears,)))


def ranks(owner: IntArray) -> NDArray[np.int64]:
    """Return for each entry how many before it have the same owner.

    >>> ranks(np.array([4, 4, 7, 4])).tolist()
    [0, 1, 0, 2]
    """
    order = np.argsort(owner, kind="stable")
    begin = np.searchsorted(owner[order], owner)
    found = np.empty(len(owner), np.int64)
    found[order] = np.arange(len(owner)) - begin[order]
    return found
