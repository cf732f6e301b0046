"""The critical path: by hand, and without gaps for random programs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simsched.analysis.path import CriticalPath, critical_path
from simsched.engine.run import simulate
from simsched.machine.model import RuntimeCosts
from simsched.policy import make_policy
from simsched.policy.contract.base import Preempt, Transfer
from simsched.policy.contract.executions import Duplicate
from simsched.trace.run import Run
from simsched.workload.builder import accesses, adjacency, build_graph
from simsched.workload.graph import TaskGraph, Workload
from tests.analysis.random_runs import POLICIES, on_both
from tests.analysis.test_idle import OneSteals
from tests.engine.test_duplicates import US, Deciding, uneven


def checked(run: Run) -> CriticalPath:
    """The path of a run: it has no gaps, and runs from its start to its end."""
    path, summary = critical_path(run), run.summary
    if summary.makespan_ps:
        assert path.start_ps[0] == summary.iteration_start_ps[0]
        assert path.end_ps[-1] == summary.makespan_ps
    assert (path.start_ps[1:] == path.end_ps[:-1]).all()
    assert (path.start_ps < path.end_ps).all()
    assert sum(path.by_activity().values()) == summary.makespan_ps
    return path


def steps(
    backend: str, graph: TaskGraph, policy: Any, costs: RuntimeCosts | None = None
) -> list[tuple[str, int, int, float]]:
    """Activity, worker, task and microseconds of every piece."""
    machine = uneven(1.0, 1.0, costs=costs)
    run = simulate(machine, Workload("w", graph), policy, backend=backend, events=True)
    path = checked(run)
    length = ((path.end_ps - path.start_ps) / US).tolist()
    columns = path.activity.tolist(), path.worker.tolist(), path.task.tolist(), length
    return list(zip(*columns, strict=True))


def test_the_longer_of_two_chains_is_on_it(backend: str) -> None:
    graph = build_graph(
        [1000.0, 2000.0, 5000.0, 1000.0], successors=adjacency([0, 0, 1, 2], [1, 2, 3, 3], 4)
    )
    assert steps(backend, graph, Deciding(owner=(0, 0, 1, 0))) == [
        ("task", 0, 0, 1),
        ("task", 1, 2, 5),
        ("task", 0, 3, 1),
    ]


def test_a_task_that_waits_for_its_worker_follows_what_that_has_done(backend: str) -> None:
    assert steps(backend, build_graph([2000.0, 3000.0, 1000.0]), Deciding(owner=(0, 0, 1))) == [
        ("task", 0, 0, 2),
        ("task", 0, 1, 3),
    ]


def test_what_a_steal_or_a_release_costs_is_on_it(backend: str) -> None:
    costs = RuntimeCosts(steal_ps=(5 * US,), push_ps=2 * US)

    def fork(stolen: float) -> TaskGraph:
        return build_graph([1000.0, stolen, 6000.0], successors=adjacency([0, 0], [1, 2], 3))

    assert steps(backend, fork(1000.0), OneSteals(owner=(0, 0, 0)), costs) == [
        ("task", 0, 0, 1),
        ("release", 0, 0, 4),
        ("task", 0, 2, 6),
    ]
    assert steps(backend, fork(9000.0), OneSteals(owner=(0, 0, 0)), costs) == [
        ("task", 0, 0, 1),
        ("steal", 1, 1, 5),
        ("task", 1, 1, 9),
    ]


def test_tasks_that_arrive_late_are_waited_for(backend: str) -> None:
    graph = build_graph([1000.0, 2000.0], arrival_ps=[0, 6 * US])
    assert steps(backend, graph, Deciding(owner=(0, 1))) == [
        ("arrival", -1, 1, 6),
        ("task", 1, 1, 2),
    ]


def test_tasks_that_are_sent_are_waited_for_in_both_pools(backend: str) -> None:
    decision = Transfer(0, 0, 0, 1, count=1, delay_ps=3 * US)
    policy = Deciding(owner=(0, 0), at_us=((1, decision),))
    assert steps(backend, build_graph([2000.0, 2000.0]), policy) == [
        ("pool", -1, 1, 1),
        ("message", -1, 1, 3),
        ("task", 1, 1, 2),
    ]


def test_a_wait_inside_a_task_follows_the_other_task(backend: str) -> None:
    graph = build_graph(
        [4000.0, 1000.0],
        accessed=accesses([1], [0], 0, 0, 2),
        block_bytes=[10],
        access_share=[1.0],
        access_after=[0],
    )
    assert steps(backend, graph, Deciding(owner=(0, 1))) == [("task", 0, 0, 4), ("task", 1, 1, 1)]


@pytest.mark.parametrize("decision", [Preempt(0, 1), Duplicate(0, 1)])
def test_a_task_that_is_taken_over_was_executed_before(backend: str, decision: Any) -> None:
    machine = uneven(1.0, 4.0)
    policy = Deciding(owner=(0, 1), at_us=((2, decision),))
    run = simulate(
        machine, Workload("w", build_graph([12000.0, 4000.0])), policy, backend=backend, events=True
    )
    path = checked(run)
    assert path.worker.tolist() == [0, 1]
    assert path.task.tolist() == [0, 0]


def test_children_and_joins_are_one_chain(backend: str) -> None:
    graph = build_graph(
        [1000.0, 3000.0, 1000.0],
        join_ops=[2000.0, 0.0, 0.0],
        children=adjacency([0, 0], [1, 2], 3),
        creation_ops=[0.0, 1000.0, 1000.0],
    )
    found = steps(backend, graph, make_policy("random_stealing", {"spawn": "parent_first"}))
    assert [step[0] for step in found][:2] == ["task", "spawn"]
    assert found[-1][::2] == ("task", 0)
    assert sum(step[3] for step in found) == 7


def test_iterations_are_joined_by_what_is_between_them(backend: str) -> None:
    workload = Workload("w", build_graph([1000.0]), iterations=2)
    machine = uneven(1.0, costs=RuntimeCosts(barrier_ps=3 * US))
    run = simulate(machine, workload, Deciding(owner=(0,)), backend=backend, events=True)
    path = checked(run)
    assert path.activity.tolist() == ["task", "between iterations", "task"]


@pytest.mark.parametrize("policy", POLICIES)
@settings(max_examples=25)
@given(seed=st.integers(0, 10**6))
def test_the_path_has_no_gaps_for_random_programs(policy: type[Any], seed: int) -> None:
    expected, found = map(checked, on_both(policy, seed))
    assert np.array_equal(expected.task, found.task)
    assert np.array_equal(expected.start_ps, found.start_ps)


def test_a_run_without_trace_is_refused() -> None:
    run = simulate(uneven(1.0), Workload("w", build_graph([1.0])), make_policy("cilk_a"))
    with pytest.raises(ValueError, match="no event trace"):
        critical_path(run)
