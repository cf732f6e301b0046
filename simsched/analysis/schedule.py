"""The recorded schedule as a graph: what starts when if executions take other times.

Every task stays on the worker that executed it, and every worker keeps its order. What a worker
does without waiting is a *stretch*. A stretch begins when the worker is free, and what it waits for
has happened: the task that it takes is created and its predecessors have ended, the children that
are joined have ended, the task that is awaited has ended, the iteration has begun. How long a task
lies in pools before an idle worker takes it, and what else the trace does not explain, stays as it
is. So lengths as recorded give the recorded makespan, to the picosecond. The critical path
(:mod:`simsched.analysis.path`) is a longest way through the graph: nothing gains more than what the
path has of it.

Lengths that differ give a prediction of the makespan: max-plus, in the order of the trace.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simsched.analysis.dealing import Dealt, length_ps
from simsched.analysis.supply import rows_of
from simsched.trace.run import Run
from simsched.trace.schema import EventKind, Trace
from simsched.workload.graph import TaskGraph

IntArray = NDArray[np.int64]
FloatArray = NDArray[np.float64]
Pairs = tuple[IntArray, IntArray]
Mask = NDArray[np.bool_]

TAKEN = len(EventKind)  #: a preemption, seen from who takes the task
WORK = (
    EventKind.TASK_START,
    EventKind.TASK_RESUME,
    EventKind.ACCESS,
    EventKind.TASK_SUSPEND,
    EventKind.SPAWN,
    EventKind.ACQUIRE,
    EventKind.STEAL,
    EventKind.DUPLICATE,
    TAKEN,
    EventKind.TASK_END,
    EventKind.TASK_READY,
    EventKind.PREEMPT,
    EventKind.KILL,
    EventKind.MIGRATE_START,
)
TAKING = (EventKind.ACQUIRE, EventKind.DUPLICATE, TAKEN)
IDLE = (EventKind.PARK, EventKind.MIGRATE_END, EventKind.TASK_AWAIT, EventKind.FAILURE)


@dataclass(frozen=True, eq=False)
class Steps:
    """What workers do, each until its next step: by worker, then by row of the trace."""

    worker: IntArray
    row: IntArray
    #: Of `EventKind`, or `TAKEN`.
    kind: IntArray


def steps_of(trace: Trace) -> Steps:
    """Return the steps of all workers."""
    kinds = [kind for kind in (*WORK, *IDLE) if kind != TAKEN]
    rows = rows_of(trace, *map(EventKind, kinds))
    rows = rows[trace.events["worker"][rows] >= 0]
    taken = rows[trace.events["kind"][rows] == EventKind.PREEMPT]
    taken = taken[trace.events["arg1"][taken] >= 0]
    worker = np.append(trace.events["worker"][rows], trace.events["arg1"][taken])
    kind = np.append(trace.events["kind"][rows], np.full(len(taken), TAKEN))
    worker, row = worker.astype(np.int64), np.append(rows, taken)
    order = np.lexsort((row, worker))
    return Steps(worker[order], row[order], kind[order].astype(np.int64))


@dataclass(frozen=True, eq=False)
class Case:
    """A schedule in which things take other times."""

    #: How long each step lasts, and what passes between the iterations.
    length_ps: FloatArray
    gaps_ps: FloatArray
    #: What each iteration executes; None for what it has executed.
    graphs: Sequence[TaskGraph] | None = None
    #: How long each iteration lasts at the least, whatever waits for what; None for no time.
    least_ps: FloatArray | None = None
    #: Whether tasks are dealt to whoever is free first, in the order in which they have begun.
    dealt: bool = False
    #: Whether that is of all workers, in the order in which tasks become ready, and what it takes
    #: each then.
    shared: bool = False
    taking_ps: int = 0


@dataclass(frozen=True, eq=False)
class _Needs:
    """What stretches wait for, by stretch: of number s those from `ptr[s]` to `ptr[s + 1]` - 1."""

    ptr: IntArray
    #: The step that has to begin before.
    step: IntArray
    #: How long after the start of its iteration each stretch begins at the earliest.
    arrival_ps: FloatArray


class Schedule:
    """The recorded executions of a run and what each waits for.

    Parameters
    ----------
    run : Run
        A run with its event trace.
    """

    def __init__(self, run: Run) -> None:
        if run.trace is None:
            raise ValueError("run: found no event trace, accepted: a run with events=True")
        self._events = events = run.trace.events
        self.steps = steps = steps_of(run.trace)
        time = events["time_ps"].astype(np.int64)
        starts = rows_of(run.trace, EventKind.ITERATION_START)
        #: Begin and end of each iteration.
        self.begin_ps = time[starts]
        self.end_ps = time[rows_of(run.trace, EventKind.ITERATION_END)]
        #: Number of each iteration.
        self.numbers: list[int] = events["iteration"][starts].tolist()
        self._graphs = [run.graph_of(number) for number in self.numbers]
        #: Place of the iteration of each step, its time, and its task.
        self.iteration = np.searchsorted(starts, steps.row, side="right") - 1
        self.time_ps = time[steps.row]
        self.task = events["task"][steps.row].astype(np.int64)
        ready = steps.kind == EventKind.TASK_READY
        #: What each step belongs to: of those that make a task ready, what has done so.
        self.doing = np.maximum.accumulate(np.where(ready, 0, np.arange(len(ready))))
        core = run.machine.thread_core[run.worker_thread]
        self._core_kind = run.machine.core_group[core]
        rates = np.array([group.ops_per_s for group in run.machine.core_groups])
        self._speed = rates[self._core_kind]
        idle = np.isin(steps.kind, IDLE)
        opens = np.append(True, (np.diff(steps.worker) != 0) | (np.diff(self.iteration) != 0))
        #: How long each step lasts; that somebody is idle is no part of it.
        self.length_ps = np.append(np.diff(self.time_ps), 0).astype(np.float64)
        self.length_ps[idle | np.append(opens[1:], True)] = 0.0
        took = np.isin(steps.kind, (EventKind.ACQUIRE, EventKind.STEAL, TAKEN))
        taken = np.append(False, took[:-1] & (self.task[:-1] == self.task[1:]))
        #: Steps with which tasks go on whose children have ended.
        self.joins = np.flatnonzero((steps.kind == EventKind.TASK_RESUME) & ~taken)
        begins = opens | (np.append(False, idle[:-1]) & ~idle)
        begins |= np.isin(steps.kind, TAKING)
        begins[self.joins] = True
        self._stretch = np.cumsum(begins) - 1  # of each step
        self._first = np.flatnonzero(begins)
        self._idle = idle
        self._opens = opens[self._first]  # the first one of its worker in its iteration
        self._last_ends = self._last_of_workers(opens)
        self.late_ps = self._late(starts)
        nothing = np.zeros(0, np.int64)
        self._let: Pairs = nothing, nothing
        self._needs = self._needs_of(self._graphs)
        self._let = self._let_by_ends()
        self._needs = self._needs_of(self._graphs)
        self._kept_ps, self._slack_ps = self._slacks()
        last = np.full(len(starts), 0, np.int64)
        np.maximum.at(last, self.iteration[self._last_ends], self.time_ps[self._last_ends])
        self._tail_ps = (self.end_ps - last).astype(np.float64)  # a move after the last task

    @property
    def gaps_ps(self) -> FloatArray:
        """What passes between the iterations: shape (n_iterations - 1,)."""
        return (self.begin_ps[1:] - self.end_ps[:-1]).astype(np.float64)

    def makespans_ps(self, cases: Sequence[Case]) -> FloatArray:
        """Return the makespan of each case."""
        found = np.zeros(len(cases))
        dealt = [place for place, case in enumerate(cases) if case.dealt or case.shared]
        for place in dealt:
            found[place] = self._dealt(cases[place])
        alike: dict[int, tuple[_Needs, list[int]]] = {}
        for place, case in enumerate(cases):
            if case.dealt or case.shared:
                continue
            needs = self._needs
            if case.graphs is not None and not self._same_edges(case.graphs):
                needs = self._needs_of(case.graphs)
            alike.setdefault(id(needs), (needs, []))[1].append(place)
        for needs, places in alike.values():
            found[places] = self._replayed([cases[place] for place in places], needs)
        return found

    def _same_edges(self, graphs: Sequence[TaskGraph]) -> bool:
        names = "succ_ptr", "succ", "child_ptr", "child", "detached", "arrival_ps", "access_after"
        return all(
            np.array_equal(getattr(mine, name), getattr(other, name))
            for mine, other in zip(self._graphs, graphs, strict=True)
            for name in names
            if getattr(mine, name) is not getattr(other, name)
        )

    def _last_of_workers(self, opens: Mask) -> IntArray:
        """Return the last end of a task of every worker in every iteration: steps."""
        ends = np.flatnonzero(self.steps.kind == EventKind.TASK_END)
        part = np.cumsum(opens)[ends]
        found: IntArray = ends[np.append(part[1:] != part[:-1], True)]
        return found

    def _slacks(self) -> tuple[FloatArray, FloatArray]:
        """Return by how much later than necessary stretches have begun: after needs, and after all.

        Who starts a task once more has waited for whoever executes it, since that one began.
        """
        first, before = self._first, np.maximum(self._first - 1, 0)
        begin = self.begin_ps[self.iteration[first]].astype(np.float64)
        time = self.time_ps[first].astype(np.float64)
        time = np.where(self._idle[first], begin, time)  # idle since the iteration began
        of_before = self._stretch[before]
        offset = np.append(0.0, np.cumsum(self.length_ps))
        free = time[of_before] + offset[first] - offset[first[of_before]]
        free = np.where(self._opens, begin, free)
        ready = self._ready_ps()
        again = (self.steps.kind[first] == EventKind.DUPLICATE) & (free < time)
        kept = np.where(again, time - ready, 0.0)
        ready = np.where(self._idle[first], free, np.maximum(ready + kept, free))
        return kept, time - ready

    def _replayed(self, cases: Sequence[Case], needs: _Needs) -> FloatArray:
        """Return the makespans of cases in which stretches wait for the same steps."""
        first, stretch, n = self._first, self._stretch, len(cases)
        source, owner = stretch[needs.step], first[stretch[needs.step]]
        end_source = stretch[self._last_ends]
        whole = np.empty((len(first), n))
        offset = np.empty((len(needs.step), n))
        end_offset = np.empty((len(end_source), n))
        for place, case in enumerate(cases):
            at = np.append(0.0, np.cumsum(case.length_ps))
            whole[:, place] = at[np.append(first[1:], len(at) - 1)] - at[first]
            offset[:, place] = at[needs.step] - at[owner]
            end_offset[:, place] = at[self._last_ends] - at[first[end_source]]
        gaps = np.stack([np.append(case.gaps_ps, 0.0) for case in cases], axis=1)
        least = np.stack([self._least(case) for case in cases], axis=1)
        order = np.argsort(self.steps.row[first], kind="stable")
        borders = np.searchsorted(self.iteration[first[order]], np.arange(len(gaps) + 1))
        ends_of = self.iteration[self._last_ends]
        start = np.empty((len(first), n))
        begin = np.full(n, float(self.begin_ps[0]) if len(gaps) else 0.0)
        end = begin
        for place in range(len(gaps)):
            own = order[borders[place] : borders[place + 1]].tolist()
            self._carry_out(own, begin, start, whole, needs, source, offset)
            last = np.flatnonzero(ends_of == place)
            end = begin
            if len(last):
                end = (start[end_source[last]] + end_offset[last]).max(axis=0) + self._tail_ps[
                    place
                ]
            end = np.maximum(end, begin + least[place])
            begin = end + gaps[place]
        return end

    def _least(self, case: Case) -> FloatArray:
        """Return how long each iteration lasts at the least, and at most as long as it has."""
        if case.least_ps is None:
            return np.zeros(len(self.numbers))
        return np.minimum(case.least_ps, (self.end_ps - self.begin_ps).astype(np.float64))

    def _carry_out(
        self,
        own: Sequence[int],
        begin: FloatArray,
        start: FloatArray,
        whole: FloatArray,
        needs: _Needs,
        source: IntArray,
        offset: FloatArray,
    ) -> None:
        """Set the starts of the stretches of an iteration that begins at some time."""
        opens, ptr, arrival = self._opens, needs.ptr, needs.arrival_ps
        kept, slack = self._kept_ps, self._slack_ps
        for each in own:
            now = begin + arrival[each]
            low, high = ptr[each], ptr[each + 1]
            if high == low + 1:
                np.maximum(now, start[source[low]] + offset[low], out=now)
            elif high > low:
                np.maximum(now, (start[source[low:high]] + offset[low:high]).max(axis=0), out=now)
            now += kept[each]
            if not opens[each]:
                np.maximum(now, start[each - 1] + whole[each - 1], out=now)
            start[each] = now + slack[each]

    def _late(self, starts: IntArray) -> FloatArray:
        """Return of every task how long after its arrival it is ready without anybody's doing."""
        events = self._events
        base = np.append(0, np.cumsum([graph.n_tasks for graph in self._graphs]))
        arrival = np.concatenate([graph.arrival_ps for graph in self._graphs])
        rows = np.flatnonzero((events["kind"] == EventKind.TASK_READY) & (events["worker"] < 0))[
            ::-1
        ]
        place = np.searchsorted(starts, rows, side="right") - 1
        task = base[place] + events["task"][rows]
        found = np.zeros(base[-1])
        found[task] = events["time_ps"][rows] - self.begin_ps[place]  # the first one of each
        by_worker = self.steps.kind == EventKind.TASK_READY
        found[(base[self.iteration] + self.task)[by_worker]] = 0.0
        return np.asarray(np.maximum(found - arrival, 0.0), np.float64)

    def _let_by_ends(self) -> Pairs:
        """Who takes what was ready when another task ends, and not before, waits for that end."""
        idle = self._opens | self._idle[self._first - 1]
        idle &= self.steps.kind[self._first] == EventKind.ACQUIRE
        idle &= self._ready_ps() < self.time_ps[self._first]
        first = self._first[idle]
        ends = np.flatnonzero(self.steps.kind == EventKind.TASK_END)
        ends = ends[np.argsort(self.steps.row[ends], kind="stable")]
        place = np.searchsorted(self.steps.row[ends], self.steps.row[first]) - 1
        first, end = first[place >= 0], ends[place[place >= 0]]
        same = self.time_ps[end] == self.time_ps[first]
        same &= self.iteration[end] == self.iteration[first]
        return first[same], end[same]

    def _ready_ps(self) -> FloatArray:
        """Return when everything has happened that stretches need."""
        needs, begin = self._needs, self.begin_ps[self.iteration[self._first]]
        ready = begin + needs.arrival_ps
        of = np.repeat(np.arange(len(self._first)), np.diff(needs.ptr))
        np.maximum.at(ready, of, self.time_ps[needs.step].astype(np.float64))
        return ready

    def _dealt(self, case: Case) -> float:
        """Return the makespan if tasks go to who is free first, of all or on such cores."""
        steps, graphs = self.steps, case.graphs or self._graphs
        base = np.append(0, np.cumsum([graph.n_tasks for graph in graphs]))
        task = (base[self.iteration] + self.task)[self.doing]
        known, joins = self.task[self.doing] >= 0, np.zeros(base[-1], np.int64)
        length = case.length_ps
        if case.shared:  # what a task costs that is stolen is no part of it
            length = np.where(
                np.isin(steps.kind, (EventKind.ACQUIRE, EventKind.STEAL)), 0.0, length
            )
        joins[task[self.joins]] = steps.row[self.joins]
        after = known & (joins[task] > 0) & (steps.row >= joins[task])
        join, whole = (
            np.asarray(np.bincount(task[rows], length[rows], base[-1]), np.float64)
            for rows in (after, known)
        )
        begun = np.flatnonzero(np.isin(steps.kind, (EventKind.TASK_START, EventKind.ACQUIRE)))
        begun = begun[np.argsort(steps.row[begun], kind="stable")][::-1]
        worker, row = np.zeros(base[-1], np.int64), np.zeros(base[-1], np.int64)
        worker[task[begun]], row[task[begun]] = steps.worker[begun], steps.row[begun]
        created = self._created_after(length, task, base)
        own = self._core_kind.astype(np.int64) * (not case.shared)
        speed = self._speed if case.shared else np.ones(len(self._core_kind))
        teams = [np.flatnonzero(own == kind).tolist() for kind in range(int(own.max()) + 1)]
        now = end = float(self.begin_ps[0])
        gaps, least = np.append(case.gaps_ps, 0.0), self._least(case)
        for place, graph in enumerate(graphs):
            mine = slice(base[place], base[place + 1])
            dealt = Dealt(
                graph,
                whole[mine] - join[mine] + case.taking_ps,
                join[mine],
                created[mine] + case.taking_ps,
                graph.arrival_ps + self.late_ps[mine],
                None if case.shared else row[mine],
                own[worker[mine]],
                speed[worker[mine]],
            )
            end = now + max(length_ps(dealt, teams, speed), least[place])
            now = end + gaps[place]
        return end

    def _created_after(self, length: FloatArray, task: IntArray, base: IntArray) -> FloatArray:
        """Return after how much of its parent's work each task is created."""
        spawns = np.flatnonzero(self.steps.kind == EventKind.SPAWN)
        found = np.zeros(base[-1])
        if len(spawns):
            order = np.lexsort((self.steps.row, task))
            done = np.append(0.0, np.cumsum(length[order]))
            place = np.empty(len(order), np.int64)
            place[order] = np.arange(len(order))
            opens = np.searchsorted(task[order], task[spawns])
            child = base[self.iteration[spawns]] + self._events["arg0"][self.steps.row[spawns]]
            found[child] = done[place[spawns] + 1] - done[opens]
        return found

    def _needs_of(self, graphs: Sequence[TaskGraph]) -> _Needs:
        """Return what stretches wait for when the iterations execute graphs."""
        known = _Known(self, self._events, graphs)
        pairs = [
            known.created(),
            known.released(),
            known.pushed(),
            known.joined(self.joins),
            known.awaited(self._first[~self._opens]),
            known.handed(),
            self._let,
        ]
        step, needed = (np.concatenate(each) for each in zip(*pairs, strict=True))
        row = self.steps.row
        early = row[needed] <= row[step]  # what came later was not waited for
        of, needed = self._stretch[step[early]], needed[early]
        order = np.argsort(of, kind="stable")
        ptr = np.searchsorted(of[order], np.arange(len(self._first) + 1))
        return _Needs(ptr, needed[order], known.arrivals(self._first))


class _Known:
    """Where the trace says what of each task; pairs are steps, and steps that they wait for."""

    def __init__(
        self, schedule: Schedule, events: Mapping[str, Any], graphs: Sequence[TaskGraph]
    ) -> None:
        self._graphs, self._schedule, self._steps = graphs, schedule, schedule.steps
        self._place, self._doing = schedule.iteration, schedule.doing
        self._arg0 = events["arg0"]
        #: Tasks of all iterations have numbers of their own.
        self._base = np.append(0, np.cumsum([graph.n_tasks for graph in graphs]))
        self._task = self._base[self._place] + schedule.task
        self._n = int(self._base[-1])
        self._ends = self._of(EventKind.TASK_END)
        self._end = self._numbered(self._ends, self._task[self._ends])
        self._takes = self._of(EventKind.ACQUIRE)
        self._take = self._numbered(self._takes[::-1], self._task[self._takes[::-1]])

    def _of(self, kind: int) -> IntArray:
        """Return the steps of a kind in the order of the trace."""
        found = np.flatnonzero(self._steps.kind == kind)
        ordered: IntArray = found[np.argsort(self._steps.row[found], kind="stable")]
        return ordered

    def _numbered(self, steps: IntArray, task: IntArray) -> IntArray:
        """Return the last of some steps by task, -1 where there is none."""
        found = np.full(self._n, -1)
        found[task] = steps
        return found

    def created(self) -> Pairs:
        """Who takes a child waits for the worker that creates it to have paid for that."""
        spawns = self._of(EventKind.SPAWN)
        child = self._base[self._place[spawns]] + self._arg0[self._steps.row[spawns]]
        paid = np.minimum(spawns + 1, len(self._task) - 1)
        return _pairs(self._take, self._numbered(paid, child))

    def released(self) -> Pairs:
        """Who takes a task waits for its predecessors to have ended."""
        before, after = [], []
        for base, graph in zip(self._base, self._graphs, strict=False):
            before.append(base + np.repeat(np.arange(graph.n_tasks), np.diff(graph.succ_ptr)))
            after.append(base + graph.succ)
        return _pairs(self._take[np.concatenate(after)], self._end[np.concatenate(before)])

    def pushed(self) -> Pairs:
        """Who takes what somebody has put back, or goes on with, waits for that."""
        ready = self._of(EventKind.TASK_READY)
        if not len(ready):
            return _pairs(ready, ready)
        n_rows = int(self._steps.row.max()) + 1
        key = self._task * n_rows + self._steps.row
        ready = ready[np.argsort(key[ready])]
        place = np.searchsorted(key[ready], key[self._takes]) - 1
        last = ready[np.maximum(place, 0)]
        known = (place >= 0) & (self._task[last] == self._task[self._takes])
        pusher = self._steps.kind[self._doing[last]]
        known &= pusher != EventKind.TASK_END  # these are released
        return self._takes[known], last[known]

    def joined(self, joins: IntArray) -> Pairs:
        """Who goes on with a task waits for its children to have ended."""
        join = self._numbered(joins, self._task[joins])
        parents, children = [], []
        for base, graph in zip(self._base, self._graphs, strict=False):
            parent = np.repeat(np.arange(graph.n_tasks), np.diff(graph.child_ptr))
            child = graph.child
            if graph.detached is not None:
                parent, child = parent[~graph.detached[child]], child[~graph.detached[child]]
            parents.append(base + parent)
            children.append(base + child)
        return _pairs(join[np.concatenate(parents)], self._end[np.concatenate(children)])

    def awaited(self, steps: IntArray) -> Pairs:
        """Who waits inside a task waits for the end that comes next."""
        waits = np.array([graph.access_after is not None for graph in self._graphs], bool)
        chosen = (self._steps.kind[steps - 1] == EventKind.TASK_AWAIT) & waits[self._place[steps]]
        steps = steps[chosen]
        place = np.searchsorted(self._steps.row[self._ends], self._steps.row[steps]) - 1
        return steps[place >= 0], self._ends[place[place >= 0]]

    def handed(self) -> Pairs:
        """Who takes over a running task waits for the worker that has it."""
        taken, lost = self._of(TAKEN), self._of(EventKind.PREEMPT)
        row, worker = self._steps.row, self._steps.worker
        again = self._of(EventKind.DUPLICATE)
        n_rows = int(row.max(initial=0)) + 1
        owner = self._arg0[row[again]].astype(np.int64) * n_rows + row[again]
        place = np.searchsorted(worker * n_rows + row, owner) - 1
        # What the other one does at that time has begun before.
        left = lost[np.searchsorted(row[lost], row[taken])] if len(taken) else taken
        return np.append(taken, again), np.append(left, place)

    def arrivals(self, first: IntArray) -> FloatArray:
        """Return how late after the start of its iteration what stretches take arrives."""
        arrival = np.concatenate([graph.arrival_ps for graph in self._graphs])
        found = np.zeros(len(first))
        takes = self._steps.kind[first] == EventKind.ACQUIRE
        task = self._task[first[takes]]
        found[takes] = arrival[task] + self._schedule.late_ps[task]
        return found


def _pairs(one: IntArray, other: IntArray) -> Pairs:
    """Return the pairs of which both are known."""
    known = (one >= 0) & (other >= 0)
    return one[known], other[known]
