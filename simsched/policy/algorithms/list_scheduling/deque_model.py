"""StarPU's dm family: each ready task goes to the worker that is expected to finish it best."""

from __future__ import annotations

from dataclasses import dataclass

from simsched.policy import HookView, PlanView, param, preset, register
from simsched.policy.contract.runtime import Runtime
from simsched.policy.parts.expected_ends import ExpectedEnds, costs_by_worker
from simsched.policy.parts.runtime_state import RuntimeState
from simsched.policy.parts.task_queue import TaskQueue
from simsched.policy.parts.transfer_model import TransferModel

POPS = ("first", "ready")


@dataclass
class WorkerQueue:
    """Tasks that a worker is to execute, and when it is expected to have done so."""

    tasks: TaskQueue  # tasks that the worker has not asked for yet
    start_ps: int = 0  # when the first of them is expected to start
    length_ps: int = 0  # how long they are expected to take
    pipeline_ps: int = 0  # expected time of what the worker has asked for and not finished


@dataclass
class Model:
    """Queues of all workers, and what was expected of each task when it was queued.

    `cost_ps` has the expected time of every task on each worker, which means nothing where it
    cannot execute the task; workers that are alike share a list. `chosen` has the worker and the
    penalty of tasks that are being pushed.
    """

    cost_ps: list[list[int]]
    workers: dict[int, WorkerQueue]
    transfers: TransferModel
    length_ps: dict[int, int]
    transfer_ps: dict[int, int]
    chosen: dict[int, tuple[int, int]]


State = RuntimeState[Model]


@register("dmda")
@dataclass(frozen=True, kw_only=True)
class DequeModel(ExpectedEnds[Model]):
    """A queue for each worker; a ready task joins the one with the best expected end.

    Parameters
    ----------
    data_aware : bool
        Whether expected transfers count.
    sorted_queues : bool
        Whether queues are sorted by the program's priorities.
    pop : {"first", "ready"}
        Which of the most urgent tasks of its queue a worker takes: the first, or the one with the
        fewest bytes to read that are not on its node, of equal ones that with the fewest that are
        not expected there either, then that with the fewest bytes, also of what it only writes,
        that have no place there.

    Notes
    -----
    With E the end of what worker w has been given so far, not before now, P the sum of the times of
    copying what the task reads to its node, and L the expected length of the task,

        end(w) = max(E, now + P) + L,    fitness(w) = alpha (end(w) - min end) + beta P,

    and the worker with the smallest fitness gets the task, of equal ones the first, devices before
    cores. Without data awareness P is 0. Then E grows by L and by what is left of P after E; when
    the worker asks for the task, when the task starts, and when it ends, the expected times are set
    to what is known by then. Data are fetched as soon as the task has been queued. Readings:
    docs/sources/starpu.md.

    References
    ----------
    StarPU 1.4, src/sched_policies/deque_modeling_policy_data_aware.c (expected times, fitness),
    src/sched_policies/fifo_queues.c (order and choice), src/core/perfmodel/perfmodel_bus.c,
    ``starpu_transfer_predict`` (times of transfers). C. Augonnet et al., *StarPU: a unified
    platform for task scheduling on heterogeneous multicore architectures*, Concurrency and
    Computation 23(2), 2011.
    """

    data_aware: bool = param(True)
    sorted_queues: bool = param(False)
    pop: str = param("first", choices=POPS)

    def knows_priorities(self) -> bool:
        return self.sorted_queues

    def open_queues(self, view: PlanView, state: State) -> None:
        state.queues = Model(
            cost_ps=costs_by_worker(view, state.graph),
            workers={worker: WorkerQueue(TaskQueue()) for worker in state.order},
            transfers=self.transfer_model(view, state),
            length_ps={},
            transfer_ps={},
            chosen={},
        )

    def rule(self, view: PlanView, state: State) -> Runtime:
        ready = self.pop == "ready"
        expected = self.expectations(view, state, data_aware=self.data_aware, pops_ready=ready)
        return self.stated(
            view, state, "expected_ends", expected=expected, by_priority=self.sorted_queues
        )

    def decide(self, view: HookView, state: State, pushed: list[tuple[int, int]]) -> None:
        model = state.queues
        for task, pusher in pushed:
            released = state.releasing[pusher] if pusher >= 0 else set()
            model.chosen[task] = self.best_worker(view, state, task, view.live.now_ps(), released)

    def enqueue(self, view: HookView, state: State, task: int, pusher: int) -> int:
        """Queue a task where it is expected to end best."""
        model = state.queues
        now = view.live.now_ps()
        worker, penalty = model.chosen.pop(task)
        queue, length = model.workers[worker], model.cost_ps[worker][task]
        queue.start_ps = max(queue.start_ps, now)
        late = max(0, now + penalty - (queue.start_ps + queue.length_ps))
        queue.length_ps += late + length
        model.length_ps[task], model.transfer_ps[task] = length, late
        queue.tasks.push(task, state.priority[task] if self.sorted_queues else 0)
        return worker

    def announced_to(self, state: State, task: int, owner: int) -> list[int]:
        return [owner]

    def best_worker(
        self, view: HookView, state: State, task: int, now: int, released: set[int]
    ) -> tuple[int, int]:
        """Return the worker with the smallest fitness, and the time of copies."""
        model = state.queues

        def end_ps(worker: int) -> int:
            queue = model.workers[worker]
            return max(queue.start_ps, now) + queue.length_ps

        def copy_ps(node: int) -> int:
            if not self.data_aware:
                return 0
            return model.transfers.penalty_ps(view, state.graph, task, node, released)

        return self.fittest(state, task, now, model.cost_ps, end_ps, copy_ps)

    def choose(self, view: HookView, state: State, worker: int) -> int | None:
        """Take a task out of the worker's queue."""
        model = state.queues
        queue, now = model.workers[worker], view.live.now_ps()
        queue.start_ps = max(queue.start_ps, now)
        if self.pop == "ready" and len(queue.tasks) > 1:
            node = state.node[worker]
            task = queue.tasks.pop_smallest(
                lambda t: model.transfers.missing_bytes(view, state.graph, t, node)
            )
        else:
            task = queue.tasks.pop()
        if task is not None:
            late = model.transfer_ps[task]
            queue.length_ps -= late
            queue.pipeline_ps += late
            queue.start_ps = now + queue.pipeline_ps
        return task

    def note_start(self, view: HookView, state: State, task: int, worker: int) -> None:
        """Count the task's computation instead of its transfers."""
        model = state.queues
        queue, length = model.workers[worker], model.length_ps[task]
        queue.length_ps -= length
        queue.pipeline_ps += length - model.transfer_ps.pop(task)
        queue.start_ps = view.live.now_ps() + queue.pipeline_ps

    def note_end(self, view: HookView, state: State, task: int, worker: int) -> None:
        """Count the task no longer."""
        model = state.queues
        queue = model.workers[worker]
        queue.pipeline_ps -= model.length_ps.pop(task)
        queue.start_ps = max(view.live.now_ps() + queue.pipeline_ps, queue.start_ps)


preset("dm", DequeModel, "Expected end of the computation alone.", data_aware=False)
preset("dmdar", DequeModel, "As dmda; tasks whose data are there come first.", pop="ready")
preset(
    "dmdas",
    DequeModel,
    "As dmda; most urgent tasks first, of these the one whose data are there.",
    sorted_queues=True,
    pop="ready",
)
