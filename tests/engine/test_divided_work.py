"""Work that a policy divides: costs by units, ends of runs, what is told, refusals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest

from simsched.analysis.bounds import lower_bounds
from simsched.analysis.metrics import run_metrics
from simsched.analysis.waterfall import time_parts
from simsched.engine.conformance import compare
from simsched.engine.run import simulate
from simsched.files.errors import GraphError, PolicyError
from simsched.machine.synthetic import make_machine
from simsched.policy.algorithms.work_stealing.random_stealing import RandomStealing
from simsched.policy.contract.base import Counters, PlanView, param
from simsched.workload.division import divided
from simsched.workload.graph import Workload
from simsched.workload.registry import generate_workload
from tests.engine.invariants import trace_violations

MACHINE = make_machine(domains=1, cores_per_domain=2, ops_per_s=1e9)
EACH = 1000.0  #: operations, and ns at 1e9 operations per second
BACKENDS = ("simpy", "native")


@dataclass(frozen=True, kw_only=True)
class Given(RandomStealing):
    """Divides as it is told, and remembers what it was told."""

    steps: tuple[Any, ...] = param(())
    log: tuple[list[Counters | None], list[int]] = param(())

    def divide(
        self, view: PlanView, state: Any, remaining: int, counters: Counters | None
    ) -> np.ndarray:
        told, left = self.log
        told.append(counters)
        left.append(remaining)
        return np.array(self.steps[len(told) - 1])


@dataclass(frozen=True, kw_only=True)
class Repeating(RandomStealing):
    """Divides as it is told, in every run."""

    steps: tuple[Any, ...] = param(())

    def divide(
        self, view: PlanView, state: Any, remaining: int, counters: Counters | None
    ) -> np.ndarray:
        return np.array(self.steps[0 if counters is None else counters.iteration])


def loop(units: int = 100, **parameters: object) -> Workload:
    given = {"units": units, "chunks": 2, "cpu_ops": EACH, "input_bytes": 0, "output_bytes": 0}
    return generate_workload("divisible", given | parameters)


def given(*steps: Sequence[int]) -> Given:
    return Given(steps=steps, log=([], []))


@pytest.mark.parametrize("backend", BACKENDS)
def test_each_iteration_lasts_as_long_as_its_longest_part(backend: str) -> None:
    policy = given([10, 20], [0, 30], [25, 15])
    run = simulate(MACHINE, loop(), policy, backend=backend, workers=2)
    length = run.summary.iteration_end_ps - run.summary.iteration_start_ps
    assert (length // 1_000_000).tolist() == [20, 30, 25]
    assert run.summary.part_units.tolist() == [[10, 20], [0, 30], [25, 15]]
    heard, left = policy.log
    assert left == [100, 70, 40]
    assert heard[0] is None
    told = [counters for counters in heard if counters is not None]
    assert [c.part_units.tolist() for c in told] == [[10, 20], [0, 30]]
    assert told[0].part_s == pytest.approx([10e-6, 20e-6])
    assert told[1].part_s == pytest.approx([0.0, 30e-6])
    assert run.summary.part_ps[2].tolist() == [25_000_000, 15_000_000]


def test_both_backends_agree_on_steps_and_counters() -> None:
    workload = loop(1000, input_bytes=100, output_bytes=30, chunks=3)
    for first, *rest in ([[1, 2, 3], [500, 0, 0], [0, 200, 294]], [[0, 0, 1000]]):
        assert compare(MACHINE, workload, Repeating(steps=(first, *rest))).difference == ""


def test_a_policy_that_does_not_divide_runs_everything_at_once() -> None:
    run = simulate(MACHINE, loop(), RandomStealing(), workers=1)
    assert run.summary.makespan_ps == 100 * 1_000_000
    assert run.summary.iteration.tolist() == [1]
    assert run.summary.part_units.shape == (0, 0)


def test_costs_by_units() -> None:
    workload = loop(100, gpu_ops=7.0, saturation_units=4.0, input_bytes=3, output_bytes=5)
    assert workload.division is not None
    graph = divided(workload.graph, workload.division, np.array([10, 0]))
    assert graph.ops.tolist() == [[10 * EACH, 0.0], [7.0 * (10 + 4), 0.0]]
    assert graph.read_bytes.tolist() == [30, 0, 0, 0]
    assert graph.written_bytes.tolist() == [0, 50, 0, 0]
    hard = loop(100, gpu_ops=7.0, saturation="hard", saturation_units=40.0)
    assert hard.division is not None
    ops = divided(hard.graph, hard.division, np.array([10, 90])).ops
    assert ops.tolist() == [[10 * EACH, 90 * EACH], [7.0 * 40, 7.0 * 90]]


def test_the_whole_graph_has_equal_shares() -> None:
    graph = loop(101).graph
    assert graph.ops[0].tolist() == [51 * EACH, 50 * EACH]


@pytest.mark.parametrize(
    ("step", "message"),
    [
        ([50, 51], r"found \[50, 51\], accepted 0 or more each, 1 to 100 together"),
        ([-1, 5], r"found \[-1, 5\], accepted 0 or more each"),
        ([0, 0], r"found \[0, 0\], accepted 0 or more each"),
        ([1, 1, 1], "accepted whole numbers for 2 parts"),
        ([0.5, 0.5], "accepted whole numbers for 2 parts"),
    ],
)
def test_wrong_divisions_are_refused(step: Sequence[Any], message: str) -> None:
    with pytest.raises(PolicyError, match=message):
        simulate(MACHINE, loop(), given(step))


def test_wrong_descriptions_are_refused() -> None:
    workload = loop()
    assert workload.division is not None
    for change, message in (
        ({"units": 0}, "units: found 0"),
        ({"part": np.array([0, 2], np.int32)}, "part: accepted"),
        ({"unit_ops": np.full((2, 2), np.nan)}, "unit_ops: accepted numbers"),
        ({"least_units": np.zeros((1, 2))}, r"least_units: found shape \(1, 2\)"),
    ):
        wrong = replace(workload, division=replace(workload.division, **change))
        with pytest.raises(GraphError, match=message):
            wrong.validate()
    with pytest.raises(GraphError, match="found an initialisation, accepted none"):
        replace(workload, init=workload.graph).validate()


@pytest.mark.parametrize("backend", BACKENDS)
def test_every_invocation_does_all_work(backend: str) -> None:
    policy = given([60, 0], [0, 40], [50, 50], [1, 0], [99, 0])
    seen: list[tuple[int, int]] = []
    run = simulate(
        MACHINE,
        loop(iterations=3),
        policy,
        backend=backend,
        workers=2,
        events=True,
        progress=lambda done, total: seen.append((done, total)),
    )
    assert policy.log[1] == [100, 40, 100, 100, 99]
    length = run.summary.iteration_end_ps - run.summary.iteration_start_ps
    assert (length // 1_000_000).tolist() == [60, 40, 50, 1, 99]
    assert seen == [(60, 300), (100, 300), (200, 300), (201, 300), (300, 300)]
    assert trace_violations(run) == []
    row = run_metrics(run.summary, MACHINE, run.workload, run.worker_thread)
    assert row["profiling_steps"] == pytest.approx(2 / 3)
    assert row["profiled_percent"] == pytest.approx(100 * 61 / 300)
    assert simulate(MACHINE, loop(iterations=3), RandomStealing()).summary.iteration[-1] == 3


def test_no_division_beats_the_bound() -> None:
    workload = loop()
    threads = MACHINE.place_workers(2)
    bound = lower_bounds(MACHINE, workload, threads)
    assert bound.best_s == pytest.approx(50e-6)
    run = simulate(MACHINE, workload, given([50, 50]), workers=2)
    assert run.makespan_s == pytest.approx(bound.best_s)


@pytest.mark.parametrize("backend", BACKENDS)
def test_parts_of_the_makespan_are_those_of_what_each_iteration_executed(backend: str) -> None:
    # A unit computes 1 us and reads 2 kB in 2 us: half of each iteration is waiting for memory.
    machine = make_machine(domains=1, cores_per_domain=1, core_cap_bytes_per_s=1e9)
    policy = Repeating(steps=([10, 0], [0, 90]))
    run = simulate(machine, loop(input_bytes=2000), policy, backend=backend, events=True)
    parts = time_parts(run).seconds
    assert run.summary.makespan_ps == 2 * 100 * 1_000_000
    assert parts["compute"] == pytest.approx(100e-6)
    assert parts["memory"] == pytest.approx(100e-6)
