"""Calibration of caches and memory: bandwidth over cores and node pairs, latency over sizes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from simsched.files.units import format_size
from simsched.hardware.calibrate_host import Host, available_bytes
from simsched.hardware.calibrate_probes import (
    LEAST_MORE,
    Measured,
    chase_time,
    stream_rate,
    transfer_rate,
    upgrade_rate,
)

STREAMS = ("read", "write", "copy", "triad")
#: What a machine's bandwidths are: reads and writes in a mix, counted alike as flows are.
CHOSEN = "triad"
#: Bytes that move for each byte that STREAM counts: a line is fetched before it is written.
MOVED = {"read": 1.0, "write": 2.0, "copy": 1.5, "triad": 4 / 3}
#: A level of caches ends where a load takes this many times as long as inside it.
NEXT_LEVEL = 1.6
#: Loads from the outermost cache that take more than this share of those from memory are doubtful.
DOUBTFUL = 0.7
STATED = "as the system states"
#: Slices of an instance, each with a capacity of its own.
SLICES = 8

Progress = Callable[[str], None]


@dataclass(frozen=True)
class Effort:
    """How much is measured."""

    rounds: int
    #: Size of all arrays of a bandwidth probe in memory, relative to the outermost caches.
    beyond_caches: float
    least_bytes: int
    chase_bytes: int
    sweep_bytes: int


THOROUGH = Effort(7, 2.0, 2**28, 2**28, 2**26)
QUICK = Effort(3, 1.25, 2**26, 2**26, 2**24)


@dataclass(frozen=True)
class Stream:
    """Bandwidth of the first `n_threads` cores of a domain on a node, by their indices."""

    domain: int
    node: int
    operation: str
    n_threads: int
    rate: Measured


@dataclass(frozen=True)
class Latency:
    """Latency of loads from a node by a core of a domain, while `n_loading` others stream."""

    domain: int
    node: int
    n_loading: int
    time: Measured


@dataclass(frozen=True)
class CacheLevelValues:
    """A level of caches."""

    name: str
    capacity_bytes: int
    capacity_how: str
    #: Number of cores that share an instance.
    shared_by: int
    #: Where that is from; begins with ``assumed`` if it is not as the system states.
    shared_how: str
    #: Of one core in half of the capacity.
    latency: Measured
    bandwidth: Measured
    #: Share of the time of a sweep that the core would need anyway: that of the same sweep in the
    #: first level. None for that one.
    overlap: Measured | None = None
    #: Bytes per second of what another instance has written; of the outermost level that several
    #: instances have.
    transfer: Measured | None = None
    #: Bytes per second of that which displaces others, in addition; of the same level.
    displacement: Measured | None = None
    #: Bytes per second that another instance gives up to be written; of the same level.
    upgrade: Measured | None = None
    #: Capacities of equal slices of the sets, from the smallest; empty where pages do not decide
    #: which sets their lines go to.
    effective_bytes: tuple[int, ...] = ()
    effective_how: str = ""

    @property
    def passing(self) -> dict[str, Measured]:
        """Rates of what passes between instances, as far as they were measured."""
        names = ("transfer", "displacement", "upgrade")
        return {name: rate for name in names if (rate := getattr(self, name)) is not None}


def thread_counts(n_cores: int) -> list[int]:
    """Return the numbers of threads for which bandwidth is measured: 1, 2, 3, 4, 6, 8, 12, ..."""
    doubled = {first << octave for octave in range(n_cores.bit_length()) for first in (4, 6)}
    return sorted(count for count in {1, 2, 3, n_cores} | doubled if count <= n_cores)


def memory_bytes(host: Host, effort: Effort, warnings: list[str]) -> int:
    """Return the size of all arrays of a bandwidth probe, so large that they lie in memory."""
    outermost = host.caches[-1] if host.caches else None
    cached = 0
    if outermost is not None:
        instances = -(-len(host.threads) // outermost.shared_by)
        cached = outermost.capacity_bytes * instances
    wanted = max(effort.least_bytes, int(effort.beyond_caches * cached))
    room = min(available_bytes(), *(node.capacity_bytes for node in host.nodes)) // 4
    if wanted > room:
        warnings.append(
            f"memory: arrays of {format_size(room)} for caches of {format_size(cached)}: "
            "bandwidth and latency may be partly those of caches; there is no more memory to use"
        )
    return min(wanted, room)


def measure_streams(
    host: Host, effort: Effort, total_bytes: int, progress: Progress
) -> tuple[Stream, ...]:
    """Measure bandwidth per pair of domain and node.

    Own nodes, and nodes without cores: every operation over the number of cores. Other pairs: read
    and triad by one core and by all.
    """
    found = []
    for d, domain in enumerate(host.domains):
        for n, node in enumerate(host.nodes):
            own = node.domain in {d, None}
            operations = STREAMS if own else ("read", CHOSEN)
            cores = domain.threads
            counts = thread_counts(len(cores)) if own else sorted({1, len(cores)})
            for operation in operations:
                progress(f"{operation} from domain {d} on memory node {node.number}")
                for count in counts:
                    rate = stream_rate(
                        cores[:count],
                        operation,
                        total_bytes,
                        node=_bound(host, node.number),
                        rounds=effort.rounds,
                    )
                    found.append(Stream(d, n, operation, count, rate))
    return tuple(found)


def measure_latencies(
    host: Host, effort: Effort, total_bytes: int, progress: Progress
) -> tuple[Latency, ...]:
    """Measure latency per pair of domain and node, idle and while the domain's others stream."""
    found = []
    size = min(effort.chase_bytes, total_bytes)
    for d, domain in enumerate(host.domains):
        for n, node in enumerate(host.nodes):
            for cores in dict.fromkeys((tuple(domain.threads[:1]), tuple(domain.threads))):
                progress(f"latency from domain {d} to memory node {node.number}")
                time = chase_time(
                    cores,
                    size,
                    node=_bound(host, node.number),
                    rounds=effort.rounds,
                    evict_bytes=total_bytes,
                    load_bytes=total_bytes // len(cores),
                )
                found.append(Latency(d, n, len(cores) - 1, time))
    return tuple(found)


def _bound(host: Host, number: int) -> int:
    """Return the node on which to put memory; with one node there is nothing to ask for."""
    return number if len(host.nodes) > 1 else -1


def measure_sweep(thread: int, effort: Effort) -> tuple[tuple[int, Measured], ...]:
    """Measure latency over the size of the buffer: in every octave, two sizes."""
    octaves = range((effort.sweep_bytes // 4096).bit_length())
    sizes = [first << octave for octave in octaves for first in (4096, 6144)]
    return tuple((size, chase_time([thread], size, rounds=effort.rounds)) for size in sizes)


def levels_of_sweep(sweep: Sequence[tuple[int, Measured]]) -> list[int]:
    """Return capacities of caches as latencies show them: the last size before each step up.

    What follows the last step is memory. A level begins where the latency no longer grows.
    """
    levels = []
    base = sweep[0][1].value
    rising = False
    for (size, _), (_, after) in pairwise(sweep):
        if after.value > NEXT_LEVEL * base:
            if not rising:
                levels.append(size)
            rising = True
            base = after.value
        else:
            rising = False
    return levels


def measure_caches(
    host: Host,
    effort: Effort,
    sweep: Sequence[tuple[int, Measured]],
    memory: tuple[Measured, Measured],
    warnings: list[str],
) -> tuple[CacheLevelValues, ...]:
    """Measure each level of caches in half of its capacity, by one core.

    `memory` is its idle latency and what one core reads from it; `warnings` gets what the latencies
    say against a stated capacity.

    A virtual machine may be told of a cache that it shares with others: where loads in half of the
    outermost one take about as long as from memory, its capacity is measured (docs/calibrating.md).
    """
    latency_of_memory, rate_of_memory = memory
    levels = [
        (f"L{c.level}", c.capacity_bytes, STATED, c.shared_by, c.is_even) for c in host.caches
    ]
    if not levels:
        how = "largest swept buffer before loads take longer"
        sizes = levels_of_sweep(sweep)
        levels = [(f"L{i + 1}", size, how, 1, False) for i, size in enumerate(sizes)]
    found: list[CacheLevelValues] = []
    for position, (name, stated, stated_how, shared_by, is_even) in enumerate(levels):
        capacity, how = stated, stated_how
        latency = _latency_in(host, capacity, effort)
        inner = found[-1].capacity_bytes if found else 2**20
        if position == len(levels) - 1 and latency.value > DOUBTFUL * latency_of_memory.value:
            capacity = _fast_bytes(host, inner, stated, rate_of_memory, effort)
            warnings.append(_doubt(name, stated, capacity, latency, latency_of_memory))
        if capacity != stated:
            how = (
                "largest buffer read faster than halfway between cache and memory; "
                f"the system states {format_size(stated)}"
            )
            # Where the rest of the cache is may be far away, or taken by others at times.
            latency = _latency_in(host, min(capacity, 8 * inner), effort)
        rate = stream_rate(host.threads[:1], CHOSEN, capacity // 2, rounds=effort.rounds)
        found.append(
            CacheLevelValues(
                name=name,
                capacity_bytes=capacity,
                capacity_how=how,
                shared_by=shared_by,
                shared_how=STATED if is_even else "assumed: not stated or not even",
                latency=latency,
                bandwidth=moved(rate, CHOSEN) if position > 0 else rate,
                overlap=_overlap(rate, found[0].bandwidth) if found else None,
            )
        )
    return _with_transfer(host, _with_effective_capacities(host, found), effort)


def _overlap(rate: Measured, first: Measured) -> Measured:
    """Return the share of a sweep that the same sweep in the first level takes."""
    how = f"{rate.how}, rate by that in the first level"
    return replace(rate, value=min(1.0, rate.value / first.value), how=how)


def _with_effective_capacities(
    host: Host, levels: Sequence[CacheLevelValues]
) -> list[CacheLevelValues]:
    """Return the levels; those between the first and the outermost with their slices.

    The first level mostly has sets for one page, the outermost one spreads lines over slices by a
    function of all bits of their addresses. In between, where a page is in memory decides which
    sets its lines go to, and that is chance once the system has given out and got back pages for a
    while. The arrays of probes lie partly in huge pages and would show something else.
    """
    found = list(levels)
    for position in range(1, len(levels) - 1):
        level = levels[position]
        ways = host.caches[position].ways if host.caches else 0
        colours = level.capacity_bytes // (ways * host.page_bytes) if ways else 1
        if colours > 1:
            sizes = (round(each * level.capacity_bytes) for each in effective_capacities(ways))
            page = format_size(host.page_bytes)
            found[position] = replace(
                level,
                effective_bytes=tuple(sizes),
                effective_how=f"{colours} places for pages of {page}, {ways} ways, taken by chance",
            )
    return found


def effective_capacities(ways: int) -> tuple[float, ...]:
    """Return the capacities of `SLICES` equal slices, relative to that of the cache.

    Of data that are swept again and again, a set keeps all lines if it has room for them, and none
    otherwise: the least recently used ones leave. Pages go to the sets by chance, so a page has
    Poisson-distributed company, `ways` pages on average where the data are as large as the cache,
    and stays if that is less than `ways` pages. In a slice with a capacity data stay exactly while
    they are no larger; so the capacities are those sizes of which 15/16, 13/16, ... are kept.

    >>> capacities = effective_capacities(16)
    >>> round(capacities[0], 2), round(capacities[-1], 2)
    (0.65, 1.41)
    """
    from scipy.special import gammainccinv  # takes longer to load than all of the rest

    # The share kept is the probability that fewer than `ways` other pages go where one has gone.
    kept = 1.0 - (np.arange(SLICES) + 0.5) / SLICES
    return tuple((gammainccinv(ways, kept) / ways).tolist())


def _with_transfer(
    host: Host, levels: Sequence[CacheLevelValues], effort: Effort
) -> tuple[CacheLevelValues, ...]:
    """Return the levels, the outermost one of several instances with its transfers."""
    cores = host.domains[0].cores
    for position in reversed(range(len(levels))):
        level = levels[position]
        if level.shared_by < len(cores):
            thread, other = cores[0][0], cores[level.shared_by][0]
            # Either core has both arrays after a while, and other things.
            size, rounds = level.capacity_bytes // 4, 5 * effort.rounds
            room = transfer_rate(thread, other, size, rounds=rounds)
            full = transfer_rate(
                thread, other, size, filler_bytes=level.capacity_bytes, rounds=rounds
            )
            passing = replace(
                level,
                transfer=room,
                displacement=_displacement(room, full),
                upgrade=upgrade_rate(thread, other, size, rounds=rounds),
            )
            return (*levels[:position], passing, *levels[position + 1 :])
    return tuple(levels)


def _displacement(room: Measured, full: Measured) -> Measured | None:
    """Return the rate of what transfers take in full caches beyond those in caches with room.

    None where that is less than the probes tell apart.
    """
    more = 1.0 / full.value - 1.0 / room.value
    if more * room.value < LEAST_MORE:
        return None
    return replace(full, value=1.0 / more, how=f"{full.how}, beyond caches with room")


def moved(rate: Measured, operation: str) -> Measured:
    """Return the bytes that move per second, for those that STREAM counts."""
    factor = MOVED[operation]
    if factor == 1.0:
        return rate
    how = f"{rate.how}, {factor:.3g} bytes moved for each counted"
    return replace(rate, value=rate.value * factor, how=how)


def _fast_bytes(host: Host, inner: int, stated: int, memory: Measured, effort: Effort) -> int:
    """Return the largest buffer that is read faster than halfway between cache and memory."""
    largest, limit = stated, 0.0
    for size in (inner * factor * 2**octave for octave in range(1, 20) for factor in (2, 3)):
        if size >= stated:
            break
        rate = stream_rate(host.threads[:1], "read", size, rounds=effort.rounds).value
        limit = limit or 0.5 * (rate + memory.value)
        if rate <= limit:
            break
        largest = size
    return largest


def _latency_in(host: Host, capacity: int, effort: Effort) -> Measured:
    """Return the latency of loads in half of a capacity."""
    return chase_time(host.threads[:1], capacity // 2, rounds=effort.rounds)


def _doubt(name: str, stated: int, used: int, latency: Measured, memory: Measured) -> str:
    """Return what latencies say against a stated capacity."""
    return (
        f"cache {name}: stated as {format_size(stated)}, but loads in half of it take "
        f"{latency.value * 1e9:.3g} ns, from memory {memory.value * 1e9:.3g} ns; "
        f"taken as {format_size(used)}"
    )
