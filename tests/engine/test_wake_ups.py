"""Whom a push wakes: owners before thieves; and no worker sleeps beside work that it may take."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from benchmarks.policies import CentralQueue
from simsched.engine.run import simulate
from simsched.machine.model import RuntimeCosts
from simsched.machine.synthetic import make_machine
from simsched.policy.contract.base import AcquireStep, Plan, PlanView, PoolGroup
from simsched.trace.run import Run
from simsched.trace.schema import EventKind
from simsched.workload.builder import adjacency, build_graph
from simsched.workload.graph import TaskGraph, Workload

US = 1_000_000  # picoseconds, and the time of 1000 operations at 1e9 per second
MACHINE = make_machine(domains=4, cores_per_domain=2, costs=RuntimeCosts())
SEEDS = range(8)


@dataclass(frozen=True, kw_only=True)
class Sent(CentralQueue):
    """Task t is sent to the pool of domain `domain[t]`; every other domain may steal it."""

    domain: tuple[int, ...] = ()
    heads_only: bool = False

    def __post_init__(self) -> None:
        pass

    def plan(self, view: PlanView, state: Any, graph: TaskGraph) -> Plan:
        when = ("head_worker",) * self.heads_only
        return Plan(
            acquire=(
                AcquireStep("home", "own", "oldest", when),
                AcquireStep("home", "other_domains", "oldest"),
            ),
            pool_groups=(PoolGroup("worker"), PoolGroup("home", "domain")),
            group_of=np.ones(len(self.domain), np.int8),
            instance_of=np.array(self.domain, np.int32),
        )


def run(backend: str, policy: Sent, us: list[float], arrival_us: list[float], seed: int) -> Run:
    """Run tasks of so many microseconds that arrive then."""
    graph = build_graph(
        np.array(us) * 1000.0, arrival_ps=(np.array(arrival_us) * US).astype(np.int64)
    )
    workload = Workload("sent", graph)
    return simulate(
        MACHINE, workload, policy, backend=backend, seed=seed, pinning="compact", events=True
    )


def events_of(result: Run, kind: EventKind) -> list[tuple[int, int, int]]:
    """Return (worker, task, first argument) of every event of a kind."""
    assert result.trace is not None
    events = result.trace.events
    chosen = events["kind"] == kind
    columns = (events[name][chosen].tolist() for name in ("worker", "task", "arg0"))
    return list(zip(*columns, strict=True))


@pytest.mark.parametrize("seed", SEEDS)
def test_a_waiting_owner_gets_what_is_sent_to_it(backend: str, seed: int) -> None:
    # Eight workers wait, two of them in domain 2.
    result = run(backend, Sent(domain=(2,)), [5], [1], seed)
    ((worker, _, among),) = events_of(result, EventKind.WAKE)
    assert worker in (4, 5)
    assert among == 2


def test_every_owner_may_be_the_one() -> None:
    woken = {
        events_of(run("native", Sent(domain=(2,)), [5], [1], seed), EventKind.WAKE)[0][0]
        for seed in SEEDS
    }
    assert woken == {4, 5}


def test_thieves_come_when_all_owners_are_busy(backend: str) -> None:
    result = run(backend, Sent(domain=(2, 2, 2)), [9, 9, 5], [1, 2, 3], 0)
    third = events_of(result, EventKind.WAKE)[2]
    assert third[0] not in (4, 5)
    assert third[2] == 6


@pytest.mark.parametrize("seed", SEEDS)
def test_a_worker_that_may_not_take_from_its_own_pool_is_no_owner(backend: str, seed: int) -> None:
    # Worker 5 is not its domain's first: only worker 4 takes what is sent to domain 2, and, as it
    # is busy with the first task, one of the six workers elsewhere takes the second.
    result = run(backend, Sent(domain=(2, 2), heads_only=True), [9, 5], [1, 2], seed)
    (first, second) = events_of(result, EventKind.WAKE)
    assert (first[0], first[2]) == (4, 1)
    assert second[0] not in (4, 5)
    assert second[2] == 6


def test_nobody_comes_first_when_all_leave_the_barrier(backend: str) -> None:
    result = run(backend, Sent(domain=(2,)), [5], [0], 0)
    ((_, _, among),) = events_of(result, EventKind.WAKE)
    assert among == 8


class SubgraphPerDomain(CentralQueue):
    """Task d belongs to domain d; others may take it only when they have nothing active."""

    def plan(self, view: PlanView, state: Any, graph: TaskGraph) -> Plan:
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


@dataclass(frozen=True, kw_only=True)
class Stealing(CentralQueue):
    """Everybody has a pool, from which others steal the oldest; task t may be sent to one."""

    sent_to: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        pass

    def plan(self, view: PlanView, state: Any, graph: TaskGraph) -> Plan:
        return Plan(
            acquire=(
                AcquireStep("worker", "own", "newest"),
                AcquireStep("worker", "anywhere", "oldest"),
            ),
            instance_of=np.array(self.sent_to or [-1] * graph.n_tasks, np.int32),
            roots="first",
        )


def run_edges(
    backend: str, us: list[float], edges: list[tuple[int, int]], policy: Stealing, **costs: int
) -> Run:
    """Run tasks of so many microseconds with edges on four workers."""
    machine = make_machine(domains=1, cores_per_domain=4, costs=RuntimeCosts(**costs))
    sources, targets = [list(ends) for ends in zip(*edges, strict=True)]
    successors = adjacency(sources, targets, len(us))
    workload = Workload("edges", build_graph(np.array(us) * 1000.0, successors=successors))
    return simulate(machine, workload, policy, backend=backend, events=True)


def test_a_chain_stays_with_its_worker(backend: str) -> None:
    chain = [(task, task + 1) for task in range(49)]
    result = run_edges(backend, [1.0] * 50, chain, Stealing(), push_ps=3, steal_ps=(700,))
    assert len({worker for worker, *_ in events_of(result, EventKind.TASK_START)}) == 1
    # One wake: that of the first task, which nobody pushes. Each edge costs its push alone.
    assert len(events_of(result, EventKind.WAKE)) == 1
    assert result.summary.makespan_ps == 50 * US + 49 * 3


def test_an_end_wakes_one_thief_less_than_it_makes_ready(backend: str) -> None:
    fan = [(0, task) for task in (1, 2, 3)]
    result = run_edges(backend, [1.0, 5.0, 5.0, 5.0], fan, Stealing())
    (first, *_), *starts = events_of(result, EventKind.TASK_START)
    # The owner takes the newest, two thieves the oldest ones.
    takers = sorted((worker == first, task) for worker, task, _ in starts)
    assert takers == [(False, 1), (False, 2), (True, 3)]
    assert len(events_of(result, EventKind.WAKE)) == 3
    assert result.summary.makespan_ps == 6 * US


def test_what_is_sent_to_another_worker_wakes_that_one(backend: str) -> None:
    result = run_edges(backend, [1.0, 1.0], [(0, 1)], Stealing(sent_to=(0, 2)), push_ps=1)
    assert events_of(result, EventKind.TASK_START)[1][0] == 2


def test_a_worker_whose_parent_goes_on_calls_a_thief(backend: str) -> None:
    # Task 1, the only child of task 0, makes task 2 ready: its worker goes on with the join of task
    # 0 for 5 us, so that another one takes task 2.
    graph = build_graph(
        [0.0, 1000.0, 1000.0],
        join_ops=[5000.0, 0.0, 0.0],
        children=adjacency([0], [1], 3),
        successors=adjacency([1], [2], 3),
    )
    machine = make_machine(domains=1, cores_per_domain=4, costs=RuntimeCosts())
    result = simulate(machine, Workload("join", graph), Stealing(), backend=backend, events=True)
    assert result.summary.makespan_ps == 6 * US
