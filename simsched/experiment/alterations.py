"""What may be changed about a run to see what it gains: resources, costs, tasks, workers.

An :class:`Alteration` says what is changed, to what, and makes the changed run out of the given
one. A *source* is a function of a run, registered with :func:`source`, that yields the alterations
of one kind; where the run has nothing of the kind it says so. One function adds a kind.

Speeds become twice as high, or so high that they no longer count; times half as long, or nothing.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from functools import partial
from typing import Any, TypeVar

import numpy as np

from simsched.analysis.efficiency import FREE_BYTES_PER_S, ideal_machine
from simsched.analysis.idle import FAILED, KEPT, NOT_GIVEN
from simsched.analysis.metrics import memory_kinds
from simsched.analysis.supply import BETWEEN, ON_ITS_WAY
from simsched.analysis.waits import CACHE as CACHE_BEFORE
from simsched.analysis.waits import CONTROLLER, LINK
from simsched.analysis.waterfall import (
    CACHE,
    IDLE,
    MEMORY,
    MIGRATION,
    POOLS,
    REMOTE,
    STEAL,
    WAIT,
)
from simsched.experiment.unused import holds_nothing, serves_nothing, unpaid, used
from simsched.machine.caches import CacheLevel, MemorySideCache
from simsched.machine.model import (
    CodeletTime,
    Controller,
    KernelTime,
    Link,
    Machine,
    MemoryNode,
    Path,
    RuntimeCosts,
    cost_name,
)
from simsched.trace.run import Run
from simsched.workload.graph import Workload

Resource = TypeVar("Resource", MemoryNode, MemorySideCache, Link, Controller)
#: How many times as fast, in words for speeds, for times and for tasks.
TWICE, FREE = 2.0, math.inf
SPEED = {TWICE: "twice", FREE: "unbounded"}
TIME = {TWICE: "half", FREE: "none"}
_NUMBER = re.compile(r"\d+[<>]?\d*")  # of a link, or the domains that it joins


@dataclass(frozen=True)
class Setting:
    """What is simulated, without the policy."""

    machine: Machine
    workload: Workload
    #: None for one per hardware thread.
    workers: int | None
    #: Whether tasks go to whoever is free first, whatever the policy says.
    shared: bool = False


@dataclass(frozen=True)
class Alteration:
    """One change of a run."""

    #: What is changed.
    what: str
    #: What it becomes.
    to: str
    made: Callable[[Setting], Setting]
    #: Parts of the time (:mod:`simsched.analysis.waterfall`) of which nothing is left then.
    removes: tuple[str, ...] = ()
    #: Whether the counters of a run say that it has not used what is changed.
    unused: Callable[[Run], bool] = used


@dataclass(frozen=True)
class Missing:
    """Alterations that a run has no use for."""

    what: str
    why: str


#: Costs of which a part of the time consists, and which part that is.
_TOGETHER = {
    "steals and probes": (("steal_ps", "steal_probe_ps"), STEAL),
    "pops and locks": (("pop_ps", "lock_hold_ps"), POOLS),
    "faults and moves of pages": (
        ("page_fault_ps", "page_move_ps", "page_migration_ps"),
        MIGRATION,
    ),
    "barriers": (("barrier_ps",), BETWEEN),
}
Source = Callable[[Setting], Iterator[Alteration | Missing]]
SOURCES: list[Source] = []


def source(function: Source) -> Source:
    """Register what yields alterations."""
    SOURCES.append(function)
    return function


def alterations(setting: Setting) -> list[Alteration | Missing]:
    """Return everything that may be changed about a run."""
    return [each for function in SOURCES for each in function(setting)]


def _of_machine(change: Callable[[Machine], Machine]) -> Callable[[Setting], Setting]:
    return lambda setting: replace(setting, machine=change(setting.machine))


def kinds_of(names: Iterable[str]) -> list[str]:
    """Return names, each once."""
    return list(dict.fromkeys(names))


@source
def processors(setting: Setting) -> Iterator[Alteration]:
    """Yield faster cores of each kind, computing only."""
    for number, group in enumerate(setting.machine.core_groups):
        change = partial(_faster_cores, number=number)
        yield Alteration(f"speed of cores {group.name}", SPEED[TWICE], _of_machine(change))


def _faster_cores(machine: Machine, number: int) -> Machine:
    groups = list(machine.core_groups)
    own = groups[number]
    groups[number] = replace(
        own, ops_per_s=own.ops_per_s * TWICE, ops_per_cycle=own.ops_per_cycle * TWICE
    )
    made = replace(machine, core_groups=tuple(groups))
    if any(group.kind == own.kind for group in groups[:number]):
        return made
    # Measured times of a kind of processors are those of its first group.
    kernels = {
        name: {
            kind: _faster_kernel(time) if kind == own.kind else time for kind, time in of.items()
        }
        for name, of in machine.kernels.items()
    }
    timings = {
        name: {
            kind: faster_codelet(of, TWICE if kind == own.kind else 1.0) for kind, of in by.items()
        }
        for name, by in machine.timings.items()
    }
    return replace(made, kernels=kernels, timings=timings)


def _faster_kernel(time: KernelTime) -> KernelTime:
    return replace(time, seconds=tuple(each / TWICE for each in time.seconds))


def faster_codelet(sizes: dict[int, CodeletTime], factor: float) -> dict[int, CodeletTime]:
    """Return the times of a codelet that is so many times as fast."""
    return {
        size: CodeletTime(time.mean_s / factor, time.deviation_s / factor)
        for size, time in sizes.items()
    }


@source
def memories(setting: Setting) -> Iterator[Alteration]:
    """Yield memory of each kind with more bandwidth, more of it for a core, and less latency."""
    machine = setting.machine
    for kind in kinds_of(node.kind for node in machine.nodes):
        empty = partial(holds_nothing, kind=kind)
        for factor in (TWICE, FREE):
            change = partial(_faster_memory, kind=kind, factor=factor)
            gone = () if factor != FREE else (WAIT.format(kind, CONTROLLER),)
            yield Alteration(f"{kind} bandwidth", SPEED[factor], _of_machine(change), gone, empty)
        caps = partial(_changed_paths, kind=kind, change=_wider)
        if _differs(machine, caps(machine)):
            yield Alteration(
                f"what a core draws from {kind}", SPEED[TWICE], _of_machine(caps), unused=empty
            )
        for factor in (TWICE, FREE):
            change = partial(_nearer_memory, kind=kind, factor=factor)
            if _differs(machine, change(machine)):
                yield Alteration(f"{kind} latency", TIME[factor], _of_machine(change), unused=empty)


@source
def all_memory(setting: Setting) -> Iterator[Alteration | Missing]:
    """Yield memory that nobody waits for."""
    graphs = [setting.workload.graph, *filter(None, [setting.workload.init])]
    if not any(len(graph.access_block) for graph in graphs):
        yield Missing("memory", "no task accesses any")
        return
    yield Alteration("memory", TIME[FREE], _of_machine(_free_memory), (MEMORY,))


def _free_memory(machine: Machine) -> Machine:
    """Return a machine whose memory, and all on the way to it, takes no time."""
    made = replace(
        machine,
        nodes=tuple(_faster(node, FREE) for node in machine.nodes),
        controllers=tuple(_faster(each, FREE) for each in machine.controllers),
        links=tuple(_faster(link, FREE) for link in machine.links),
    )
    for kind in kinds_of(node.kind for node in machine.nodes):
        made = _nearer_memory(_changed_paths(made, kind, _free_path), kind, FREE)
        made = _with_fronts(made, kind, _free_front)
    return made


def _free_path(path: Path) -> Path:
    caps = tuple(FREE_BYTES_PER_S for _ in path.core_cap_bytes_per_s)
    written = path.write_core_cap_bytes_per_s
    return replace(path, core_cap_bytes_per_s=caps, write_core_cap_bytes_per_s=written and caps)


def _free_front(cache: MemorySideCache) -> MemorySideCache:
    return _sooner(_faster(cache, FREE), FREE)


def _differs(machine: Machine, other: Machine) -> bool:
    return machine.paths != other.paths or machine.nodes != other.nodes


def _faster(each: Resource, factor: float) -> Resource:
    """Return a resource with so many times the bandwidth."""
    if factor == FREE:
        gone: dict[str, Any] = {"bandwidth_curve": (), "ceiling_bytes_per_s": None}
        known = {item.name for item in fields(each)}
        gone = {name: value for name, value in gone.items() if name in known}
        if getattr(each, "peak_bandwidth_bytes_per_s", 0.0):  # policies deal data out by it
            gone["peak_bandwidth_bytes_per_s"] = FREE_BYTES_PER_S
        return replace(each, bandwidth_bytes_per_s=FREE_BYTES_PER_S, **gone)
    changed: dict[str, Any] = {}
    for name in ("bandwidth_bytes_per_s", "peak_bandwidth_bytes_per_s", "ceiling_bytes_per_s"):
        value = getattr(each, name, None)
        if value is not None:
            changed[name] = value * factor
    curve = getattr(each, "bandwidth_curve", ())
    if curve:
        changed["bandwidth_curve"] = tuple(rate * factor for rate in curve)
    return replace(each, **changed)


def _faster_memory(machine: Machine, kind: str, factor: float) -> Machine:
    """Return a machine with faster memory of a kind, and controllers that serve only that."""
    nodes = tuple(_faster(n, factor) if n.kind == kind else n for n in machine.nodes)
    controllers = tuple(
        _faster(each, factor) if _served(machine, number) == [kind] else each
        for number, each in enumerate(machine.controllers)
    )
    return replace(machine, nodes=nodes, controllers=controllers)


def _served(machine: Machine, controller: int) -> list[str]:
    """Return the kinds of memory behind a controller."""
    return kinds_of(node.kind for node in machine.nodes if node.controller == controller)


def _changed_paths(machine: Machine, kind: str, change: Callable[[Path], Path]) -> Machine:
    paths = tuple(
        tuple(
            change(path) if node.kind == kind else path
            for path, node in zip(row, machine.nodes, strict=True)
        )
        for row in machine.paths
    )
    return replace(machine, paths=paths)


def _wider(path: Path) -> Path:
    """Return a path over which a core draws twice as much."""
    written = path.write_core_cap_bytes_per_s
    return replace(
        path,
        core_cap_bytes_per_s=tuple(cap * TWICE for cap in path.core_cap_bytes_per_s),
        write_core_cap_bytes_per_s=written and tuple(cap * TWICE for cap in written),
    )


def _nearer_memory(machine: Machine, kind: str, factor: float) -> Machine:
    """Return a machine with less latency of a kind of memory, also of misses of a cache before."""

    def nearer(path: Path) -> Path:
        written = path.write_latency_ps
        return replace(
            path,
            latency_ps=_shorter(path.latency_ps, factor),
            write_latency_ps=None if written is None else _shorter(written, factor),
        )

    def passed(node: MemoryNode) -> MemoryNode:
        cache = node.memory_side_cache
        if node.kind != kind or cache is None:
            return node
        missed = replace(cache, miss_latency_ps=_shorter(cache.miss_latency_ps, factor))
        return replace(node, memory_side_cache=missed)

    return replace(
        _changed_paths(machine, kind, nearer), nodes=tuple(passed(node) for node in machine.nodes)
    )


def _shorter(time: int, factor: float) -> int:
    return round(time / factor)


@source
def shared_controllers(setting: Setting) -> Iterator[Alteration]:
    """Yield faster controllers of several kinds of memory together."""
    machine = setting.machine
    shared = [n for n in range(len(machine.controllers)) if len(_served(machine, n)) > 1]
    for factor in (TWICE, FREE) if shared else ():
        change = partial(_faster_controllers, shared=shared, factor=factor)
        yield Alteration("bandwidth of shared controllers", SPEED[factor], _of_machine(change))


def _faster_controllers(machine: Machine, shared: list[int], factor: float) -> Machine:
    made = tuple(
        _faster(each, factor) if number in shared else each
        for number, each in enumerate(machine.controllers)
    )
    return replace(machine, controllers=made)


@source
def memory_side_caches(setting: Setting) -> Iterator[Alteration]:
    """Yield faster caches in front of memory."""
    nodes = setting.machine.nodes
    for kind in kinds_of(node.kind for node in nodes if node.memory_side_cache is not None):
        for factor in (TWICE, FREE):
            change = partial(_with_fronts, kind=kind, change=partial(_faster, factor=factor))
            what = f"bandwidth of the cache in front of {kind}"
            gone = () if factor != FREE else (WAIT.format(kind, CACHE_BEFORE),)
            yield Alteration(what, SPEED[factor], _of_machine(change), gone)
        for factor in (TWICE, FREE):
            change = partial(_with_fronts, kind=kind, change=partial(_sooner, factor=factor))
            what = f"latency of the cache in front of {kind}"
            yield Alteration(what, TIME[factor], _of_machine(change))


def _with_fronts(
    machine: Machine, kind: str, change: Callable[[MemorySideCache], MemorySideCache]
) -> Machine:
    nodes = tuple(
        replace(node, memory_side_cache=change(node.memory_side_cache))
        if node.kind == kind and node.memory_side_cache is not None
        else node
        for node in machine.nodes
    )
    return replace(machine, nodes=nodes)


def _sooner(cache: MemorySideCache, factor: float) -> MemorySideCache:
    return replace(cache, hit_latency_ps=_shorter(cache.hit_latency_ps, factor))


@source
def links(setting: Setting) -> Iterator[Alteration | Missing]:
    """Yield faster links, those together whose names differ in numbers only."""
    if not setting.machine.links:
        yield Missing("bandwidth of links", "the machine has none")
    kinds = kinds_of(_link_kind(link) for link in setting.machine.links)
    waits = tuple(WAIT.format(kind, LINK) for kind in memory_kinds(setting.machine))
    for kind in kinds:
        for factor in (TWICE, FREE):
            change = partial(_faster_links, kinds=(kind,), factor=factor)
            gone = waits if len(kinds) == 1 and factor == FREE else ()
            yield Alteration(f"bandwidth of links {kind}", SPEED[factor], _of_machine(change), gone)
    if len(kinds) > 1:
        change = partial(_faster_links, kinds=kinds, factor=FREE)
        yield Alteration("bandwidth of all links", SPEED[FREE], _of_machine(change), waits)


def _link_kind(link: Link) -> str:
    """Return what links are called without their numbers.

    >>> _link_kind(Link("ht0>1", 1.0)), _link_kind(Link("device2_up", 1.0))
    ('ht', 'device_up')
    """
    return _NUMBER.sub("", link.name) or link.name


def _faster_links(machine: Machine, kinds: Sequence[str], factor: float) -> Machine:
    made = (_faster(each, factor) if _link_kind(each) in kinds else each for each in machine.links)
    return replace(machine, links=tuple(made))


@source
def caches(setting: Setting) -> Iterator[Alteration | Missing]:
    """Yield levels of caches with more bandwidth and less latency, transfers included."""
    if not setting.machine.caches:
        yield Missing("bandwidth and latency of caches", "the machine has none")
    for number, level in enumerate(setting.machine.caches):
        idle = partial(serves_nothing, level=number)
        for factor in (TWICE, FREE):
            change = partial(_with_level, number=number, change=partial(_wide, factor=factor))
            yield Alteration(
                f"{level.name} bandwidth", SPEED[factor], _of_machine(change), unused=idle
            )
        for factor in (TWICE, FREE):
            change = partial(_with_level, number=number, change=partial(_near, factor=factor))
            yield Alteration(
                f"{level.name} latency", TIME[factor], _of_machine(change), unused=idle
            )
    if setting.machine.caches:
        yield Alteration("hits in caches", TIME[FREE], _of_machine(_free_hits), (CACHE,))


def _free_hits(machine: Machine) -> Machine:
    made = machine
    for number in range(len(machine.caches)):
        for change in (_wide, _near):
            made = _with_level(made, number, partial(change, factor=FREE))
    return made


def _with_level(
    machine: Machine, number: int, change: Callable[[CacheLevel], CacheLevel]
) -> Machine:
    levels = list(machine.caches)
    levels[number] = change(levels[number])
    return replace(machine, caches=tuple(levels))


def _wide(level: CacheLevel, factor: float) -> CacheLevel:
    def rate(now: float) -> float:
        """Return a higher rate; 0 says that there is none."""
        return now and min(now * factor, max(now, FREE_BYTES_PER_S))

    return replace(
        level,
        bandwidth_bytes_per_s=rate(level.bandwidth_bytes_per_s),
        transfer_bandwidth_bytes_per_s=rate(level.transfer_bandwidth_bytes_per_s),
        upgrade_bandwidth_bytes_per_s=rate(level.upgrade_bandwidth_bytes_per_s),
        displacement_bandwidth_bytes_per_s=rate(level.displacement_bandwidth_bytes_per_s),
        differing={
            place: replace(own, bandwidth_bytes_per_s=rate(own.bandwidth_bytes_per_s))
            for place, own in level.differing.items()
        },
    )


def _near(level: CacheLevel, factor: float) -> CacheLevel:
    return replace(
        level,
        latency_ps=_shorter(level.latency_ps, factor),
        transfer_latency_ps=_shorter(level.transfer_latency_ps, factor),
        differing={
            place: replace(own, latency_ps=_shorter(own.latency_ps, factor))
            for place, own in level.differing.items()
        },
    )


@source
def runtime_costs(setting: Setting) -> Iterator[Alteration | Missing]:
    """Yield smaller costs of the runtime, each that there is, and none of all at once."""
    costs = setting.machine.costs
    names = [item.name for item in fields(RuntimeCosts) if item.name.endswith("_ps")]
    charged = [name for name in names if np.any(getattr(costs, name))]
    nothing = [cost_name(name) for name in names if name not in charged]
    for name in charged:
        for factor in (TWICE, FREE):
            change = partial(_cheaper, name=name, factor=factor)
            gone = _parts_of((name,), charged) if factor == FREE else ()
            made = _of_machine(change)
            yield Alteration(f"cost {cost_name(name)}", TIME[factor], made, gone, unpaid(name))
    for what, (together, _) in _TOGETHER.items():
        gone = _parts_of(together, charged)
        if gone and len({*together} & {*charged}) > 1:
            made = _of_machine(partial(_free_costs, names=together))
            yield Alteration(what, TIME[FREE], made, gone, unpaid(*together))
    if charged or setting.machine.copies_data:
        copies = " and copies" * setting.machine.copies_data
        gone = (IDLE.format(ON_ITS_WAY),)
        yield Alteration(f"runtime{copies}", TIME[FREE], _of_machine(ideal_machine), gone)
    if nothing:
        yield Missing(f"costs {', '.join(nothing)}", "they are 0")


def _parts_of(names: Sequence[str], charged: Sequence[str]) -> tuple[str, ...]:
    """Return of which parts nothing is left without some of the costs that are charged."""
    return tuple(
        part for costs, part in _TOGETHER.values() if {*costs} & {*charged} == {*names} & {*charged}
    )


def _free_costs(machine: Machine, names: Sequence[str]) -> Machine:
    for name in names:
        machine = _cheaper(machine, name, FREE)
    return machine


def _cheaper(machine: Machine, name: str, factor: float) -> Machine:
    value = getattr(machine.costs, name)
    made: Any = (
        tuple(_shorter(each, factor) for each in value)
        if isinstance(value, tuple)
        else _shorter(value, factor)
    )
    return replace(machine, costs=replace(machine.costs, **{name: made}))


@source
def conditions(setting: Setting) -> Iterator[Alteration]:
    """Yield cores that neither slow down nor fail."""
    if setting.machine.changes:
        change = partial(replace, changes=())
        gone = (IDLE.format(FAILED),)
        yield Alteration("changes of cores", TIME[FREE], _of_machine(change), gone)


@source
def more_workers(setting: Setting) -> Iterator[Alteration | Missing]:
    """Yield twice as many workers, and one per hardware thread."""
    most = setting.machine.n_threads
    now = most if setting.workers is None else setting.workers
    if now == most:
        yield Missing("more workers", "every hardware thread has one")
        return
    for count in sorted({min(2 * now, most), most}):
        yield Alteration("workers", str(count), partial(replace, workers=count))


@source
def everybody(setting: Setting) -> Iterator[Alteration | Missing]:
    """Yield ready tasks for whoever is free first."""
    kinds = {group.kind for group in setting.machine.core_groups}
    if len(kinds) > 1 or setting.workload.division is not None:
        yield Missing("ready tasks", "not everybody can execute every task")
    else:
        gone = IDLE.format(KEPT), IDLE.format(NOT_GIVEN)
        yield Alteration("ready tasks", "to whoever is free", partial(replace, shared=True), gone)


@source
def near_data(setting: Setting) -> Iterator[Alteration | Missing]:
    """Yield paths to all memory of a kind as they are to that of the own domain."""
    machine = setting.machine
    if all_near(machine).paths == machine.paths:
        yield Missing("remote accesses", "no memory is farther away than other of its kind")
    else:
        yield Alteration("remote accesses", "local", _of_machine(all_near), (REMOTE,))


def all_near(machine: Machine) -> Machine:
    """Return a machine whose domains reach all memory of a kind as their own of that kind.

    Domains without such memory, and paths over which data are copied, keep what they have.
    """

    def near(domain: int, node: int) -> Path:
        own = (
            other
            for other, each in enumerate(machine.nodes)
            if each.domain == domain
            and each.kind == machine.nodes[node].kind
            and machine.uses_in_place(domain, other)
        )
        like = next(own, node) if machine.uses_in_place(domain, node) else node
        return machine.paths[domain][like]

    paths = tuple(
        tuple(near(domain, node) for node in range(len(machine.nodes)))
        for domain in range(machine.n_domains)
    )
    return replace(machine, paths=paths)
