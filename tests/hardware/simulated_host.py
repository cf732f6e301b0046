"""Sets of "measured" runs that a simulation has made, so that the right answers are known."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from simsched.analysis.recordings import recording_of
from simsched.engine.run import simulate
from simsched.hardware.measurements import Measurement, MeasurementSet, write_measurements
from simsched.hardware.pricing import price
from simsched.hardware.program import make_program
from simsched.machine import load_machine
from simsched.machine.model import KernelTime, Machine
from simsched.policy.contract.registry import make_policy
from simsched.trace.recording import Recording, write_recording
from simsched.trace.times import makespan_s
from simsched.workload.graph import Workload

HOST = """\
description: two cores and one memory node
sources:
  probe: {kind: measured, reference: made up}
  kernels: {kind: calibrated, reference: made up, calibrated_on: "heat[rows=9]"}
cores:
  cpu: {clock: [2 GHz, probe], ops_per_cycle: [1, probe]}
sockets:
  - {count: [1, probe], domains: [1, probe], cores: {cpu: [2, probe]}}
caches:
  L1:
    capacity: [32 KiB, probe]
    bandwidth: [50 GB/s, probe]
    latency: [2 ns, probe]
    shared_by: [1, probe]
memory:
  dram:
    kind: DRAM
    capacity: [1 GiB, probe]
    bandwidth: [10 GB/s, probe]
    page: [4 KiB, probe]
paths:
  all: {latency: [80 ns, probe], core_cap: [8 GB/s, probe], os_distance: [10, probe]}
costs:
  spawn_child_first: [40 ns, probe]
  spawn_parent_first: [60 ns, probe]
  pop: [10 ns, probe]
  steal: [200 ns, probe]
kernels:
  heat.sweep: {cpu: [1.5 ns, kernels]}
  heat.initialise: {cpu: [3 ns, kernels]}
  matmul.multiply: {cpu: [0.25 ns, kernels]}
  matmul.initialise: {cpu: [2 ns, kernels]}
"""

SIZES: dict[str, dict[str, Any]] = {
    "heat": {"rows": 61, "columns": 48, "leaf_rows": 5, "iterations": 3},
    "matmul": {"tiles": 3, "tile_size": 13, "iterations": 2},
}
POLICIES = ("cilk_a", "pfws", "task_sharing")


def host(folder: Path) -> Machine:
    """Return the host as a machine; its file is ``host.yaml`` in the folder."""
    path = folder / "host.yaml"
    path.write_text(HOST)
    return load_machine(path)


def with_kernels(machine: Machine, factor: float) -> Machine:
    """Return a machine whose kernels take `factor` times as long."""
    kernels = {
        name: {kind: slower(time, factor) for kind, time in times.items()}
        for name, times in machine.kernels.items()
    }
    return replace(machine, kernels=kernels)


def slower(time: KernelTime, factor: float) -> KernelTime:
    """Return a kernel that takes `factor` times as long, whatever the size."""
    return replace(time, seconds=tuple(factor * seconds for seconds in time.seconds))


def run_on(
    machine: Machine, workload: Workload, policy: str, workers: int, seed: int = 0
) -> Recording:
    """Return a simulated run as if it had been measured: with the program's own operations."""
    done = simulate(
        machine,
        price(workload, machine),
        make_policy(policy),
        workers=workers,
        seed=seed,
        events=True,
    )
    return replace(recording_of(done), workload=workload, name=workload.name)


def measure_on(machine: Machine, folder: Path, repetitions: int = 1) -> MeasurementSet:
    """Write and return a set of runs of two programs under three policies."""
    runs: list[Measurement] = []
    for program, params in SIZES.items():
        workload = make_program(program, params).workload
        for policy in POLICIES:
            for workers in (1, 2):
                for seed in range(repetitions):
                    recording = run_on(machine, workload, policy, workers, seed)
                    file = f"{len(runs)}.parquet"
                    write_recording(folder / file, recording)
                    makespan = makespan_s(recording.trace)
                    runs.append(
                        Measurement(
                            file, program, params, program, policy, workers, seed, seed,
                            makespan, 1.0,
                        )
                    )  # fmt: skip
    measured = MeasurementSet(folder, "simulated", tuple(runs), {"host": "none"})
    write_measurements(measured)
    return measured
