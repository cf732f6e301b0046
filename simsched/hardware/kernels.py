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
from simsched.machine.model import KernelTime, Machine
from simsched.policy.registry import policy_from_spec
from simsched.trace.schema import Trace
from simsched.trace.times import iteration_times, work_times
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
    time : KernelTime
        Of one operation, by the size of the data that it was calibrated with.
    residual : float
        Largest relative error of the simulated time of the class with these values.
    runs : int
        Number of runs.
    """

    name: str
    time: KernelTime
    residual: float
    runs: int


@dataclass(frozen=True)
class CalibrationRun:
    """What a program took on one core.

    Parameters
    ----------
    workload : Workload
        Its graphs.
    policy : str
        The simulated policy that schedules like it.
    seconds : ndarray of float64, shape (n_classes,)
        Time in tasks of each class; see :func:`class_seconds`.
    runs : int
        Number of runs whose median this is.
    rest_s : float, optional
        Time between tasks; without, as long as in the simulation. See :func:`rest_seconds`.
    """

    workload: Workload
    policy: str
    seconds: NDArray[np.float64]
    runs: int = 1
    rest_s: float | None = None


def calibration_runs(measured: MeasurementSet) -> list[CalibrationRun]:
    """Return the medians of the cells of a set.

    Raises
    ------
    ConfigurationError
        A run has several workers or no graph.
    """
    found = []
    for runs in measured.cells().values():
        recordings = [measured.recording(run) for run in runs]
        workload = recordings[0].workload
        if workload is None or runs[0].workers != 1:
            raise ConfigurationError(
                f"calibration with {runs[0].label}: accepted: runs with one worker and a graph"
            )
        seconds = [class_seconds(each.trace, workload) for each in recordings]
        middle = np.median(seconds, axis=0)
        rest_s = float(np.median([rest_seconds(each.trace) for each in recordings]))
        found.append(CalibrationRun(workload, runs[0].policy, middle, len(runs), rest_s))
    return found


def calibrate_kernels(runs: Sequence[CalibrationRun], machine: Machine) -> list[Kernel]:
    """Return the compute times with which the simulator takes as long as was measured.

    The time of a class in a run is compared with its time in a simulation of the same graph. Its
    compute time is the smallest with which the simulation is not shorter; this includes what the
    processor cannot hide of the accesses, so that it depends on where the data lie: there is one
    value per size of the data. What a run takes between its tasks beyond the costs of scheduling,
    which were measured with warm caches, is added to all classes in proportion to their time.

    Parameters
    ----------
    runs : sequence of CalibrationRun
        Runs with one worker. Runs of one program with data of the same size share a value, the mean
        of their relative errors being zero.
    machine : Machine
        Caches, memory and runtime costs of the host; its kernels are not used.
    """
    groups: dict[tuple[str, int], list[CalibrationRun]] = {}
    for run in runs:
        size = int(run.workload.graph.block_bytes.sum())
        groups.setdefault((run.workload.name, size), []).append(run)
    found: dict[str, list[tuple[int, float, float, int]]] = {}
    for (_, size), group in sorted(groups.items()):
        count = sum(run.runs for run in group)
        for name, seconds, residual in _calibrate(group, machine):
            found.setdefault(name, []).append((max(1, size), seconds, residual, count))
    return [
        Kernel(
            name,
            KernelTime(tuple(point[0] for point in points), tuple(point[1] for point in points)),
            residual=max(point[2] for point in points),
            runs=sum(point[3] for point in points),
        )
        for name, points in found.items()
    ]


def _calibrate(runs: list[CalibrationRun], machine: Machine) -> list[tuple[str, float, float]]:
    """Return name, seconds per operation and residual of the classes of a program.

    All classes are bisected at a time: that one takes longer changes nothing in the others when
    there is one worker, apart from what lies in the caches.
    """
    program, names = runs[0].workload.name, runs[0].workload.graph.class_names
    ops = np.array([_ops_of_classes(run.workload) for run in runs])
    measured = np.array([run.seconds * _with_rest(run, machine) for run in runs])
    classes = np.flatnonzero((ops > 0).all(axis=0) & (measured > 0).all(axis=0))
    ops, measured = ops[:, classes], measured[:, classes]

    def errors(seconds: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the relative error of every run and class with some compute times."""
        kernels = {
            f"{program}.{names[c]}": {PROCESSOR: KernelTime((1,), (float(value),))}
            for c, value in zip(classes, seconds, strict=True)
        }
        priced = replace(machine, kernels=kernels)
        simulated = [_simulated_seconds(run.workload, run.policy, priced)[classes] for run in runs]
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
        (f"{program}.{names[c]}", float(value), float(rest))
        for c, value, rest in zip(classes, high, residual, strict=True)
    ]


def _with_rest(run: CalibrationRun, machine: Machine) -> float:
    """Return the time of a run's tasks with what costs do not explain of the rest, by the former.

    At least 1: what takes less than the costs say is not taken off the tasks.
    """
    if run.rest_s is None:
        return 1.0
    # Nothing but scheduling takes time here, whose costs do not depend on the tasks.
    idle = replace(run.workload, graph=_without_work(run.workload.graph))
    done = simulate(machine, idle, policy_from_spec(run.policy), workers=1, events=True)
    assert done.trace is not None
    in_graph = run.seconds[_ops(run.workload.graph) > 0].sum()
    unexplained = run.rest_s - rest_seconds(done.trace)
    return 1.0 + max(0.0, unexplained / float(in_graph)) if in_graph > 0 else 1.0


def _without_work(graph: TaskGraph) -> TaskGraph:
    """Return a graph whose tasks neither compute nor access anything."""
    none = np.zeros_like(graph.access_ptr)
    no_block = graph.access_block[:0]
    return replace(
        graph,
        ops=np.zeros_like(graph.ops),
        join_ops=np.zeros_like(graph.join_ops),
        access_ptr=none,
        join_access=none[:-1],
        access_block=no_block,
        read_bytes=graph.read_bytes[:0],
        written_bytes=graph.written_bytes[:0],
    )


def rest_seconds(trace: Trace) -> float:
    """Return the time from iteration 1 on in which the only worker was not in a task."""
    times = work_times(trace)
    spans = [span for number, span in iteration_times(trace).items() if number > 0]
    length = sum(end - begin for begin, end in spans)
    return float(length - times.seconds[times.iteration > 0].sum())


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
