"""Pushes and their locks: who pays for them, and when."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from benchmarks.policies import CentralQueue
from simsched.engine.run import simulate
from simsched.machine.model import RuntimeCosts
from simsched.machine.synthetic import make_machine
from simsched.policy import make_policy
from simsched.policy.contract.base import CHILD_FIRST, Plan, PlanView, Policy, PoolGroup
from simsched.trace.schema import EventKind
from simsched.workload.builder import adjacency, build_graph
from simsched.workload.graph import TaskGraph, Workload

US = 1_000_000
COSTS = RuntimeCosts(
    spawn_child_first_ps=7, spawn_parent_first_ps=150, push_ps=30, lock_hold_ps=100
)
FORK = build_graph([1000.0] * 3, successors=adjacency([0, 0], [1, 2], 3))
TREE = build_graph([0.0, 1000.0, 1000.0], children=adjacency([0, 0], [1, 2], 3))


def starts(backend: str, policy: Policy, graph: TaskGraph, workers: int) -> list[tuple[int, int]]:
    """Return (time, task) of every start."""
    machine = make_machine(domains=1, cores_per_domain=workers, costs=COSTS)
    run = simulate(machine, Workload("w", graph), policy, backend=backend, events=True)
    assert run.trace is not None
    columns = run.trace.events
    chosen = columns["kind"] == EventKind.TASK_START
    names = ("time_ps", "task")
    return list(zip(*(columns[name][chosen].tolist() for name in names), strict=True))


def test_who_ends_a_task_pays_for_the_release_of_its_successors(backend: str) -> None:
    queue = CentralQueue()
    # One worker pays two pushes; a second one takes the first successor at once.
    assert starts(backend, queue, FORK, 1) == [(0, 0), (US + 60, 1), (2 * US + 60, 2)]
    assert starts(backend, queue, FORK, 2) == [(0, 0), (US, 1), (US + 60, 2)]


def test_pushes_of_one_instant_take_the_lock_one_after_the_other(backend: str) -> None:
    sharing = make_policy("work_sharing")
    # The lock is taken for the first pop until 100; for the pushes at 30 and 160 after the end,
    # until 260, and then by the woken worker and by the one that has pushed.
    end = 100 + US
    assert starts(backend, sharing, FORK, 2) == [(100, 0), (end + 360, 1), (end + 460, 2)]


def test_a_parent_waits_for_the_lock_before_it_spawns_the_next_child(backend: str) -> None:
    # Pop 100; spawn 150, push 100, twice; pop 100.
    found = starts(backend, make_policy("work_sharing"), TREE, 1)
    assert found == [(100, 0), (700, 1), (700 + US + 100, 2)]


class LockedPools(CentralQueue):
    def plan(self, view: PlanView, state: Any, graph: TaskGraph) -> Plan:
        plan = super().plan(view, state, graph)
        groups = (PoolGroup("worker", locked=True), plan.pool_groups[1])
        everywhere = np.zeros(graph.n_tasks, np.int8)
        return replace(plan, pool_groups=groups, spawn_order=CHILD_FIRST, group_of=everywhere)


def test_a_continuation_waits_for_the_lock_of_its_pool(backend: str) -> None:
    # Pop 100; continuation 100, spawn 7; after the first child pop 100, spawn 7.
    found = starts(backend, LockedPools(), TREE, 1)
    assert found == [(100, 0), (207, 1), (207 + US + 107, 2)]
