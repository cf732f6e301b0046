"""StarPU's work stealing: ws and lws."""

from __future__ import annotations

from dataclasses import dataclass, field

from simsched.policy import HookView, PlanView, param, preset, register
from simsched.policy.parts.runtime_queues import QueuedRuntime
from simsched.policy.parts.runtime_state import RuntimeState
from simsched.policy.parts.task_queue import TaskQueue

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
        nearest = self.victim == "nearest" and _tells_who_is_near(view, state)
        state.queues = StealingQueues(
            tasks={worker: TaskQueue() for worker in state.order},
            is_busy=dict.fromkeys(state.order, False),
            victims={w: _nearest(view, state, w) if nearest else state.order for w in state.order},
            in_turn=not nearest,
            next_victim=dict.fromkeys(state.order, 0),
        )

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
    cores = [int(view.worker_thread[w]) for w in state.order if not state.is_device[w]]
    distance = view.machine.thread_distance
    return len({distance(one, other) for one in cores for other in cores if one != other}) > 1


def _nearest(view: PlanView, state: State, worker: int) -> list[int]:
    thread = view.worker_thread

    def distance(other: int) -> tuple[int, int]:
        return view.machine.thread_distance(int(thread[worker]), int(thread[other])), other

    return sorted(state.order, key=distance)


preset("lws", QueueStealing, "As ws, the nearest victims first.", victim="nearest")
