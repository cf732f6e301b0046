"""Ready tasks for whoever is free first: one pool for all workers, in place of a policy's own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from simsched.policy import PARENT_FIRST, AcquireStep, Plan, PlanView, Policy, PoolGroup
from simsched.policy.contract.base import Placement
from simsched.workload.graph import TaskGraph, Workload


@dataclass(frozen=True, kw_only=True)
class SharedPool(Policy[Any]):
    """The program and the placement of another policy, and one queue for all workers.

    What has become ready first is taken first; who has suspended a task goes on with it before it
    takes another one, and somebody else does where the worker is busy.
    """

    of: Any = None

    def prepare(self, view: PlanView) -> Workload:
        """Return the other policy's program."""
        found: Workload = self.of.prepare(view)
        return found

    def start(self, view: PlanView) -> Any:
        """Return what the other policy remembers."""
        return self.of.start(view)

    def place(self, view: PlanView, state: Any) -> Placement:
        """Return the other policy's placement."""
        found: Placement = self.of.place(view, state)
        return found

    def plan(self, view: PlanView, state: Any, graph: TaskGraph) -> Plan:
        """Return the plan of one queue."""
        return Plan(
            acquire=(
                AcquireStep("worker", "own", "oldest"),
                AcquireStep("shared", "own", "oldest"),
                AcquireStep("worker", "anywhere", "oldest"),
            ),
            pool_groups=(PoolGroup("worker"), PoolGroup("shared", "machine")),
            spawn_order=PARENT_FIRST,
            group_of=np.ones(graph.n_tasks, np.int8),
        )
