"""StarPU's policies without a cost model and without stealing: eager, prio and random."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from simsched.policy import HookView, PlanView, param, preset, register
from simsched.policy.contract.runtime import Draw, Runtime
from simsched.policy.parts.runtime_queues import QueuedRuntime
from simsched.policy.parts.runtime_state import RuntimeState
from simsched.policy.parts.task_queue import TaskQueue


@register("eager")
@dataclass(frozen=True, kw_only=True)
class CentralQueue(QueuedRuntime[TaskQueue]):
    """One queue for all workers, each of which takes the first task that it can execute.

    Parameters
    ----------
    sorted_queue : bool
        Whether the queue is sorted by the program's priorities; equal ones stay in their order.

    Notes
    -----
    *eager* takes tasks in the order in which they became ready, *prio* the most urgent one. A push
    calls the first device whose worker sleeps, else all cores that sleep. Data are fetched when a
    worker has taken the task. Readings: docs/sources/starpu.md.

    References
    ----------
    StarPU 1.4, src/sched_policies/eager_central_policy.c and eager_central_priority_policy.c.
    """

    sorted_queue: bool = param(False)

    def open_queues(self, view: PlanView, state: RuntimeState[TaskQueue]) -> None:
        state.queues = TaskQueue()

    def rule(self, view: PlanView, state: RuntimeState[TaskQueue]) -> Runtime:
        return self.stated(view, state, "central", by_priority=self.sorted_queue)

    def enqueue(
        self, view: HookView, state: RuntimeState[TaskQueue], task: int, pusher: int
    ) -> int:
        state.queues.push(task, state.priority[task] if self.sorted_queue else 0)
        return state.order[0]

    def announced_to(self, state: RuntimeState[TaskQueue], task: int, owner: int) -> list[int]:
        return state.first_to_wake(task)

    def choose(self, view: HookView, state: RuntimeState[TaskQueue], worker: int) -> int | None:
        return state.queues.pop(state.can_run(worker))


@register("random")
@dataclass(frozen=True, kw_only=True)
class RandomWorker(QueuedRuntime[dict[int, TaskQueue]]):
    """A queue for each worker; a ready task joins that of a worker drawn at random.

    Parameters
    ----------
    device_weight : float
        Weight of the worker of a device among those that can execute the task.
    core_weight : float
        Weight of a core.

    Notes
    -----
    A worker is drawn with a probability proportional to its weight. It takes its tasks in the order
    in which they came; their data are fetched when it has taken them. The default weights are those
    of StarPU.

    References
    ----------
    StarPU 1.4, src/sched_policies/random_policy.c; src/drivers/cuda/driver_cuda_init.c and
    src/drivers/cpu/driver_cpu.c (``alpha``).
    """

    device_weight: float = param(13.33, low=0.0)
    core_weight: float = param(0.5, low=0.0)

    def open_queues(self, view: PlanView, state: RuntimeState[dict[int, TaskQueue]]) -> None:
        state.queues = {worker: TaskQueue() for worker in state.order}

    def rule(self, view: PlanView, state: RuntimeState[dict[int, TaskQueue]]) -> Runtime:
        weight = np.where(state.is_device, self.device_weight, self.core_weight)
        return self.stated(view, state, "drawn", draw=Draw(weight=weight, rng=view.rng))

    def enqueue(
        self, view: HookView, state: RuntimeState[dict[int, TaskQueue]], task: int, pusher: int
    ) -> int:
        able = [w for w in state.order if state.can_run(w)(task)]
        weights = [self.device_weight if state.is_device[w] else self.core_weight for w in able]
        total = 0.0
        for weight in weights:  # sum() rounds otherwise from Python 3.12 on
            total += weight
        left, chosen = view.rng.random() * total, able[-1]
        for worker, weight in zip(able, weights, strict=True):
            if weight >= left:
                chosen = worker
                break
            left -= weight
        state.queues[chosen].push(task)
        return chosen

    def announced_to(
        self, state: RuntimeState[dict[int, TaskQueue]], task: int, owner: int
    ) -> list[int]:
        return [owner]

    def choose(
        self, view: HookView, state: RuntimeState[dict[int, TaskQueue]], worker: int
    ) -> int | None:
        return state.queues[worker].pop()


preset("prio", CentralQueue, "As eager, the most urgent task first.", sorted_queue=True)
