"""Compute time per operation of the classes of programs, from runs on one core."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from simsched.engine.run import simulate
from simsched.errors import ConfigurationError
from simsched.hardware.measurements import MeasurementSet
from simsched.hardware.pricing import price
from simsched.machine.model import Machine
from simsched.policy.registry import policy_from_spec
from simsched.trace.recording import Recording
from simsched.trace.schema import Trace
from simsched.trace.times import work_times
from simsched.workload.graph import TaskGraph, Workload

#: Halvings of the interval that a compute time is searched in.
ROUNDS = 20
#: Relative error of simulated times that counts as none.
EXACT = 1e-6

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
    residual : float
        Largest relative error, over the runs, of the simulated time of the class with this value.
    runs : int
        Number of runs.
    """

    name: str
    seconds_per_op: float
    residual: float
    runs: int


@dataclass(frozen=True)
class CalibrationRun:
    """A run on one core: what took how long, and the policy that schedules like it."""

    recording: Recording
    policy: str


def calibrate_kernels(runs: Sequence[CalibrationRun], machine: Machine) -> list[Kernel]:
    """Return the compute times with which the simulator takes as long as was measured.

    The time of a class in a run is compared with its time in a simulation of the same graph. Its
    compute time is the smallest with which simulations are not shorter than the runs of its
    program, in the mean of the relative errors; runs of several sizes show in `residual` how much
    is left that the memory model does not explain.

    Parameters
    ----------
    runs : sequence of CalibrationRun
        With one worker. Some should have their data in the caches: where accesses take longer than
        computing, nothing can be learned about computing.
    machine : Machine
        Caches, memory and runtime costs of the host; its kernels are not used.

    Raises
    ------
    ConfigurationError
        A run has several workers or no graph.
    """
    by_program: dict[str, list[CalibrationRun]] = {}
    for run in runs:
        if run.recording.workload is None or run.recording.n_workers != 1:
            raise ConfigurationError(
                f"calibration with {run.recording.name}: accepted: runs with one worker and a graph"
            )
        by_program.setdefault(run.recording.workload.name, []).append(run)
    return [
        kernel for name in sorted(by_program) for kernel in _calibrate(by_program[name], machine)
    ]


def calibration_runs(measured: MeasurementSet) -> list[CalibrationRun]:
    """Return the run of each cell whose makespan is the median of the cell."""
    chosen = []
    for runs in measured.cells().values():
        middle = sorted(runs, key=lambda run: run.makespan_s)[(len(runs) - 1) // 2]
        chosen.append(CalibrationRun(measured.recording(middle), middle.policy))
    return chosen


def _calibrate(runs: list[CalibrationRun], machine: Machine) -> list[Kernel]:
    """Return the kernels of one program, by bisection of all classes at a time.

    That a class takes longer changes nothing in the others when there is one worker, apart from
    what lies in the caches.
    """
    workloads = [run.recording.workload for run in runs]
    graphs = [workload for workload in workloads if workload is not None]
    names = graphs[0].graph.class_names
    ops = np.array([_ops_of_classes(workload) for workload in graphs])
    measured = np.array(
        [class_seconds(run.recording.trace, w) for run, w in zip(runs, graphs, strict=True)]
    )
    classes = np.flatnonzero((ops > 0).all(axis=0) & (measured > 0).all(axis=0))
    ops, measured = ops[:, classes], measured[:, classes]

    def errors(seconds: NDArray[np.float64]) -> NDArray[np.float64]:
        kernels = {
            f"{graphs[0].name}.{names[c]}": {PROCESSOR: float(value)}
            for c, value in zip(classes, seconds, strict=True)
        }
        priced = replace(machine, kernels=kernels)
        simulated = [
            _simulated_seconds(workload, run.policy, priced)[classes]
            for run, workload in zip(runs, graphs, strict=True)
        ]
        relative: NDArray[np.float64] = np.array(simulated) / measured - 1.0
        return relative

    high = (measured / ops).max(axis=0)  # computing alone then takes as long as any run
    low = np.zeros(len(classes))
    for _ in range(ROUNDS):
        middle = 0.5 * (low + high)
        is_enough = errors(middle).mean(axis=0) >= -EXACT
        low, high = np.where(is_enough, low, middle), np.where(is_enough, middle, high)
    residual = np.abs(errors(high)).max(axis=0)
    return [
        Kernel(f"{graphs[0].name}.{names[c]}", float(value), float(rest), len(runs))
        for c, value, rest in zip(classes, high, residual, strict=True)
    ]


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
