"""The recorded schedule: exact as it is, by hand with other lengths, and no gain off the path."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from simsched.analysis.lengths import Lengths
from simsched.analysis.path import critical_path
from simsched.analysis.schedule import Case, Schedule
from simsched.engine.run import simulate
from simsched.experiment.alterations import FREE, Setting, _cheaper
from simsched.experiment.alterations import _faster_cores as faster_cores
from simsched.experiment.program_alterations import _shorter_tasks
from simsched.machine.model import Machine, RuntimeCosts
from simsched.policy import make_policy
from simsched.policy.contract.base import Preempt, Transfer
from simsched.trace.run import Run
from simsched.workload.builder import accesses, adjacency, build_graph
from simsched.workload.graph import TaskGraph, Workload
from tests.analysis.random_runs import POLICIES, on_both
from tests.analysis.test_idle import OneSteals
from tests.engine.test_duplicates import US, Deciding, uneven


def unchanged(schedule: Schedule) -> Case:
    return Case(schedule.length_ps, schedule.gaps_ps)


def predicted(run: Run, machine: Machine | None = None, graph: TaskGraph | None = None) -> int:
    """The makespan that the schedule of a run predicts for another machine or graph."""
    schedule = Schedule(run)
    workload = run.workload if graph is None else run.workload.changed(lambda _: graph, init=None)
    case = Lengths(run, schedule).case(machine or run.machine, workload)
    (found,) = schedule.makespans_ps([case])
    return int(found)


def executed(machine: Machine, graph: TaskGraph, policy: Any, iterations: int = 1) -> Run:
    workload = Workload("w", graph, iterations=iterations)
    return simulate(machine, workload, policy, events=True)


def both(graph: TaskGraph, policy: Any, changed: TaskGraph, machine: Machine) -> tuple[int, int]:
    """What is predicted, and what is simulated."""
    run = executed(machine, graph, policy)
    return predicted(run, graph=changed), executed(machine, changed, policy).summary.makespan_ps


@pytest.mark.parametrize("policy", POLICIES)
@example(seed=18352)  # its policy finds room for blocks that nodes touched first would lack
@settings(max_examples=25)
@given(seed=st.integers(0, 10**6))
def test_as_it_is_it_takes_what_the_run_took(policy: type[Any], seed: int) -> None:
    for run in on_both(policy, seed):
        schedule = Schedule(run)
        assert (schedule._slack_ps >= 0).all()
        assert schedule.makespans_ps([unchanged(schedule)]) == [run.summary.makespan_ps]
        same = Lengths(run, schedule).case(run.machine, run.workload)
        assert np.array_equal(same.length_ps, schedule.length_ps)


@pytest.mark.parametrize("policy", POLICIES)
@settings(max_examples=15)
@given(seed=st.integers(0, 10**6))
def test_no_gain_exceeds_what_the_critical_path_has_of_it(policy: type[Any], seed: int) -> None:
    run = on_both(policy, seed)[1]
    schedule, path = Schedule(run), critical_path(run)
    for task in np.unique(path.task[path.task >= 0]).tolist()[:5]:
        mine = schedule.task[schedule.doing] == task
        length = np.where(mine, 0.0, schedule.length_ps)
        (without,) = schedule.makespans_ps([Case(length, schedule.gaps_ps)])
        on_path = (path.end_ps - path.start_ps)[path.task == task].sum()
        assert 0 <= run.summary.makespan_ps - without <= on_path


def test_another_chain_becomes_the_longest() -> None:
    edges = adjacency([0, 0, 1, 2], [1, 2, 3, 3], 4)
    before, after = (
        build_graph([1000.0, 2000.0, ops, 1000.0], successors=edges) for ops in (5e3, 1e3)
    )
    found = both(before, Deciding(owner=(0, 0, 1, 0)), after, uneven(1.0, 1.0))
    assert found == (4 * US, 4 * US)  # 3 of the 4 us that task 2 is shorter


def test_workers_keep_their_order() -> None:
    # Task 2 waits for task 0 on its worker, whoever else is idle.
    before, after = (build_graph([ops, 3000.0, 2000.0]) for ops in (4000.0, 1000.0))
    run = executed(uneven(1.0, 1.0), before, Deciding(owner=(0, 1, 0)))
    assert predicted(run, graph=after) == 3 * US


def test_dependences_that_are_taken_away_are_not_waited_for() -> None:
    edges = adjacency([0], [1], 2)
    before = build_graph([3000.0, 2000.0], successors=edges)
    after = build_graph([3000.0, 2000.0])
    assert both(before, Deciding(owner=(0, 1)), after, uneven(1.0, 1.0)) == (3 * US, 3 * US)


def test_joins_wait_for_the_last_child() -> None:
    def fork(ops: float) -> TaskGraph:
        return build_graph(
            [1000.0, ops, 6000.0],
            join_ops=[2000.0, 0.0, 0.0],
            children=adjacency([0, 0], [1, 2], 3),
        )

    policy = make_policy("random_stealing", {"spawn": "parent_first"})
    for short, long in ((1000.0, 9000.0), (9000.0, 1000.0)):
        found = both(fork(short), policy, fork(long), uneven(1.0, 1.0))
        assert found[0] == found[1]


def test_arrivals_messages_awaits_and_iterations() -> None:
    late = build_graph([1000.0, 2000.0], arrival_ps=[0, 6 * US])
    soon = build_graph([1000.0, 2000.0])
    assert both(late, Deciding(owner=(0, 1)), soon, uneven(1.0, 1.0)) == (2 * US, 2 * US)
    sent = Deciding(owner=(0, 0), at_us=((1, Transfer(0, 0, 0, 1, count=1, delay_ps=3 * US)),))
    run = executed(uneven(1.0, 1.0), build_graph([2000.0, 2000.0]), sent)
    assert predicted(run, faster_cores(run.machine, 1)) == 5 * US  # of 6: sent as it was

    def reading(ops: float) -> TaskGraph:
        return build_graph(
            [ops, 1000.0],
            accessed=accesses([1], [0], 0, 0, 2),
            block_bytes=[10],
            access_share=[1.0],
            access_after=[0],
        )

    found = both(reading(4000.0), Deciding(owner=(0, 1)), reading(500.0), uneven(1.0, 1.0))
    assert found == (int(1.5 * US), int(1.5 * US))
    costs = RuntimeCosts(barrier_ps=3 * US)
    run = executed(uneven(1.0, costs=costs), build_graph([1000.0]), Deciding(owner=(0,)), 2)
    assert predicted(run, uneven(1.0)) == 2 * US


def test_a_task_that_is_taken_over_follows_both_workers() -> None:
    policy = Deciding(owner=(0, 1), at_us=((2, Preempt(0, 1)),))
    run = executed(uneven(1.0, 4.0), build_graph([12000.0, 4000.0]), policy)
    assert predicted(run) == run.summary.makespan_ps


@pytest.mark.parametrize(
    ("name", "policy"),
    [
        ("pop_ps", Deciding(owner=(0, 0, 0))),
        ("push_ps", Deciding(owner=(0, 0, 0))),
        ("steal_ps", OneSteals(owner=(0, 0, 0))),
        ("lock_hold_ps", OneSteals(owner=(0, 0, 0))),
    ],
)
def test_costs_of_the_runtime_are_exact_where_decisions_stay(name: str, policy: Any) -> None:
    costs = RuntimeCosts(
        pop_ps=US, steal_ps=(2 * US,), push_ps=US // 2, lock_hold_ps=US // 4, steal_probe_ps=(7,)
    )
    machine = uneven(1.0, 1.0, costs=costs)
    graph = build_graph([1000.0, 90_000.0, 60_000.0], successors=adjacency([0, 0], [1, 2], 3))
    run, cheaper = executed(machine, graph, policy), _cheaper(machine, name, FREE)
    again = executed(cheaper, graph, policy)
    assert predicted(run, cheaper) == again.summary.makespan_ps


def test_creation_by_the_program_and_by_the_runtime() -> None:
    graph = build_graph(
        [0.0, 50_000.0, 50_000.0],
        children=adjacency([0, 0], [1, 2], 3),
        creation_ops=[0.0, 4000.0, 4000.0],
    )
    policy = make_policy("random_stealing", {"spawn": "parent_first"})
    machine = uneven(1.0, 1.0, costs=RuntimeCosts(spawn_parent_first_ps=3 * US))
    cheap = _cheaper(machine, "spawn_parent_first_ps", FREE)
    run = executed(machine, graph, policy)
    assert predicted(run, cheap) == executed(cheap, graph, policy).summary.makespan_ps
    free = replace(graph, creation_ops=graph.creation_ops / 2)
    found = both(graph, policy, free, machine)
    assert found[0] == found[1]


def test_a_class_that_takes_nothing() -> None:
    graph = build_graph(
        [1000.0] * 4,
        task_class=[0, 1, 0, 1],
        class_names=("a", "b"),
        successors=adjacency(range(3), range(1, 4), 4),
    )
    run = executed(uneven(1.0), graph, Deciding(owner=(0,) * 4))
    made = _shorter_tasks(Setting(run.machine, run.workload, None), "a", FREE)
    assert predicted(run, graph=made.workload.graph) == 2 * US


def test_a_run_without_trace_is_refused() -> None:
    run = simulate(uneven(1.0), Workload("w", build_graph([1.0])), make_policy("cilk_a"))
    with pytest.raises(ValueError, match="no event trace"):
        Schedule(run)
