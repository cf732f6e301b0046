"""What policies decide while tasks run; docs/semantics.md, rules PR to TR."""

from __future__ import annotations

from collections.abc import Sequence

from simsched.engine.backend import (
    DUPLICATE,
    EXCHANGE,
    KILL,
    NOBODY,
    ORDER,
    PACE,
    PREEMPT,
    TRANSFER,
    WAKE,
    WHOLE_PACE,
    Decision,
    Hooks,
)
from simsched.engine.interface.plan import ResolvedPlan
from simsched.engine.reference.engine import Engine
from simsched.engine.reference.executions import Executions
from simsched.engine.reference.flights import Flight
from simsched.engine.reference.pools import held
from simsched.engine.reference.seats import swap_seats
from simsched.engine.reference.worker import Worker
from simsched.files.errors import PolicyError
from simsched.trace.schema import NONE, EventKind


class Decisions:
    """Asks the policy where it decides on workers, and does what it says."""

    def __init__(
        self, sim: Engine, hooks: Hooks, workers: list[Worker], executions: Executions
    ) -> None:
        self._sim, self._hooks, self._workers, self._executions = sim, hooks, workers, executions
        self.timer_ps = sim.problem.timer_period_ps  # when its timer fires next; 0 without one

    def ask_on_idle(self, worker: int) -> tuple[int, int] | None:
        """Return (task, cost) if the policy lets the worker snatch a running task."""
        if not self._hooks.wants_on_idle:
            return None
        decision = self._hooks.on_idle(worker)
        if decision is None:
            return None
        if decision[0] == TRANSFER:
            self.transfer(decision, worker, "on_idle")
            return None
        if decision[0] == WAKE:
            self._sim.wakes.add(*decision[1:])
            return None
        kind, victim, taker = decision
        if taker != worker:
            raise PolicyError(f"on_idle: worker {worker} asked, found a task for {taker}")
        return self._hand_over(kind, victim, taker, "on_idle")

    def fire_timer(self) -> None:
        """Carry out what the policy's timer decides."""
        sim = self._sim
        self.timer_ps += sim.problem.timer_period_ps
        sim.record.event(sim.now, EventKind.TIMER, NONE, NONE)
        if self._hooks.wants_on_timer:
            self._carry_out_timed(self._hooks.on_timer(), "on_timer")

    def wake_policy(self, tag: int) -> None:
        """Carry out what the policy decides at a time for which it has asked."""
        self._carry_out_timed(self._hooks.on_wake(tag), "on_wake")

    def _carry_out_timed(self, decisions: Sequence[Decision], hook: str) -> None:
        """Carry out what a hook that is called at a time has decided, in order."""
        for decision in decisions:
            if decision[0] == EXCHANGE:
                self._exchange(hook, *decision[1:])
            elif decision[0] == ORDER:
                self._change_order(decision[1])
            elif decision[0] == KILL:
                self._executions.kill(decision[1], hook)
            elif decision[0] in (PREEMPT, DUPLICATE):
                self._move(hook, *decision)
            else:
                self.carry_out((decision,), hook)

    def _move(self, hook: str, kind: int, victim: int, taker: int) -> None:
        """Take a running task off a worker, or a duplicate of it, for a worker that waits."""
        sim = self._sim
        if taker == NOBODY and kind != DUPLICATE:
            self._preempt(victim, taker, hook)
            return
        if not (0 <= taker < len(self._workers) and sim.is_waiting(taker)):
            raise PolicyError(f"{hook}: worker {taker} cannot take a task: it is not waiting")
        worker = self._workers[taker]
        worker.gift = gift = self._hand_over(kind, victim, taker, hook)
        worker.task = gift[0]
        worker.parked = False
        worker.lag = sim.lag
        sim.record.workers[taker].acquire_ps += gift[1]
        sim.timers[taker] = sim.now + gift[1]

    def _hand_over(self, kind: int, victim: int, taker: int, hook: str) -> tuple[int, int]:
        """Let a worker take a running task or a duplicate of it; return it and its cost."""
        if kind == DUPLICATE:
            return self._executions.duplicate(victim, taker, hook)
        return self._preempt(victim, taker, hook)

    def _preempt(self, victim: int, taker: int, hook: str) -> tuple[int, int]:
        """Take the running task off a worker; return it and what it costs the taker."""
        sim = self._sim
        self._executions.check_sole(victim, hook)
        task = self._workers[victim].take_away()
        sim.record.event(sim.now, EventKind.PREEMPT, victim, task, 0, taker)
        if taker == NOBODY:
            sim.push_back(task, victim)
            return task, 0
        self._workers[taker].become_busy()
        costs = sim.problem.costs
        return task, costs.context_switch_ps + held(
            costs.steal_ps, sim.pools.distance(taker, 0, victim)
        )

    def carry_out(self, decisions: Sequence[Decision] | None, hook: str) -> None:
        """Carry out the transfers, paces and wakes that a hook has decided on, in order."""
        for decision in decisions or ():
            if decision[0] == PACE:
                self._set_pace(*decision[1:])
            elif decision[0] == WAKE:
                self._sim.wakes.add(*decision[1:])
            else:
                self.transfer(decision, None, hook)

    def _set_pace(self, index: int, billionths: int) -> None:
        """Let a worker compute at a part of its speed."""
        sim, worker = self._sim, self._workers[index]
        left = None if worker.segment is None else worker.halt_segment()
        worker.pace = billionths / WHOLE_PACE
        sim.record.event(sim.now, EventKind.PACE, index, NONE, billionths)
        if left is not None:
            worker.continue_segment(left)

    def transfer(self, decision: Decision, asker: int | None, hook: str) -> None:
        """Let entries leave a pool for another one."""
        sim = self._sim
        _, group, instance, to_group, to_instance, count, delay_ps, take, entry = decision
        for g, i in ((group, instance), (to_group, to_instance)):
            if not sim.pools.exists(g, i):
                raise PolicyError(f"{hook}: no pool with group {g}, instance {i}")
        entries = sim.pools.leave(group, instance, count, take, entry)
        pool = (group << 32) + instance
        worker = NONE if asker is None else asker
        sim.record.transfers += len(entries) > 0
        sim.record.transferred_tasks += len(entries)
        sim.record.event(sim.now, EventKind.TRANSFER, worker, NONE, pool, len(entries))
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

    def _change_order(self, plan: ResolvedPlan) -> None:
        """Replace the acquire order; all parked workers try the new one."""
        sim = self._sim
        sim.record.event(sim.now, EventKind.ACQUIRE_ORDER, NONE, NONE)
        sim.plan = plan
        sim.pools.change_order(plan)
        for worker in self._workers:
            if sim.is_waiting(worker.index):
                sim.wake(worker.index, 1)

    def _exchange(self, hook: str, first: int, second: int, cost_ps: int) -> None:
        """Let two workers swap their hardware threads; what they execute waits for the cost."""
        sim = self._sim
        n = len(self._workers)
        if not (0 <= first < n and 0 <= second < n and first != second):
            raise PolicyError(f"{hook}: workers {first} and {second} cannot swap threads")
        if sim.has_failed(first) or sim.has_failed(second):
            return
        sim.record.event(sim.now, EventKind.EXCHANGE, NONE, NONE, first, second)
        sim.record.exchanges += 1
        pair: tuple[Worker, Worker] = self._workers[first], self._workers[second]
        cores = pair[0].core, pair[1].core
        if cores[0] == cores[1]:
            return
        left = [0.0 if w.segment is None else w.halt_segment() for w in pair]
        swap_seats(sim.problem, first, second)
        change = pair[1].busy - pair[0].busy
        if change != 0:
            sim.busy_on_core[cores[0]] += change
            sim.busy_on_core[cores[1]] -= change
            for core in cores:
                sim.adapt_others(core, first, second)
        for worker, n_bytes in zip(pair, left, strict=True):
            if worker.segment is not None:
                worker.continue_segment(n_bytes, cost_ps)
