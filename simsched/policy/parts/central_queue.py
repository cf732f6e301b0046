"""One queue for all tasks, with a lock that is held for every push and every pop."""

from __future__ import annotations

import numpy as np

from simsched.policy.contract.base import PARENT_FIRST, AcquireStep, Plan, PoolGroup
from simsched.workload.graph import TaskGraph


def central_queue(graph: TaskGraph, take: str = "oldest") -> Plan:
    """Return a plan in which all tasks go through the central queue; spawned parent first."""
    return Plan(
        acquire=(AcquireStep("central", "own", take),),
        pool_groups=(PoolGroup("worker"), PoolGroup("central", scope="machine", locked=True)),
        spawn_order=PARENT_FIRST,
        group_of=np.ones(graph.n_tasks, np.int8),
    )
