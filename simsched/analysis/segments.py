"""Accesses of a run, with what each of them would take undisturbed.

An access lasts until its worker does something else. What the trace says of it (flows, faults,
moves of its block) stands beside what its operations, its bytes and its hits take by the machine's
description: :class:`UndisturbedModel`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simsched.analysis.rates import Rates
from simsched.analysis.waits import Bottlenecks
from simsched.engine.interface.problem import Problem
from simsched.engine.machine_fields import path_nodes
from simsched.engine.problem import make_problem
from simsched.policy.contract.base import Placement
from simsched.trace.run import Run
from simsched.trace.schema import EventKind, Trace
from simsched.workload.graph import TaskGraph

IntArray = NDArray[np.int64]
FloatArray = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Segments:
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


class UndisturbedModel:
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
        self._run = run
        self.rates = Rates(problem, trace)
        self.node = path_nodes(machine, run.worker_thread)
        self.cap_level = _cap_levels(self.problem)
        self.local = _local_paths(problem, self.node)

    @cached_property
    def bottlenecks(self) -> Bottlenecks:
        """What the run's flows had in use."""
        return Bottlenecks(self._run)

    def compute_ps(self, graph: TaskGraph, segments: Segments) -> FloatArray:
        """Return how long the operations of every segment take, at most as long as it lasts."""
        return np.minimum(self.operations_ps(graph, segments), segments.length_ps)

    def operations_ps(self, graph: TaskGraph, segments: Segments) -> FloatArray:
        """Return how long the operations of every segment take."""
        return self.rates.time_ps(
            segments.worker,
            segments.row,
            segments.end_row,
            segments.start_ps,
            self._operations(graph, segments),
        )

    def _operations(self, graph: TaskGraph, segments: Segments) -> FloatArray:
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

    def most_hit_ps(self, graph: TaskGraph, segments: Segments) -> FloatArray:
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


def accesses_of(run: Run) -> Iterator[tuple[TaskGraph, Segments]]:
    """Yield the graph and the accesses of every iteration."""
    assert run.trace is not None
    for number, begin, events in _iterations(run.trace):
        yield run.graph_of(number), _segments(events, begin)


def share_of_moves(run: Run, model: UndisturbedModel) -> float:
    """Return which part of the room of accesses that moved their block the moves took."""
    if run.summary.page_fault_ps == 0:
        return 0.0
    faults = moves = 0.0
    for graph, segments in accesses_of(run):
        fault, room = stalls(model, segments, model.compute_ps(graph, segments))
        faults += float(fault.sum())
        moves += float(room[segments.moves_page].sum())
    return min(1.0, max(0.0, run.summary.page_fault_ps - faults) / max(moves, 1e-300))


def _iterations(trace: Trace) -> Iterator[tuple[int, int, dict[str, NDArray[np.int64]]]]:
    """Yield the number, the first row and the events of every iteration."""
    starts = np.flatnonzero(trace.events["kind"] == EventKind.ITERATION_START)
    for begin, end in zip(starts, np.append(starts[1:], len(trace)), strict=True):
        part = {name: column[begin:end].astype(np.int64) for name, column in trace.events.items()}
        yield int(part["iteration"][0]), int(begin), part


def _segments(events: dict[str, NDArray[np.int64]], first_row: int) -> Segments:
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
    return Segments(
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


def per_segment(segments: Segments, values: NDArray[np.number]) -> FloatArray:
    """Return the sums of values of flows for every access."""
    n = len(segments.length_ps)
    summed = np.bincount(segments.flow_segment, weights=values, minlength=n)
    return summed.astype(np.float64)


def stalls(
    model: UndisturbedModel, segments: Segments, compute: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return what accesses waited for faults, and how much longer they may have waited for moves.

    A stall lengthens the computation and what follows the flows alike, so that it is at most what
    an access lasted longer than either.
    """
    latency = model.problem.paths.latency_ps[segments.flow_path].astype(np.float64)
    flows = per_segment(segments, segments.flow_ps) + per_segment(segments, latency)
    room = np.maximum(segments.length_ps - np.maximum(flows, compute), 0.0)
    fault = np.minimum(segments.faults * model.problem.costs.page_fault_ps, room)
    return fault, room - fault


def joined(parts: Sequence[Segments]) -> Segments:
    """Return the accesses of several iterations that execute one graph."""
    if len(parts) == 1:
        return parts[0]
    before = np.append(0, np.cumsum([len(part.row) for part in parts]))
    columns: dict[str, Any] = {}
    for item in fields(Segments):
        values = [getattr(part, item.name) for part in parts]
        if item.name in ("place", "flow_segment"):  # numbers of accesses
            values = [value + more for value, more in zip(values, before, strict=False)]
        columns[item.name] = np.concatenate(values)
    return Segments(**columns)
