"""Relaxed work stealing: iterations begin from the schedule of an earlier one and steal."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from simsched.policy import (
    PARENT_FIRST,
    AcquireStep,
    Counters,
    PlacedPolicy,
    Plan,
    PlanView,
    Update,
    register,
)
from simsched.policy.algorithms.work_stealing.random_stealing import stealing_plan
from simsched.workload.graph import Int32Array, TaskGraph


@dataclass(eq=False)
class Retained:
    """The schedule that is kept."""

    #: shape (n_tasks,): who executes each task; None until an iteration has been recorded
    worker: Int32Array | None = None


@register("relws")
@dataclass(frozen=True, kw_only=True)
class RelaxedStealing(PlacedPolicy[Retained]):
    """Relaxed work stealing (RelWS): every iteration starts from the schedule of the first one.

    Notes
    -----
    Iteration 1 runs under random stealing, child first. From iteration 2 on a task enters the pool
    of the worker that has executed it then. A worker takes its tasks in the order in which they
    come; one that has none steals the newest task of a random victim. Readings:
    docs/sources/bats.md.

    References
    ----------
    J. Lifflander, S. Krishnamoorthy, L. V. Kale, *Optimizing data locality for fork/join programs
    using constrained work stealing*, SC 2014, as summarised by H. Zhao et al., ACM TACO 15(4),
    article 55, 2018.
    """

    def start(self, view: PlanView) -> Retained:
        return Retained()

    def plan(self, view: PlanView, state: Retained, graph: TaskGraph) -> Plan:
        if state.worker is None or graph is not view.workload.graph:
            return stealing_plan()
        return Plan(
            acquire=(
                AcquireStep("worker", "own", "oldest"),
                AcquireStep("worker", "anywhere", "newest"),
            ),
            spawn_order=PARENT_FIRST,
            instance_of=state.worker,
        )

    def on_iteration(self, view: PlanView, state: Retained, counters: Counters) -> Update | None:
        if counters.iteration != 1:
            return None
        state.worker = counters.executed_by.astype(np.int32)
        return Update(plan=self.plan(view, state, view.workload.graph))
