"""The simplest policies that tests with known answers need."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from simsched.policy.base import AcquireStep, Placement, Plan, Policy, PoolGroup, View, param
from simsched.workload.graph import TaskGraph


@dataclass(frozen=True, kw_only=True)
class CentralQueue(Policy):
    """One FIFO for everybody, without a lock: greedy list scheduling."""

    home: int = param(-1, low=-1)
    spawn: int = param(1, low=0, high=1)

    def place(self, view: View, state: Any) -> Placement:
        home = np.full(view.workload.graph.n_blocks, self.home, np.int32)
        return Placement(home, view.machine.touch_order)

    def plan(self, view: View, state: Any, graph: TaskGraph) -> Plan:
        return Plan(
            acquire=(AcquireStep("worker"), AcquireStep("all", "own", "oldest")),
            pool_groups=(PoolGroup("worker"), PoolGroup("all", "machine")),
            group_of=np.ones(graph.n_tasks, np.int8),
            spawn_order=self.spawn,
        )
