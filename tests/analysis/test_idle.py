"""Causes of idle time: by hand for one program each, and adding up for random programs."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simsched.analysis.idle import IdleCauses, idle_causes
from simsched.analysis.path import critical_path
from simsched.analysis.waterfall import time_parts
from simsched.engine.run import simulate
from simsched.files.errors import SimschedError
from simsched.machine import load_machine
from simsched.machine.model import Change, CoreGroup, Machine, RuntimeCosts
from simsched.machine.synthetic import make_machine
from simsched.policy import list_policies, make_policy
from simsched.policy.contract.base import AcquireStep, Plan, PlanView, Transfer, Uniform
from simsched.testing.cases import small_cases
from simsched.trace.run import Run
from simsched.workload.builder import accesses, adjacency, build_graph
from simsched.workload.graph import TaskGraph, Workload
from simsched.workload.registry import generate_workload
from tests.analysis.random_runs import POLICIES, on_both
from tests.engine.test_duplicates import US, Deciding, uneven


def two(costs: RuntimeCosts | None = None) -> Machine:
    """Two cores that compute 1000 operations per microsecond."""
    return uneven(1.0, 1.0, costs=costs)


def causes(
    backend: str, machine: Machine, graph: TaskGraph, policy: Any, iterations: int = 1
) -> dict[tuple[str, str], list[float]]:
    """The causes of each worker's idle time in microseconds."""
    workload = Workload("w", graph, iterations=iterations)
    run = simulate(machine, workload, policy, backend=backend, events=True)
    found = checked(run)
    return {key: (time / US).tolist() for key, time in found.ps.items()}


def checked(run: Run) -> IdleCauses:
    """The causes of a run, which add up to what its counters leave."""
    found, summary = idle_causes(run), run.summary
    assert all((time >= 0).all() for time in found.ps.values())
    total = sum(found.ps.values(), np.zeros_like(found.idle_ps))
    assert total.tolist() == found.idle_ps.tolist()
    paid = summary.worker_busy_ps + summary.worker_spawn_ps
    paid = paid + summary.worker_acquire_ps + summary.worker_migrate_ps
    # Counters hold payments that the end of the run, or a failure, has cut off.
    assert (found.idle_ps >= summary.makespan_ps - paid).all()
    parts = time_parts(run)
    assert sum(parts.seconds.values()) == pytest.approx(parts.makespan_s, rel=1e-9)
    return found


def test_what_follows_a_task_is_waited_for(backend: str) -> None:
    # 4 us, then 1 us on each worker, then 3 us on the first, which are the tail of the second.
    graph = build_graph(
        [4000.0, 1000.0, 1000.0, 3000.0], successors=adjacency([0, 0, 1], [1, 2, 3], 4)
    )
    found = causes(backend, two(), graph, Deciding(owner=(0, 0, 1, 0)))
    assert found == {("dependencies", ""): [0, 4], ("tail", ""): [0, 3]}


def test_what_is_left_when_all_tasks_are_taken_is_the_tail(backend: str) -> None:
    found = causes(backend, two(), build_graph([5000.0, 2000.0]), Deciding(owner=(0, 1)))
    assert found == {("tail", ""): [0, 3]}


def test_a_worker_may_get_nothing_in_an_iteration(backend: str) -> None:
    costs = RuntimeCosts(barrier_ps=7 * US)
    graph = build_graph([5000.0, 2000.0])
    found = causes(backend, two(costs), graph, Deciding(owner=(0, 0)), iterations=2)
    assert found == {
        ("none given", "kept: pool worker of its domain"): [0, 10],
        ("none given", "tail"): [0, 4],
        ("between iterations", ""): [7, 7],
    }


def test_tasks_may_be_kept_in_the_pool_of_another_worker(backend: str) -> None:
    # Worker 1 has 1 us of work while worker 0 has 2 + 2 + 3 us.
    graph = build_graph([2000.0, 2000.0, 3000.0, 1000.0])
    found = causes(backend, two(), graph, Deciding(owner=(0, 0, 0, 1)))
    assert found == {("kept", "pool worker of its domain"): [0, 3], ("tail", ""): [0, 3]}
    apart = make_machine(domains=2, cores_per_domain=1)
    found = causes(backend, apart, graph, Deciding(owner=(0, 0, 0, 1)))
    assert set(found) == {("kept", "pool worker of other domains"), ("tail", "")}


def test_tasks_that_arrive_later_are_waited_for(backend: str) -> None:
    graph = build_graph([1000.0, 2000.0], arrival_ps=[0, 6 * US])
    found = causes(backend, two(), graph, Deciding(owner=(0, 1)))
    assert found == {("arrivals", ""): [5, 6], ("tail", ""): [2, 0]}


def test_one_worker_creates_the_tasks_of_others(backend: str) -> None:
    # 1 us of its own, then 2 us for each of two children; they take 3 us.
    graph = build_graph(
        [1000.0, 3000.0, 3000.0],
        children=adjacency([0, 0], [1, 2], 3),
        creation_ops=[0.0, 2000.0, 2000.0],
    )
    policy = make_policy("random_stealing", {"spawn": "parent_first"})
    found = causes(backend, two(), graph, policy)
    assert found == {("unfolding", ""): [0, 3], ("tail", ""): [0, 2]}


@dataclass(frozen=True, kw_only=True)
class OneIsChoosy(Deciding):
    """Only the first worker takes from a pool that holds a single task."""

    def plan(self, view: PlanView, state: Any, graph: TaskGraph) -> Plan:
        acquire = (
            AcquireStep("worker", "own", "oldest", ("head_worker",)),
            AcquireStep("worker", "anywhere", "oldest", ("head_worker",)),
            AcquireStep("worker", "own", "oldest", ("not_head_worker",), choice=Uniform(least=2)),
        )
        return replace(super().plan(view, state, graph), acquire=acquire)


def test_a_worker_may_leave_tasks_in_its_own_pool(backend: str) -> None:
    graph = build_graph([2000.0, 3000.0])
    assert causes(backend, two(), graph, OneIsChoosy(owner=(0, 1))) == {
        ("none given", "kept: pool worker of its own"): [0, 2],
        ("none given", "tail"): [0, 3],
    }


@dataclass(frozen=True, kw_only=True)
class OneSteals(Deciding):
    """All but the first worker also take from pools of others."""

    def plan(self, view: PlanView, state: Any, graph: TaskGraph) -> Plan:
        steal = AcquireStep("worker", "anywhere", "oldest", ("not_head_worker",))
        acquire = AcquireStep("worker", "own", "oldest"), steal
        return replace(super().plan(view, state, graph), acquire=acquire, roots="last")


def test_a_steal_that_is_paid_for_holds_up_what_follows(backend: str) -> None:
    # After 1 us both take a task; worker 1 pays 5 us for that, executes it for 6 us, and only then
    # there is another one, which worker 1 takes, too: worker 0 waits from 2 to 12 us, and then
    # for the rest of the iteration.
    costs = RuntimeCosts(steal_ps=(5 * US,))
    graph = build_graph(
        [1000.0, 1000.0, 6000.0, 1000.0], successors=adjacency([0, 0, 2], [1, 2, 3], 4)
    )
    found = causes(backend, two(costs), graph, OneSteals(owner=(0, 0, 0, 0)))
    assert found == {
        ("dependencies", ""): [6, 1],
        ("on its way", "steal"): [4, 0],
        ("tail", ""): [6, 0],
    }


def test_a_task_that_is_sent_is_on_its_way(backend: str) -> None:
    decision = Transfer(0, 0, 0, 1, count=1, delay_ps=3 * US)
    policy = Deciding(owner=(0, 0), at_us=((1, decision),))
    found = causes(backend, two(), build_graph([2000.0, 2000.0]), policy)
    assert found == {
        ("kept", "pool worker of its domain"): [0, 1],
        ("on its way", "message"): [2, 3],
        ("tail", ""): [2, 0],
    }


def test_a_worker_waits_inside_a_task(backend: str) -> None:
    graph = build_graph(
        [4000.0, 1000.0],
        accessed=accesses([1], [0], 0, 0, 2),
        block_bytes=[10],
        access_share=[1.0],
        access_after=[0],
    )
    found = causes(backend, two(), graph, Deciding(owner=(0, 1)))
    assert found == {("awaiting", ""): [0, 4], ("tail", ""): [1, 0]}


def test_a_worker_that_has_failed_is_idle_for_that(backend: str) -> None:
    machine = replace(two(), changes=(Change(2 * US, (1,), 0.0),))
    graph = build_graph([6000.0, 1000.0])
    found = causes(backend, machine, graph, Deciding(owner=(0, 1)))
    assert found == {("tail", ""): [0, 1], ("failed", ""): [0, 4]}


def test_tasks_that_a_processor_cannot_run_are_none_for_it(backend: str) -> None:
    machine = make_machine(domains=1, cores_per_domain=2)
    kind = machine.core_groups[0].kind
    groups = (*machine.core_groups, CoreGroup("other", "other", 1e9, (1.0,)))
    machine = replace(machine, core_groups=groups, core_group=np.array([0, 1], np.int32))
    ops = np.array([[2000.0, 2000.0, np.inf], [np.inf, np.inf, 1000.0]])
    graph = build_graph(ops, join_ops=np.zeros_like(ops), kinds=(kind, "other"))
    found = causes(backend, machine, graph, Deciding(owner=(0, 0, 1)))
    assert found == {("tail", ""): [0, 3]}


@pytest.mark.parametrize("policy", POLICIES)
@settings(max_examples=25)
@given(seed=st.integers(0, 10**6))
def test_causes_add_up_for_random_programs(policy: type[Any], seed: int) -> None:
    expected, found = map(checked, on_both(policy, seed))
    assert list(found.ps) == list(expected.ps)
    assert all((found.ps[key] == expected.ps[key]).all() for key in found.ps)


@pytest.mark.parametrize("policy", [info.name for info in list_policies()])
def test_causes_add_up_for_every_policy(policy: str) -> None:
    cases, n_runs = list(small_cases()), 0
    for case in cases[2::13] + cases:
        if n_runs == 5:
            break
        try:
            run = simulate(
                case.machine, case.workload, make_policy(policy), workers=case.workers, events=True
            )
        except SimschedError:
            continue
        checked(run)
        n_runs += 1
    assert n_runs == 5


def test_a_run_without_trace_is_refused() -> None:
    run = simulate(two(), Workload("w", build_graph([1.0])), make_policy("cilk_a"))
    with pytest.raises(ValueError, match="no event trace"):
        idle_causes(run)


@pytest.mark.parametrize("policy", ["dmdas", "heteroprio", "eager", "lws"])
def test_copies_of_data_are_waited_for(backend: str, policy: str) -> None:
    sizes = {"tiles": 6, "tile_size": 960, "element_bytes": 4, "costs": "measured"}
    run = simulate(
        load_machine("attila"),
        generate_workload("cholesky", sizes),
        make_policy(policy),
        backend=backend,
        events=True,
    )
    found = checked(run)
    assert sum(critical_path(run).by_activity().values()) == run.summary.makespan_ps
    # Between two kernels of its chain a device waits for the tiles of the second one.
    assert found.ps["on its way", "copy"].sum() > 0
