"""Where the time of a run went: parts of the makespan that add up to it.

Every worker spends the whole makespan on something. What is known exactly (time inside tasks, on
creating and on finding them, on copies, between iterations, idle) comes from the run's counters.
Time inside tasks is divided segment by segment with the event trace:

* *compute*: what the segment's operations take with all workers of the core busy, at most the
  segment; also all time inside tasks without accesses. A worker that changes its core, its pace, or
  whose core changes its speed, takes as long as it does (:class:`~simsched.analysis.rates.Rates`).
* What is left was spent waiting for data. It is divided in proportion to what the data would have
  taken without computation: bytes at the cap of the local path (*memory*, the price of having
  missed the caches), the longer latency and lower cap of the path really taken (*remote*), the rest
  of each flow's duration (*wait KIND: CAUSE*: the controller, a link or a cache on the way to
  memory of that kind was shared; :mod:`simsched.analysis.waits`),
  and, as long as what did not come from memory can take, hits in caches (*cache*). What none of
  these explains, such as the cost of a swap of threads, is compute, too.
* A segment that a worker loses in the middle (preempted or killed) has a flow whose path is not
  known, because the trace only names it at its end: what is left is *memory* then.

Before that, what an access waited for page faults and for pages to move is taken out: *migration*,
with the time of workers that copy blocks. Faults cost what the machine says. The rest of the run's
`page_fault_ps` is what moves took; it is divided among the accesses that moved their block, in
proportion to what they lasted longer than faults, flows and operations explain.

Idle time has the causes of :mod:`simsched.analysis.idle`, exactly.

Parts are seconds of the mean worker, so that runs with different numbers of workers compare.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simsched.analysis.idle import CAUSES, IdleCauses, idle_causes
from simsched.analysis.rates import Rates
from simsched.analysis.supply import BETWEEN
from simsched.analysis.waits import WAIT_CAUSES, Bottlenecks
from simsched.engine.interface.problem import Problem
from simsched.engine.machine_fields import path_nodes
from simsched.engine.problem import make_problem
from simsched.files.units import PER_PS
from simsched.policy.contract.base import Placement
from simsched.trace.run import Run
from simsched.trace.schema import EventKind, Trace
from simsched.workload.graph import TaskGraph

IntArray = NDArray[np.int64]
FloatArray = NDArray[np.float64]

COMPUTE, CACHE, MEMORY, REMOTE = "compute", "cache", "memory", "remote"
WAIT = "wait {}: {}"  #: kind of the memory node, and one of `WAIT_CAUSES`
SPAWN, STEAL, POOLS = "spawn", "steal", "pools"
MIGRATION = "migration"
IDLE = "idle: {}"  #: one of `CAUSES`


def group_of(part: str) -> str:
    """Return what a part belongs to: idle time, waiting for a kind of memory, or itself.

    >>> group_of("wait DRAM: link"), group_of("compute")
    ('wait DRAM', 'compute')
    """
    return part.partition(": ")[0]


@dataclass(frozen=True)
class TimeParts:
    """The makespan of a run in parts."""

    makespan_s: float
    #: Parts in a fixed order; their sum is `makespan_s` up to rounding.
    seconds: dict[str, float]
    #: Why workers were idle, in more detail.
    idle: IdleCauses


@dataclass(frozen=True, eq=False)
class _Segments:
    """Accesses of one iteration in the order of workers, then of time."""

    worker: IntArray
    task: IntArray
    #: The place of the access among those of its task in this iteration.
    position: IntArray
    #: Number of the access when all are sorted by task, execution and time.
    place: IntArray
    #: Row of the trace of the access, and of what the worker did next.
    row: IntArray
    end_row: IntArray
    start_ps: IntArray
    #: From the start of the access to what the worker did next.
    length_ps: FloatArray
    #: Bytes that no cache had.
    memory_bytes: IntArray
    #: Marked pages that the access found.
    faults: FloatArray
    #: Whether the block moved to the worker.
    moves_page: NDArray[np.bool_]
    #: Memory flows that have ended, shape (n_flows,): to which access they belong, the row of their
    #: end, their path, bytes, duration and end.
    flow_segment: IntArray
    flow_row: IntArray
    flow_path: IntArray
    flow_bytes: IntArray
    flow_ps: FloatArray
    flow_end_ps: IntArray


class _Model:
    """What an undisturbed access would take on the machine of a run."""

    def __init__(self, run: Run, trace: Trace) -> None:
        machine = run.machine
        nowhere = np.full(run.workload.graph.n_blocks, -1, np.int32)
        problem = make_problem(
            machine,
            run.workload,
            Placement(nowhere, machine.touch_order),
            run.worker_thread,
            seed=run.seed,
        )
        self.problem = problem
        kinds = [node.kind for node in machine.nodes]
        self.kinds = list(dict.fromkeys(kinds))
        self.node_kind = np.array([self.kinds.index(kind) for kind in kinds])
        self.bottlenecks = Bottlenecks(run)
        self.rates = Rates(problem, trace)
        self.node = path_nodes(machine, run.worker_thread)
        self.cap_level = _cap_levels(self.problem)
        self.local = _local_paths(problem, self.node)

    def compute_ps(self, graph: TaskGraph, segments: _Segments) -> FloatArray:
        """Return how long the operations of every segment take, at most as long as it lasts."""
        taken = self.rates.time_ps(
            segments.worker,
            segments.row,
            segments.end_row,
            segments.start_ps,
            self._operations(graph, segments),
        )
        return np.minimum(taken, segments.length_ps)

    def _operations(self, graph: TaskGraph, segments: _Segments) -> FloatArray:
        """Return the operations of every segment."""
        access = graph.access_ptr[segments.task] + segments.position
        joins = access >= graph.join_access[segments.task]
        first = np.where(joins, graph.join_access[segments.task], graph.access_ptr[segments.task])
        last = np.where(
            joins, graph.access_ptr[segments.task + 1], graph.join_access[segments.task]
        )
        # What a body or join costs is settled by the core on which its first access begins.
        opening = np.argsort(segments.place)[segments.place - (access - first)]
        kind = self.rates.kind(segments.worker[opening], segments.row[opening])
        ops = np.where(joins, graph.join_ops[kind, segments.task], graph.ops[kind, segments.task])
        if graph.access_share is not None:
            return np.asarray(ops * graph.access_share[access], np.float64)
        size = graph.read_bytes + graph.written_bytes
        before = np.concatenate([[0], np.cumsum(size)])
        total = before[last] - before[first]
        share = np.where(
            total > 0, size[access] / np.maximum(total, 1), 1 / np.maximum(last - first, 1)
        )
        return np.asarray(ops * share, np.float64)

    def most_hit_ps(self, graph: TaskGraph, segments: _Segments) -> FloatArray:
        """Return how long the hits of every segment may have taken, in the slowest caches."""
        problem = self.problem
        rates = problem.cache_rate.tolist()
        if not rates:
            return np.zeros(len(segments.row))
        access = graph.access_ptr[segments.task] + segments.position
        wanted = graph.read_bytes[access] + graph.written_bytes[access]
        # What has been written elsewhere may be passed on, displace others and be taken from them.
        passing = [
            rate
            for rate in (problem.transfer_rate, problem.displacement_rate, problem.upgrade_rate)
            if rate > 0
        ]
        per_byte = 1 / min(rates) + sum(1 / rate for rate in passing)
        begin = np.cumsum(problem.n_cache_instances) - problem.n_cache_instances
        slowest_ps = np.maximum.reduceat(problem.cache_latency_ps, begin)  # instance of each level
        latency = int(slowest_ps.sum()) + 2 * problem.transfer_latency_ps
        rounding = problem.n_levels + len(passing)
        # What is written may hit and be written back all the same.
        hit = wanted - np.maximum(segments.memory_bytes - graph.written_bytes[access], 0)
        return np.where(hit > 0, latency + rounding + hit * per_byte, 0.0)


def _cap_levels(problem: Problem) -> NDArray[np.int32]:
    """Return for each core the place of its workers' caps when all of its module are busy."""
    module = np.zeros(int(problem.worker_core.max()) + 1, np.int32)
    module[problem.worker_core] = problem.worker_module
    busy = np.bincount(problem.worker_module)[module]
    return (np.minimum(busy, problem.n_mates) - 1).astype(np.int32)


def _local_paths(problem: Problem, node: NDArray[np.int32]) -> NDArray[np.int32]:
    """Return for every path the one that leads to a like node next to the core."""
    local = np.arange(len(node), dtype=np.int32)
    for table in (problem.paths.access, problem.paths.hit, problem.paths.write):
        for domain in range(table.shape[0]):
            near = np.flatnonzero(problem.node_domain == domain)
            for target in range(table.shape[1]):
                alike = near[problem.node_kind[near] == problem.node_kind[target]]
                path = table[domain, target]
                if path >= 0 and len(alike) and table[domain, alike[0]] >= 0:
                    local[path] = table[domain, alike[0]]
    return local


def time_parts(run: Run) -> TimeParts:
    """Return the parts of a run's makespan; the run has its trace."""
    if run.trace is None:
        raise ValueError("run: found no event trace, accepted: a run with events=True")
    model = _Model(run, run.trace)
    waits = [WAIT.format(kind, cause) for kind in model.kinds for cause in WAIT_CAUSES]
    waiting = dict.fromkeys([CACHE, MEMORY, REMOTE, *waits, MIGRATION], 0.0)
    share = _share_of_moves(run, model)
    for graph, segments in _accesses(run):
        _add_waiting(waiting, model, graph, segments, waits, share)
    return _assemble(run, waiting, _steal_ps(run.trace), idle_causes(run))


def _accesses(run: Run) -> Iterator[tuple[TaskGraph, _Segments]]:
    """Yield the graph and the accesses of every iteration."""
    assert run.trace is not None
    for number, begin, events in _iterations(run.trace):
        yield run.graph_of(number), _segments(events, begin)


def _share_of_moves(run: Run, model: _Model) -> float:
    """Return which part of the room of accesses that moved their block the moves took."""
    if run.summary.page_fault_ps == 0:
        return 0.0
    faults = moves = 0.0
    for graph, segments in _accesses(run):
        fault, room = _stalls(model, segments, model.compute_ps(graph, segments))
        faults += float(fault.sum())
        moves += float(room[segments.moves_page].sum())
    return min(1.0, max(0.0, run.summary.page_fault_ps - faults) / max(moves, 1e-300))


def _iterations(trace: Trace) -> Iterator[tuple[int, int, dict[str, NDArray[np.int64]]]]:
    """Yield the number, the first row and the events of every iteration."""
    starts = np.flatnonzero(trace.events["kind"] == EventKind.ITERATION_START)
    for begin, end in zip(starts, np.append(starts[1:], len(trace)), strict=True):
        part = {name: column[begin:end].astype(np.int64) for name, column in trace.events.items()}
        yield int(part["iteration"][0]), int(begin), part


def _segments(events: dict[str, NDArray[np.int64]], first_row: int) -> _Segments:
    """Return the accesses of one iteration."""
    # These happen to a worker while it goes on with its segment.
    ignored = np.isin(events["kind"], [EventKind.FIRST_TOUCH, EventKind.TIMER, EventKind.PACE])
    order = np.flatnonzero((events["worker"] >= 0) & ~ignored)
    order = order[np.argsort(events["worker"][order], kind="stable")]
    kind, worker, task = (events[name][order] for name in ("kind", "worker", "task"))
    time = events["time_ps"][order]
    is_flow = kind == EventKind.FLOW_END
    access = np.flatnonzero(kind == EventKind.ACCESS)
    # A segment lasts until the worker does something else; FLOW_END does not end it.
    other = np.flatnonzero(~is_flow)
    following = other[np.minimum(np.searchsorted(other, access, side="right"), len(other) - 1)]
    following = np.where(worker[following] == worker[access], following, access)
    flows = np.flatnonzero(is_flow)
    owner = np.searchsorted(access, flows, side="right") - 1
    begun = other[np.maximum(np.searchsorted(other, flows) - 1, 0)]
    known = (owner >= 0) & (access[np.maximum(owner, 0)] == begun)  # not those of moved tasks
    flows, owner = flows[known], owner[known]
    arg1 = events["arg1"][order]
    fault, move = (
        np.flatnonzero(kind == page) for page in (EventKind.PAGE_FAULT, EventKind.PAGE_MOVE)
    )
    place, position = _places(task[access], _executions(kind, task)[access], order[access])
    return _Segments(
        worker=worker[access],
        task=task[access],
        position=position,
        place=place,
        row=first_row + order[access],
        end_row=first_row + order[following],
        start_ps=time[access],
        length_ps=(time[following] - time[access]).astype(np.float64),
        memory_bytes=arg1[access],
        faults=_of_next(fault, arg1[fault], access),
        moves_page=_of_next(move, np.ones(len(move)), access) > 0,
        flow_segment=owner,
        flow_row=first_row + order[flows],
        flow_path=events["arg0"][order][flows],
        flow_bytes=arg1[flows],
        flow_ps=(time[flows] - time[flows - 1]).astype(np.float64),
        flow_end_ps=time[flows],
    )


def _of_next(row: IntArray, value: NDArray[np.generic], access: IntArray) -> FloatArray:
    """Return for every access the sum of the values of rows that precede it directly."""
    owner = np.searchsorted(access, row)
    known = owner < len(access)
    summed = np.bincount(owner[known], weights=value[known], minlength=len(access))
    return summed.astype(np.float64)


def _executions(kind: NDArray[np.int64], task: NDArray[np.int64]) -> IntArray:
    """Return to which execution each row belongs, as far as tasks have several; else -1.

    The rows are in the order of workers, then of time; an execution is known by its start.
    """
    starts = kind == EventKind.TASK_START
    begun = np.maximum.accumulate(np.where(starts, np.arange(len(kind)), 0))
    several = np.bincount(task[starts], minlength=int(task.max(initial=0)) + 1) > 1
    return np.where((task >= 0) & several[np.maximum(task, 0)], begun, -1)


def _places(task: IntArray, execution: IntArray, when: IntArray) -> tuple[IntArray, IntArray]:
    """Return the place of each access among all, and among those of its execution.

    The order is that of tasks, then of executions, then of the trace.
    """
    order = np.lexsort((when, execution, task))
    changes = (np.diff(task[order]) != 0) | (np.diff(execution[order]) != 0)
    starts = np.append(True, changes) if len(task) else np.ones(0, bool)
    first = np.maximum.accumulate(np.where(starts, np.arange(len(task)), 0))
    place = np.empty(len(task), np.int64)
    place[order] = np.arange(len(task))
    position = np.empty(len(task), np.int64)
    position[order] = np.arange(len(task)) - first
    return place, position


def _per_segment(segments: _Segments, values: NDArray[np.number]) -> FloatArray:
    """Return the sums of values of flows for every access."""
    n = len(segments.length_ps)
    summed = np.bincount(segments.flow_segment, weights=values, minlength=n)
    return summed.astype(np.float64)


def _stalls(
    model: _Model, segments: _Segments, compute: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return what accesses waited for faults, and how much longer they may have waited for moves.

    A stall lengthens the computation and what follows the flows alike, so that it is at most what
    an access lasted longer than either.
    """
    latency = model.problem.paths.latency_ps[segments.flow_path].astype(np.float64)
    flows = _per_segment(segments, segments.flow_ps) + _per_segment(segments, latency)
    room = np.maximum(segments.length_ps - np.maximum(flows, compute), 0.0)
    fault = np.minimum(segments.faults * model.problem.costs.page_fault_ps, room)
    return fault, room - fault


def _add_waiting(
    waiting: dict[str, float],
    model: _Model,
    graph: TaskGraph,
    segments: _Segments,
    waits: list[str],
    share: float,
) -> None:
    """Add what the accesses of one iteration waited for, in picoseconds of all workers.

    `share` is the part of the room of accesses with page moves that these took.
    """
    if not len(segments.length_ps):
        return
    compute = model.compute_ps(graph, segments)
    fault, room = _stalls(model, segments, compute)
    stall = fault + np.where(segments.moves_page, share * room, 0.0)
    waiting[MIGRATION] += float(stall.sum())
    length = segments.length_ps - stall
    paths, flow_path = model.problem.paths, segments.flow_path
    core = model.rates.core(segments.worker[segments.flow_segment], segments.flow_row)
    busy = model.cap_level[core]
    local = model.local[flow_path]
    near = segments.flow_bytes / paths.cap[local, busy]
    far = segments.flow_bytes / paths.cap[flow_path, busy]
    latency = (paths.latency_ps[local], paths.latency_ps[flow_path])
    memory = np.minimum(near, segments.flow_ps) + latency[0]
    remote = np.maximum(np.minimum(far, segments.flow_ps) - near, 0.0)
    remote += np.maximum(latency[1] - latency[0], 0)
    wait = np.maximum(segments.flow_ps - far, 0.0)
    taken = _per_segment(segments, memory + remote + wait)
    behind = _per_segment(segments, segments.flow_ps + latency[1])
    # A flow that has not ended is one that the worker has lost.
    cut = segments.memory_bytes > _per_segment(segments, segments.flow_bytes)
    # Flows and hits explain no more than this: a swap of threads may have taken the rest.
    most = np.maximum(behind, compute) + model.most_hit_ps(graph, segments)
    explained = np.where(cut, length, np.minimum(length, most))
    exposed = np.maximum(explained - compute, 0.0)
    cache = np.where(~cut & (exposed > 0), np.maximum(explained - behind, 0.0), 0.0)
    whole = taken + cache
    scale = exposed / np.maximum(np.maximum(whole, exposed), 1e-300)
    waiting[CACHE] += float((cache * scale).sum())
    waiting[MEMORY] += float((exposed - whole * scale)[cut].sum())
    flow_scale = scale[segments.flow_segment]
    waiting[MEMORY] += float((memory * flow_scale).sum())
    waiting[REMOTE] += float((remote * flow_scale).sum())
    end = segments.flow_end_ps.astype(np.float64)
    cause = model.bottlenecks.causes(flow_path, end - segments.flow_ps, end)
    place = model.node_kind[model.node[flow_path]] * len(WAIT_CAUSES) + cause
    sums = np.bincount(place, weights=wait * flow_scale, minlength=len(waits))
    for name, value in zip(waits, sums.tolist(), strict=True):
        waiting[name] += value


def _steal_ps(trace: Trace) -> int:
    """Return what successful steals have cost, probes and locks included."""
    kind = trace.events["kind"]
    steals = np.flatnonzero(kind == EventKind.STEAL)
    taken = steals[kind[np.maximum(steals - 1, 0)] == EventKind.ACQUIRE] - 1
    return int(trace.events["arg1"][taken].sum())


def _assemble(run: Run, waiting: dict[str, float], steal_ps: int, idle: IdleCauses) -> TimeParts:
    """Return all parts for the mean worker."""
    summary = run.summary
    n = len(summary.worker_busy_ps)
    busy, spawn, acquire, copying = (
        int(part.sum())
        for part in (
            summary.worker_busy_ps,
            summary.worker_spawn_ps,
            summary.worker_acquire_ps,
            summary.worker_migrate_ps,
        )
    )
    idle_ps = {cause: int(time.sum()) for cause, time in idle.by_cause().items()}
    # What is still being paid for when the run ends: mostly releases of successors.
    unpaid = busy + spawn + acquire + copying + int(idle.idle_ps.sum()) - summary.makespan_ps * n
    never_spawned = min(unpaid, spawn)
    between = idle_ps.pop(BETWEEN, 0)
    stalls = waiting.pop(MIGRATION)
    compute = busy - stalls - sum(waiting.values())
    parts = {COMPUTE: compute, **waiting, SPAWN: float(spawn - never_spawned)}
    pools = acquire - steal_ps - (unpaid - never_spawned)
    parts |= {STEAL: float(steal_ps), POOLS: float(pools)}
    parts |= {MIGRATION: copying + stalls, BETWEEN: float(between)}
    parts |= {IDLE.format(c): float(idle_ps.get(c, 0)) for c in CAUSES if c != BETWEEN}
    seconds = {name: value * PER_PS / n for name, value in parts.items()}
    return TimeParts(summary.makespan_ps * PER_PS, seconds, idle)
