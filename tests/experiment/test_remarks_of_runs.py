"""Sentences on runs of which is known by hand why one is shorter: its cause is named."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from simsched.analysis.waterfall import time_parts
from simsched.engine.run import simulate
from simsched.experiment.facts import Facts, Pair
from simsched.experiment.remarks import WITHOUT_TASK, remarks
from simsched.machine.model import Change, Machine
from simsched.machine.synthetic import make_machine
from simsched.policy.contract.base import Transfer
from simsched.workload.builder import accesses, adjacency, build_graph
from simsched.workload.graph import TaskGraph, Workload
from tests.engine.test_duplicates import US, Deciding, uneven

#: Two cores that compute 1000 operations per microsecond.
TWO = uneven(1.0, 1.0)
IN_TAIL = "in the tail of iterations, after the last task has been taken"
IN_POOLS = "while tasks are kept in pools from which they take nothing (pool worker of its domain)"


def facts(label: str, graph: TaskGraph, policy: Any, machine: Machine = TWO) -> Facts:
    """What a run was spent on."""
    run = simulate(machine, Workload("w", graph), policy, events=True)
    parts = time_parts(run)
    metrics = {"workers": float(len(run.worker_thread))}
    metrics[WITHOUT_TASK] = float(parts.idle.not_given.max())
    return Facts(label, parts.makespan_s, parts.seconds, metrics, parts.idle.mean_s())


def even(total_us: float) -> Facts:
    """A run whose two workers compute all the time."""
    graph = build_graph([500.0 * total_us] * 2)
    return facts("B", graph, Deciding(owner=(0, 1)))


def said(first: Facts, second: Facts) -> tuple[str, list[str]]:
    """The headline, and what the workers do less."""
    head, *rest = remarks(Pair(first, second))
    headline, _, clause = head.partition(" because its workers ")
    return headline, [clause, *(sentence.removeprefix("They also ") for sentence in rest)]


def less(percent: str, time: str, why: str) -> str:
    return f"are idle 0 instead of {percent} % of the time (0 instead of {time}) {why}."


def test_the_tail_is_named() -> None:
    # 5 us beside 2 us: 3 us of 10 are idle, and 7 us of work would take 3.5 us.
    first = facts("A", build_graph([5000.0, 2000.0]), Deciding(owner=(0, 1)))
    assert said(first, even(7.0)) == ("B is 30 % shorter than A", [less("30", "1.5 us", IN_TAIL)])


def test_dependencies_are_named() -> None:
    # Worker 1 waits 4 us of 8 us for the first task, then both have 4 us.
    graph = build_graph([4000.0] * 3, successors=adjacency([0, 0], [1, 2], 3))
    first = facts("A", graph, Deciding(owner=(0, 0, 1)))
    why = "for dependencies, until other tasks end"
    assert said(first, even(12.0)) == ("B is 25 % shorter than A", [less("25", "2 us", why)])


def test_tasks_that_are_kept_are_named() -> None:
    # Worker 1 has 1 us of work, worker 0 three times 2 us: kept for 3 us, then the tail of 2 us.
    first = facts("A", build_graph([2000.0] * 3 + [1000.0]), Deciding(owner=(0, 0, 0, 1)))
    assert said(first, even(7.0)) == (
        "B is 42 % shorter than A",
        [less("25", "1.5 us", IN_POOLS), less("16.7", "1 us", IN_TAIL)],
    )


def test_workers_that_are_given_nothing_are_named() -> None:
    # Worker 0 has 5 and 2 us, worker 1 nothing at all.
    first = facts("A", build_graph([5000.0, 2000.0]), Deciding(owner=(0, 0)))
    why = (
        "in iterations in which they are given no task (kept: pool worker of its domain): up to 0 "
        "instead of 1 of 2 workers get none"
    )
    assert said(first, even(7.0)) == ("B is 50 % shorter than A", [less("50", "3.5 us", why)])


def test_tasks_on_their_way_are_named() -> None:
    # Worker 1 has a task of 2 us kept from it for 1 us, then sent for 3 us. Worker 0 waits for that
    # from 2 us on, and from 4 to 6 us there is no other one.
    decision = Transfer(0, 0, 0, 1, count=1, delay_ps=3 * US)
    policy = Deciding(owner=(0, 0), at_us=((1, decision),))
    first = facts("A", build_graph([2000.0, 2000.0]), policy)
    assert said(first, even(4.0)) == (
        "B is 67 % shorter than A",
        [
            less("41.7", "2.5 us", "while tasks are on their way (message)"),
            less("16.7", "1 us", IN_TAIL),
            less("8.33", "500 ns", IN_POOLS),
        ],
    )


def test_arrivals_are_named() -> None:
    # The second task, of 2 us, comes after 6 us: worker 0 waits 5 us and worker 1 waits 6 us. That
    # worker 0 has no task for the last 2 us is less than a tenth of why 8 us are not 1.5 us.
    graph = build_graph([1000.0, 2000.0], arrival_ps=[0, 6 * US])
    first = facts("A", graph, Deciding(owner=(0, 1)))
    headline, clauses = said(first, even(3.0))
    assert headline == "B is 81 % shorter than A"
    assert clauses[0] == less("68.8", "5.5 us", "until tasks arrive")


def test_awaiting_is_named() -> None:
    # Worker 1 waits 4 us inside its task, and worker 0 has nothing for the last 1 us of 5 us.
    graph = build_graph(
        [4000.0, 1000.0],
        accessed=accesses([1], [0], 0, 0, 2),
        block_bytes=[10],
        access_share=[1.0],
        access_after=[0],
    )
    first = facts("A", graph, Deciding(owner=(0, 1)))
    assert said(first, even(5.0)) == (
        "B is 50 % shorter than A",
        [
            less("40", "2 us", "awaiting the end of others inside tasks"),
            less("10", "500 ns", IN_TAIL),
        ],
    )


def test_failures_are_named() -> None:
    # Worker 1 fails after 2 us of 6 us; it has been idle for 1 us before.
    machine = replace(TWO, changes=(Change(2 * US, (1,), 0.0),))
    first = facts("A", build_graph([6000.0, 1000.0]), Deciding(owner=(0, 1)), machine)
    headline, clauses = said(first, even(7.0))
    assert headline == "B is 42 % shorter than A"
    assert clauses == [
        less("33.3", "2 us", "after they have failed"),
        less("8.33", "500 ns", IN_TAIL),
    ]


@pytest.mark.parametrize("short", [None, 10.0])
def test_idle_workers_beside_a_shorter_task_are_no_cause(short: float | None) -> None:
    """Three of four workers have no task, or one of 10 ns: "idle less" was said to be the cause."""
    four = make_machine(domains=1, cores_per_domain=4, ops_per_s=1e9)
    first = facts("A", build_graph([4e6]), Deciding(owner=(0,)), four)
    graph = build_graph([2e6] if short is None else [2e6, short])
    second = facts("B", graph, Deciding(owner=(0, 1)[: graph.n_tasks]), four)
    assert remarks(Pair(first, second)) == [
        "B is 50 % shorter than A because its workers compute 50 % less (0.5 instead of 1 ms).",
        "Idle time is 75 % of the time in both; it is shorter only because the run is.",
    ]
