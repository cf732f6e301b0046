"""A worker as a SimPy process; docs/semantics.md, rules W, L, S and PR."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Generator
from dataclasses import replace

import simpy

from simsched.engine.backend import NOBODY
from simsched.engine.reference.copies import Copies
from simsched.engine.reference.engine import BlockMove, Engine
from simsched.engine.reference.rows import awaited, next_access
from simsched.engine.reference.segments import HIT, READ, WRITE, Remaining, Segment, path_of
from simsched.engine.stall import NOT_STARTED, STARTED
from simsched.policy.contract.base import CHILD_FIRST, PARENT_FIRST
from simsched.trace.schema import NONE, EventKind

Waiting = Generator[simpy.Event, None, None]


class TakenAwayError(Exception):
    """The worker has lost its task; raised inside the worker's process."""


class Worker:
    """One worker."""

    def __init__(self, sim: Engine, copies: Copies | None, index: int) -> None:
        self._sim, self._data = sim, copies
        self.index = index
        # The domain in which it has started; pools and conditions go by it.
        self.home = int(sim.problem.worker_domain[index])
        self.parked = True  # until it is woken
        self.busy = False  # shares its core, from when it acquires something until it parks
        self.segment: Segment | None = None  # what it is executing
        self.party = 1  # workers that were searching at the same time when it was woken
        # Pool (group, instance) to which a push has called it.
        self.called_to: tuple[int, int] | None = None
        # A running task or a duplicate handed to it while parked, and what taking it costs.
        self.gift: tuple[int, int] | None = None
        # How long before the present instant, in ps and less than one, what it waited for ended.
        self.lag = 0.0
        self.copies = False  # it has been chosen to carry out migrations
        self.began_ps = 0  # when it started or resumed its task; -1 while it pays for a duplicate
        self.task: int | None = None  # what it executes or is about to, before any other
        self.is_copying = False
        self.moves: deque[BlockMove] = deque()  # while tasks run, before it looks for work
        self._streamed: tuple[int, int] | None = None  # node and way of its move's flow
        self.awaits: set[int] | None = None  # tasks of which one must end before it goes on
        self.pace = 1.0  # part of its speed at which it computes
        self._rest: Remaining | None = None  # what follows the present access
        self._taken_away = False
        self._signal = sim.env.event()
        sim.env.process(self._life())

    @property
    def core(self) -> int:
        """The core that it runs on at present."""
        return int(self._sim.problem.worker_core[self.index])

    @property
    def module(self) -> int:
        """The module of that core."""
        return int(self._sim.problem.worker_module[self.index])

    @property
    def domain(self) -> int:
        """The domain of that core."""
        return int(self._sim.problem.worker_domain[self.index])

    # -------------------------------------------------------------------------------------------
    # waiting

    def go_on(self) -> None:
        """End the worker's wait; its process runs at once."""
        self._signal.succeed()

    def _wait(self) -> Waiting:
        """Wait for the worker's next event."""
        self._signal = self._sim.env.event()
        yield self._signal
        if self._taken_away:
            self._taken_away = False
            raise TakenAwayError

    def _pay(self, cost_ps: int) -> Waiting:
        """Let time pass for a runtime cost; nothing is waited for when it is 0."""
        if cost_ps > 0:
            self._sim.timers[self.index] = self._sim.now + cost_ps
            yield from self._wait()

    # -------------------------------------------------------------------------------------------
    # life

    def _life(self) -> Waiting:
        """Look for work and do it, for ever."""
        yield from self._wait()
        while True:
            if self.copies:
                yield from self._copy_blocks()
            elif self.moves and self.gift is None:
                self._sim.pass_on(self.index)
                yield from self._move_block(self.moves[0])
                continue
            else:
                try:
                    if (task := (yield from self._acquire())) is not None:
                        following: int | None = task
                        while following is not None:
                            following = yield from self._advance(following)
                        continue
                except TakenAwayError:
                    continue  # the context switch has been paid: look for work
                self._park()
            yield from self._wait()

    def _park(self) -> None:
        """Become idle."""
        self._sim.record.event(self._sim.now, EventKind.PARK, self.index, NONE)
        self.parked = True
        self._set_busy(False)

    def _acquire(self) -> Generator[simpy.Event, None, int | None]:
        """Find a task, pay for it and return it; None when there is nothing to do."""
        sim = self._sim
        party, self.party = self.party, 1
        if self.gift is not None:
            (task, _), self.gift = self.gift, None  # its cost has passed
            return task
        if not sim.plan.active[self.index]:
            return None
        found = sim.pools.search(self.index, sim.now, party, sim.problem.victim_stream)
        if found is None:
            sim.pass_on(self.index)
            snatched = sim.ask_on_idle(self.index)
            if snatched is None:
                return None
            task, cost = snatched
        else:
            task, cost = found.task, found.cost_ps
            pool = (found.group << 32) + found.instance
            sim.record.event(sim.now, EventKind.ACQUIRE, self.index, task, pool, cost)
            if found.distance is not None:
                sim.record.event(
                    sim.now, EventKind.STEAL, self.index, task, found.instance, found.distance
                )
                sim.record.steals[found.distance] += 1
            for distance, probes in enumerate(found.failed_probes):
                sim.record.failed_probes[distance] += probes
            sim.observe_acquire(task, self.index, found.group, found.instance)
            sim.mark_active(task, found.group, self.home)
            self._set_busy(True)
            if self.called_to != (found.group, found.instance):
                sim.pass_on(self.index)
            self.called_to = None
            device = sim.pools.devices.device_of(found.group)
            if device is not None:
                sim.offer((device, found.instance))
        sim.record.workers[self.index].acquire_ps += cost
        self.task = task
        yield from self._pay(cost)
        return task

    # -------------------------------------------------------------------------------------------
    # sharing a core

    def rate(self) -> float:
        """Return the operations per ps that the worker computes now."""
        busy = self._sim.busy_on_core[self.core]
        return float(self._sim.problem.worker_rate[self.index, busy - 1]) * self.pace

    def _flow_class(self, path: int) -> int:
        """Return the class of a flow over a path now."""
        return path * self._sim.problem.n_mates + self._sim.cap_level(self.module)

    def _set_busy(self, busy: bool) -> None:
        """Join or leave the busy workers of core and module and adapt the others."""
        if busy == self.busy:
            return
        self.busy = busy
        self._sim.busy_on_core[self.core] += 1 if busy else -1
        level = self._sim.cap_level(self.module)
        self._sim.busy_on_module[self.module] += 1 if busy else -1
        self._sim.adapt_others(self.module, self.core, level, self.index)

    def become_busy(self) -> None:
        """Join the busy workers of the core."""
        self._set_busy(True)

    def may_adapt(self) -> bool:
        """Return whether it is in a segment or in a flow of a move."""
        return self.segment is not None or self._streamed is not None

    def adapt(self) -> None:
        """Go on with the present segment or flow at the rate and cap that hold from now on."""
        self.resume(self.halt())

    def halt(self) -> float:
        """Settle what it is in and stop its flow; return the bytes that this has left."""
        sim, segment = self._sim, self.segment
        if segment is not None:
            segment.settle(sim.now, sim.lag)
            if not segment.flowing:
                return 0.0
        return sim.sharing.stop(self.index, sim.now, sim.lag)

    def resume(self, left: float, wait_ps: int = 0) -> None:
        """Go on with what has been halted, at what holds now, a segment after a wait."""
        sim, segment = self._sim, self.segment
        if segment is not None:
            segment.rate = self.rate()
            segment.wait(wait_ps)
            if not segment.flowing:
                sim.timers[self.index] = max(sim.now, segment.end_ps())
                return
        flow_class = self._flow_class(self._path())
        sim.sharing.start(self.index, flow_class, left, sim.now, sim.lag)

    def _path(self) -> int:
        """Return the path of the first flow that its segment or its move has left."""
        flow = self._streamed if self.segment is None else self.segment.flows[0]
        assert flow is not None
        node, way = flow[:2]
        return path_of(self._sim.problem, self.domain, node, way)

    # -------------------------------------------------------------------------------------------
    # a task

    def _advance(self, task: int) -> Generator[simpy.Event, None, int | None]:
        """Start or resume a task; return the task with which the worker goes on, or None."""
        sim, tasks, graph = self._sim, self._sim.tasks, self._sim.graph
        saved = tasks.saved.pop(task, None)
        fresh = tasks.started[task] == NOT_STARTED or (saved is None and tasks.is_leaf(task))
        sim.record.event(
            sim.now, EventKind.TASK_START if fresh else EventKind.TASK_RESUME, self.index, task
        )
        self.began_ps, self.task = sim.now, task
        if fresh:
            tasks.started[task] = STARTED
        if saved is not None:
            yield from self._finish_saved(task, saved)
        elif fresh:
            first, last = int(graph.access_ptr[task]), int(graph.join_access[task])
            ops = float(graph.ops[self._kind(), task])
            yield from self._work(task, first, last, ops, is_body=True)
        if task not in tasks.joining:
            child = yield from self._spawn(task)
            if child is not None:
                return child
            if tasks.outstanding[task] > 0:
                self._suspend(task)
                return None
        if graph.child_ptr[task + 1] > graph.child_ptr[task] and task not in tasks.joining:
            tasks.joining.add(task)
            first, last = int(graph.join_access[task]), int(graph.access_ptr[task + 1])
            yield from self._work(task, first, last, float(graph.join_ops[self._kind(), task]))
        return (yield from self._end(task))

    def _kind(self) -> int:
        return int(self._sim.problem.worker_kind[self.index])

    def _suspend(self, task: int) -> None:
        """Leave a task at its sync."""
        sim = self._sim
        sim.tasks.suspended.add(task)
        outstanding = sim.tasks.outstanding[task]
        sim.record.event(sim.now, EventKind.TASK_SUSPEND, self.index, task, outstanding)
        sim.offer(sim.pools.devices.vacate(task))

    def _spawn(self, task: int) -> Generator[simpy.Event, None, int | None]:
        """Create the remaining children; return the child that the worker starts itself, if any."""
        sim, tasks, graph = self._sim, self._sim.tasks, self._sim.graph
        costs = sim.problem.costs
        last = int(graph.child_ptr[task + 1])
        while (index := int(graph.child_ptr[task]) + tasks.next_child[task]) < last:
            child = int(graph.child[index])
            tasks.next_child[task] += 1
            order = sim.spawn_order(task, child, self.index)
            dive = order == CHILD_FIRST and tasks.pending[child] == 1
            sim.record.event(
                sim.now,
                EventKind.SPAWN,
                self.index,
                task,
                child,
                CHILD_FIRST if dive else PARENT_FIRST,
            )
            cost = math.ceil(float(graph.creation_ops[child]) / self.rate())
            if dive:
                if index + 1 < last or tasks.outstanding[task] == 0:
                    wait = sim.push(task, self.index, at=sim.now, continuation=True) - sim.now
                    cost += wait
                else:
                    self._suspend(task)
                sim.memory.homes.allocate_for(child, self.index, sim.now)
                tasks.pending[child] = 0
                sim.wake_supplied(sim.pools.note_ready(child))
                cost += costs.spawn_child_first_ps
            else:
                cost += costs.spawn_parent_first_ps
            sim.record.workers[self.index].spawn_ps += cost
            yield from self._pay(cost)
            if dive:
                return child
            wait = sim.create(child, self.index, at=sim.now) - sim.now
            sim.record.workers[self.index].spawn_ps += wait
            yield from self._pay(wait)
        return None

    def _end(self, task: int) -> Generator[simpy.Event, None, int | None]:
        """End a task, release its successors; return the parent when it can go on."""
        sim, tasks = self._sim, self._sim.tasks
        sim.record.event(sim.now, EventKind.TASK_END, self.index, task)
        sim.record.workers[self.index].tasks += 1
        self.task = None
        parent = tasks.end(task, self.index)
        resumed = (
            parent is not None and tasks.outstanding[parent] == 0 and parent in tasks.suspended
        )
        sim.ending = NOBODY if resumed else self.index
        sim.after_end(task, self.index)
        at = sim.now
        for successor in sim.graph.succ[
            sim.graph.succ_ptr[task] : sim.graph.succ_ptr[task + 1]
        ].tolist():
            tasks.pending[successor] -= 1
            if tasks.pending[successor] == 0:
                at = sim.push(successor, self.index, at=at + sim.problem.costs.push_ps)
        sim.ending = NOBODY
        if parent is not None and resumed:
            tasks.suspended.discard(parent)
        sim.note_end_of_task(self.index)
        sim.end_iteration_if_done()
        sim.record.workers[self.index].spawn_ps += at - sim.now
        yield from self._pay(at - sim.now)
        return parent if resumed else None

    # -------------------------------------------------------------------------------------------
    # segments

    def _work(
        self, task: int, first: int, last: int, ops: float, *, is_body: bool = False
    ) -> Waiting:
        """Execute a body or join: the accesses first..last-1, or computation only."""
        sim, graph = self._sim, self._sim.graph
        if math.isinf(ops):
            sim.no_processor(task, self.index)
        if first < last and self._data is not None:
            yield from self._gather(self._data, first, last)
            self._data.await_kernel(graph, task, self.index, 1)
        if is_body:
            sim.observe_start(task, self.index)
        span = slice(first, last)
        total = int(graph.read_bytes[span].sum()) + int(graph.written_bytes[span].sum())
        includes = sim.problem.worker_includes
        if first < last and not (includes is not None and includes[self.index]):
            yield from self._access(task, Remaining(first, last, last - first, total, ops))
        else:
            sim.record.requested_bytes += total
            yield from self._compute(task, ops)
        if first < last and self._data is not None:
            self._data.await_kernel(graph, task, self.index, -1)
            self._data.release(graph, first, last, self.index)

    def _compute(self, task: int, ops: float) -> Waiting:
        """Execute operations without accesses."""
        if ops > 0.0:
            yield from self._segment(Segment(task, ops, self.rate(), self._sim.now, self._sim.now))

    def _gather(self, data: Copies, first: int, last: int) -> Waiting:
        """Wait until the worker may use the blocks of accesses; take written ones over."""
        sim, start = self._sim, self._sim.now
        if data.claim(sim.graph, first, last, self.index):
            yield from self._wait()
            sim.record.workers[self.index].migrate_ps += sim.now - start
        data.write(sim.graph, first, last, self.index)

    def _access(self, task: int, rest: Remaining) -> Waiting:
        """Execute the remaining accesses of a body or join."""
        sim, graph = self._sim, self._sim.graph
        for place in range(rest.access, rest.last):
            self._rest = replace(rest, access=place)
            access = next_access(sim.tasks, self._rest)
            if access is None:
                yield from self._await_end(task, awaited(sim.tasks, self._rest))
                access = next_access(sim.tasks, self._rest)
            assert access is not None
            n_bytes = int(graph.read_bytes[access]) + int(graph.written_bytes[access])
            ops = self._share(rest, access, n_bytes)
            segment = Segment(task, ops, self.rate(), sim.now, sim.now)
            segment.phase, segment.n_bytes = place - (rest.last - rest.count), n_bytes
            self._rest = replace(rest, access=place + 1)
            block = int(graph.access_block[access])
            node = None if self._data is None else self._data.node_for(block, self.index)
            sim.memory.begin(graph, segment, access, self.index, sim.now, node)
            yield from self._segment(segment)
        self._rest = None

    def _share(self, rest: Remaining, access: int, n_bytes: int) -> float:
        """Return the operations of a body or join that belong to one of its accesses."""
        share = self._sim.graph.access_share
        if share is not None:
            return rest.ops * float(share[access])
        if rest.total_bytes > 0:
            return rest.ops * (n_bytes / rest.total_bytes)
        return rest.ops / rest.count

    def _await_end(self, task: int, tasks: list[int]) -> Waiting:
        """Wait until one of some tasks ends; not busy meanwhile."""
        sim = self._sim
        self.awaits = set(tasks)
        sim.record.event(sim.now, EventKind.TASK_AWAIT, self.index, task, tasks[0])
        self._set_busy(False)
        yield from self._wait()

    def stop_awaiting(self) -> None:
        """Become busy again."""
        self.awaits = None
        self._set_busy(True)

    @property
    def phase(self) -> int:
        """Number of the next access in the body or join, 0 without accesses."""
        rest = self._rest
        return 0 if rest is None else rest.access - (rest.last - rest.count)

    def _finish_saved(self, task: int, saved: Segment) -> Waiting:
        """Continue a preempted segment, then the accesses that follow it."""
        saved.rate, saved.since, saved.start_ps = self.rate(), self._sim.now, self._sim.now
        self._rest = self._sim.tasks.remaining.pop(task, None)
        yield from self._segment(saved)
        if self._rest is not None:
            yield from self._access(task, self._rest)

    def _segment(self, segment: Segment) -> Waiting:
        """Run the flows of a segment one after the other beside its computation."""
        sim = self._sim
        self.segment = segment
        segment.since_lag = self.lag
        while segment.flows:
            size, flow_class = segment.flows[0][2], self._flow_class(self._path())
            segment.flowing = True
            sim.sharing.start(self.index, flow_class, size, sim.now, self.lag)
            yield from self._wait()
            path = self._path()  # another one after an exchange
            sim.record.event(sim.now, EventKind.FLOW_END, self.index, segment.task, path, size)
            sim.record.path_bytes[path] += size
            segment.flows.pop(0)
            segment.flowing = False
        segment.tail_end_ps = sim.now + segment.tail_ps
        if segment.end_ps() > sim.now:
            sim.timers[self.index] = segment.end_ps()
            yield from self._wait()
        self.lag = sim.lag = segment.lag_at_end(self.lag)
        self.segment = None
        self._count_execution(segment)

    def _count_execution(self, segment: Segment) -> None:
        """Count the time of a segment that is over or has been left."""
        time_ps = self._sim.now - segment.start_ps
        self._sim.record.workers[self.index].busy_ps += time_ps
        self._sim.tasks.executed_ps[segment.task] += time_ps

    def take_away(self) -> int:
        """Stop the present segment, keep it with its task and return the task."""
        sim, segment = self._sim, self.segment
        assert segment is not None
        segment.settle(sim.now, sim.lag)
        if segment.flowing:
            left = math.ceil(sim.sharing.stop(self.index, sim.now, sim.lag))
            node, way, _ = segment.flows[0]
            segment.flows[:1] = [(node, way, left)] if left > 0 else []
            segment.flowing = False
        else:
            segment.tail_ps = max(0, segment.tail_end_ps - sim.now)
        sim.tasks.saved[segment.task] = segment
        if self._rest is not None:
            sim.tasks.remaining[segment.task] = self._rest
        self._leave(segment)
        return segment.task

    def lose(self) -> int:
        """Give up the task that it executes or pays for; return for how long it has executed it.

        -1 if it has not begun.
        """
        sim, segment = self._sim, self.segment
        spent, is_parked = NONE, self.gift is not None  # handed to it by the policy's timer
        if self.awaits is not None:
            spent = sim.now - self.began_ps
            self.stop_awaiting()
        elif segment is None:
            self.gift = None
            sim.record.workers[self.index].acquire_ps -= sim.timers[self.index] - sim.now
        else:
            spent = sim.now - self.began_ps
            for node, way, size in segment.flows:  # what they have not moved
                left: float = size
                if segment.flowing:
                    left = sim.sharing.stop(self.index, sim.now, sim.lag)
                    sim.record.path_bytes[self._path()] += size - math.floor(left)
                segment.flowing = False
                sim.record.node_bytes[-1][self.domain, node] -= math.floor(left)
                if way == HIT:
                    sim.record.node_hit_bytes[-1][node] -= math.floor(left)
        self._leave(segment)
        self._taken_away = not is_parked
        return spent

    def stop(self) -> None:
        """Do nothing any more: the worker has failed. What it copies goes on."""
        if self.is_copying:
            return
        self._sim.timers.pop(self.index, None)
        self.parked = True
        self._set_busy(False)

    def _leave(self, segment: Segment | None) -> None:
        """Stop executing or paying, switch to looking for work."""
        sim = self._sim
        if segment is not None:
            self._count_execution(segment)
        self.segment, self._rest, self.task = None, None, None
        self.lag = sim.lag
        self._taken_away = True
        cost = sim.problem.costs.context_switch_ps
        sim.record.workers[self.index].acquire_ps += cost
        sim.timers[self.index] = sim.now + cost

    # -------------------------------------------------------------------------------------------
    # migration

    def _copy_blocks(self) -> Waiting:
        """Carry out migrations until none is left."""
        sim = self._sim
        self.copies, self.is_copying = False, True
        while (move := sim.next_move()) is not None:
            block, target = move
            homes = sim.memory.homes
            source, start = int(homes.node[block]), sim.now
            size = int(sim.problem.block_bytes[block])
            homes.take(target, block)
            ends = (source << 32) + target
            sim.record.event(sim.now, EventKind.MIGRATE_START, self.index, NONE, block, ends)
            if size > 0:
                path = int(sim.problem.paths.copy[source, target])
                sim.sharing.start(self.index, path * sim.problem.n_mates, size, sim.now, sim.lag)
                yield from self._wait()
            homes.node[block] = target
            homes.give_back(source, block)
            sim.record.path_bytes[sim.problem.paths.copy[source, target]] += size
            sim.record.event(sim.now, EventKind.MIGRATE_END, self.index, NONE, block, target)
            sim.record.migrations += 1
            sim.record.migrated_bytes += size
            sim.record.workers[self.index].migrate_ps += sim.now - start
        self.parked, self.is_copying = True, False
        sim.copying -= 1

    def _move_block(self, move: BlockMove) -> Waiting:
        """Carry out a move while tasks run: pay for it, read the block, write it."""
        sim, homes, block = self._sim, self._sim.memory.homes, move.block
        source, start = int(homes.node[block]), sim.now
        if source not in (NONE, move.node):
            sim.check_room(move.node, block)
            homes.take(move.node, block)
            self._set_busy(True)
            self.is_copying = True
            ends = (source << 32) + move.node
            sim.record.event(sim.now, EventKind.MIGRATE_START, self.index, NONE, block, ends)
            yield from self._pay(move.cost_ps)
            yield from self._stream(block, source, READ)
            yield from self._stream(block, move.node, WRITE)
            if homes.node[block] != NONE:
                homes.give_back(int(homes.node[block]), block)
            homes.node[block] = move.node
            sim.record.event(sim.now, EventKind.MIGRATE_END, self.index, NONE, block, move.node)
            sim.record.migrations += 1
            sim.record.migrated_bytes += int(sim.problem.block_bytes[block])
            sim.record.workers[self.index].migrate_ps += sim.now - start
            sim.record.move_ps += sim.now - start
            self.is_copying = False
        self.moves.popleft()
        sim.moves_left -= 1
        sim.tell_of_move(move.tag)
        sim.end_iteration_if_done()

    def _stream(self, block: int, node: int, way: int) -> Waiting:
        """Read or write a whole block on a node."""
        sim, size = self._sim, int(self._sim.problem.block_bytes[block])
        if size == 0:
            return
        self._streamed = node, way
        sim.sharing.start(self.index, self._flow_class(self._path()), size, sim.now, self.lag)
        yield from self._wait()
        sim.record.path_bytes[self._path()] += size
        sim.record.node_bytes[-1][self.domain, node] += size
        self._streamed = None
