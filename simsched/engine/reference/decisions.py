"""What policies decide while tasks run; docs/semantics.md, rules PR to TR."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from simsched.engine.backend import NOBODY, Hooks
from simsched.engine.interface.decisions import DECISIONS, Reason, Record, fields_of, refusal
from simsched.engine.reference.engine import BlockMove, Engine
from simsched.engine.reference.executions import Executions
from simsched.engine.reference.flights import Flight
from simsched.engine.reference.pools import held
from simsched.engine.reference.seats import swap_seats
from simsched.engine.reference.worker import Worker
from simsched.policy.contract.base import AcquireOrder
from simsched.policy.contract.decisions import (
    WHOLE_PACE,
    Exchange,
    Move,
    Pace,
    Preempt,
    Rest,
    Transfer,
    Wake,
)
from simsched.policy.contract.executions import Duplicate, Kill
from simsched.policy.contract.records import index_below
from simsched.trace.schema import NONE, EventKind


class Decisions:
    """Asks the policy where it decides on workers, and does what it says."""

    def __init__(
        self, sim: Engine, hooks: Hooks, workers: list[Worker], executions: Executions
    ) -> None:
        self._sim, self._hooks, self._workers, self._executions = sim, hooks, workers, executions

    def ask_on_idle(self, worker: int) -> tuple[int, int] | None:
        """Return (task, cost) if the policy lets the worker snatch a running task."""
        if not self._hooks.wants_on_idle:
            return None
        decision = self._hooks.on_idle(worker)
        if decision is None:
            return None
        kind, fields = DECISIONS[decision[0]], fields_of(decision)
        if kind is Transfer:
            self._transfer("on_idle", asker=worker, **fields)
        elif kind is Wake:
            self._wake("on_idle", **fields)
        else:
            victim, taker = fields["worker"], fields["to"]
            if kind is Duplicate:
                return self._executions.duplicate(victim, taker, "on_idle")
            return self._take_away("on_idle", victim, taker)
        return None

    def fire_timer(self) -> None:
        """Carry out what the policy's timer decides."""
        sim = self._sim
        sim.looks.fire()
        sim.record.event(sim.now, EventKind.TIMER, NONE, NONE)
        if self._hooks.wants_on_timer:
            decisions = self._hooks.on_timer()
            sim.looks.note(decisions)
            self.carry_out(decisions, "on_timer")

    def look(self, tag: int) -> None:
        """Carry out what the policy decides when it is asked by a wake."""
        decisions = self._hooks.on_wake(tag)
        self._sim.looks.note(decisions)
        self.carry_out(decisions, "on_wake")

    def wake_policy(self, tag: int) -> None:
        """Carry out what the policy decides when it is told of a move."""
        self.carry_out(self._hooks.on_wake(tag), "on_wake")

    def carry_out(self, decisions: Sequence[Record], hook: str) -> None:
        """Carry out what a hook has decided, in order."""
        handlers: dict[type, Callable[..., None]] = {
            Preempt: self._preempt,
            Transfer: self._transfer,
            Exchange: self._exchange,
            Duplicate: self._duplicate,
            Kill: self._kill,
            AcquireOrder: self._change_order,
            Pace: self._set_pace,
            Wake: self._wake,
            Move: self._move,
            Rest: self._note_rest,
        }
        for decision in decisions:
            handlers[DECISIONS[decision[0]]](hook, **fields_of(decision))

    def _preempt(self, hook: str, worker: int, to: int) -> None:
        """Take a running task off a worker, for one that waits or for its pool."""
        if to == NOBODY:
            task, _ = self._take_away(hook, worker, to)
            self._sim.push_back(task, worker)
            return
        self._check_taker(hook, to)
        self._hand_over(to, self._take_away(hook, worker, to))

    def _duplicate(self, hook: str, worker: int, to: int) -> None:
        """Let a worker that waits execute what another one executes."""
        self._check_taker(hook, to)
        self._hand_over(to, self._executions.duplicate(worker, to, hook))

    def _kill(self, hook: str, worker: int) -> None:
        self._executions.kill(worker, hook)

    def _wake(self, hook: str, at_ps: int, tag: int, rank: int, step_ps: int) -> None:
        self._sim.wakes.add(at_ps, rank, tag, step_ps, self._sim.looks.happened)

    def _note_rest(self, hook: str, looks: int) -> None:
        self._sim.looks.rest(looks)

    def _move(self, hook: str, worker: int, block: int, node: int, cost_ps: int, tag: int) -> None:
        """Give a worker a block to move; one that waits begins at once."""
        if self._sim.has_ended:
            return
        self._sim.moves_left += 1
        self._workers[worker].moves.append(BlockMove(block, node, cost_ps, tag))
        if self._workers[worker].parked:
            self._sim.wake(worker, 1)

    def _check_taker(self, hook: str, taker: int) -> None:
        """Refuse a worker that cannot take a task."""
        if not self._sim.is_waiting(taker):
            raise refusal(hook, Reason.TAKER, taker=taker)

    def _hand_over(self, taker: int, gift: tuple[int, int]) -> None:
        """Let a worker that waits execute the task that it has taken, at its cost."""
        sim, worker = self._sim, self._workers[taker]
        worker.gift, worker.task = gift, gift[0]
        worker.parked = False
        worker.lag = sim.lag
        sim.record.workers[taker].acquire_ps += gift[1]
        sim.timers[taker] = sim.now + gift[1]

    def _take_away(self, hook: str, victim: int, taker: int) -> tuple[int, int]:
        """Take the running task off a worker; return it and what it costs the taker."""
        sim = self._sim
        self._executions.check_sole(victim, hook)
        task = self._workers[victim].take_away()
        sim.record.event(sim.now, EventKind.PREEMPT, victim, task, 0, taker)
        if taker == NOBODY:
            return task, 0
        self._workers[taker].become_busy()
        costs = sim.problem.costs
        return task, costs.context_switch_ps + held(
            costs.steal_ps, sim.pools.distance(taker, 0, victim)
        )

    def _set_pace(self, hook: str, worker: int, part: int) -> None:
        """Let a worker compute at a part of its speed, in billionths."""
        sim, paced = self._sim, self._workers[worker]
        left = None if paced.segment is None else paced.halt()
        paced.pace = part / WHOLE_PACE
        sim.record.event(sim.now, EventKind.PACE, worker, NONE, part)
        if left is not None:
            paced.resume(left)

    def _transfer(
        self,
        hook: str,
        group: int,
        instance: int,
        to_group: int,
        to_instance: int,
        count: int,
        delay_ps: int,
        take: int,
        task: int,
        decision_ps: int,
        thief: int,
        asker: int | None = None,
    ) -> None:
        """Let entries leave a pool for another one."""
        sim = self._sim
        entries = sim.pools.leave(group, instance, count, take, task)
        pool = (group << 32) + instance
        worker = NONE if asker is None else asker
        sim.record.transfers += len(entries) > 0
        sim.record.transferred_tasks += len(entries)
        sim.record.event(sim.now, EventKind.TRANSFER, worker, NONE, pool, len(entries))
        if thief != NONE and entries:
            distance = sim.pools.distance(thief, group, instance)
            sim.record.event(sim.now, EventKind.STEAL, thief, entries[0], instance, distance)
            sim.record.steals[distance] += 1
        flight = Flight(sim.now + delay_ps, to_group, to_instance, entries, asker)
        if delay_ps == 0:
            self.land(flight)
        else:
            sim.flights.depart(flight)

    def land(self, flight: Flight) -> None:
        """Let the entries of a flight enter their pool; whoever sent for them looks for work."""
        sim = self._sim
        for task in flight.entries:
            sim.enter(task, flight.group, flight.instance, NOBODY)
        if flight.asker is not None and sim.is_waiting(flight.asker):
            sim.wake(flight.asker, 1)

    def tell_of_landing(self, flight: Flight) -> None:
        """Tell the policy of a delayed transfer that has landed; carry out what it decides."""
        if self._hooks.wants_on_landing:
            self.carry_out(self._hooks.on_landing(flight.group, flight.instance), "on_landing")

    def _change_order(self, hook: str, acquire: int) -> None:
        """Replace the acquire order; all parked workers try the new one."""
        sim = self._sim
        sim.record.event(sim.now, EventKind.ACQUIRE_ORDER, NONE, NONE)
        orders = self._hooks.orders
        sim.plan = plan = orders[index_below(len(orders), acquire, "AcquireOrder: number")]
        sim.pools.change_order(plan)
        for worker in self._workers:
            if sim.is_waiting(worker.index):
                sim.wake(worker.index, 1)

    def _exchange(self, hook: str, worker: int, other: int, cost_ps: int) -> None:
        """Let two workers swap their hardware threads; what they execute waits for the cost."""
        sim = self._sim
        first, second = worker, other
        if sim.has_failed(first) or sim.has_failed(second):
            return
        sim.record.event(sim.now, EventKind.EXCHANGE, NONE, NONE, first, second)
        sim.record.exchanges += 1
        pair: tuple[Worker, Worker] = self._workers[first], self._workers[second]
        cores = pair[0].core, pair[1].core
        modules = pair[0].module, pair[1].module
        if cores[0] == cores[1]:
            return
        halted = [(w, w.halt()) for w in pair if w.may_adapt()]
        swap_seats(sim.problem, first, second)
        change = pair[1].busy - pair[0].busy
        if change != 0:
            levels = [sim.cap_level(module) for module in modules]
            sim.busy_on_core[cores[0]] += change
            sim.busy_on_core[cores[1]] -= change
            sim.busy_on_module[modules[0]] += change
            sim.busy_on_module[modules[1]] -= change
            for module, core, level in zip(modules, cores, levels, strict=True):
                sim.adapt_others(module, core, level, first, second)
        for one, left in halted:
            one.resume(left, cost_ps)
