"""Pools of task classes, acquire orders that change in an iteration, times of tasks, dear swaps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from benchmarks.policies import CentralQueue
from simsched.engine.run import simulate
from simsched.files.errors import PolicyError
from simsched.machine.model import Machine, RuntimeCosts
from simsched.machine.synthetic import make_machine
from simsched.policy.contract.base import (
    AcquireOrder,
    AcquireStep,
    Counters,
    Exchange,
    HookView,
    Plan,
    PlanView,
    PoolGroup,
    Preempt,
    Ranked,
    Update,
)
from simsched.trace.run import Run
from simsched.trace.schema import EventKind
from simsched.workload.builder import build_graph
from simsched.workload.graph import TaskGraph, Workload
from tests.engine.test_exchanges import two_speeds

US = 1_000_000  # picoseconds, and the time of 1000 operations at 1e9 per second


def ranked(*rows: tuple[int, ...]) -> AcquireStep:
    """Return the step of workers that rank the pools of the classes in this way."""
    return AcquireStep("classes", "anywhere", "oldest", choice=Ranked(np.array(rows, np.int32)))


@dataclass(frozen=True, kw_only=True)
class ByClass(CentralQueue):
    """Every task enters the pool of its class; decisions are made at given microseconds."""

    timer_period_s = 1e-6
    steps: tuple[AcquireStep, ...] = ()
    at_us: tuple[tuple[int, Any], ...] = ()
    times_tasks: bool = False
    group: str = "classes"

    def __post_init__(self) -> None:
        pass

    def start(self, view: PlanView) -> list[Any]:
        return []

    def plan(self, view: PlanView, state: Any, graph: TaskGraph) -> Plan:
        return Plan(
            acquire=self.steps,
            pool_groups=(PoolGroup("worker"), PoolGroup("classes", "class", locked=True)),
            group_of=np.ones(graph.n_tasks, np.int8),
            times_tasks=self.times_tasks,
        )

    def on_timer(self, view: HookView, state: Any) -> tuple[Any, ...]:
        assert view.live is not None
        if self.times_tasks:
            state.append([view.live.executed_ps(t) for t in range(view.workload.graph.n_tasks)])
        return tuple(d for us, d in self.at_us if us * US == view.live.now_ps())

    def on_iteration(self, view: PlanView, state: Any, counters: Counters) -> Update | None:
        measured.append((counters.executed_ps.tolist(), list(state)))
        return None


measured: list[tuple[list[int], list[list[int]]]] = []


def run(
    backend: str, policy: ByClass, machine: Machine, ops: list[float], iterations: int = 1
) -> Run:
    classes = [t % 3 for t in range(len(ops))]
    graph = build_graph(ops, task_class=classes, class_names=("a", "b", "c"))
    workload = Workload("w", graph, iterations)
    return simulate(machine, workload, policy, backend=backend, events=True)


def rows(result: Run, kind: EventKind, *names: str) -> list[tuple[int, ...]]:
    assert result.trace is not None
    events = result.trace.events
    chosen = events["kind"] == kind
    return list(zip(*(events[name][chosen].tolist() for name in names), strict=True))


def machine_of(cores: int, **costs: Any) -> Machine:
    return make_machine(domains=1, cores_per_domain=cores, costs=RuntimeCosts(**costs))


def test_tasks_wait_in_the_pools_of_their_classes(backend: str) -> None:
    policy = ByClass(steps=(ranked((2, 0, 1)),))
    result = run(backend, policy, machine_of(1), [1000.0] * 6)
    ready = rows(result, EventKind.TASK_READY, "task", "arg0", "arg1")
    assert ready == [(t, 1, t % 3) for t in range(6)]
    # The first task to enter wakes the worker, but it looks when all have entered.
    assert [t for (t,) in rows(result, EventKind.TASK_START, "task")] == [1, 4, 2, 5, 0, 3]


def test_a_class_with_rank_minus_one_is_not_taken(backend: str) -> None:
    policy = ByClass(steps=(ranked((0, -1, -1), (-1, 0, 0)),))
    result = run(backend, policy, machine_of(2), [1000.0] * 6)
    started = dict(rows(result, EventKind.TASK_START, "task", "worker"))
    assert started == {0: 0, 3: 0, 1: 1, 2: 1, 4: 1, 5: 1}


def test_a_pool_of_a_class_costs_like_one_of_another_owner(backend: str) -> None:
    machine = machine_of(1, steal_ps=(7, 50, 90), lock_hold_ps=300, pop_ps=1)
    result = run(backend, ByClass(steps=(ranked((0, 0, 0)),)), machine, [1000.0])
    assert rows(result, EventKind.ACQUIRE, "time_ps", "task", "arg1") == [(0, 0, 50)]
    assert rows(result, EventKind.STEAL, "task", "arg0", "arg1") == [(0, 0, 1)]


def test_a_new_order_holds_from_its_time_until_the_iteration_ends(backend: str) -> None:
    first, second = ranked((0, 1, 2)), ranked((2, 1, 0))
    policy = ByClass(steps=(first,), at_us=((1, AcquireOrder((second,))),))
    result = run(backend, policy, machine_of(1), [2000.0] * 6, iterations=2)
    order = [t for (t,) in rows(result, EventKind.TASK_START, "task")]
    assert order == [0, 2, 5, 1, 4, 3, *(0, 3, 1, 4, 2, 5)]
    assert rows(result, EventKind.ACQUIRE_ORDER, "time_ps", "worker") == [(US, -1)]


def test_parked_workers_try_a_new_order_at_once(backend: str) -> None:
    nothing, all_ = ranked((0, 0, 0), (-1, -1, -1)), ranked((0, 0, 0), (0, 0, 0))
    policy = ByClass(steps=(nothing,), at_us=((3, AcquireOrder((all_,))),))
    result = run(backend, policy, machine_of(2), [10_000.0] * 3)
    starts = rows(result, EventKind.TASK_START, "time_ps", "worker")
    assert starts == [(0, 0), (3 * US, 1), (10 * US, 0)]
    assert rows(result, EventKind.WAKE, "time_ps", "worker") == [(0, 0), (3 * US, 1)]


def test_no_task_is_timed_unless_the_plan_says_so(backend: str) -> None:
    measured.clear()
    run(backend, ByClass(steps=(ranked((0, 0, 0)),)), machine_of(1), [1000.0] * 2, iterations=2)
    assert measured == [([], [])]


def test_times_count_execution_alone(backend: str) -> None:
    # Task 0 runs from 30 ns on, is taken away after 2 us, which costs 1 us, and goes on.
    measured.clear()
    policy = ByClass(
        steps=(AcquireStep("worker", "own"), ranked((0, 0, 0))),
        at_us=((2, Preempt(0)),),
        times_tasks=True,
    )
    machine = machine_of(1, context_switch_ps=US, steal_ps=(30_000,))
    result = run(backend, policy, machine, [5000.0], iterations=2)
    (times, seen), *_ = measured
    assert times == [5 * US]
    # At 2 us the timer asks before the task is taken away; later it has been executed 1.97 us.
    assert [now[0] for now in seen[:4]] == [0, 0, 1_970_000, 1_970_000]
    assert rows(result, EventKind.TASK_END, "time_ps")[0] == (6 * US + 60_000,)


@pytest.mark.parametrize("cost_us", [0, 3])
def test_a_dear_exchange_delays_what_is_executed(backend: str, cost_us: int) -> None:
    # 4000 of 10000 operations are done at 4 us; the others take 12 us on the slow core.
    decision = Exchange(0, 1, cost_us * US)
    policy = ByClass(steps=(ranked((0, 0, 0), (-1, -1, -1)),), at_us=((4, decision),))
    result = run(backend, policy, two_speeds(), [10_000.0])
    assert rows(result, EventKind.TASK_END, "time_ps", "worker") == [((16 + cost_us) * US, 0)]
    assert result.summary.exchanges == 1
    assert result.summary.worker_busy_ps.tolist() == [(16 + cost_us) * US, 0]


@pytest.mark.parametrize(
    ("decision", "message"),
    [
        (
            Exchange(0, 1, -1),
            "Exchange: cost_ps: found -1, accepted 0 to 1000000000000000",
        ),
        (Exchange(0, 1, 0.5), "Exchange: cost_ps: found 0.5, accepted an integer"),
        (AcquireOrder((AcquireStep("class"),)), "pool group 'class'; did you mean 'classes'"),
        (
            AcquireOrder((AcquireStep("classes"),)),
            "'own' for a group with scope 'class', accepted 'anywhere'",
        ),
        (AcquireOrder((ranked((0, 0), (0, 0)),)), r"found shape \(2, 2\), accepted \(2, 3\)"),
    ],
)
def test_decisions_that_cannot_be_are_refused(backend: str, decision: Any, message: str) -> None:
    policy = ByClass(steps=(ranked((0, 0, 0), (0, 0, 0)),), at_us=((2, decision),))
    with pytest.raises(PolicyError, match=message):
        run(backend, policy, two_speeds(), [5000.0])
