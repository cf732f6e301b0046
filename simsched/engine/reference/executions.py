"""Duplicates of running tasks, kills, progress; docs/semantics.md, rules DK."""

from __future__ import annotations

from simsched.engine.interface.decisions import Reason, refusal
from simsched.engine.reference.engine import Engine
from simsched.engine.reference.pools import held
from simsched.engine.reference.segments import Segment
from simsched.engine.reference.worker import Worker
from simsched.engine.stall import NOT_STARTED
from simsched.policy.contract.executions import Progress
from simsched.trace.schema import EventKind, Loss


class Executions:
    """Who executes tasks that several workers execute."""

    def __init__(self, sim: Engine, workers: list[Worker]) -> None:
        self._sim, self._workers = sim, workers
        self._several: dict[int, set[int]] = {}  # workers of tasks with several executions

    def check_sole(self, worker: int, hook: str) -> None:
        """Raise PolicyError unless a worker's task can be moved: nobody else executes it."""
        task = self._executed_task(worker, hook)
        if task in self._several:
            raise refusal(hook, Reason.SEVERAL, task=task)

    def _executed_task(self, worker: int, hook: str) -> int:
        """Return the task that a worker executes, which a decision is about."""
        segment = self._workers[worker].segment
        if segment is None:
            raise refusal(hook, Reason.VICTIM, worker=worker)
        if self._sim.problem.copies_data:
            raise refusal(hook, Reason.COPIED)
        return segment.task

    def duplicate(self, worker: int, taker: int, hook: str) -> tuple[int, int]:
        """Let a worker take a task that another one executes; return it and what that costs."""
        sim = self._sim
        task = self._leaf_of(worker, hook)
        self._several.setdefault(task, {worker}).add(taker)
        self._workers[taker].become_busy()
        sim.record.event(sim.now, EventKind.DUPLICATE, taker, task, worker)
        sim.record.duplicates += 1
        distance = sim.pools.distance(taker, 0, worker)
        return task, held(sim.problem.costs.steal_ps, distance)

    def kill(self, worker: int, hook: str) -> None:
        """Let a worker lose its task by decision; if nobody else executes it, it starts over."""
        sim = self._sim
        task = self._leaf_of(worker, hook)
        self._lose(self._workers[worker], task, Loss.KILLED)
        if self._leave(task, worker):
            sim.release_domain(task)
            sim.push_back(task, worker)

    def end(self, task: int, worker: int) -> None:
        """Kill the other executions of a task that a worker has ended."""
        for other in sorted(self._several.pop(task, set()) - {worker}):
            self._lose(self._workers[other], task, Loss.ENDED)

    def fail(self, worker: Worker) -> int | None:
        """Take its task away from a worker that fails; return the task if nobody else has it."""
        sim, task = self._sim, worker.task
        if task is None or worker.is_copying:
            worker.stop()
            return None
        self._lose(worker, task, Loss.FAILED)
        sim.record.workers[
            worker.index
        ].acquire_ps -= sim.problem.costs.context_switch_ps  # not paid
        worker.stop()
        sim.tasks.saved.pop(task, None)
        sim.tasks.remaining.pop(task, None)
        return task if self._leave(task, worker.index) else None

    def wake(self, task: int) -> None:
        """Let the workers go on that have waited for the end of a task."""
        for worker in self._workers:
            if worker.awaits is not None and task in worker.awaits:
                worker.stop_awaiting()
                self._sim.let_go_on(worker.index)

    def _leave(self, task: int, worker: int) -> bool:
        """Note that a worker has lost a task; return whether nobody executes it any more."""
        left = self._several.pop(task, {worker}) - {worker}
        if len(left) > 1:
            self._several[task] = left
        if left:
            return False
        self._sim.tasks.started[task] = NOT_STARTED
        return True

    def _lose(self, worker: Worker, task: int, loss: Loss) -> None:
        """Take a task away from a worker for good."""
        sim = self._sim
        spent = worker.lose()
        sim.record.event(sim.now, EventKind.KILL, worker.index, task, loss, spent)
        sim.record.kills += 1
        sim.record.wasted_ps += max(0, spent)

    def _leaf_of(self, worker: int, hook: str) -> int:
        """Return the leaf task that a worker executes."""
        is_awaiting = self._workers[worker].awaits is not None
        task = self._workers[worker].task if is_awaiting else self._executed_task(worker, hook)
        assert task is not None
        if not self._sim.tasks.is_leaf(task):
            raise refusal(hook, Reason.SPAWNS, task=task)
        return task

    # -------------------------------------------------------------------------------------------
    # what policies see

    def progress(self, worker: int) -> Progress | None:
        """Return how far a worker is with the task that it executes."""
        w = self._workers[worker]
        segment = w.segment
        if w.awaits is not None:
            assert w.task is not None
            return Progress(w.task, w.began_ps, w.phase, 0.0)
        if segment is None:
            return None
        done = min(self._operations_done(segment), self._bytes_done(worker, segment))
        return Progress(segment.task, w.began_ps, segment.phase, done)

    def _operations_done(self, segment: Segment) -> float:
        """Return the part of the segment's operations that is done."""
        if segment.total_ops <= 0.0:
            return 1.0
        left = segment.left_at(self._sim.now, self._sim.lag)
        return max(0.0, 1.0 - left / segment.total_ops)

    def _bytes_done(self, worker: int, segment: Segment) -> float:
        """Return the part of the access's bytes that has been moved or was in a cache."""
        sim = self._sim
        if segment.n_bytes <= 0:
            return 1.0
        left = 0.0
        for place, (_, _, size) in enumerate(segment.flows):
            is_running = place == 0 and segment.flowing
            left += sim.sharing.left(worker, sim.now, sim.lag) if is_running else size
        return max(0.0, 1.0 - left / segment.n_bytes)
