"""Compute times of kernels are found again in runs that were simulated with known ones."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from simsched.errors import ConfigurationError
from simsched.hardware.kernels import CalibrationRun, calibrate_kernels, class_seconds
from simsched.hardware.pricing import price
from simsched.hardware.program import make_program

from .simulated_host import SIZES, host, run_on, with_kernels


@pytest.mark.parametrize("program", sorted(SIZES))
def test_known_compute_times_are_found(tmp_path: Path, program: str) -> None:
    machine = with_kernels(host(tmp_path), 20.0)  # so much that computing takes longer
    workload = make_program(program, SIZES[program]).workload
    run = CalibrationRun(run_on(machine, workload, "cilk_a", 1), "cilk_a")
    found = {k.name: k for k in calibrate_kernels([run, run], replace(machine, kernels={}))}
    assert found.keys() == {name for name in machine.kernels if name.startswith(program)}
    for name, kernel in found.items():
        assert kernel.seconds_per_op == pytest.approx(machine.kernels[name]["cpu"], rel=1e-4)
        assert kernel.residual < 1e-4
        assert kernel.runs == 2


def test_runs_that_differ_leave_a_residual(tmp_path: Path) -> None:
    machine = host(tmp_path)
    workload = make_program("matmul", SIZES["matmul"]).workload
    runs = [
        CalibrationRun(run_on(with_kernels(machine, factor), workload, "cilk_a", 1), "cilk_a")
        for factor in (20.0, 30.0)  # so much that accesses do not matter
    ]
    found = {k.name: k for k in calibrate_kernels(runs, machine)}["matmul.multiply"]
    # x / 20 + x / 30 = 2 for x = 24: errors of 20 % up and down.
    assert found.seconds_per_op == pytest.approx(24 * 0.25e-9, rel=1e-3)
    assert found.residual == pytest.approx(0.2, rel=1e-2)


def test_accesses_that_take_longer_than_was_measured_are_a_residual(tmp_path: Path) -> None:
    machine = host(tmp_path)
    workload = make_program("heat", SIZES["heat"]).workload
    run = CalibrationRun(run_on(machine, workload, "cilk_a", 1), "cilk_a")
    path = replace(machine.paths[0][0], latency_ps=100_000_000)
    slow = replace(machine, paths=((path,),), caches=())
    found = {k.name: k for k in calibrate_kernels([run], slow)}["heat.sweep"]
    assert found.seconds_per_op < 0.01e-9
    assert found.residual > 1.0


def test_pricing_gives_operations_their_time(tmp_path: Path) -> None:
    machine = host(tmp_path)
    workload = make_program("heat", SIZES["heat"]).workload
    priced = price(workload, machine)
    sweep = workload.graph.class_names.index("sweep")
    chosen = workload.graph.task_class == sweep
    # 1.5 ns at 2e9 operations per second are three operations.
    assert np.array_equal(priced.graph.ops[0, chosen], 3.0 * workload.graph.ops[0, chosen])
    assert priced.init is not None
    assert workload.init is not None
    assert priced.init.ops.sum() == pytest.approx(6.0 * workload.init.ops.sum())


def test_a_missing_kernel_is_named(tmp_path: Path) -> None:
    machine = replace(host(tmp_path), kernels={"heat.swep": {"cpu": 1e-9}})
    workload = make_program("heat", SIZES["heat"]).workload
    with pytest.raises(ConfigurationError, match=r"unknown kernel 'heat.sweep'.*heat.swep"):
        price(workload, machine)


def test_class_times_leave_the_initialisation_out(tmp_path: Path) -> None:
    machine = host(tmp_path)
    workload = make_program("matmul", SIZES["matmul"]).workload
    recording = run_on(machine, workload, "cilk_a", 1)
    seconds = dict(
        zip(workload.graph.class_names, class_seconds(recording.trace, workload), strict=True)
    )
    computing = workload.graph.ops.sum() * workload.iterations * 0.25e-9
    assert seconds["multiply"] >= computing * (1 - 1e-9)
    assert seconds["initialise"] > 0


def test_several_workers_are_refused(tmp_path: Path) -> None:
    machine = host(tmp_path)
    workload = make_program("heat", SIZES["heat"]).workload
    run = CalibrationRun(run_on(machine, workload, "cilk_a", 2), "cilk_a")
    with pytest.raises(ConfigurationError, match="one worker"):
        calibrate_kernels([run], machine)
