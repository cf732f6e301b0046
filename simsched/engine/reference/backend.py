"""Backend `simpy`: the executable form of docs/semantics.md.

Every worker is a SimPy process that yields whenever it waits. SimPy supplies the clock and the
waiting; which of the pending events comes next is decided by :meth:`SimpyBackend._dispatch` alone,
in the order that the law prescribes.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

import numpy as np
import simpy
from numpy.typing import NDArray

from simsched.engine.backend import NOBODY, Hooks, IterationCounters, ReadyAnswer
from simsched.engine.interface.plan import BY_PRIORITY, ResolvedPlan
from simsched.engine.interface.problem import Problem
from simsched.engine.reference.conditions import Conditions
from simsched.engine.reference.copies import Copies
from simsched.engine.reference.decisions import Decisions
from simsched.engine.reference.devices import Place
from simsched.engine.reference.executions import Executions
from simsched.engine.reference.flights import Flights
from simsched.engine.reference.heard import Heard
from simsched.engine.reference.live import Live
from simsched.engine.reference.looks import Looks
from simsched.engine.reference.pools import LAST, Pools, draw_below
from simsched.engine.reference.record import Record
from simsched.engine.reference.seats import own_seats
from simsched.engine.reference.segments import Memory
from simsched.engine.reference.sharing import NEVER, Sharing
from simsched.engine.reference.tasks import Tasks
from simsched.engine.reference.wakes import Wakes
from simsched.engine.reference.worker import Worker
from simsched.engine.stall import (
    EVENTS_OF_TASK,
    MOST_AT_ONCE,
    NOT_STARTED,
    TOO_LONG,
    explain_stall,
)
from simsched.files.errors import ModelError, PolicyError, StalledError
from simsched.trace.schema import NONE, EventKind, Summary, Trace
from simsched.trace.sink import EventSink
from simsched.workload.graph import TaskGraph

#: kinds of pending events, in order
FLOW, TIMER, ARRIVAL, LANDING, WAKE, BOUNDARY, POLICY_TIMER, CHANGE = range(8)


class SimpyBackend:
    """Reference engine; see :class:`simsched.engine.backend.Backend`."""

    graph: TaskGraph
    plan: ResolvedPlan
    pools: Pools
    tasks: Tasks

    def __init__(self, problem: Problem, hooks: Hooks, *, events: bool | EventSink) -> None:
        self._home = problem.worker_domain.tolist()
        self._last_worker = NOBODY  # who ended the last task of the iteration before
        self.problem = problem = own_seats(problem)
        self.env = simpy.Environment()
        self.record = Record(problem, events=events)
        self.sharing = Sharing(problem)
        self.memory = Memory(problem, self.record, self.sharing)
        self.timers: dict[int, int] = {}  # worker -> time
        self.busy_on_core = [0] * (int(problem.worker_core.max()) + 1)
        self.busy_on_module = [0] * (int(problem.worker_module.max()) + 1)
        self.lag = 0.0  # how long before `now` the present event has really happened, in ps
        self.ending = NOBODY  # who ends a task, looks for work next and has not been called
        self.copying = self.moves_left = 0
        self._hooks: Any = Heard(hooks)
        self._arrivals: dict[int, int] = {}  # task -> time
        self.flights = Flights()
        self.wakes = Wakes()
        self.looks = Looks(problem.timer_period_ps)
        self._boundary_ps: int | None = None
        self._deadline_ps = 0  # the run is given up then unless a task ends or arrives before
        self._at_once = 0  # events at the present instant since a task has ended or arrived
        self._moves: list[tuple[int, int]] = []
        self.copies = Copies(self) if problem.copies_data else None
        self.workers = [Worker(self, self.copies, n) for n in range(problem.n_workers)]
        self.executions = Executions(self, self.workers)
        self.conditions = Conditions(self, self.workers, self.executions)
        self.decisions = Decisions(self, self._hooks, self.workers, self.executions)
        self.env.run(until=self.env.timeout(0))  # every worker reaches its first wait
        self.live = Live(self, self.workers, self.executions, self.copies)
        hooks.attach(self.live)

    @property
    def now(self) -> int:
        """Simulated time in ps."""
        return int(self.env.now)

    # -------------------------------------------------------------------------------------------
    # driver's side

    def run_iteration(
        self, number: int, graph: TaskGraph, plan: ResolvedPlan, *, last: bool
    ) -> None:
        """Run one iteration; see :meth:`simsched.engine.backend.Backend.run_iteration`."""
        self.graph, self.plan, self._last = graph, plan, last
        self.pools = Pools(self.problem, plan, graph, self._home, self._last_worker)
        self.tasks = Tasks(graph, plan.held)
        for failed in self.conditions.failed:
            self.pools.deactivate(failed)
        for worker in self.workers:
            worker.called_to = None
        self.flights, self.wakes = Flights(), Wakes()
        self.lag = 0.0
        self.record.start_iteration(number, self.now)
        self.memory.start_iteration(plan, self.now)
        self.memory.homes.start_iteration(number)
        self.record.event(self.now, EventKind.ITERATION_START, NONE, NONE, graph.n_tasks)
        self.has_ended = False
        self._note_progress()
        self._leaves_barrier = plan.roots != LAST
        for task in np.flatnonzero(graph.parent < 0).tolist():
            if graph.arrival_ps[task] > 0:
                self._arrivals[task] = self.now + int(graph.arrival_ps[task])
            else:
                self.create(task, NOBODY, at=self.now)
        self._leaves_barrier = False
        self._advance()

    def counters(self) -> IterationCounters:
        """Return what the last iteration has measured."""
        return IterationCounters(
            start_ps=self.record.start_ps[-1],
            end_ps=self.record.end_ps[-1],
            group_bytes=self.memory.group_bytes.copy(),
            group_missing_bytes=self.memory.group_missing_bytes.copy(),
            samples=self.memory.samples.copy(),
            block_home=self.memory.homes.node.copy(),
            node_used_bytes=self.memory.homes.used_bytes.copy(),
            executed_by=np.array(self.tasks.executed_by, np.int32),
            executed_ps=np.array(self.tasks.executed_ps if self.plan.times_tasks else [], np.int64),
            path_bytes=self.record.path_bytes.copy(),
        )

    def migrate(
        self, overhead_ps: int, blocks: NDArray[np.int32], nodes: NDArray[np.int32], workers: int
    ) -> None:
        """Wait for the policy's overhead, then carry out migrations."""
        self.lag = 0.0
        self.record.policy_ps += overhead_ps
        if overhead_ps > 0:
            self._boundary_ps = self.now + overhead_ps
            self._advance()
        self._moves = list(zip(blocks.tolist(), nodes.tolist(), strict=True))[::-1]
        parked = [worker for worker in self.workers if self.is_waiting(worker.index)]
        chosen = parked[:workers] if self._moves else []
        self.copying = len(chosen)
        for worker in chosen:
            worker.parked, worker.copies = False, True
        if chosen:
            self._advance(chosen)

    def summary(self) -> Summary:
        """Return the counters of the whole run."""
        return self.record.summary()

    def trace(self) -> Trace | None:
        """Hand over the events that are left; see :meth:`simsched.engine.backend.Backend.trace`."""
        return self.record.trace()

    # -------------------------------------------------------------------------------------------
    # order of events

    def _advance(self, first: list[Worker] | None = None) -> None:
        """Let `first` go on, then time, until a boundary or the end."""
        try:
            self.env.run(until=self.env.process(self._dispatch(first)))
            return
        except BaseException:
            raised = self._hooks.raised
            if raised is None:
                raise
        raise raised  # not above: SimPy's copy, which has it as its cause, would be its context

    def _dispatch(self, first: list[Worker] | None = None) -> Generator[simpy.Event, None, None]:
        """Let `first` go on, then handle pending events in order until a boundary or the end."""
        for worker in first or []:
            worker.go_on()
            yield self.env.timeout(0)
        copying = bool(first)
        while not ((copying and self.copying == 0) or (self.has_ended and self._last)):
            time, kind, entity = self._next_event()
            if time > self.now and self.sharing.is_stale():
                self.sharing.update_rates(self.now, self.lag)
                continue
            if time >= NEVER or self._is_given_up(time):
                raise self._out_of_time(time)
            if time > self.now and self._put_off_look(kind):
                continue
            self._at_once = 0 if time > self.now else self._at_once + 1
            if self._stands_still():
                raise StalledError(self._explain_stall(limit_ps=0))
            yield self.env.timeout(time - self.now)
            self.looks.happened += 1
            self.lag = 0.0
            if kind in (FLOW, TIMER) and entity >= len(self.workers):
                self._go_on_copying(kind, entity)
            elif kind in (FLOW, TIMER):
                worker = self.workers[entity]
                if kind == FLOW:
                    worker.lag = self.sharing.lag(entity, self.now)
                    self.sharing.end(entity, self.now, worker.lag)
                else:
                    del self.timers[entity]
                self.lag = worker.lag
                worker.go_on()
                yield self.env.timeout(0)  # the worker's process runs until it waits again
            elif kind == BOUNDARY:
                self._boundary_ps = None
                return
            else:
                self._handle_rare(kind, entity)

    def _handle_rare(self, kind: int, entity: int) -> None:
        """Handle an event that belongs to no worker."""
        if kind == ARRIVAL:
            del self._arrivals[entity]
            self._note_progress()
            self.create(entity, NOBODY, at=self.now)
        elif kind == LANDING:
            flight = self.flights.land(entity)
            self.decisions.land(flight)
            self.decisions.tell_of_landing(flight)
        elif kind == WAKE:
            self.decisions.look(self.wakes.take())
        elif kind == CHANGE:
            self.conditions.change()
        else:
            self.decisions.fire_timer()

    def _go_on_copying(self, kind: int, entity: int) -> None:
        """Handle an event of an engine that copies blocks."""
        assert self.copies is not None
        if kind == TIMER:
            del self.timers[entity]
            self.copies.timer(entity)
            return
        self.lag = self.sharing.lag(entity, self.now)
        self.sharing.end(entity, self.now, self.lag)
        self.copies.arrive(entity)

    def _put_off_look(self, kind: int) -> bool:
        """Put an idle look off until before anything happens; return whether it comes later."""
        wake_rests = bool(self.wakes) and self.wakes.first().rests(self.looks.happened)
        if not (wake_rests if kind == WAKE else kind == POLICY_TIMER and self.looks.rests()):
            return False
        times = [event[0] for event in self._pending() if event[1] not in (WAKE, POLICY_TIMER)]
        times += self.wakes.due_ps(self.looks.happened)
        if kind == WAKE and self.looks.timer_ps > 0 and not self.looks.rests():
            times.append(self.looks.timer_ps)
        limit_ps = min(times, default=NEVER)
        if self._is_given_up(limit_ps):
            limit_ps = self._deadline_ps
        if kind == WAKE:
            return self.wakes.put_off(limit_ps)
        left_out = self.looks.put_off(limit_ps)
        self.record.repeat(left_out, EventKind.TIMER)
        return bool(left_out)

    def _next_event(self) -> tuple[int, int, int]:
        """Return (time, kind, entity) of the first pending event; time NEVER without one."""
        return min(self._pending(), default=(NEVER, BOUNDARY, 0))

    def _pending(self) -> list[tuple[int, int, int]]:
        """Return all pending events; none if nothing but the policy and changes goes on."""
        pending = [(time, TIMER, worker) for worker, time in self.timers.items()]
        pending += [(time, ARRIVAL, task) for task, time in self._arrivals.items()]
        flow = self.sharing.next_end(self.now)
        if flow is not None:
            pending.append((flow[0], FLOW, flow[1]))
        if self._boundary_ps is not None:
            pending.append((self._boundary_ps, BOUNDARY, 0))
        if self.wakes:
            pending.append((self.wakes.first().at_ps, WAKE, 0))
        pending += [(time, LANDING, n) for time, n in self.flights.times(loaded=True)]
        if not pending:
            return []
        pending += [(time, LANDING, n) for time, n in self.flights.times(loaded=False)]
        if self.looks.timer_ps > 0:
            pending.append((self.looks.timer_ps, POLICY_TIMER, 0))
        change = self.conditions.next_change()
        if change is not None:
            pending.append((change[0], CHANGE, change[1]))
        return pending

    def _is_given_up(self, time: int) -> bool:
        """Return whether the next event comes too long after the last end of a task."""
        return time >= self._deadline_ps and not (self.has_ended or self._arrivals)

    def _stands_still(self) -> bool:
        """Return whether more happens at one instant than workers, tasks and accesses explain."""
        if self._at_once <= MOST_AT_ONCE or self.has_ended:
            return False
        explained = self.graph.n_tasks + int(self.graph.access_ptr[-1])
        return self._at_once > MOST_AT_ONCE + (len(self.workers) + EVENTS_OF_TASK) * explained

    def _out_of_time(self, time: int) -> StalledError | ModelError:
        """Return the error for a run in which no event is left before the end of time."""
        if time < NEVER:
            return StalledError(self._explain_stall(limit_ps=self.problem.progress_limit_ps))
        waiting = self.timers or self._arrivals or self.flights.times(loaded=True) or self.wakes
        if waiting or self.sharing.has_flows() or self._boundary_ps is not None:
            return ModelError(TOO_LONG)
        return StalledError(self._explain_stall())

    def _note_progress(self) -> None:
        """Put off the time when the run is given up."""
        self._deadline_ps = self.now + self.problem.progress_limit_ps
        self._at_once = 0

    def note_end_of_task(self, worker: int) -> None:
        """Put off the time when the run is given up; note who may have ended the last task."""
        self._note_progress()
        if self.tasks.n_ended == self.graph.n_tasks:
            self._last_worker = worker

    def end_iteration_if_done(self) -> None:
        """End the iteration when its last task has ended and no block is left to be moved."""
        all_ended = self.tasks.n_ended == self.graph.n_tasks
        if all_ended and self.moves_left == 0 and not self.has_ended:
            self.has_ended = True
            self.flights, self.wakes = Flights(), Wakes()
            self.record.event(self.now, EventKind.ITERATION_END, NONE, NONE)
            self.record.end_ps.append(self.now)
            if not self._last:
                self._boundary_ps = self.now + self.problem.costs.barrier_ps

    def next_move(self) -> tuple[int, int] | None:
        """Return the next (block, node) to migrate; blocks there already or nowhere are skipped."""
        while self._moves:
            block, node = self._moves.pop()
            if self.memory.homes.node[block] in (NONE, node):
                continue
            self.check_room(node, block)
            return block, node
        return None

    def check_room(self, node: int, block: int) -> None:
        """Raise PolicyError unless a node has room for a block that is to be moved there."""
        if not self.memory.homes.has_room(node, block):
            size = int(self.problem.taken_bytes[block])
            raise PolicyError(
                f"block {block} ({size} bytes) does not fit on node {node}, where it is moved"
            )

    # -------------------------------------------------------------------------------------------
    # tasks and pools

    def create(self, task: int, worker: int, *, at: int) -> int:
        """Create a task, push it if it is ready; return the pusher's clock."""
        if worker != NOBODY:
            self.memory.homes.allocate_for(task, worker, self.now)
        self.tasks.pending[task] -= 1
        if self.tasks.pending[task] == 0:
            at = self.push(task, worker, at=at)
        return self._release_held(task, worker, at=at)

    def _release_held(self, task: int, worker: int, *, at: int) -> int:
        """Push tasks that have waited for nothing but a creation; return the pusher's clock."""
        if not len(self.plan.held):
            return at
        first, last = self.plan.held_ptr[task : task + 2]
        for held in self.plan.held[first:last].tolist():
            self.tasks.pending[held] -= 1
            if self.tasks.pending[held] == 0:
                at = self.push(held, worker, at=at)
        return at

    def push(self, task: int, worker: int, *, at: int, continuation: bool = False) -> int:
        """Put a task into its pool, wake a worker; return the pusher's clock, `at` before."""
        supplied = None if continuation else self.pools.note_ready(task)
        group, instance, decisions = (
            (0, worker, []) if continuation else self._pool_of(task, worker)
        )
        if worker != NOBODY and self.pools.is_locked(group):
            at = self.pools.lock(group, instance, at)
        self.enter(task, group, instance, worker)
        self.decisions.carry_out(decisions, "on_ready")
        self.wake_supplied(supplied)
        return at

    def wake_supplied(self, domain: int | None) -> None:
        """Wake who may use a step, now that nothing is expected in a domain, if there is one."""
        able = [w.index for w in self.workers if w.home == domain and self.is_waiting(w.index)]
        for worker in able:
            if self.pools.uses_supply(worker):
                self.wake(worker, 1)

    def enter(self, task: int, group: int, instance: int, worker: int) -> None:
        """Put a task into a pool and wake a worker."""
        if self.pools.is_dead(group, instance):
            instance = self.pools.own_instance(group, self.pools.worker_in_turn())
        self.record.event(self.now, EventKind.TASK_READY, worker, task, group, instance)
        self.pools.content[group][instance].append(task)
        if self._prefetches(task, group):
            assert self.copies is not None
            self.copies.prefetch(
                self.graph,
                task,
                instance,
                is_urgent=group == 0,
                by_priority=self.plan.group_prefetches[group] == BY_PRIORITY,
            )
        self._wake_for(group, instance)

    def _prefetches(self, task: int, group: int) -> bool:
        """Return whether the data of a task that enters a pool are wanted at once."""
        if self.copies is None or not self.plan.group_prefetches[group]:
            return False
        return self.tasks.started[task] == NOT_STARTED

    def _pool_of(self, task: int, pusher: int) -> ReadyAnswer:
        """Return the pool that a ready task enters, and the transfers that follow."""
        answer = self._hooks.on_ready(task, pusher) if self._hooks.wants_on_ready else None
        group, instance, decisions = answer or (NOBODY, 0, [])
        if group == NOBODY:
            return *self._planned_pool(task, pusher), decisions
        return group, instance, decisions

    def _planned_pool(self, task: int, pusher: int) -> tuple[int, int]:
        """Return the pool that the plan has for a ready task."""
        group, instance = int(self.plan.group_of[task]), int(self.plan.instance_of[task])
        if instance < 0:
            if pusher == NOBODY:
                pusher = self.pools.worker_in_turn()
            instance = self.pools.own_instance(group, pusher)
        return group, instance

    def _wake_for(self, group: int, instance: int) -> None:
        """Call one of the waiting workers that may take from a pool."""
        parked = [w.index for w in self.workers if self.is_waiting(w.index)]
        if not parked:
            return
        waiting = sorted([*parked, self.ending]) if self.ending != NOBODY else parked
        takes = self.pools.may_take
        able = [w for w in waiting if takes(w, group, instance, own=True)]
        if self._leaves_barrier:
            able = [w for w in waiting if w in able or takes(w, group, instance, own=False)]
        elif not able:
            able = [w for w in waiting if takes(w, group, instance, own=False)]
        if able:
            called = able[draw_below(self.problem.wake_stream, len(able)) if len(able) > 1 else 0]
            if called == self.ending:
                self.ending = NOBODY
            else:
                self.wake(called, len(able))
            self.workers[called].called_to = group, instance

    def push_back(self, task: int, worker: int) -> None:
        """Let a worker push a task that it has lost, or nobody if it has failed."""
        place = self.pools.devices.vacate(task)
        self.push(task, worker, at=self.now)
        self.offer(place)

    def offer(self, place: Place | None) -> None:
        """Wake a worker for the entry that comes next on a device, if it has room."""
        pool = None if place is None else self.pools.devices.offered(place)
        if pool is not None:
            self._wake_for(*pool)

    def pass_on(self, worker: int) -> None:
        """Call another worker to the pool that one has been called to and does not take from."""
        called_to, self.workers[worker].called_to = self.workers[worker].called_to, None
        if called_to is not None and self.pools.content[called_to[0]][called_to[1]]:
            self._wake_for(*called_to)

    def wake(self, worker: int, party: int) -> None:
        """Let a parked worker look for work in this instant."""
        self.workers[worker].parked = False
        self.workers[worker].party = party
        self.let_go_on(worker)
        self.record.event(self.now, EventKind.WAKE, worker, NONE, party)

    def let_go_on(self, worker: int) -> None:
        """Let a worker go on in this instant."""
        self.workers[worker].lag = self.lag
        self.timers[worker] = self.now

    def mark_active(self, task: int, group: int, domain: int) -> None:
        """Keep a domain active if the task comes from a group that marks."""
        if self.plan.group_marks_active[group] and task not in self.tasks.marked_domain:
            self.tasks.marked_domain[task] = domain
            self.pools.active_tasks[domain] += 1

    def after_end(self, task: int, worker: int) -> None:
        """Kill other executions of a task that has ended, tell the policy, let others go on."""
        self.executions.end(task, worker)
        self.memory.homes.free_after(task, worker, self.now)
        place = self.pools.devices.vacate(task)
        if self._hooks.wants_on_finish:
            self.decisions.carry_out(self._hooks.on_finish(task, worker), "on_finish")
        self.offer(place)
        self.release_domain(task)
        self.executions.wake(task)

    def release_domain(self, task: int) -> None:
        """Let a task mark no domain any more; wake the workers of one that becomes inactive."""
        domain = self.tasks.marked_domain.pop(task, None)
        if domain is None:
            return
        self.pools.active_tasks[domain] -= 1
        if self.pools.active_tasks[domain] == 0:
            for other in self.workers:
                if other.home == domain and self.is_waiting(other.index):
                    self.wake(other.index, 1)

    def cap_level(self, module: int) -> int:
        """Return the place of the cap of flows that start on a module now."""
        return min(self.busy_on_module[module], self.problem.n_mates) - 1

    def adapt_others(self, module: int, core: int, level: int, *beside: int) -> None:
        """Let the workers of a module go on whose speed or cap has changed, except some.

        These are those of a core whose busy workers have changed or, with another level of caps
        than before, all of them.
        """
        is_other = self.cap_level(module) != level
        for worker in self.workers:
            if worker.module != module or worker.index in beside or not worker.may_adapt():
                continue
            if is_other or worker.core == core:
                worker.adapt()

    # -------------------------------------------------------------------------------------------
    # policy's side

    def is_waiting(self, worker: int) -> bool:
        """Return whether the worker is parked, active and has not failed."""
        active = bool(self.plan.active[worker])
        return self.workers[worker].parked and active and not self.has_failed(worker)

    def spawn_order(self, parent: int, child: int, worker: int) -> int:
        """Return how a worker creates a child."""
        chosen = None
        if self._hooks.wants_on_spawn:
            chosen = self._hooks.on_spawn(parent, child, worker)
        return int(self.plan.spawn_order[child]) if chosen is None else chosen

    def ask_on_idle(self, worker: int) -> tuple[int, int] | None:
        """Return (task, cost) if the policy lets the worker snatch a running task."""
        return self.decisions.ask_on_idle(worker)

    def observe_acquire(self, task: int, worker: int, group: int, instance: int) -> None:
        """Tell the policy that a worker has taken a task from a pool."""
        if self._hooks.wants_on_acquire:
            self._hooks.on_acquire(task, worker, group, instance)

    def observe_start(self, task: int, worker: int) -> None:
        """Tell the policy that a body begins to execute; carry out what it decides."""
        if self._hooks.wants_on_start:
            self.decisions.carry_out(self._hooks.on_start(task, worker), "on_start")

    def tell_of_move(self, tag: int) -> None:
        """Tell the policy that a block has been moved; carry out what it decides."""
        self.decisions.wake_policy(tag)

    def has_failed(self, worker: int) -> bool:
        """Return whether the worker has failed for good."""
        return worker in self.conditions.failed

    # -------------------------------------------------------------------------------------------
    # errors

    def no_processor(self, task: int, worker: int) -> None:
        """Raise the error for a task on a worker whose processor kind cannot run it."""
        kind = self.graph.kinds[int(self.problem.worker_kind[worker])]
        raise ModelError(
            f"task {task} cannot run on worker {worker}: it has no cost for processor kind {kind!r}"
        )

    def _explain_stall(self, limit_ps: int | None = None) -> str:
        """Return why nothing can happen any more, or no task has ended for so long."""
        n = self.graph.n_tasks
        group, place = np.full(n, NONE, np.int32), np.full(n, NONE, np.int32)
        for g, instances in enumerate(self.pools.content):
            for i, content in enumerate(instances):
                group[list(content)], place[list(content)] = g, i
        return explain_stall(
            self.live,
            self.problem.n_workers,
            self.graph,
            np.array(self.tasks.pending, np.int32),
            np.array(self.tasks.outstanding, np.int32),
            np.array(self.tasks.started, np.uint8),
            group,
            place,
            limit_ps=limit_ps,
        )
