"""Schedulers of threads: a queue for each core, time slices, and threads that change queues.

The tasks of one class stand for a thread: a stretch of its work each. They always enter the queue
to which the thread belongs at the time, so that a thread that has been moved stays where it is.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from simsched.policy.contract.base import (
    PARENT_FIRST,
    AcquireStep,
    HookView,
    Plan,
    PlanView,
    Pool,
    Preempt,
    Rest,
    Transfer,
    param,
    seconds_to_ps,
)
from simsched.policy.parts.core_groups import CoreGroups, core_groups
from simsched.policy.parts.placement import PlacedPolicy
from simsched.workload.graph import BoolArray, Int32Array, Int64Array, TaskGraph

CRITICAL = ".critical"  #: ends the names of classes of critical sections
MIGRATION_PS = 1000  #: a thread in no queue; what it costs is paid by context switches

Move = Preempt | Transfer


@dataclass(eq=False)
class Queues:
    """Where threads are."""

    groups: CoreGroups  # cores by speed
    #: shape (n_classes,): thread of each class of tasks: critical sections belong to the thread
    #: that enters them
    thread: Int64Array
    is_critical: BoolArray  # shape (n_classes,): classes of critical sections
    home: list[int]  # one per thread: core to whose queue the thread belongs
    waiting: list[list[int]]  # one per core: tasks in the queues
    last_ran_ps: list[int]  # one per thread: when the thread has stopped running the last time
    moves: list[int]  # one per thread: how often it has been moved
    task_class: Int32Array  # shape (n_tasks,): of the graph of the iterations
    is_used: bool = False  # not by the initialisation
    ticks: int = 0  # time slices so far, in which it has been used
    unused_slices: int = 0
    notes: dict[str, Any] = field(default_factory=dict)  # of one scheduler

    def thread_of(self, task: int) -> int:
        """Return the thread of a task."""
        return int(self.thread[self.task_class[task]])

    def load(self, view: HookView, core: int) -> int:
        """Return the length of a core's queue, with what it is running."""
        return len(self.waiting[core]) + (not view.live.is_waiting(core))

    def move(self, task: int, source: int, target: int) -> Transfer:
        """Return the move of a waiting task, and with it of its thread, to another queue."""
        self.waiting[source].remove(task)
        self.waiting[target].append(task)
        self.note_move(self.thread_of(task), target)
        return Transfer(0, source, 0, target, 1, MIGRATION_PS, task=task)

    def note_move(self, thread: int, target: int) -> None:
        """Let a thread belong to another core."""
        self.home[thread] = target
        self.moves[thread] += 1


def running_tasks(view: HookView) -> dict[int, int]:
    """Return the task that each core is running."""
    found = {core: view.live.running_task(core) for core in range(view.n_workers)}
    return {core: task for core, task in found.items() if task >= 0}


@dataclass(frozen=True, kw_only=True)
class ThreadScheduler(PlacedPolicy[Queues]):
    """What schedulers of threads have in common; see the module.

    Parameters
    ----------
    slice_s : float
        Time slice in seconds: a thread that has run so long makes way for the next one of its core.
    balance_s : float
        Time in seconds between two rounds of balancing, rounded to time slices.
    """

    slice_s: float = param(4e-3, low=1e-6, high=1e6)
    balance_s: float = param(1e-2, low=1e-6, high=1e6)

    @property
    def timer_period_s(self) -> float:  # type: ignore[override]  # a parameter here
        return self.slice_s

    def start(self, view: PlanView) -> Queues:
        """Return empty queues; threads belong to cores in turn."""
        names = view.workload.graph.class_names
        known = {name: index for index, name in enumerate(names)}
        thread = [known.get(name.removesuffix(CRITICAL), known[name]) for name in names]
        return Queues(
            groups=core_groups(view),
            thread=np.array(thread),
            is_critical=np.array([name.endswith(CRITICAL) for name in names]),
            home=[index % view.n_workers for index in range(len(names))],
            waiting=[[] for _ in range(view.n_workers)],
            last_ran_ps=[0] * len(names),
            moves=[0] * len(names),
            task_class=view.workload.graph.task_class,
        )

    def plan(self, view: PlanView, state: Queues, graph: TaskGraph) -> Plan:
        """Return queues of cores, first in, first out."""
        state.is_used = graph is view.workload.graph
        for queue in state.waiting:
            queue.clear()
        return Plan(
            acquire=(AcquireStep("worker", "own", "oldest"),),
            spawn_order=PARENT_FIRST,
            times_tasks=True,
        )

    def on_ready(self, view: HookView, state: Queues, task: int, worker: int) -> Pool | None:
        if not state.is_used:
            return None
        core = self.queue_of(view, state, task)
        state.waiting[core].append(task)
        return Pool(0, core)

    def queue_of(self, view: HookView, state: Queues, task: int) -> int:
        """Return the core whose queue a task enters."""
        return state.home[state.thread_of(task)]

    def on_acquire(
        self, view: HookView, state: Queues, task: int, worker: int, group: int, instance: int
    ) -> None:
        """Note that a task has left its queue; those that failures have put back are unknown."""
        if state.is_used and task in state.waiting[instance]:
            state.waiting[instance].remove(task)

    def on_finish(self, view: HookView, state: Queues, task: int, worker: int) -> None:
        if state.is_used:
            state.last_ran_ps[state.thread_of(task)] = view.live.now_ps()

    def on_timer(self, view: HookView, state: Queues) -> tuple[Move | Rest, ...]:
        """Return moves if it is time for them, then the ends of time slices."""
        slices = view.live.now_ps() // seconds_to_ps(self.slice_s)
        if not state.is_used or view.machine.copies_data:
            state.unused_slices = slices
            return (Rest(),)
        state.ticks = slices - state.unused_slices
        is_due = self.is_due(state)
        moves = self.balance(view, state) if is_due else []
        stopped = {move.worker for move in moves if isinstance(move, Preempt)}
        live = view.live
        for core, queue in enumerate(state.waiting):
            task = live.running_task(core)
            if queue and task >= 0 and core not in stopped:
                state.last_ran_ps[state.thread_of(task)] = live.now_ps()
                moves.append(Preempt(core))
        if not moves and is_due and self.rests(view, state):
            return (Rest(self.slices_each),)
        return tuple(moves)

    @property
    def slices_each(self) -> int:
        """Time slices from one round of balancing to the next."""
        return max(1, round(self.balance_s / self.slice_s))

    def is_due(self, state: Queues) -> bool:
        return state.ticks % self.slices_each == 0

    def rests(self, view: HookView, state: Queues) -> bool:
        """Return whether the next rounds move nothing either, after one that has not.

        By default: rounds go by who runs and waits where, which only events change.
        """
        return True

    def balance(self, view: HookView, state: Queues) -> list[Move]:
        """Return the moves of one round."""
        raise NotImplementedError

    def relocate(self, view: PlanView, state: Queues, task: int, source: int, target: int) -> Move:
        """Return the move of a thread that runs or waits on a core to another one."""
        if task in state.waiting[source]:
            return state.move(task, source, target)
        state.note_move(state.thread_of(task), target)
        return Preempt(source)

    def swap(self, view: HookView, state: Queues, first: int, second: int) -> list[Move]:
        """Return moves with which the running threads of two cores change places."""
        running = running_tasks(view)
        return [
            self.relocate(view, state, running[core], core, target)
            for core, target in ((first, second), (second, first))
            if core in running
        ]
