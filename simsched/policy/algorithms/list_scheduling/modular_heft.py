"""StarPU's modular-heft: one sorted queue above short ones, with expected ends as in dmda."""

from __future__ import annotations

from dataclasses import dataclass, field

from simsched.policy import HookView, PlanView, param, register
from simsched.policy.contract.runtime import Runtime
from simsched.policy.parts.expected_ends import ExpectedEnds, costs_by_worker
from simsched.policy.parts.runtime_state import RuntimeState
from simsched.policy.parts.task_queue import TaskQueue
from simsched.policy.parts.transfer_model import TransferModel


@dataclass
class ShortQueue:
    """Tasks that a worker is to execute, and when it is expected to have done so."""

    tasks: TaskQueue = field(default_factory=TaskQueue)
    queued_ps: int = 0  # expected time of these tasks
    start_ps: int = 0  # when what the worker has taken is expected to start, or to end if it has
    length_ps: int = 0  # expected time of what it has taken and not begun
    pipeline_ps: int = 0  # expected time of what it fetches and computes

    def end_ps(self, now: int) -> int:
        """Return when the worker is expected to have done everything, from a time on."""
        self.start_ps = max(self.start_ps, now)
        return self.start_ps + self.length_ps + self.queued_ps


@dataclass
class Tree:
    """The queue above, those of all workers, and what was expected of tasks.

    `cost_ps` has the expected time of every task on each worker; `late_ps` what is expected to be
    left of its transfers when it could begin: in a queue, then at the worker that has taken it.
    """

    cost_ps: list[list[int]]
    transfers: TransferModel
    below: dict[int, ShortQueue]
    above: TaskQueue = field(default_factory=TaskQueue)
    late_ps: dict[int, int] = field(default_factory=dict)


State = RuntimeState[Tree]


@register("modular_heft")
@dataclass(frozen=True, kw_only=True)
class ModularHeft(ExpectedEnds[Tree]):
    """A sorted queue above short ones; the most urgent task goes where it is expected to end best.

    Parameters
    ----------
    most_queued : int
        Tasks that the queue of a worker holds.

    Notes
    -----
    A ready task joins the queue above. Then, and whenever a worker asks for a task, the most urgent
    tasks there go down one after the other, each to the worker with the smallest fitness of dmda,
    until that worker's queue is full: then they wait, also if other queues are not. A worker takes
    the most urgent task of its queue, of equal ones as dmdar does.

    With E the end of what a worker has taken, not before now, and Q the sum of the expected times
    of its queue, what counts as its end is E + Q. When it asks, E becomes the present time, also if
    it is executing a task; that is how StarPU has it. Data are fetched as soon as a task has gone
    down. Readings: docs/sources/starpu.md.

    References
    ----------
    StarPU 1.4, src/sched_policies/modular_heft.c, modular_ez.c (the tree and its limit),
    component_prio.c, component_mct.c with helper_mct.c, and component_worker.c (expected ends).
    """

    most_queued: int = param(30, low=1)

    def knows_priorities(self) -> bool:
        return True

    def open_queues(self, view: PlanView, state: State) -> None:
        state.queues = Tree(
            cost_ps=costs_by_worker(view, state.graph),
            transfers=self.transfer_model(view, state),
            below={worker: ShortQueue() for worker in state.order},
        )

    def rule(self, view: PlanView, state: State) -> Runtime:
        expected = self.expectations(view, state, pops_ready=True, most_queued=self.most_queued)
        return self.stated(view, state, "tree", expected=expected, by_priority=True)

    def enqueue(self, view: HookView, state: State, task: int, pusher: int) -> None:
        """Put the task into the queue above and let what can go down."""
        state.queues.above.push(task, state.priority[task])
        self._go_down(view, state, state.releasing[pusher] if pusher >= 0 else set())

    def _go_down(self, view: HookView, state: State, released: set[int]) -> None:
        """Let the most urgent tasks go down until the queue of the best worker is full."""
        tree, now = state.queues, view.live.now_ps()
        while (task := tree.above.first()) is not None:
            worker, penalty = self._best_worker(view, state, task, released)
            queue = tree.below[worker]
            if len(queue.tasks) >= self.most_queued:
                return
            tree.above.pop()
            tree.late_ps[task] = max(0, now + penalty - queue.end_ps(now))
            queue.queued_ps += tree.cost_ps[worker][task] + tree.late_ps[task]
            queue.tasks.push(task, state.priority[task])
            state.assigned[task] = worker

    def _best_worker(
        self, view: HookView, state: State, task: int, released: set[int]
    ) -> tuple[int, int]:
        """Return the worker with the smallest fitness, and the time of copies."""
        tree, now = state.queues, view.live.now_ps()

        def copy_ps(node: int) -> int:
            return tree.transfers.penalty_ps(view, state.graph, task, node, released)

        return self.fittest(
            state, task, now, tree.cost_ps, lambda worker: tree.below[worker].end_ps(now), copy_ps
        )

    def choose(self, view: HookView, state: State, worker: int) -> int | None:
        """Take a task out of the worker's queue, and let others go down."""
        tree, now = state.queues, view.live.now_ps()
        queue, node = tree.below[worker], state.node[worker]
        queue.start_ps, queue.length_ps, queue.pipeline_ps = now, 0, 0
        if not len(queue.tasks):
            self._go_down(view, state, set())
        task = queue.tasks.pop_smallest(
            lambda t: tree.transfers.missing_bytes(view, state.graph, t, node)
        )
        if task is None:
            return None
        length = tree.cost_ps[worker][task]
        queue.queued_ps = max(0, queue.queued_ps - length - tree.late_ps[task])
        self._go_down(view, state, set())
        tree.late_ps[task] = tree.transfers.penalty_ps(view, state.graph, task, node, set())
        queue.length_ps, queue.pipeline_ps = length, tree.late_ps[task]
        queue.start_ps = now + queue.pipeline_ps
        return task

    def note_start(self, view: HookView, state: State, task: int, worker: int) -> None:
        """Count the task's computation instead of its transfers."""
        tree = state.queues
        queue, length = tree.below[worker], tree.cost_ps[worker][task]
        queue.length_ps -= length
        queue.pipeline_ps += length - tree.late_ps.pop(task)
        queue.start_ps = view.live.now_ps() + queue.pipeline_ps

    def note_end(self, view: HookView, state: State, task: int, worker: int) -> None:
        """Count the task no longer."""
        queue = state.queues.below[worker]
        queue.pipeline_ps -= state.queues.cost_ps[worker][task]
        queue.start_ps = max(view.live.now_ps() + queue.pipeline_ps, queue.start_ps)
