"""Relaxed work stealing: iterations begin from the schedule of an earlier one and steal."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

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
from simsched.workload.graph import TaskGraph


@dataclass(eq=False)
class Retained:
    """The schedule that is kept."""

    #: shape (n_tasks,): who executes each task; None until an iteration has been recorded
    worker: NDArray[np.int32] | None = None


@register("relws")
@dataclass(frozen=True, kw_only=True)
class RelaxedStealing(PlacedPolicy[Retained]):
    """Relaxed work stealing (RelWS): every iteration starts from the schedule of the first one.

    Notes
    -----
    Iteration 1 runs under random stealing, child first. Who has executed each task is kept, and
    from iteration 2 on a task enters the pool of that worker when it is spawned or its
    predecessors have ended. A worker takes its tasks in the order in which they come; one that has
    none steals the newest task of a random victim, the one that its owner would reach last. So data
    that the first iteration has placed, or left in a cache, are found again, and stealing evens out
    what differs.

    Interpretations: the source of this summary says that an earlier good schedule is recorded in a
    steal tree and reused in later iterations, not which one is good; here it is that of the first
    iteration. A steal tree tells who executes what, which engines count anyway. Children are
    spawned parent first once a schedule is known, since each has its own worker to go to. Recording
    costs nothing here.

    References
    ----------
    J. Lifflander, S. Krishnamoorthy, L. V. Kale, *Optimizing data locality for fork/join programs
    using constrained work stealing*, SC 2014, as summarised by H. Zhao et al., ACM TACO 15(4),
    article 55, 2018.
    """

    def start(self, view: PlanView) -> Retained:
        """Return that nothing is known."""
        return Retained()

    def plan(self, view: PlanView, state: Retained, graph: TaskGraph) -> Plan:
        """Return random stealing, or the schedule that is kept."""
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
        """Keep the schedule of iteration 1."""
        if counters.iteration != 1:
            return None
        state.worker = counters.executed_by.astype(np.int32)
        return Update(plan=self.plan(view, state, view.workload.graph))
