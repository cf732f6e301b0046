"""Tasks that wait until their successors have been created (`Plan.awaits_successors`)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from simsched.engine.run import simulate
from simsched.files.errors import StalledError
from simsched.machine.synthetic import make_machine
from simsched.policy.algorithms.work_stealing.random_stealing import RandomStealing
from simsched.policy.contract.base import Plan, PlanView
from simsched.trace.schema import EventKind
from simsched.workload.builder import adjacency, build_graph
from simsched.workload.graph import TaskGraph, Workload

ROOT, P, Q, S = range(4)
SECOND = 1e9  #: operations


@dataclass(frozen=True, kw_only=True)
class Waiting(RandomStealing):
    """Random stealing in which tasks know where to write before they begin."""

    awaits: bool = True

    def plan(self, view: PlanView, state: Any, graph: TaskGraph) -> Plan:
        plan = super().plan(view, state, graph)
        return Plan(
            acquire=plan.acquire,
            pool_groups=plan.pool_groups,
            spawn_order=1,
            awaits_successors=self.awaits,
        )


def program(parents: list[int], edges: list[tuple[int, int]], seconds: list[float]) -> Workload:
    """Return tasks that their parents create at their end without waiting for them."""
    n = len(parents)
    created = [task for task in range(n) if parents[task] >= 0]
    graph = build_graph(
        [s * SECOND for s in seconds],
        children=adjacency([parents[task] for task in created], created, n),
        successors=adjacency([u for u, _ in edges], [v for _, v in edges], n),
        detached=[parent >= 0 for parent in parents],
    )
    return Workload("w", graph)


def starts_s(backend: str, workload: Workload, *, awaits: bool) -> list[float]:
    """Return when each task begins."""
    machine = make_machine(domains=1, cores_per_domain=2)
    run = simulate(machine, workload, Waiting(awaits=awaits), backend=backend, events=True)
    assert run.trace is not None
    events = run.trace.events
    begun = events["kind"] == EventKind.TASK_START
    rows = zip(events["task"][begun].tolist(), events["time_ps"][begun].tolist(), strict=True)
    return [round(time_ps * 1e-12, 3) for _, time_ps in sorted(rows)]


@pytest.mark.parametrize(("awaits", "by_hand"), [(True, [0, 5, 0, 6]), (False, [0, 0, 0, 5])])
def test_a_producer_begins_when_its_consumer_exists(
    awaits: bool, by_hand: list[float], backend: str
) -> None:
    # The root creates p (1 s) and q (5 s); q creates s, which reads what p writes. p waits until 5
    # s and ends at 6 s, then s begins; without the rule p ends at 1 s and s begins at 5 s.
    workload = program([-1, ROOT, ROOT, Q], [(P, S)], [0, 1, 5, 1])
    assert starts_s(backend, workload, awaits=awaits) == by_hand


def test_a_task_does_not_wait_for_what_only_it_can_bring_about(backend: str) -> None:
    # p creates q and q creates s; both come after p, and s after q: 0, 1 and 6 s.
    workload = program([-1, ROOT, P, Q], [(P, Q), (P, S), (Q, S)], [0, 1, 5, 1])
    assert starts_s(backend, workload, awaits=True) == [0, 0, 1, 6]


def test_a_program_in_which_nobody_can_begin_says_so(backend: str) -> None:
    # q, which creates p's successor, comes after p: p would have to end before it begins.
    workload = program([-1, ROOT, ROOT, Q], [(P, Q), (P, S)], [0, 1, 5, 1])
    with pytest.raises(StalledError, match="task 1 waits for the creation of its successor 3"):
        starts_s(backend, workload, awaits=True)
