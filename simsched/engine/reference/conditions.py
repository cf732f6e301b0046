"""Cores whose speed changes, and workers that fail; docs/semantics.md, rules CC."""

from __future__ import annotations

import numpy as np

from simsched.engine.backend import NOBODY
from simsched.engine.reference.engine import Engine
from simsched.engine.reference.executions import Executions
from simsched.engine.reference.worker import Worker
from simsched.trace.schema import NONE, EventKind


class Conditions:
    """What happens to cores during a run, and who has failed."""

    def __init__(self, sim: Engine, workers: list[Worker], executions: Executions) -> None:
        self._sim, self._workers, self._executions = sim, workers, executions
        problem = sim.problem
        self._next = 0
        # The rates of each core as described: those of any of its workers at the start.
        _, first = np.unique(problem.worker_core, return_index=True)
        self._described = problem.worker_rate[first].copy()
        self.failed: list[int] = []  # ascending

    def next_change(self) -> tuple[int, int] | None:
        """Return (time, number) of the next change."""
        if self._next == len(self._sim.problem.change_ps):
            return None
        return int(self._sim.problem.change_ps[self._next]), self._next

    def change(self) -> None:
        """Let the next change happen."""
        sim, number = self._sim, self._next
        self._next += 1
        speed = float(sim.problem.change_speed[number])
        concerned = [w for w in self._workers if sim.problem.change_core[number, w.core]]
        if speed == 0.0:
            self._fail([w for w in concerned if w.index not in self.failed])
            return
        sim.record.event(sim.now, EventKind.SPEED, NONE, NONE, number, int(speed * 1e6))
        for worker in concerned:
            sim.problem.worker_rate[worker.index] = speed * self._described[worker.core]
        for worker in concerned:
            if worker.segment is not None:
                worker.adapt()

    def _fail(self, workers: list[Worker]) -> None:
        """Let workers fail; what they were to execute goes back to pools."""
        sim, lost = self._sim, []
        heads = sim.pools.heads()
        for worker in workers:
            sim.record.event(sim.now, EventKind.FAILURE, worker.index, NONE)
            task = self._executions.fail(worker)
            if task is not None:
                lost.append(task)
            self.failed = sorted([*self.failed, worker.index])
            sim.pools.deactivate(worker.index)
        for task in lost:
            sim.release_domain(task)
            sim.push_back(task, NOBODY)
        for worker in workers:
            for pool in sim.pools.dead_pools(worker.index):
                for _ in range(len(pool)):  # without an active worker they come back
                    if pool:  # on_ready may have sent others of them elsewhere
                        sim.push_back(pool.popleft(), NOBODY)
        for worker in workers:
            sim.pass_on(worker.index)
        for head in sorted(sim.pools.heads() - heads):
            if sim.is_waiting(head) and not sim.has_ended:
                sim.wake(head, 1)
