"""StarPU's work stealing: ws and lws."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from simsched.policy import HookView, PlanView, param, preset, register
from simsched.policy.contract.runtime import Runtime, Theft
from simsched.policy.parts.runtime_queues import QueuedRuntime
from simsched.policy.parts.runtime_state import RuntimeState
from simsched.policy.parts.task_queue import TaskQueue
from simsched.workload.graph import Int32Array

VICTIMS = ("round_robin", "nearest")


@dataclass
class StealingQueues:
    """Queues of all workers and where thieves look next."""

    tasks: dict[int, TaskQueue]  # queue of each worker
    is_busy: dict[int, bool]  # whether a worker got a task when it asked last
    victims: dict[int, list[int]]  # workers in the order in which a thief looks at them
    in_turn: bool  # whether a thief begins behind its last victim
    #: place in that list at which the thief begins
    next_victim: dict[int, int] = field(default_factory=dict)
    last_pushed: int = 0  # place of the worker that got the last task of nobody


State = RuntimeState[StealingQueues]


@register("ws")
@dataclass(frozen=True, kw_only=True)
class QueueStealing(QueuedRuntime[StealingQueues]):
    """A queue for each worker, filled by its own tasks; workers without tasks steal.

    Parameters
    ----------
    victim : {"round_robin", "nearest"}
        Where a thief looks: at all workers in turn, beginning behind the last victim, or at the
        nearest ones first. On a host whose cores are all as far from each other nobody is nearest:
        then in turn, too.

    Notes
    -----
    A task joins the queue of the worker that has made it ready, provided that it can execute it.
    Owners and thieves take the most urgent task that they can execute; of equal ones owners take
    the one that came first, thieves the one that came last. A push calls all workers that sleep.
    Data are fetched when a worker has taken the task. Readings: docs/sources/starpu.md.

    References
    ----------
    StarPU 1.4, src/sched_policies/work_stealing_policy.c.
    """

    victim: str = param("round_robin", choices=VICTIMS)

    def open_queues(self, view: PlanView, state: State) -> None:
        victims, in_turn = self._victims(view, state)
        state.queues = StealingQueues(
            tasks={worker: TaskQueue() for worker in state.order},
            is_busy=dict.fromkeys(state.order, False),
            victims=victims,
            in_turn=in_turn,
            next_victim=dict.fromkeys(state.order, 0),
        )

    def rule(self, view: PlanView, state: State) -> Runtime:
        lists, in_turn = self._victims(view, state)
        victims = np.zeros((view.n_workers, len(state.order)), np.int32)
        victims[list(lists)] = list(lists.values())
        theft = Theft(victims=victims, in_turn=in_turn)
        return self.stated(view, state, "stealing", theft=theft, by_priority=True)

    def _victims(self, view: PlanView, state: State) -> tuple[dict[int, list[int]], bool]:
        """Return in which order each worker looks at others, and whether behind its last victim."""
        if self.victim == "nearest" and _tells_who_is_near(view, state):
            return _nearest(view, state), False
        return dict.fromkeys(state.order, state.order), True

    def enqueue(self, view: HookView, state: State, task: int, pusher: int) -> int:
        queues = state.queues
        if pusher < 0 or not state.can_run(pusher)(task):
            n = len(state.order)
            places = ((queues.last_pushed + step) % n for step in range(1, n + 1))
            queues.last_pushed = next(p for p in places if state.able[state.order[p]][task])
            pusher = state.order[queues.last_pushed]
        queues.tasks[pusher].push(task, state.priority[task])
        return pusher

    def choose(self, view: HookView, state: State, worker: int) -> int | None:
        queues = state.queues
        queues.is_busy[worker] = False
        task = queues.tasks[worker].pop(state.can_run(worker))
        if task is None:
            victim = self._victim(queues, worker)
            if victim is not None:
                task = state.stolen = queues.tasks[victim].pop(state.can_run(worker), newest=True)
        queues.is_busy[worker] = task is not None
        return task

    def _victim(self, queues: StealingQueues, thief: int) -> int | None:
        """Return the worker to steal from, None when nobody has tasks to spare."""
        order, first = queues.victims[thief], queues.next_victim[thief]
        for step in range(len(order)):
            place = (first + step) % len(order)
            other = order[place]
            if queues.is_busy[other] and len(queues.tasks[other]) > 0:
                if queues.in_turn:
                    queues.next_victim[thief] = (place + 1) % len(order)
                return other
        if queues.in_turn:
            queues.next_victim[thief] = (first + 1) % len(order)
        return None


def _tells_who_is_near(view: PlanView, state: State) -> bool:
    """Return whether some cores of the host are nearer to each other than others."""
    cores = [w for w in state.order if not state.is_device[w]]
    apart = ~np.eye(len(cores), dtype=bool)
    return len(np.unique(_distances(view, cores)[apart])) > 1


def _nearest(view: PlanView, state: State) -> dict[int, list[int]]:
    """Return for each worker all of them, the nearest first."""
    order = np.array(state.order)
    place = np.lexsort((np.broadcast_to(order, (len(order),) * 2), _distances(view, state.order)))
    return dict(zip(state.order, order[place].tolist(), strict=True))


def _distances(view: PlanView, workers: list[int]) -> Int32Array:
    """Return how far the threads of some workers are from each other, as machines have it."""
    machine, core = view.machine, view.machine.thread_core[view.worker_thread[workers]]
    domain = machine.core_domain[core]
    hops: Int32Array = 1 + machine.domain_hops[np.ix_(domain, domain)]
    return np.where(core[:, None] == core, 0, hops)


preset("lws", QueueStealing, "As ws, the nearest victims first.", victim="nearest")
