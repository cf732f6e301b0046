"""Costs of scheduling: the simulator charges what the formulas say, and they what was measured."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import simsched.hardware.calibrate_costs as module
from simsched.engine.run import BACKENDS, simulate
from simsched.hardware.calibrate_costs import (
    CENTRAL,
    CHILD_FIRST,
    FITTED,
    PARENT_FIRST,
    PREDICTED,
    TASKS,
    barrier_cost,
    charged_s,
    pairs_by_distance,
    smt_throughput,
    steal_costs,
    task_costs,
    time_empty,
)
from simsched.hardware.calibrate_document import machine_document
from simsched.hardware.calibrate_probes import Measured
from simsched.hardware.mode import Mode
from simsched.hardware.program import make_program
from simsched.hardware.topology import allowed_cores
from simsched.machine import Machine, load_machine
from simsched.machine.written import document_yaml

from .calibrations import (
    COSTS,
    calibration,
    is_plausible,
    measured,
    small,
    two_nodes,
    two_threads,
)
from .support import needs_linux, policy_of


@pytest.fixture(scope="module")
def machine(tmp_path_factory: pytest.TempPathFactory) -> Machine:
    file = tmp_path_factory.mktemp("calibrate") / "host.yaml"
    file.write_text(document_yaml(machine_document(calibration(small()))), encoding="utf-8")
    return load_machine(file)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("tasks", [2, 3, 4, 31, 100])
@pytest.mark.parametrize("shape", ["independent", "loop", "tree", "chain"])
@pytest.mark.parametrize("mode", [CHILD_FIRST, PARENT_FIRST, CENTRAL])
def test_the_simulator_charges_so(
    machine: Machine, mode: Mode, shape: str, tasks: int, backend: str
) -> None:
    workload = make_program("empty", {"shape": shape, "tasks": tasks}).workload
    nothing = np.zeros_like(workload.graph.ops)
    workload = replace(workload, graph=replace(workload.graph, ops=nothing))
    run = simulate(machine, workload, policy_of(mode), workers=1, backend=backend)
    assert run.summary.makespan_ps == round(charged_s(mode, shape, tasks, COSTS) * 1e12)


def as_measured(mode: Mode, shape: str) -> Measured:
    return measured(charged_s(mode, shape, TASKS, COSTS))


def test_costs_come_back_from_what_they_amount_to() -> None:
    costs, checks = task_costs(as_measured)
    assert costs.keys() == COSTS.keys() - {"barrier"}
    for name, cost in costs.items():
        assert cost.value == pytest.approx(COSTS[name], rel=1e-9)
    assert len(checks) == len(FITTED) + len(PREDICTED)
    for check in checks:
        assert check.charged_s == pytest.approx(check.measured_s, rel=1e-9)
    assert [check.is_fitted for check in checks] == [True] * len(FITTED) + [False] * len(PREDICTED)


def test_costs_are_not_below_zero() -> None:
    costs, _ = task_costs(lambda mode, shape: measured(1e-6 if shape == "independent" else 1e-9))
    assert costs["push"].value == costs["lock_hold"].value == 0


def test_pairs_of_threads_by_distance() -> None:
    assert pairs_by_distance(small()) == {1: [(0, 1)]}
    assert pairs_by_distance(two_threads()) == {
        0: [(0, 2), (1, 3)],
        1: [(0, 1), (1, 2), (2, 3)],
    }
    assert pairs_by_distance(two_nodes())[2] == [(0, 2), (1, 2), (1, 3)]


def test_a_steal_stands_in_place_of_a_pop(monkeypatch: pytest.MonkeyPatch) -> None:
    times = {"push": 1.0, "take": 8.0, "steal": 15.0, "probe": 9.0, "lock_push": 1, "lock_take": 1}

    class Binding:
        def measure_primitives(self, owner: int, thief: int, rounds: int) -> dict[str, float]:
            found = {name: value + thief / 10 for name, value in times.items()}
            met = {} if thief != 9 else {"steal": float("inf"), "probe": float("inf")}
            return {**found, "take": 8.0, "stamp": 1.0, **met}

    monkeypatch.setattr(module, "compiled_runtime", Binding)
    pop = measured(13e-9)
    costs, steps = steal_costs({1: [(0, 1), (0, 2), (0, 3)], 2: [(0, 9)]}, pop, 3)
    assert costs["steal"].keys() == {1}  # between 0 and 9 nobody ever met
    assert costs["steal"][1].value == pytest.approx((13 + 15.2 - 8) * 1e-9)
    assert costs["steal_probe"][1].value == pytest.approx(9.2e-9)
    assert steps["steal"].value == pytest.approx(15.1e-9)


def test_files_name_the_run_of_each_cost(tmp_path: Path) -> None:
    costs, _ = task_costs(lambda mode, shape: replace(as_measured(mode, shape), how=shape))
    assert costs["push"].note == "chain, best of 7, spread 3.0%"
    assert costs["pop"].note == "independent, best of 7, spread 3.0%"


def test_a_contended_lock_takes_its_share_of_a_run(monkeypatch: pytest.MonkeyPatch) -> None:
    times = iter([[3.0], [1.0], [2.0]])

    def executed(program, mode, *, cores: list[int], seed: int):
        asked.append((mode.pools, mode.order, cores, seed))
        return SimpleNamespace(details={"iteration_s": next(times)})

    asked: list[tuple[object, ...]] = []
    monkeypatch.setattr(module, "execute", executed)
    found = module.contended_lock([4, 7], 3)
    # A binary tree of n tasks: all but the root are pushed, all are taken; the middle run counts.
    assert found.value == pytest.approx(2.0 / (2 * TASKS - 1))
    assert found.is_median
    assert asked == [("central", "parent_first", [4, 7], seed) for seed in range(3)]


def test_more_threads_never_make_a_core_slower(monkeypatch: pytest.MonkeyPatch) -> None:
    rates = iter([2e9, 3e9, 1e9])
    monkeypatch.setattr(module, "stream_rate", lambda *a, **k: measured(next(rates)))
    assert [way.value for way in smt_throughput([0, 1, 2], 7, 2**15)] == [1, 1.5, 1.5]


@needs_linux
def test_costs_of_scheduling_take_some_time() -> None:
    first = allowed_cores()[0]
    timed = time_empty(first, 1)
    assert is_plausible(timed(Mode(), "independent").value, 1)
    for cores in ([first], allowed_cores()):
        barrier = barrier_cost(cores, 1)
        assert is_plausible(barrier.value, 1)
        assert barrier.is_median
    ways = smt_throughput([first, first], 2, 2**15)
    assert ways[0].value == 1
    assert ways[1].value >= 1
