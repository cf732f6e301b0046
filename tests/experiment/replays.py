"""Recorded schedules, simulated again: every task on its worker, with the data where they lay."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from simsched.engine.run import simulate
from simsched.policy import PARENT_FIRST, PlanView
from simsched.policy.algorithms.static.recorded import Recorded
from simsched.policy.contract.base import Placement, Plan
from simsched.policy.parts.static_order import own_lists
from simsched.trace.run import Run
from simsched.trace.schema import EventKind
from simsched.workload.arrays import Int32Array
from simsched.workload.graph import TaskGraph, Workload


@dataclass(frozen=True, kw_only=True)
class Replayed(Recorded):
    """The assignment of a run of another policy, in the order in which tasks become ready.

    All iterations have that of the first one.
    """

    of: Any = None
    init_worker: tuple[int, ...] = ()
    #: Where the policy has placed the data, once it has been asked.
    placed: list[Placement] = field(default_factory=list)

    def prepare(self, view: PlanView) -> Workload:
        found: Workload = self.of.prepare(view)
        return found

    def place(self, view: PlanView, state: None) -> Placement:
        if not self.placed:
            self.placed.append(self.of.place(view, self.of.start(view)))
        return self.placed[0]

    def plan(self, view: PlanView, state: None, graph: TaskGraph) -> Plan:
        worker = self.init_worker if graph is view.workload.init else self.worker
        return own_lists(np.array(worker, np.int32), spawn_order=PARENT_FIRST)


def schedule_of(run: Run) -> Replayed:
    """Return the assignment of a run as a policy."""
    first = _workers(run, 1, run.workload.graph.n_tasks)
    init = run.workload.init
    of_init = () if init is None else _workers(run, 0, init.n_tasks)
    return Replayed(worker=tuple(first), init_worker=tuple(of_init), of=run.policy)


def _workers(run: Run, iteration: int, n_tasks: int) -> list[int]:
    assert run.trace is not None
    events = run.trace.events
    rows = (events["kind"] == EventKind.TASK_START) & (events["iteration"] == iteration)
    found: Int32Array = np.full(n_tasks, -1, np.int32)
    found[events["task"][rows]] = events["worker"][rows]
    return [int(worker) for worker in found]


def replayed(run: Run, policy: Replayed, **changes: Any) -> Run:
    """Return a run of a schedule, with its events; changes are of machine and program."""
    made = replace(run, **changes)
    return simulate(
        made.machine,
        made.workload,
        policy,
        workers=len(run.worker_thread),
        seed=run.seed,
        events=True,
    )
