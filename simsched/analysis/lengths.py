"""How long the steps of a recorded schedule would take on another machine, or with other tasks.

Every step keeps what nothing here explains, and what is changed about the rest follows from the
two descriptions, that of the run and the other one:

* an access takes the longer one of its operations, and of its flows with its hits behind them;
  operations change with rates and costs, flows as below, hits with rates and latencies of caches;
* a flow takes its bytes at the cap of its path, and longer where others use what it crosses: then
  as much less as the fullest of these resources, as full as it was, sustains more;
* creation, pops, steals, locks, probes, releases and context switches change with their costs.

No iteration is shorter than the time in which its bytes pass the fullest resource.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from simsched.analysis.schedule import TAKEN, Case, Schedule
from simsched.analysis.segments import (
    Segments,
    UndisturbedModel,
    accesses_of,
    joined,
    per_segment,
    share_of_moves,
    stalls,
)
from simsched.engine.timings import timed
from simsched.engine.ways import ways_of
from simsched.files.units import PER_PS
from simsched.machine.model import Machine
from simsched.trace.flows import Ways
from simsched.trace.run import Run
from simsched.trace.schema import EventKind
from simsched.workload.graph import TaskGraph, Workload

IntArray = NDArray[np.int64]
FloatArray = NDArray[np.float64]
#: Parts of a flow's time below which nobody else has held it back.
UNDISTURBED = 1e-3
#: How often it is asked how full everything is then.
ROUNDS = 3
_PROCESSORS = "core_groups", "kernels", "timings"
_MEMORY = "nodes", "paths", "links", "controllers", "caches"


@dataclass(frozen=True, eq=False)
class _Part:
    """Accesses of iterations that execute one graph."""

    number: int
    graph: TaskGraph
    segments: Segments
    step: IntArray  # of each access
    operations: FloatArray
    compute: FloatArray
    behind: FloatArray
    hits: FloatArray  # what the core waits for besides
    most_hits: FloatArray
    fault: FloatArray
    moves: FloatArray
    full: FloatArray  # the fullest resource on the way of each flow


@dataclass(frozen=True, eq=False)
class _Elsewhere:
    """What is other than in the run."""

    run: Run
    model: UndisturbedModel
    #: Whether operations take other times, flows and hits do, and costs are others.
    computes: bool
    moves: bool
    charges: bool
    #: Whether the program is another one.
    works: bool


class Lengths:
    """The steps of a run in other circumstances.

    Parameters
    ----------
    run : Run
        A run with its event trace.
    schedule : Schedule
        Its schedule.
    """

    def __init__(self, run: Run, schedule: Schedule) -> None:
        assert run.trace is not None
        self._run, self._schedule, self._trace = run, schedule, run.trace
        self._model = UndisturbedModel(run, run.trace)
        steps = schedule.steps
        self._step = np.zeros(len(run.trace), np.int64)
        own = steps.kind != TAKEN
        self._step[steps.row[own]] = np.flatnonzero(own)
        share = share_of_moves(run, self._model)
        self._waits = not all(map(_waits_for_none, self._graphs(run)))
        self._parts = [self._part(*each, share) for each in _merged(run, schedule.numbers)]

    def case(self, machine: Machine, workload: Workload, *, shared: bool = False) -> Case:
        """Return the schedule on another machine, or with another program of as many tasks.

        `workload` is what the policy's runtime executes, `shared` whether tasks go to whoever is
        free first.
        """
        run, schedule = self._run, self._schedule
        other = replace(run, machine=machine, workload=timed(machine, workload))
        there = self._elsewhere(other)
        model, length = there.model, schedule.length_ps.copy()
        if there.computes or there.moves:
            self._change_tasks(length, model, other)
        if there.computes or there.moves or there.charges:
            length += self._change_accesses(there)
        if there.computes or there.charges:
            self._change_costs(length, model, other)
        gaps = schedule.gaps_ps + (machine.costs.barrier_ps - run.machine.costs.barrier_ps)
        passed = self._passed_ps(there)
        if there.moves:
            gaps += self._change_moves(length, model, other)[: len(gaps)]
        graphs = None if other.workload is run.workload else self._graphs(other)
        return Case(
            np.maximum(np.rint(length), 0.0),
            np.maximum(np.rint(gaps), 0.0),
            graphs,
            passed.max(axis=0, initial=0.0),
            dealt=graphs is not None and self._waits and all(map(_waits_for_none, graphs)),
            shared=shared,
            taking_ps=machine.costs.pop_ps if shared else 0,
        )

    def _elsewhere(self, other: Run) -> _Elsewhere:
        mine, machine = self._run.machine, other.machine
        works = other.workload is not self._run.workload
        computes = works or _differ(mine, machine, _PROCESSORS)
        moves = works or _differ(mine, machine, _MEMORY)
        same = not (computes or moves)
        model = self._model if same else UndisturbedModel(other, self._trace)
        return _Elsewhere(other, model, computes, moves, mine.costs != machine.costs, works)

    def _change_accesses(self, there: _Elsewhere) -> FloatArray:
        """Return by how much longer steps are because of their accesses.

        Flows that are held back less are faster still where iterations are so much shorter that
        what they cross is not full all the time.
        """
        schedule, n = self._schedule, len(self._schedule.numbers)
        changed, eased = self._accesses(there, None) - self._undisturbed, None
        whole = np.maximum(np.bincount(schedule.iteration, schedule.length_ps, n), 1.0)
        lasted = (schedule.end_ps - schedule.begin_ps).astype(np.float64)
        place = self._model.bottlenecks.bins_of(schedule.begin_ps.astype(np.float64))
        for _ in range(ROUNDS - 1 if there.moves else 0):
            left = np.maximum(1.0 + np.bincount(schedule.iteration, changed, n) / whole, 0.0)
            full = self._passed_ps(there) / np.maximum(lasted * left, 1.0)
            once = np.minimum(full, 1.0)[:, place]
            eased = once if eased is None else eased * once
            before, changed = changed, self._accesses(there, eased) - self._undisturbed
            if np.array_equal(before, changed):
                break
        return changed

    @cached_property
    def _undisturbed(self) -> FloatArray:
        """What accesses take in the run, but for what stays as it is; of steps."""
        return self._accesses(_Elsewhere(self._run, self._model, *[False] * 4), None)

    def _accesses(self, there: _Elsewhere, eased: FloatArray | None) -> FloatArray:
        """Return how long accesses take, but for what stays as it is; of steps."""
        found = np.zeros(len(self._schedule.length_ps))
        for part in self._parts:
            found[part.step] = self._accesses_of(part, there, eased)
        return found

    def _graphs(self, run: Run) -> list[TaskGraph]:
        return [run.graph_of(number) for number in self._schedule.numbers]

    def _part(self, number: int, graph: TaskGraph, segments: Segments, share: float) -> _Part:
        model = self._model
        operations = model.operations_ps(graph, segments)
        compute = np.minimum(operations, segments.length_ps)
        fault, room = stalls(model, segments, compute)
        moves = np.where(segments.moves_page, share * room, 0.0)
        behind = per_segment(
            segments, segments.flow_ps + model.problem.paths.latency_ps[segments.flow_path]
        )
        most = model.most_hit_ps(graph, segments)
        left = segments.length_ps - fault - moves - behind
        end = segments.flow_end_ps.astype(np.float64)
        full = self._fullness(segments.flow_path, end - segments.flow_ps, end, model, self._run)
        return _Part(
            number,
            graph,
            segments,
            self._step[segments.row],
            operations,
            compute,
            behind,
            np.clip(left, 0.0, most),
            most,
            fault,
            moves,
            full,
        )

    def _accesses_of(self, part: _Part, there: _Elsewhere, eased: FloatArray | None) -> FloatArray:
        """Return how long accesses of a part take, but for what stays as it is."""
        segments, run, model = part.segments, there.run, there.model
        graph = run.graph_of(part.number) if there.works else part.graph
        left = np.ones(len(segments.row))
        if there.works:
            size, now = (g.read_bytes + g.written_bytes for g in (part.graph, graph))
            access = part.graph.access_ptr[segments.task] + segments.position
            left = now[access] / np.maximum(size[access], 1)
            memory = np.rint(segments.memory_bytes * left).astype(np.int64)
            segments = replace(segments, memory_bytes=memory)
        compute, behind, hits = part.compute, part.behind, part.hits
        if there.computes:
            more = model.operations_ps(graph, segments) / np.maximum(part.operations, 1e-300)
            compute = compute * more
        if there.moves:
            behind = self._behind(part, there, left, eased)
            hits = hits * model.most_hit_ps(graph, segments) / np.maximum(part.most_hits, 1e-300)
        costs, before = run.machine.costs, self._run.machine.costs
        fault = part.fault * _ratio(costs.page_fault_ps, before.page_fault_ps)
        moves = part.moves * _ratio(costs.page_move_ps, before.page_move_ps)
        taken: FloatArray = np.maximum(compute, behind + hits) + fault + moves
        return taken

    def _behind(
        self, part: _Part, there: _Elsewhere, left: FloatArray, eased: FloatArray | None
    ) -> FloatArray:
        """Return how long the flows of accesses take, one after the other, with their latencies.

        `left` is which part of its bytes each access has left.
        """
        segments, mine, model = part.segments, self._model, there.model
        path = segments.flow_path
        other = self._paths_of(model)[path]
        core = mine.rates.core(segments.worker[segments.flow_segment], segments.flow_row)
        busy = mine.cap_level[core]
        share = left[segments.flow_segment]
        before, full = segments.flow_ps, part.full
        least = segments.flow_bytes / mine.problem.paths.cap[path, busy]
        lower = segments.flow_bytes * share / model.problem.paths.cap[other, busy]
        alone = _alone_ps(ways_of(there.run.machine, self._run.worker_thread))[other]
        lower = np.maximum(lower, segments.flow_bytes * share * alone)
        end = segments.flow_end_ps.astype(np.float64)
        when = path, end - before, end
        fuller = self._fullness(*when, model, there.run)
        if eased is not None:
            freer = fuller < full * (1.0 - UNDISTURBED)
            fuller = np.where(freer, self._fullness(*when, model, there.run, eased), fuller)
        # Who was held back goes on as fast as the fullest resource lets it, the others until then.
        held = before > least * (1.0 + UNDISTURBED)
        limit = np.where(held, fuller / np.maximum(full, 1e-300), np.minimum(fuller, 1.0))
        now = np.maximum(lower, before * share * limit)
        was = np.where(held, before, np.maximum(least, before * np.minimum(full, 1.0)))
        taken = np.maximum(before + now - was, 0.0) + model.problem.paths.latency_ps[other]
        return per_segment(segments, taken)

    def _paths_of(self, model: UndisturbedModel) -> IntArray:
        """Return for every path of the run which one it is in another model."""
        mine, other = self._model.problem.paths, model.problem.paths
        found = np.zeros(mine.n_paths, np.int64)
        for name in ("copy", "write", "hit", "access"):
            before, after = getattr(mine, name).ravel(), getattr(other, name).ravel()
            found[before[before >= 0]] = after[before >= 0]
        return found

    def _change_tasks(self, length: FloatArray, model: UndisturbedModel, run: Run) -> None:
        """Change how long tasks without accesses compute, and others before these."""
        schedule, steps = self._schedule, self._schedule.steps
        starts = np.isin(steps.kind, (EventKind.TASK_START, EventKind.TASK_RESUME))
        own = np.flatnonzero(starts & (schedule.length_ps > 0))
        if not len(own):
            return
        joins = np.zeros(len(starts), bool)
        joins[schedule.joins] = True
        where = steps.worker[own], steps.row[own], steps.row[own + 1], schedule.time_ps[own]
        taken = [
            each.rates.time_ps(
                *where,
                self._operations(own, joins[own], each.rates.kind(*where[:2]), of),
            )
            for each, of in ((self._model, self._run), (model, run))
        ]
        before = np.minimum(taken[0], schedule.length_ps[own])
        length[own] += before * (taken[1] / np.maximum(taken[0], 1e-300) - 1.0) * (taken[0] > 0)
        if run.machine.copies_data:
            waits = schedule.length_ps[own] - before
            length[own] += waits * (_copies(run.machine, self._run.machine) - 1.0)

    def _operations(
        self, own: IntArray, joins: NDArray[np.bool_], kind: NDArray[np.int32], run: Run
    ) -> FloatArray:
        """Return the operations of bodies and joins: of steps on kinds of processors."""
        ops = np.zeros(len(own))
        task, place = self._schedule.task[own], self._schedule.iteration[own]
        for number, graph in _distinct(self._graphs(run)):
            chosen = np.isin(place, number)
            rows, tasks = kind[chosen], task[chosen]
            ops[chosen] = np.where(
                joins[chosen], graph.join_ops[rows, tasks], graph.ops[rows, tasks]
            )
        return np.where(np.isfinite(ops), ops, 0.0)

    def _change_moves(self, length: FloatArray, model: UndisturbedModel, run: Run) -> FloatArray:
        """Change how long workers move blocks; return what that changes after each iteration."""
        schedule, steps = self._schedule, self._schedule.steps
        gaps = np.zeros(len(schedule.numbers))
        own = np.flatnonzero((steps.kind == EventKind.MIGRATE_START) & (schedule.length_ps > 0))
        if not len(own):
            return gaps
        nodes = self._trace.events["arg1"][steps.row[own]].astype(np.int64)
        path = self._model.problem.paths.copy[nodes >> 32, nodes & 0xFFFFFFFF].astype(np.int64)
        before, begin = schedule.length_ps[own], schedule.time_ps[own].astype(np.float64)
        when = path, begin, begin + before
        full = self._fullness(*when, self._model, self._run)
        fuller = self._fullness(*when, model, run)
        other, paths = self._paths_of(model)[path], model.problem.paths
        size = self._run.workload.graph.block_bytes[self._trace.events["arg0"][steps.row[own]]]
        least = np.minimum(before, size / paths.cap[other, 0] + paths.latency_ps[other])
        length[own] = np.clip(before * fuller / np.maximum(full, 1e-300), least, before)
        # Between iterations the worker who moves most is waited for.
        after = np.flatnonzero(schedule.time_ps[own] >= schedule.end_ps[schedule.iteration[own]])
        place, worker = schedule.iteration[own[after]], steps.worker[own[after]]
        for number in np.unique(place).tolist():
            mine = own[after[place == number]]
            whose = worker[place == number]
            most = (np.bincount(whose, each[mine]).max() for each in (length, schedule.length_ps))
            gaps[number] = next(most) - next(most)
        return gaps

    def _passed_ps(self, there: _Elsewhere) -> FloatArray:
        """Return how long the bytes of each iteration take each resource: (n_resources, n)."""
        return self._passed_on(there.run.machine, there.model) if there.moves else self._passed

    @cached_property
    def _passed(self) -> FloatArray:
        return self._passed_on(self._run.machine, self._model)

    def _passed_on(self, machine: Machine, model: UndisturbedModel) -> FloatArray:
        begin, end = self._schedule.begin_ps, self._schedule.end_ps
        ways = ways_of(machine, self._run.worker_thread)
        return self._model.bottlenecks.passed_ps(
            begin.astype(np.float64), end.astype(np.float64), ways, self._paths_of(model)
        )

    def _fullness(
        self,
        path: IntArray,
        begin_ps: FloatArray,
        end_ps: FloatArray,
        model: UndisturbedModel,
        run: Run,
        eased: FloatArray | None = None,
    ) -> FloatArray:
        """Return how full the fullest resource of paths of the run would be elsewhere."""
        ways = ways_of(run.machine, self._run.worker_thread)
        return self._model.bottlenecks.fullest(
            path, begin_ps, end_ps, ways, self._paths_of(model), eased
        )

    def _change_costs(self, length: FloatArray, model: UndisturbedModel, run: Run) -> None:
        """Change what the runtime takes."""
        schedule, whole = self._schedule, self._runtime_ps
        changed = np.where(whole > 0, whole, 1.0)
        for own, change in self._runtime:
            changed[own] = change(own, whole[own], model, run)
        factor = changed / np.where(whole > 0, whole, 1.0)
        length[self._in_runtime] *= factor[schedule.doing[self._in_runtime]]

    @cached_property
    def _runtime_ps(self) -> FloatArray:
        """What steps and the pushes that belong to them last together."""
        doing, length = self._schedule.doing, self._schedule.length_ps
        return np.bincount(doing, length, len(doing)).astype(np.float64)

    @cached_property
    def _runtime(self) -> list[tuple[IntArray, Callable[..., FloatArray]]]:
        """Steps in which the runtime works, with what says how long it does."""
        kind, lasts = self._schedule.steps.kind, self._runtime_ps > 0
        changes = (
            ((EventKind.SPAWN,), self._spawned),
            ((EventKind.TASK_END,), self._released),
            ((EventKind.ACQUIRE, EventKind.STEAL), self._acquired),
            ((EventKind.PREEMPT, EventKind.KILL, TAKEN), self._switched),
        )
        found = ((np.flatnonzero(np.isin(kind, kinds) & lasts), each) for kinds, each in changes)
        return [(own, each) for own, each in found if len(own)]

    @cached_property
    def _in_runtime(self) -> IntArray:
        """Steps that belong to these."""
        mine = np.zeros(len(self._schedule.doing), bool)
        for own, _ in self._runtime:
            mine[own] = True
        return np.flatnonzero(mine[self._schedule.doing])

    def _spawned(
        self, own: IntArray, whole: FloatArray, model: UndisturbedModel, run: Run
    ) -> FloatArray:
        """Return what creations take: the runtime, then what the program does for a child."""
        events, steps = self._trace.events, self._schedule.steps
        row, worker = steps.row[own], steps.worker[own]
        costs, before = run.machine.costs, self._run.machine.costs
        parent_first = events["arg1"][row] > 0
        fixed = np.where(parent_first, before.spawn_parent_first_ps, before.spawn_child_first_ps)
        now = np.where(parent_first, costs.spawn_parent_first_ps, costs.spawn_child_first_ps)
        paid = np.minimum(whole, fixed)
        child, place = events["arg0"][row].astype(np.int64), self._schedule.iteration[own]
        mine, share = np.zeros(len(own)), np.ones(len(own))
        others = self._graphs(run)
        for number, graph in _distinct(self._graphs(self._run)):
            chosen = np.isin(place, number)
            mine[chosen] = graph.creation_ops[child[chosen]]
            share[chosen] = others[number[0]].creation_ops[child[chosen]]
        share = np.where(mine > 0, share / np.maximum(mine, 1e-300), 1.0)
        if model is not self._model:
            where = worker, row, row, self._schedule.time_ps[own], np.ones(len(own))
            share *= model.rates.time_ps(*where) / self._model.rates.time_ps(*where)
        return paid * now / np.maximum(fixed, 1) + (whole - paid) * share

    def _released(
        self, own: IntArray, whole: FloatArray, model: UndisturbedModel, run: Run
    ) -> FloatArray:
        """Return what pushes of successors take: each, then locks."""
        costs, before = run.machine.costs, self._run.machine.costs
        ready = np.bincount(self._schedule.doing, minlength=len(self._schedule.doing))[own] - 1
        paid = np.minimum(whole, ready * before.push_ps)
        locks = (whole - paid) * _ratio(costs.lock_hold_ps, before.lock_hold_ps)
        return paid * _ratio(costs.push_ps, before.push_ps) + locks

    def _acquired(
        self, own: IntArray, whole: FloatArray, model: UndisturbedModel, run: Run
    ) -> FloatArray:
        """Return what pops and steals take: themselves, and probes or locks before."""
        costs, before = run.machine.costs, self._run.machine.costs
        kind, row = self._schedule.steps.kind[own], self._schedule.steps.row[own]
        distance = np.maximum(self._trace.events["arg1"][row], 0)
        fixed, now = (
            np.where(kind == EventKind.STEAL, _by_distance(c.steal_ps, distance), c.pop_ps)
            for c in (before, costs)
        )
        paid = np.minimum(whole, fixed)
        probes = _ratio(sum(costs.steal_probe_ps), sum(before.steal_probe_ps))
        locks = _ratio(costs.lock_hold_ps, before.lock_hold_ps)
        # Thieves have probed other pools before, the others have waited for a lock.
        probed = (kind == EventKind.STEAL) & any(before.steal_probe_ps)
        probed |= before.lock_hold_ps == 0
        return paid * now / np.maximum(fixed, 1) + (whole - paid) * np.where(probed, probes, locks)

    def _switched(
        self, own: IntArray, whole: FloatArray, model: UndisturbedModel, run: Run
    ) -> FloatArray:
        """Return what changes of context take."""
        costs, before = run.machine.costs, self._run.machine.costs
        paid = np.minimum(whole, before.context_switch_ps)
        return paid * _ratio(costs.context_switch_ps, before.context_switch_ps) + whole - paid


def _alone_ps(ways: Ways) -> FloatArray:
    """Return how long a byte takes the resource on each path that lets it through slowest."""
    each_s = ways.weight / ways.bytes_per_s[ways.resource]
    return np.asarray(np.maximum.reduceat(each_s, ways.ptr[:-1]) / PER_PS, np.float64)


def _waits_for_none(graph: TaskGraph) -> bool:
    """Return whether no task waits for others to end."""
    joined = (
        len(graph.child) if graph.detached is None else int((~graph.detached[graph.child]).sum())
    )
    return len(graph.succ) == 0 and joined == 0


def _ratio(now: float, before: float) -> float:
    return now / before if before else 1.0


def _by_distance(costs: Sequence[int], distance: IntArray) -> IntArray:
    return np.array(costs, np.int64)[np.minimum(distance, len(costs) - 1)]


def _copies(machine: Machine, before: Machine) -> float:
    """Return how much longer copies take: as much as they do over the links that change most."""
    pairs = zip(machine.links, before.links, strict=True)
    return min((b.bandwidth_bytes_per_s / n.bandwidth_bytes_per_s for n, b in pairs), default=1.0)


def _differ(one: Machine, other: Machine, names: Sequence[str]) -> bool:
    return any(
        getattr(one, name) is not getattr(other, name)
        and getattr(one, name) != getattr(other, name)
        for name in names
    )


def _distinct(graphs: Sequence[TaskGraph]) -> list[tuple[IntArray, TaskGraph]]:
    """Return every graph once, with the places of the iterations that execute it."""
    places: dict[int, list[int]] = {}
    for place, graph in enumerate(graphs):
        places.setdefault(id(graph), []).append(place)
    return [(np.array(each), graphs[each[0]]) for each in places.values()]


def _merged(run: Run, numbers: Sequence[int]) -> Iterator[tuple[int, TaskGraph, Segments]]:
    """Yield the accesses of iterations that follow each other and execute one graph, together."""
    together: list[Segments] = []
    first, last = 0, None
    for number, (graph, segments) in zip(numbers, accesses_of(run), strict=True):
        if last is not None and graph is not last:
            yield first, last, joined(together)
            together = []
        if not together:
            first = number
        together.append(segments)
        last = graph
    if last is not None:
        yield first, last, joined(together)
