"""Lower bounds on the time that a workload needs on a machine, whatever the policy.

They are those of the program that a policy is given, not of what the policy makes of it: the edges
of a schedule and the slower kernels of a divided device are decisions, and a bound that counts them
would praise the worse schedule. What a policy's runtime may leave out of the program is not counted
either (:func:`versions`).

Iterations are separated by barriers, so the bounds of the initialisation and of all iterations add
up. For one iteration three things are bounded:

Critical path
    The longest chain of task bodies and joins through spawn tree, syncs and dataflow edges, every
    task alone on the fastest processor that can run it. A body is at least as long as its
    segments, and a segment at least as long as its share of the operations and the transfer of
    those of its bytes that no cache can hold, at the highest rate of any single path. A child
    starts after its parent's body and after its own creation. Costs of acquisition and contention
    are left out: a policy may avoid them.
Work
    Operations (bodies, joins, creation) over the summed speed of all cores in use with all their
    threads busy; with costs for several kinds of processors, the dual of the fractional assignment
    problem (see :func:`work_bound`). Also the sum of the shortest task times over the number of
    workers, because a worker runs one task at a time.
Bandwidth
    Bytes that must come from memory over the summed bandwidth of all memory nodes (of the
    memory-side cache where a node has one), and over the summed rate of all cores. Which bytes
    must come from memory is decided conservatively: an access whose footprint exceeds every cache
    moves all of its bytes; every other block that an iteration touches is loaded once, as far as
    its largest access reaches (its smallest one where caches pass blocks on), except for as many
    bytes as all caches together can have kept.

Work that a policy may divide over iterations as it likes is bounded as a whole
(:func:`division_bound`).

What part of a GPU a kernel occupies does not count: only plans with devices respect it
(docs/semantics.md, rules D), so it bounds some policies and not others. Where kernels fill the
device, the bounds are therefore far below what any policy for accelerators achieves.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass
from functools import lru_cache
from threading import Lock
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from simsched.analysis.digest import content_digest
from simsched.files.units import PER_PS
from simsched.machine.caches import CacheInstance
from simsched.machine.model import Machine, most_bytes_per_s
from simsched.policy import list_policies
from simsched.policy.parts.division_steps import is_loop
from simsched.trace.schema import Summary
from simsched.workload.builder import entries
from simsched.workload.division import Division
from simsched.workload.graph import FloatArray, Int64Array, TaskGraph, Workload
from simsched.workload.registry import generator_of

SMALL_FRONTIER = 32
MAX_KEPT = 256  #: results that are kept; the one asked for last stays longest


@dataclass(frozen=True)
class Bounds:
    """Lower bounds on the makespan, each summed over the initialisation and all iterations."""

    critical_path_s: float
    work_s: float
    bandwidth_s: float
    #: The largest of the three in each iteration, summed.
    best_s: float


_kept: dict[Hashable, Bounds] = {}
_keeping = Lock()


@dataclass(frozen=True, eq=False)
class Capability:
    """What the machine can do at most with the workers of a run."""

    #: Highest speed of one worker, by processor kind.
    worker_ops_per_s: dict[str, float]
    #: Speed of all cores in use together, by processor kind.
    total_ops_per_s: dict[str, float]
    n_workers: int
    #: Highest rate at which one worker reads or writes memory.
    worker_bytes_per_s: float
    #: Highest rate at which all of them together do.
    total_bytes_per_s: float
    #: Largest footprint of which a cache instance can hold a part; 0 without caches.
    cache_bytes: int
    #: All cache instances of all levels together.
    all_cache_bytes: int
    #: Whether caches pass blocks on to each other.
    passes_on: bool


def capability(machine: Machine, worker_thread: NDArray[np.int32]) -> Capability:
    """Return the limits of a machine when workers run on the given hardware threads."""
    return _capability(machine, np.asarray(worker_thread, np.int32).tobytes())


@lru_cache(maxsize=MAX_KEPT)
def _capability(machine: Machine, worker_threads: bytes) -> Capability:
    worker_thread = np.frombuffer(worker_threads, np.int32)
    cores, threads = np.unique(machine.thread_core[worker_thread], return_counts=True)
    worker_ops: dict[str, float] = {}
    total_ops: dict[str, float] = {}
    worker_bytes = total_core_bytes = 0.0
    for core, busy in zip(cores.tolist(), threads.tolist(), strict=True):
        group = machine.core_groups[machine.core_group[core]]
        smt = _first(group.smt_throughput, busy)
        one = group.ops_per_s * max(value / (k + 1) for k, value in enumerate(smt))
        worker_ops[group.kind] = max(worker_ops.get(group.kind, 0.0), one)
        total_ops[group.kind] = total_ops.get(group.kind, 0.0) + group.ops_per_s * max(smt)
        paths = machine.paths[machine.core_domain[core]]
        tables = [t for path in paths for t in (path.core_cap_bytes_per_s, path.write_core_cap)]
        caps = [_first(table, busy) for table in tables]
        worker_bytes = max(worker_bytes, *(v / (k + 1) for cap in caps for k, v in enumerate(cap)))
        total_core_bytes += max(max(cap) for cap in caps)
    nodes_bytes = min(
        sum(node_limit(machine, node) for node in range(len(machine.nodes))),
        shared_links_limit(machine),
    )
    instances = [
        level.instance(number)
        for level in machine.caches
        for number in np.unique(level.core_instance[cores]).tolist()
    ]
    return Capability(
        worker_ops_per_s=worker_ops,
        total_ops_per_s=total_ops,
        n_workers=len(worker_thread),
        worker_bytes_per_s=min(worker_bytes, nodes_bytes),
        total_bytes_per_s=min(total_core_bytes, nodes_bytes),
        # A slice with more room than others holds its part of what exceeds the cache as a whole.
        cache_bytes=max(
            (
                max(cache.capacity_bytes, *cache.effective_capacities_bytes, 0)
                for cache in instances
            ),
            default=0,
        ),
        all_cache_bytes=sum(map(_room, instances)),
        passes_on=any(level.transfer_bandwidth_bytes_per_s > 0.0 for level in machine.caches),
    )


def _room(cache: CacheInstance) -> int:
    """Return what a cache holds at most."""
    slices = cache.effective_capacities_bytes
    return max(cache.capacity_bytes, -(-sum(slices) // max(1, len(slices))))


def _first(table: tuple[float, ...], count: int) -> list[float]:
    """Return the first `count` entries of a table whose last entry holds beyond its end."""
    return [table[min(k, len(table) - 1)] for k in range(count)]


def node_limit(machine: Machine, node: int) -> float:
    """Return the highest rate, in bytes per second, at which a node can serve tasks."""
    memory = machine.nodes[node]
    weight = min(row[node].node_weight for row in machine.paths)
    if memory.memory_side_cache is not None:
        return memory.memory_side_cache.bandwidth_bytes_per_s / weight
    return most_bytes_per_s(memory) / weight


def shared_links_limit(machine: Machine) -> float:
    """Return the highest rate, in bytes per second, that links allow which all accesses cross."""
    if machine.copies_data:
        return math.inf  # a task's accesses find copies
    loads = [dict(path.link_loads) for row in machine.paths for path in row]
    common = set(loads[0]).intersection(*loads[1:])
    least = {link: min(load[link] for load in loads) for link in common}
    rates = (most_bytes_per_s(machine.links[link]) / load for link, load in least.items())
    return min(rates, default=math.inf)


def lower_bounds(machine: Machine, program: Workload, worker_thread: NDArray[np.int32]) -> Bounds:
    """Return lower bounds on the makespan that hold for every policy.

    The program is the one that policies are given, with the operations that its tasks have on the
    machine. The last `MAX_KEPT` results are kept: an experiment asks for those of a program again
    with every policy, and versions of a data-flow program have to be generated for them. So is the
    last one of a program as long as this object is used, without a look at its content.
    """
    able = capability(machine, worker_thread)
    last_able, last_bounds = _last.get(program, (None, None))
    if last_able is able and last_bounds is not None:
        return last_bounds
    found = _lower_bounds(program, able)
    _last[program] = able, found
    return found


_last: WeakKeyDictionary[Workload, tuple[Capability, Bounds]] = WeakKeyDictionary()


def _lower_bounds(program: Workload, able: Capability) -> Bounds:
    content, maker = content_digest(program, able), generator_of(program)
    key = content, maker and maker.function  # its file may have changed since
    with _keeping:
        kept = None if content is None else _kept.pop(key, None)
        if kept is not None:
            _kept[key] = kept
            return kept
    found = [_bounds(version, able) for version in versions(program)]
    result = Bounds(*(min(values) for values in zip(*found, strict=True)))
    if content is not None:
        with _keeping:
            _kept[key] = result
            while len(_kept) > MAX_KEPT:
                _kept.pop(next(iter(_kept)))
    return result


def versions(program: Workload) -> list[Workload]:
    """Return programs of which every policy executes at least one, maybe with additions.

    Each known policy says what it may leave out of a program
    (:meth:`simsched.policy.contract.base.Policy.least`), also of what others leave.
    """
    ways: dict[Callable[[Workload], Iterable[Workload]], None] = dict.fromkeys(
        info.cls.least for info in list_policies()
    )
    found = [program]
    for least in ways:
        found = [left for version in found for left in least(version)]
    return found


def _bounds(program: Workload, able: Capability) -> list[float]:
    """Return the bounds of one version of a program, in the order of the fields of `Bounds`."""
    if program.division is not None:
        once = division_bound(program.division, program.graph.kinds, able, is_loop(program))
        work = program.iterations * once
        return [0.0, work, 0.0, work]
    parts = [(program.graph, program.iterations)]
    if program.init is not None:
        parts.append((program.init, 1))
    sums = np.zeros(4)
    for graph, times in parts:
        three = iteration_bounds(graph, able)
        sums += times * np.array([*three, max(three)])
    found: list[float] = sums.tolist()
    return found


def division_bound(
    division: Division, kinds: tuple[str, ...], able: Capability, anywhere: bool
) -> float:
    """Return a bound in seconds that holds however divisible work is divided.

    Of every part one task counts, the one that takes longest on the processors that suit it best.
    Parts that work all the time, each on one processor, finish ``sum_p 1 / time_p`` units a second;
    all processors together, with the cheapest part for each kind, ``sum_k speed_k / min_p ops_kp``.
    The former does not hold for a loop, which can be divided `anywhere`: policies make other parts
    of it.
    """
    rows = [row for row, kind in enumerate(kinds) if kind in able.worker_ops_per_s]
    if not rows:
        return 0.0
    can_run = np.isfinite(division.fixed_ops[rows])
    ops = np.where(can_run, division.unit_ops[rows], np.inf)
    speed = np.array([able.worker_ops_per_s[kinds[row]] for row in rows])
    total = np.array([able.total_ops_per_s[kinds[row]] for row in rows])
    time = (ops / speed[:, None]).min(axis=0)
    parts = [np.flatnonzero(division.part == part) for part in range(division.n_parts)]
    heaviest = [int(tasks[np.argmax(time[tasks])]) for tasks in parts]
    least = ops[:, heaviest].min(axis=1)
    if not bool((time[heaviest] > 0).all()) or not bool((least > 0).all()):
        return 0.0
    rate = float((total / least).sum())
    if not anywhere:
        rate = min(rate, float((1 / time[heaviest]).sum()))
    return division.units / rate if rate > 0 else 0.0


def iteration_bounds(graph: TaskGraph, able: Capability) -> tuple[float, float, float]:
    """Return the critical path, work and bandwidth bounds of one iteration in seconds."""
    kinds = [kind for kind in graph.kinds if kind in able.worker_ops_per_s]
    if not kinds:
        return 0.0, 0.0, 0.0
    rows = [graph.kinds.index(kind) for kind in kinds]
    speed = np.array([able.worker_ops_per_s[kind] for kind in kinds])
    body, join = shortest_times(graph, rows, speed, able)
    creation = _spawning_ops(graph) / float(speed.max())
    total = np.array([able.total_ops_per_s[kind] for kind in kinds])
    each = float(body.sum() + join.sum() + creation.sum()) / able.n_workers
    return (
        critical_path(graph, body, join, creation),
        max(work_bound(graph, rows, total), each),
        memory_bytes(graph, able) / able.total_bytes_per_s,
    )


def _spawning_ops(graph: TaskGraph) -> FloatArray:
    """Return the operations of creating each task; tasks without a parent are created by nobody."""
    return np.where(graph.parent >= 0, graph.creation_ops, 0.0)


def shortest_times(
    graph: TaskGraph, rows: list[int], speed: FloatArray, able: Capability
) -> tuple[FloatArray, FloatArray]:
    """Return the shortest times of bodies and joins in seconds, shape (n_tasks,) each.

    `rows` are those of `ops` whose processor kinds are in use, `speed` the highest of one worker of
    each of these kinds.
    """
    n = graph.n_tasks
    compute = np.concatenate(
        [(ops[rows] / speed[:, None]).min(axis=0) for ops in (graph.ops, graph.join_ops)]
    )
    task = np.repeat(np.arange(n), np.diff(graph.access_ptr))
    in_join = np.arange(graph.n_accesses) >= graph.join_access[task]
    owner = task + n * in_join
    moved = (graph.read_bytes + graph.written_bytes).astype(np.float64)
    transfer = np.where(_uncacheable(graph, able), moved / able.worker_bytes_per_s, 0.0)
    count = np.bincount(owner, minlength=2 * n)
    total = np.bincount(owner, weights=moved, minlength=2 * n)
    weight = np.where(
        total[owner] > 0, moved / np.maximum(total[owner], 1.0), 1.0 / np.maximum(count[owner], 1)
    )
    segment = np.maximum(compute[owner] * weight, transfer)
    time = np.where(count > 0, np.bincount(owner, weights=segment, minlength=2 * n), compute)
    return time[:n], time[n:]


def _uncacheable(graph: TaskGraph, able: Capability) -> NDArray[np.bool_]:
    """Return which accesses have a footprint that no cache can hold; shape (n_accesses,)."""
    return _footprint(graph) > able.cache_bytes


def _footprint(graph: TaskGraph) -> Int64Array:
    """Return the bytes of its block that each access covers; shape (n_accesses,)."""
    moved = graph.read_bytes + graph.written_bytes
    covered: Int64Array = np.minimum(moved, graph.block_bytes[graph.access_block])
    return covered


def work_bound(graph: TaskGraph, rows: list[int], total: FloatArray) -> float:
    """Return all operations over the speed of the whole machine, in seconds.

    For any weights l of the kinds that add up to 1, the sum over tasks of ``min_k(l_k * ops_k /
    total_k)`` is a lower bound (the dual of the fractional assignment problem); the best of a few
    weights is returned. `rows` are those of `ops` whose processor kinds are in use, `total` the
    speed of all cores of each of these kinds together.
    """
    creation = float(_spawning_ops(graph).sum())
    if len(rows) == 1:
        ops = float(graph.ops[rows[0]].sum() + graph.join_ops[rows[0]].sum())
        return (ops + creation) / float(total[0])
    candidates = [total / total.sum(), np.full(len(rows), 1 / len(rows))]
    if len(rows) == 2:
        candidates += [np.array([share, 1 - share]) for share in np.linspace(0.02, 0.98, 25)]
    best = 0.0
    for weights in candidates:
        price = weights / total
        cheapest = [(ops[rows] * price[:, None]).min(axis=0) for ops in (graph.ops, graph.join_ops)]
        best = max(best, creation * float(price.min()) + sum(float(c.sum()) for c in cheapest))
    return best


def memory_bytes(graph: TaskGraph, able: Capability) -> float:
    """Return a number of bytes that must come from memory in every iteration.

    The largest footprint of a block counts: no cache holds more of it than has been loaded. Where
    caches pass blocks on, two of them may hold the same part twice, and an access finds both (C9);
    there the smallest one counts.
    """
    footprint = _footprint(graph)
    uncacheable = _uncacheable(graph, able)
    moved = graph.read_bytes + graph.written_bytes
    block, cached = graph.access_block[~uncacheable], footprint[~uncacheable]
    loaded = np.zeros(graph.n_blocks, np.int64)
    if able.passes_on:
        loaded[block] = np.iinfo(np.int64).max
        np.minimum.at(loaded, block, cached)
    else:
        np.maximum.at(loaded, block, cached)
    once = int(loaded.sum())
    return float(int(moved[uncacheable].sum()) + max(0, once - able.all_cache_bytes))


def critical_path(
    graph: TaskGraph, body: FloatArray, join: FloatArray, creation: FloatArray
) -> float:
    """Return the longest path through the graph, in the unit of the times.

    `creation` is what passes between the end of the parent's body and the start of the task's.
    """
    n = graph.n_tasks
    tasks = np.arange(n, dtype=np.int32)
    parent = np.repeat(tasks, np.diff(graph.child_ptr))
    before = np.repeat(tasks, np.diff(graph.succ_ptr))
    # Vertex t is the body of task t, vertex n + t its join.
    joined = graph.is_joined[graph.child]
    source = np.concatenate([tasks, parent, n + graph.child[joined], n + before])
    target = np.concatenate([n + tasks, graph.child, n + parent[joined], graph.succ])
    duration = np.concatenate([body, join])
    weight = duration[source]
    weight[n : n + len(parent)] += creation[graph.child]
    start = np.zeros(2 * n)
    roots = np.flatnonzero(graph.parent < 0)
    start[roots] = graph.arrival_ps[roots] * PER_PS
    _longest_paths(source, target, weight, start)
    return float((start + duration).max())


def _longest_paths(
    source: NDArray[np.int32], target: NDArray[np.int32], weight: FloatArray, start: FloatArray
) -> None:
    """Raise `start` of every vertex of an acyclic graph to the longest path that leads to it."""
    order = np.argsort(source, kind="stable")
    target, weight = target[order], weight[order]
    ptr = np.zeros(len(start) + 1, np.int64)
    np.cumsum(np.bincount(source, minlength=len(start)), out=ptr[1:])
    waiting = np.bincount(target, minlength=len(start))
    arrays: tuple[Any, ...] = (start, waiting, ptr, target, weight)
    views = tuple(memoryview(array) for array in arrays)
    frontier = np.flatnonzero(waiting == 0)
    while frontier.size:
        if frontier.size < SMALL_FRONTIER:
            frontier = _relax_each(frontier.tolist(), *views)
            continue
        counts, edges = ptr[frontier + 1] - ptr[frontier], entries(ptr, frontier)
        reached = target[edges]
        np.maximum.at(start, reached, np.repeat(start[frontier], counts) + weight[edges])
        np.subtract.at(waiting, reached, 1)
        frontier = np.unique(reached[waiting[reached] == 0])


def _relax_each(
    frontier: list[int],
    start: memoryview,
    waiting: memoryview,
    ptr: memoryview,
    target: memoryview,
    weight: memoryview,
) -> NDArray[np.int64]:
    """Relax the edges of a few vertices one by one; return the vertices that become free."""
    free = []
    for vertex in frontier:
        base = start[vertex]
        for edge in range(ptr[vertex], ptr[vertex + 1]):
            reached = target[edge]
            if base + weight[edge] > start[reached]:
                start[reached] = base + weight[edge]
            waiting[reached] -= 1
            if waiting[reached] == 0:
                free.append(reached)
    return np.array(free, np.int64)


def traffic_bound_s(summary: Summary, machine: Machine, *, moved: bool = False) -> float:
    """Return a lower bound for a run's own traffic: its placement and cache hits are given.

    In every iteration the busiest memory node, memory-side cache or link needs at least its bytes
    over its bandwidth. If running tasks may have been `moved` to other domains, only what is common
    to all domains is taken for granted: bytes are counted where an access began.
    """
    loads = _loads(machine, moved)
    times = np.zeros(len(summary.iteration))
    used = (summary.node_bytes > 0).sum(axis=0) > 0
    for index in np.flatnonzero(used.any(axis=0)).tolist():
        moving = summary.node_bytes[:, :, index] @ loads.node_weight[index]
        times = np.maximum(times, moving / loads.node_rate[index])
    crossing = np.zeros((len(machine.links), len(summary.iteration)))
    for domain, index, number, weight in loads.crossings:
        if used[domain, index]:
            crossing[number] += summary.node_bytes[:, domain, index] * weight
    for rate, crossed in zip(loads.link_rate, crossing, strict=True):
        times = np.maximum(times, crossed / rate)
    bound = float(times.sum())
    if loads.cached:
        missed = float(summary.node_bytes[:, :, loads.cached].sum()) - summary.memory_side_hit_bytes
        bound = max(bound, missed / sum(most_bytes_per_s(machine.nodes[i]) for i in loads.cached))
    return bound


class _Loads(NamedTuple):
    """What bytes load between domains and memory nodes, and how fast that is moved."""

    #: By node: load of a byte from each domain; the most bytes per second of what answers.
    node_weight: list[FloatArray]
    node_rate: list[float]
    #: Domain, node, link, and the load of a byte between the former two on that.
    crossings: list[tuple[int, int, int, float]]
    link_rate: list[float]
    #: Nodes with a memory-side cache.
    cached: list[int]


@lru_cache(maxsize=MAX_KEPT)
def _loads(machine: Machine, moved: bool) -> _Loads:
    """Return the loads of a machine; if tasks may have been moved, the least from any domain."""
    sides = [node.memory_side_cache for node in machine.nodes]
    weights, crossings = [], []
    for index in range(len(machine.nodes)):
        weight = np.array([row[index].node_weight for row in machine.paths])
        if moved:
            weight[:] = weight.min()
        weights.append(weight)
        links = [dict(row[index].link_loads) for row in machine.paths]
        if moved:
            common = sorted(set(links[0]).intersection(*links[1:]))
            links = [{link: min(load[link] for load in links) for link in common}] * len(links)
        crossings += [
            (domain, index, number, weight)
            for domain, load in enumerate(links)
            for number, weight in load.items()
        ]
    return _Loads(
        weights,
        [
            most_bytes_per_s(node) if side is None else side.bandwidth_bytes_per_s
            for node, side in zip(machine.nodes, sides, strict=True)
        ],
        crossings,
        [most_bytes_per_s(link) for link in machine.links],
        [index for index, side in enumerate(sides) if side is not None],
    )
