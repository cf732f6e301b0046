"""Compute time per operation of the classes of programs, from runs on one core."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from simsched.files.errors import ConfigurationError
from simsched.hardware.measurements import MeasurementSet
from simsched.hardware.pricing import price, simulated_trace, without_accesses
from simsched.machine.model import KernelTime, Machine
from simsched.trace.schema import Trace
from simsched.trace.times import iteration_times, work_times
from simsched.workload.graph import TaskGraph, Workload

#: Steps in which a compute time is searched at most.
ROUNDS = 20
#: Exposures among which that of a class is chosen.
EXPOSURES = tuple(step / 16 for step in range(17))
#: Relative error of simulated times that counts as none.
EXACT = 1e-6

PROCESSOR = "cpu"


@dataclass(frozen=True)
class Kernel:
    """Compute time of a class of tasks."""

    name: str
    #: Of one operation, by the size of the data that it was calibrated with.
    time: KernelTime
    #: Largest relative error of the simulated time of the class with these values.
    residual: float
    runs: int
    #: Part of the waiting for hits in caches that computing does not hide.
    exposure: float = 1.0


@dataclass(frozen=True)
class CalibrationRun:
    """What a program took on one core."""

    workload: Workload
    #: The simulated policy that schedules like it.
    policy: str
    #: Time in tasks of each class; see :func:`class_seconds`; shape (n_classes,).
    seconds: NDArray[np.float64]
    runs: int = 1
    #: Time between tasks; without, as long as in the simulation. See :func:`rest_seconds`.
    rest_s: float | None = None


def calibration_runs(measured: MeasurementSet) -> list[CalibrationRun]:
    """Return the medians of the cells of a set; each has a graph and one worker."""
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
    compute time is the smallest with which the simulation is not shorter, by the size of the data;
    its exposure is the one of `EXPOSURES` with which the compute times at all sizes differ least.
    ``docs/calibrating.md`` says why.
    """
    groups: dict[tuple[str, int], list[CalibrationRun]] = {}
    for run in runs:
        size = int(run.workload.graph.block_bytes.sum())
        groups.setdefault((run.workload.name, size), []).append(run)
    bare = replace(machine, kernels={}, exposures={})
    exposures = _exposures(groups, bare)
    found: dict[str, list[tuple[int, float, float, int]]] = {}
    for (_, size), group in sorted(groups.items()):
        count = sum(run.runs for run in group)
        for name, seconds, residual in _calibrate(group, replace(bare, exposures=exposures)):
            found.setdefault(name, []).append((max(1, size), seconds, residual, count))
    return [
        Kernel(
            name,
            KernelTime(tuple(point[0] for point in points), tuple(point[1] for point in points)),
            residual=max(point[2] for point in points),
            runs=sum(point[3] for point in points),
            exposure=exposures.get(name, 1.0),
        )
        for name, points in found.items()
    ]


def _exposures(
    groups: Mapping[tuple[str, int], list[CalibrationRun]], machine: Machine
) -> dict[str, float]:
    hidden: dict[str, list[float]] = {}
    shown: dict[str, list[float]] = {}
    for (program, _), group in sorted(groups.items()):
        names = [f"{program}.{name}" for name in group[0].workload.graph.class_names]
        for times, exposure in ((hidden, 0.0), (shown, 1.0)):
            tried = replace(machine, exposures=dict.fromkeys(names, exposure))
            for name, seconds, _ in _calibrate(group, tried):
                times.setdefault(name, []).append(seconds)
    return {name: _exposure(np.array(hidden[name]), np.array(shown[name])) for name in shown}


def _exposure(hidden: NDArray[np.float64], shown: NDArray[np.float64]) -> float:
    """Return the exposure with which compute times, linear between two of them, differ least."""

    def variation(exposure: float) -> float:
        times = hidden + exposure * (shown - hidden)
        return float(np.var(np.log(times))) if (times > 0.0).all() else float("inf")

    return max(EXPOSURES, key=lambda exposure: (-variation(exposure), exposure))


def _calibrate(runs: list[CalibrationRun], machine: Machine) -> list[tuple[str, float, float]]:
    """Return name, seconds per operation and residual of the classes of a program.

    All classes are searched at a time: that one takes longer changes nothing in the others when
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
        traces = [simulated_trace(price(run.workload, priced), priced, run.policy) for run in runs]
        pairs = zip(traces, runs, strict=True)
        simulated = np.array([class_seconds(trace, run.workload)[classes] for trace, run in pairs])
        relative: NDArray[np.float64] = simulated / measured - 1.0
        return relative

    high = (measured / ops).max(axis=0)  # computing alone then takes as long as any run
    found = _least_enough(lambda seconds: errors(seconds).mean(axis=0), high)
    residual = np.abs(errors(found)).max(axis=0)
    return [
        (f"{program}.{names[c]}", float(value), float(rest))
        for c, value, rest in zip(classes, found, residual, strict=True)
    ]


def _least_enough(
    error: Callable[[NDArray[np.float64]], NDArray[np.float64]], high: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return about the least values whose error is not below zero; `high` is enough.

    Errors do not fall and are convex, so that the chord between a value that is too small and one
    that is enough is above the error: where it is zero, the value is too small or exact.
    Halvings in between keep the steps from becoming small where the error is flat.
    """
    low = np.zeros(len(high))
    below, above = error(low), error(high)
    high = np.where(below >= -EXACT, 0.0, high)
    for step in range(ROUNDS):
        rise = above - below
        chord = np.where(
            rise > 0.0, low - below * (high - low) / np.where(rise > 0.0, rise, 1.0), low
        )
        middle = chord if step % 3 < 2 else 0.5 * (low + high)
        found = error(middle)
        is_enough = found >= -EXACT
        high, above = np.where(is_enough, middle, high), np.where(is_enough, found, above)
        low, below = np.where(is_enough, low, middle), np.where(is_enough, below, found)
        if (np.abs(above) <= EXACT).all():
            break
    return high


def _with_rest(run: CalibrationRun, machine: Machine) -> float:
    """Return the time of a run's tasks with what costs do not explain of the rest, by the former.

    At least 1: what takes less than the costs say is not taken off the tasks.
    """
    if run.rest_s is None:
        return 1.0
    # Nothing but scheduling takes time here, whose costs do not depend on the tasks.
    idle = replace(run.workload, graph=_without_work(run.workload.graph))
    in_graph = run.seconds[_ops(run.workload.graph) > 0].sum()
    unexplained = run.rest_s - rest_seconds(simulated_trace(idle, machine, run.policy))
    return 1.0 + max(0.0, unexplained / float(in_graph)) if in_graph > 0 else 1.0


def _without_work(graph: TaskGraph) -> TaskGraph:
    """Return a graph whose tasks neither compute nor access anything."""
    nothing = np.zeros_like(graph.ops)
    return replace(without_accesses(graph), ops=nothing, join_ops=nothing)


def rest_seconds(trace: Trace) -> float:
    """Return the time from iteration 1 on in which the only worker was not in a task."""
    times = work_times(trace)
    spans = [span for number, span in iteration_times(trace).items() if number > 0]
    length = sum(end - begin for begin, end in spans)
    return float(length - times.seconds[times.iteration > 0].sum())


def class_seconds(trace: Trace, workload: Workload) -> NDArray[np.float64]:
    """Return the time in tasks of each class; shape (n_classes,).

    Classes that are only in the initialisation count there, the others from iteration 1 on.
    """
    times = work_times(trace)
    first = times.iteration == 0
    graph, init = workload.graph, workload.init
    total = _by_class(graph, times.task[~first], times.seconds[~first])
    if init is not None:
        initial = _by_class(init, times.task[first], times.seconds[first])
        total = np.where(_ops(graph) > 0, total, initial)
    return total


def _by_class(
    graph: TaskGraph, task: NDArray[np.integer], values: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return sums of the values of tasks; shape (n_classes,)."""
    sums = np.zeros(len(graph.class_names))
    np.add.at(sums, graph.task_class[task], values)
    return sums


def _ops(graph: TaskGraph) -> NDArray[np.float64]:
    """Return the operations of each class of a graph; shape (n_classes,)."""
    return _by_class(graph, np.arange(graph.n_tasks), graph.ops[0] + graph.join_ops[0])


def _ops_of_classes(workload: Workload) -> NDArray[np.float64]:
    """Return the operations of each class in the part of the run of :func:`class_seconds`."""
    ops = _ops(workload.graph)
    total = ops * workload.iterations
    if workload.init is not None:
        total = np.where(ops > 0, total, _ops(workload.init))
    return total
