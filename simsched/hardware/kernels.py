"""Compute time per operation of the classes of programs, from runs on one core."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from simsched.engine.run import simulate
from simsched.errors import ConfigurationError
from simsched.hardware.pricing import price
from simsched.machine.model import Machine
from simsched.policy.registry import policy_from_spec
from simsched.trace.recording import Recording
from simsched.trace.schema import Trace
from simsched.trace.times import work_times
from simsched.workload.graph import TaskGraph, Workload

#: Rounds in which a kernel's time is corrected by what the simulation lacks; few are needed,
#: because work takes the sum, or the larger, of computing and accesses.
ROUNDS = 12
#: Where accesses alone take longer than was measured, computing takes this share of the time.
LEAST = 1e-3

PROCESSOR = "cpu"


@dataclass(frozen=True)
class Kernel:
    """Compute time of a class of tasks.

    Parameters
    ----------
    name : str
        ``program.class``.
    seconds_per_op : float
        Of one operation, without what the accesses take on the machine.
    spread : float
        Largest minus smallest of the runs that it was calibrated on, divided by their median.
    residual : float
        How far the simulated time of the class is from the measured one with this value, the mean
        over the runs of the relative amounts.
    runs : int
        Number of runs.
    """

    name: str
    seconds_per_op: float
    spread: float
    residual: float
    runs: int


@dataclass(frozen=True)
class CalibrationRun:
    """A run on one core: what took how long, and the policy that schedules like it."""

    recording: Recording
    policy: str


def calibrate_kernels(runs: Sequence[CalibrationRun], machine: Machine) -> list[Kernel]:
    """Return the compute times with which the simulator takes as long as was measured.

    What a class takes in a run is compared with what it takes in a simulation of the same graph,
    and the compute time is corrected by the difference until they agree. The value is the median
    over the runs of a program; runs of several sizes show in `spread` how much is left that the
    memory model does not explain.

    Parameters
    ----------
    runs : sequence of CalibrationRun
        With one worker.
    machine : Machine
        Caches, memory and runtime costs of the host; its kernels are not used.

    Raises
    ------
    ConfigurationError
        A run has several workers or no graph.
    """
    found: dict[str, list[tuple[float, float]]] = {}
    for run in runs:
        for name, figures in _calibrate_run(run, machine).items():
            found.setdefault(name, []).append(figures)
    return [_combined(name, figures) for name, figures in sorted(found.items())]


def _combined(name: str, figures: list[tuple[float, float]]) -> Kernel:
    """Return the kernel for the values that single runs gave."""
    seconds = np.array([each[0] for each in figures])
    middle = float(np.median(seconds))
    return Kernel(
        name,
        middle,
        spread=float(np.ptp(seconds)) / middle,
        residual=float(np.mean([abs(each[1]) for each in figures])),
        runs=len(figures),
    )


def _calibrate_run(run: CalibrationRun, machine: Machine) -> dict[str, tuple[float, float]]:
    """Return per class with operations the seconds per operation and the relative residual."""
    workload = run.recording.workload
    if workload is None or run.recording.n_workers != 1:
        raise ConfigurationError(
            f"calibration with {run.recording.name}: accepted: runs with one worker and a graph"
        )
    names = workload.graph.class_names
    ops = _ops_of_classes(workload)
    measured = class_seconds(run.recording.trace, workload)
    chosen = np.flatnonzero((ops > 0) & (measured > 0))
    least = LEAST * measured[chosen] / ops[chosen]
    times = measured[chosen] / ops[chosen]
    simulated = np.zeros(len(chosen))
    for _ in range(ROUNDS):
        kernels = {
            f"{workload.name}.{names[c]}": {PROCESSOR: float(t)}
            for c, t in zip(chosen, times, strict=True)
        }
        simulated = _simulated_seconds(workload, run.policy, replace(machine, kernels=kernels))
        missing = measured[chosen] - simulated[chosen]
        if np.all(np.abs(missing) <= 1e-4 * measured[chosen]):
            break
        times = np.maximum(times + missing / ops[chosen], least)
    residual = simulated[chosen] / measured[chosen] - 1.0
    return {
        f"{workload.name}.{names[c]}": (float(t), float(r))
        for c, t, r in zip(chosen, times, residual, strict=True)
    }


def _simulated_seconds(workload: Workload, policy: str, machine: Machine) -> NDArray[np.float64]:
    """Return what each class takes in a simulation with one worker."""
    priced = price(workload, machine)
    run = simulate(machine, priced, policy_from_spec(policy), workers=1, events=True)
    assert run.trace is not None
    return class_seconds(run.trace, workload)


def class_seconds(trace: Trace, workload: Workload) -> NDArray[np.float64]:
    """Return the time in tasks of each class; shape (n_classes,).

    Classes that are only in the initialisation count there, the others from iteration 1 on.
    """
    times = work_times(trace)
    first = times.iteration == 0
    graph, init = workload.graph, workload.init
    total = np.zeros(len(graph.class_names))
    np.add.at(total, graph.task_class[times.task[~first]], times.seconds[~first])
    if init is not None:
        initial = np.zeros(len(total))
        np.add.at(initial, init.task_class[times.task[first]], times.seconds[first])
        total = np.where(_ops(graph) > 0, total, initial)
    return total


def _ops(graph: TaskGraph) -> NDArray[np.float64]:
    """Return the operations of each class of a graph; shape (n_classes,)."""
    ops = np.zeros(len(graph.class_names))
    np.add.at(ops, graph.task_class, graph.ops[0] + graph.join_ops[0])
    return ops


def _ops_of_classes(workload: Workload) -> NDArray[np.float64]:
    """Return the operations of each class in the part of the run that :func:`class_seconds` takes.

    Shape (n_classes,).
    """
    ops = _ops(workload.graph)
    total = ops * workload.iterations
    if workload.init is not None:
        total = np.where(ops > 0, total, _ops(workload.init))
    return total
