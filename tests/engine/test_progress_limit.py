"""Runs that are given up because no task ends; all times follow by hand."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.policies import CentralQueue
from simsched.engine.run import simulate
from simsched.files.errors import ConfigurationError, SimschedError, StalledError
from simsched.machine.model import Change
from simsched.machine.synthetic import make_machine
from simsched.policy.contract.base import HookView, Preempt
from simsched.workload.builder import adjacency, build_graph
from simsched.workload.graph import TaskGraph, Workload

from .instances import random_machine
from .test_conditions import flat, with_changes
from .test_duplicates import Speculating

MACHINE = make_machine(domains=1, cores_per_domain=2)  # 10^9 operations per second


@dataclass(frozen=True)
class Looking(CentralQueue):
    """Looks once a second and does nothing."""

    @property
    def timer_period_s(self) -> float:
        return 1.0

    def on_timer(self, view: HookView, state: Any) -> list[Any]:
        return []


def run(backend: str, graph: TaskGraph, limit_s: float, *, iterations: int = 1) -> float:
    program = Workload("program", graph, iterations)
    result = simulate(
        MACHINE, program, Looking(), workers=1, backend=backend, progress_limit_s=limit_s
    )
    return result.summary.makespan_ps * 1e-12


def test_a_run_in_which_no_task_ends_is_given_up(backend: str) -> None:
    graph = build_graph([5e9, 100e9, 1e9], successors=adjacency([0, 1], [1, 2], 3))
    with pytest.raises(StalledError) as raised:
        run(backend, graph, 10.0)
    # Task 0 ends after 5 s; of the looks that of 14 s is the last before 15 s.
    assert str(raised.value) == (
        "the run is given up at 14 s with 2 tasks left, since no task ends for 10 s "
        "(progress_limit_s; a larger one lets it go on): worker 0 executes task 1 since 5 s; "
        "task 2 waits for predecessor 1"
    )


def test_a_task_on_its_way_from_pool_to_worker_waits_for_nothing(backend: str) -> None:
    # Taking it costs 20 s, in which the looks go on.
    costs = replace(MACHINE.costs, pop_ps=20 * 10**12)
    program = Workload("program", build_graph([1e9]))
    with pytest.raises(StalledError, match="task 0 is in no pool and has not begun: it is being "):
        simulate(
            replace(MACHINE, costs=costs),
            program,
            Looking(),
            workers=1,
            backend=backend,
            progress_limit_s=10.0,
        )


def test_an_end_in_time_is_enough(backend: str) -> None:
    graph = build_graph([5e9, 9.99e9, 1e9], successors=adjacency([0, 1], [1, 2], 3))
    assert run(backend, graph, 10.0) == pytest.approx(15.99, abs=1e-4)


def test_an_iteration_begins_anew(backend: str) -> None:
    assert run(backend, build_graph([9e9]), 10.0, iterations=3) == pytest.approx(27.0, abs=1e-4)


def test_nobody_is_given_up_while_tasks_are_still_to_arrive(backend: str) -> None:
    graph = build_graph([1e9, 1e9])
    graph = replace(graph, arrival_ps=np.array([0, 100 * 10**12]))
    assert run(backend, graph, 10.0) == pytest.approx(101.0, abs=1e-4)
    late = replace(build_graph([1e9, 50e9]), arrival_ps=np.array([0, 100 * 10**12]))
    with pytest.raises(StalledError, match=r"given up at 109 s with 1 task left"):
        run(backend, late, 10.0)


def test_who_has_failed_is_named(backend: str) -> None:
    dead = replace(MACHINE, changes=(Change(2 * 10**12, (0, 1), 0.0),))
    program = Workload("program", build_graph([5e9, 5e9, 5e9]), 1)
    with pytest.raises(StalledError, match="stalled at 2 s with 3 tasks left: all 2 workers have"):
        simulate(dead, program, Looking(), backend=backend)
    one = replace(MACHINE, changes=(Change(2 * 10**12, (0,), 0.0),))
    with pytest.raises(StalledError, match=r"1 of 2 workers have failed \(0\); worker 1 executes"):
        simulate(one, program, Looking(), backend=backend, progress_limit_s=2.5)


class Snatching(CentralQueue):
    """Who has nothing to do takes the task of another worker, who has nothing to do then."""

    def on_idle(self, view: HookView, state: Any, worker: int) -> Preempt | None:
        if view.live.running_task(1 - worker) < 0:
            return None
        return Preempt(1 - worker, worker)


def test_who_decides_without_end_is_given_up() -> None:
    # The first task ends after 1 s; what is left of the second one then has no cost to move.
    program = Workload("program", build_graph([1e9, 5e9]))
    said = []
    for backend in ("native", "simpy"):
        with pytest.raises(StalledError) as raised:
            simulate(MACHINE, program, Snatching(), backend=backend)
        said.append(str(raised.value))
    assert said[0] == said[1]
    assert said[0].startswith(
        "the run is given up at 1 s with 1 task left, since the policy decides without end and "
        "time stands still: worker "
    )


@pytest.mark.parametrize(("backend", "n", "most"), [("native", 12_000, 10_000), ("simpy", 40, 10)])
def test_workers_that_begin_together_are_no_standstill(
    backend: str, n: int, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All have taken a task after 1 us, more than `most` of them; nobody ends one before 1 s."""
    monkeypatch.setattr("simsched.engine.reference.backend.MOST_AT_ONCE", most)
    machine = make_machine(domains=1, cores_per_domain=n)
    machine = replace(machine, costs=replace(machine.costs, pop_ps=10**6))
    program = Workload("program", build_graph([1e9] * n))
    done = simulate(machine, program, CentralQueue(), backend=backend)
    assert done.summary.makespan_ps >= 10**12


@pytest.mark.parametrize("limit_s", [0.0, -1.0, 1e-13, 5e6, float("nan"), float("inf")])
def test_limits_that_make_no_sense(limit_s: float) -> None:
    with pytest.raises(ConfigurationError, match=r"progress_limit_s: found .*1e-12 to"):
        run("native", build_graph([1.0]), limit_s)


def outcome(backend: str, machine: int, workload: int, limit_s: float) -> str:
    """Say how a random run with changing conditions ends."""
    try:
        done = simulate(
            with_changes(random_machine(machine), workload),
            flat(workload),
            Speculating(choice=workload),
            seed=workload % 1000,
            backend=backend,
            progress_limit_s=limit_s,
        )
    except SimschedError as error:
        return str(error)
    return str(done.summary.makespan_ps)


@settings(max_examples=25)
@given(st.integers(0, 2**32), st.integers(0, 2**32), st.sampled_from([1e-6, 3e-6, 1e-5, 1e-4]))
def test_backends_agree_on_random_instances(machine: int, workload: int, limit_s: float) -> None:
    simpy, native = (outcome(name, machine, workload, limit_s) for name in ("simpy", "native"))
    assert simpy == native


def test_random_instances_are_given_up() -> None:
    """Guards the test above: some of its runs end in every way."""
    ends = [outcome("native", seed, seed, 3e-6 * (1 + seed % 16)) for seed in range(90)]
    assert sum("given up" in end for end in ends) > 5
    assert sum(end.isdigit() for end in ends) > 5
