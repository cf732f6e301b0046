"""No worker sleeps beside work that it may take."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from benchmarks.policies import CentralQueue
from simsched.engine.run import simulate
from simsched.machine.synthetic import make_machine
from simsched.policy.base import AcquireStep, Plan, PoolGroup, View
from simsched.workload.builder import build_graph
from simsched.workload.graph import TaskGraph, Workload


class SubgraphPerDomain(CentralQueue):
    """Task d belongs to domain d; others may take it only when they have nothing active."""

    def plan(self, view: View, state: Any, graph: TaskGraph) -> Plan:
        return Plan(
            acquire=(
                AcquireStep("high", "own"),
                AcquireStep("high", "other_domains", "oldest", ("domain_inactive",)),
            ),
            pool_groups=(PoolGroup("worker"), PoolGroup("high", "domain", True, True)),
            group_of=np.ones(graph.n_tasks, np.int8),
            instance_of=np.arange(graph.n_tasks, dtype=np.int32),
        )


@pytest.mark.parametrize("seed", range(12))
def test_a_worker_that_takes_something_else_passes_its_call_on(backend: str, seed: int) -> None:
    # Both tasks are pushed in one instant. When a worker of domain 0 that was woken for the first
    # is overtaken, the call must not be lost: either order ends after one task's time.
    machine = make_machine(domains=2, cores_per_domain=4)
    workload = Workload("two", build_graph([1e6, 1e6]))
    run = simulate(machine, workload, SubgraphPerDomain(), seed=seed, backend=backend)
    assert run.summary.makespan_ps == 10**9
