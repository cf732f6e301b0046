"""Compute times of kernels are found again in runs that were simulated with known ones."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from simsched.cli.app import main
from simsched.files.errors import ConfigurationError
from simsched.hardware.kernels import (
    CalibrationRun,
    calibrate_kernels,
    calibration_runs,
    class_seconds,
    rest_seconds,
)
from simsched.hardware.measurements import Measurement, MeasurementSet
from simsched.hardware.pricing import price
from simsched.hardware.program import make_program
from simsched.machine import load_machine
from simsched.machine.model import KernelTime, Machine
from simsched.report.show import describe
from simsched.report.terminal import text as as_text
from simsched.trace.recording import write_recording
from simsched.workload.graph import Workload

from .simulated_host import HOST, SIZES, host, run_on, with_kernels


def run_of(machine: Machine, workload: Workload, runs: int = 1) -> CalibrationRun:
    """Return what the workload takes on one core of the machine."""
    recording = run_on(machine, workload, "cilk_a", 1)
    return CalibrationRun(workload, "cilk_a", class_seconds(recording.trace, workload), runs)


def data_of(workload: Workload) -> int:
    return int(workload.graph.block_bytes.sum())


@pytest.mark.parametrize("program", sorted(SIZES))
def test_known_compute_times_are_found(tmp_path: Path, program: str) -> None:
    machine = with_kernels(host(tmp_path), 20.0)  # so much that computing takes longer
    workload = make_program(program, SIZES[program]).workload
    run = run_of(machine, workload, runs=3)
    found = {k.name: k for k in calibrate_kernels([run, run], replace(machine, kernels={}))}
    assert found.keys() == {name for name in machine.kernels if name.startswith(program)}
    for name, kernel in found.items():
        assert kernel.time.data_bytes == (data_of(workload),)
        assert kernel.time.seconds == pytest.approx(machine.kernels[name]["cpu"].seconds, rel=1e-4)
        assert kernel.residual < 1e-4
        assert kernel.runs == 6


def test_runs_that_differ_leave_a_residual(tmp_path: Path) -> None:
    machine = host(tmp_path)
    workload = make_program("matmul", SIZES["matmul"]).workload
    runs = [
        run_of(with_kernels(machine, factor), workload)
        for factor in (20.0, 30.0)  # so much that accesses do not matter
    ]
    found = {k.name: k for k in calibrate_kernels(runs, machine)}["matmul.multiply"]
    # x / 20 + x / 30 = 2 for x = 24: errors of 20 % up and down.
    assert found.time.seconds == pytest.approx((24 * 0.25e-9,), rel=1e-3)
    assert found.residual == pytest.approx(0.2, rel=1e-2)


def test_unexplained_time_between_tasks_goes_to_their_classes(tmp_path: Path) -> None:
    machine = with_kernels(host(tmp_path), 20.0)
    workload = make_program("matmul", SIZES["matmul"]).workload
    run = run_of(machine, workload)
    rest_s = rest_seconds(run_on(machine, workload, "cilk_a", 1).trace)
    tasks_s = run.seconds[workload.graph.class_names.index("multiply")]
    assert 0 < rest_s < tasks_s
    known = machine.kernels["matmul.multiply"]["cpu"].seconds[0]
    for more, factor in ((0.0, 1.0), (0.1, 1.1), (-0.1, 1.0)):  # costs that are too high stay
        given = replace(run, rest_s=rest_s + more * tasks_s)
        found = {k.name: k for k in calibrate_kernels([given], machine)}["matmul.multiply"]
        assert found.time.seconds == pytest.approx((factor * known,), rel=1e-3)


def test_sizes_have_their_own_times(tmp_path: Path) -> None:
    machine = host(tmp_path)
    small, large = (
        make_program("heat", {**SIZES["heat"], "rows": rows}).workload for rows in (61, 121)
    )
    runs = [
        run_of(with_kernels(machine, 30.0), large, 2),
        run_of(with_kernels(machine, 20.0), small),
    ]
    found = {kernel.name: kernel for kernel in calibrate_kernels(runs, machine)}
    assert found.keys() == {"heat.sweep", "heat.initialise"}
    for name, one in (("heat.sweep", 1.5e-9), ("heat.initialise", 3e-9)):
        assert found[name].time.data_bytes == (data_of(small), data_of(large))
        assert found[name].time.seconds == pytest.approx((20 * one, 30 * one), rel=1e-4)
        assert found[name].residual < 1e-4  # unlike that of runs of equal size that differ
        assert found[name].runs == 3
    # With these kernels the simulation takes as long as either run did.
    times = {name: {"cpu": kernel.time} for name, kernel in found.items()}
    for run in runs:
        again = run_of(replace(machine, kernels=times), run.workload)
        assert again.seconds == pytest.approx(run.seconds, rel=1e-4)


WAITING = """\
    overlap: [0, probe]
  L2:
    capacity: [1 MiB, probe]
    bandwidth: [20 GB/s, probe]
    latency: [5 ns, probe]
    shared_by: [1, probe]
    overlap: [0.2, probe]
memory:
"""


@pytest.mark.parametrize("exposure", [0.0, 0.25, 0.6875, 1.0])
def test_a_known_exposure_is_found(tmp_path: Path, exposure: float) -> None:
    # Computing takes as long at all sizes; only hits differ, which are in the first level or not.
    file = tmp_path / "host.yaml"
    exposures = f"exposures:\n  heat.sweep: [{exposure}, kernels]\n"
    file.write_text(HOST.replace("memory:\n", WAITING) + exposures)
    machine = load_machine(file)
    assert machine.exposures == {"heat.sweep": exposure}
    assert f"heat.sweep: exposure {exposure:g}" in as_text(describe(machine))
    runs = [
        run_of(machine, make_program("heat", {**SIZES["heat"], "rows": rows}).workload)
        for rows in (19, 61, 301)
    ]
    found = {kernel.name: kernel for kernel in calibrate_kernels(runs, machine)}["heat.sweep"]
    assert found.exposure == exposure
    assert found.time.seconds == pytest.approx((1.5e-9,) * 3, rel=1e-4)


def test_exposures_of_unknown_kernels_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "host.yaml"
    file.write_text(HOST + "exposures:\n  heat.swep: [0.5, kernels]\n")
    with pytest.raises(ConfigurationError, match=r"exposures\.heat\.swep.*did you mean 'heat.sw"):
        load_machine(file)


def set_of(folder: Path, machines: list[Machine], workers: int = 1) -> MeasurementSet:
    """Return a set with a cell: a run of matmul on each of some machines."""
    workload = make_program("matmul", SIZES["matmul"]).workload
    runs = []
    for number, machine in enumerate(machines):
        recording = run_on(machine, workload, "cilk_a", workers)
        write_recording(folder / f"{number}.parquet", recording)
        runs.append(
            Measurement(
                f"{number}.parquet", "matmul", SIZES["matmul"], "small", "cilk_a", workers, 0,
                number, 1.0, 1.0,
            )
        )  # fmt: skip
    return MeasurementSet(folder, "calibration", tuple(runs))


def test_cells_have_their_median(tmp_path: Path) -> None:
    machines = [with_kernels(host(tmp_path), factor) for factor in (40.0, 20.0, 24.0)]
    (run,) = calibration_runs(set_of(tmp_path, machines))
    assert (run.policy, run.runs, run.workload.name) == ("cilk_a", 3, "matmul")
    assert run.seconds == pytest.approx(run_of(machines[2], run.workload).seconds, rel=1e-9)
    for kernel in calibrate_kernels([run], machines[0]):
        assert kernel.time.seconds == pytest.approx(
            machines[2].kernels[kernel.name]["cpu"].seconds, rel=1e-4
        )


def test_medians_are_those_of_each_class(tmp_path: Path) -> None:
    machine = with_kernels(host(tmp_path), 20.0)
    by_class = []
    for multiply, initialise in ((1.0, 3.0), (2.0, 1.0), (3.0, 2.0)):
        factor = {"matmul.multiply": multiply, "matmul.initialise": initialise}
        kernels = {
            name: {"cpu": KernelTime((1,), (factor.get(name, 1.0) * times["cpu"].seconds[0],))}
            for name, times in machine.kernels.items()
        }
        by_class.append(replace(machine, kernels=kernels))
    (run,) = calibration_runs(set_of(tmp_path, by_class))
    # Both are twice as long in the median, in different runs.
    expected = run_of(with_kernels(host(tmp_path), 40.0), run.workload)
    assert run.seconds == pytest.approx(expected.seconds, rel=1e-3)


def test_accesses_that_take_longer_than_was_measured_are_a_residual(tmp_path: Path) -> None:
    machine = host(tmp_path)
    workload = make_program("heat", SIZES["heat"]).workload
    run = run_of(machine, workload)
    path = replace(machine.paths[0][0], latency_ps=100_000_000)
    slow = replace(machine, paths=((path,),), caches=())
    found = {k.name: k for k in calibrate_kernels([run], slow)}["heat.sweep"]
    assert found.time.seconds[0] < 0.01e-9
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
    machine = replace(host(tmp_path), kernels={"heat.swep": {"cpu": KernelTime((1,), (1e-9,))}})
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
    with pytest.raises(ConfigurationError, match=r"calibration with small: .* one worker"):
        calibration_runs(set_of(tmp_path, [host(tmp_path)], workers=2))


def test_times_between_sizes() -> None:
    time = KernelTime((2**10, 2**20, 2**22), (1e-9, 3e-9, 2e-9))
    # Half of ten octaves, and of two.
    for size, expected in ((2**10, 1), (2**20, 3), (2**22, 2), (2**15, 2), (2**21, 2.5)):
        assert time.at(size) == pytest.approx(expected * 1e-9, rel=1e-12)
    assert time.at(3 * 2**10) == pytest.approx((1 + 2 * math.log2(3) / 10) * 1e-9, rel=1e-12)
    for size in (0, 1, 2**10 - 1):
        assert time.at(size) == 1e-9
    assert time.at(2**22 + 1) == time.at(2**40) == 2e-9
    assert [KernelTime((1,), (5e-9,)).at(size) for size in (0, 1, 2**30)] == [5e-9] * 3


def with_times(folder: Path, times: str) -> Path:
    """Write the host with other times of heat.sweep."""
    file = folder / "host.yaml"
    assert HOST.count("[1.5 ns, kernels]") == 1
    file.write_text(HOST.replace("[1.5 ns, kernels]", f"[{times}, kernels]"))
    return file


def test_pricing_between_two_sizes(tmp_path: Path) -> None:
    workload = make_program("heat", SIZES["heat"]).workload
    size = data_of(workload)
    machine = load_machine(with_times(tmp_path, f"{{{size**3} B: 4 ns, 1 B: 1 ns}}"))
    priced = price(workload, machine)
    chosen = workload.graph.task_class == workload.graph.class_names.index("sweep")
    # A third of the way from 1 to 4 ns; 2 ns at 2e9 operations per second are four operations.
    assert priced.graph.ops[0, chosen] == pytest.approx(
        4.0 * workload.graph.ops[0, chosen], rel=1e-12
    )
    # The initialisation is priced by the size of all data too.
    assert priced.init is not None
    assert workload.init is not None
    assert priced.init.ops.sum() == pytest.approx(6.0 * workload.init.ops.sum())


def test_times_in_machine_files(tmp_path: Path) -> None:
    file = with_times(tmp_path, "{12 MiB: 1.25 ns, 3145728 B: 0.6 ns}")
    machine = load_machine(file)
    assert machine.kernels["heat.sweep"] == {
        "cpu": KernelTime((3 * 2**20, 12 * 2**20), (6e-10, 1.25e-9))
    }
    assert machine.kernels["heat.initialise"] == {"cpu": KernelTime((1,), (3e-9,))}
    text = as_text(describe(machine))
    assert "heat.sweep on cpu 0.6 ns for 3 MiB, 1.25 ns for 12 MiB  [kernels]" in text
    assert "heat.initialise on cpu 3 ns  [kernels]" in text


@pytest.mark.parametrize(
    ("times", "message"),
    [
        ("{}", "found no size, accepted: a time, or a mapping of sizes to times"),
        ("{0 B: 1 ns}", "found zero, accepted: more than zero"),
        ("{-1 KiB: 1 ns}", "found '-1 KiB', accepted: a size"),
        ("{1024: 1 ns}", "found 1024, accepted: a size such as"),
        ("{large: 1 ns}", "found 'large', accepted: a size"),
        ("{1 KiB: 1}", "found 1, accepted: a time such as"),
        ("{1 KiB: -1 ns}", "found '-1 ns', accepted: a time"),
        ("{1 KiB: 1 ns, 2 KiB: soon}", "found 'soon', accepted: a time"),
        ("{1 KiB: }", "found None, accepted: a time"),
        ("{1 KiB: 1 ns, 1024 B: 2 ns}", "found '1024 B' twice, accepted: each size once"),
        ("{1 KiB: 1 ns, 1024 B: 2}", "found '1024 B' twice, accepted: each size once"),
        ("-1 ns", "found '-1 ns', accepted: a time"),
        ("1.5", "found 1.5, accepted: a time"),
        ("[1 ns, 2 ns]", "found ['1 ns', '2 ns'], accepted: a time"),
    ],
)
def test_bad_times_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], times: str, message: str
) -> None:
    file = with_times(tmp_path, times)
    assert main(["check", str(file)]) == 2
    captured = capsys.readouterr()
    line = 1 + HOST.split("heat.sweep")[0].count("\n")
    assert f"{file}:{line}: kernels.heat.sweep.cpu[0]" in captured.err
    assert message in captured.err
    assert captured.err.count("\n") == 1
    with pytest.raises(ConfigurationError, match=r"kernels\.heat\.sweep\.cpu\[0\]"):
        load_machine(file)
