"""FinePar: rows of a sparse matrix divided by their length, with models of performance."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cache

import numpy as np
from numpy.typing import NDArray

from simsched.machine.model import Machine
from simsched.policy.contract.base import AcquireStep, Plan, PlanView, param
from simsched.policy.contract.registry import register
from simsched.policy.parts.central_queue import central_queue
from simsched.policy.parts.division import (
    CLASSES,
    COPY_IN,
    COPY_OUT,
    CPU,
    CPU_PART,
    KERNEL,
    Sides,
    group_of_worker,
    sides_of,
)
from simsched.policy.parts.placement import PlacedPolicy, host_nodes
from simsched.workload.builder import accesses, adjacency, build_graph
from simsched.workload.division import Division
from simsched.workload.graph import FloatArray, Int32Array, Int64Array, TaskGraph, Workload
from simsched.workload.sparse_rows import (
    MatrixWorkload,
    RowCosts,
    SparseRows,
    band_rows,
    rmat_rows,
)

BoolArray = NDArray[np.bool_]

THRESHOLDS = (16, 32, 64, 128, 256, 512, 1024, 2048)  #: T_f
QUASI_DIAGONAL, OTHER = 1, 2  #: types of matrices
#: logarithm of the rows of training matrices, and their mean numbers of non-zeros per row
TRAINING = ((10, 16), (12, 4), (12, 16), (12, 32), (14, 16))


@dataclass(frozen=True, eq=False)
class PlacedTasks(Workload):
    """A program whose tasks have their workers."""

    #: shape (n_tasks,): worker of each task
    worker: Int32Array = field(default_factory=lambda: np.empty(0, np.int32))


@dataclass(frozen=True, eq=False)
class Devices:
    """How fast the two sides are, as an earlier run on the machine has measured it."""

    costs: RowCosts  # what rows cost
    cpu_ops_per_s: float  # speed of all threads of the processor together, and of the device
    gpu_ops_per_s: float  # speed of all threads of the processor together, and of the device
    launch_s: float  # time of a launch with its two copies, and of a copied byte
    byte_s: float  # time of a launch with its two copies, and of a copied byte

    def cpu_s(self, nonzeros: Int64Array) -> float:
        """Return the seconds of rows on the processor."""
        return self.costs.on_cpu(nonzeros) / self.cpu_ops_per_s

    def gpu_s(self, nonzeros: Int64Array) -> float:
        """Return the seconds of rows on the device, copies and launch included."""
        if not len(nonzeros):
            return 0.0
        moved = int(nonzeros.sum()) * self.costs.nonzero_bytes
        moved += len(nonzeros) * self.costs.result_bytes
        return (
            self.launch_s + moved * self.byte_s + self.costs.on_gpu(nonzeros) / self.gpu_ops_per_s
        )


def features(nonzeros: Int64Array) -> list[float]:
    """Return AW, VW, log NW, log SW and 1 of the rows of a part (Eq. 6.3 and 6.4); base 2.

    Examples
    --------
    >>> features(np.array([2, 2, 4, 8]))
    [4.0, 6.0, 2.0, 4.0, 1.0]
    """
    total = int(nonzeros.sum())
    mean = total / len(nonzeros)
    variance = float(((nonzeros - mean) ** 2).sum()) / len(nonzeros)
    return [mean, variance, math.log2(len(nonzeros)), math.log2(max(total, 1)), 1.0]


def fit(parts: list[Int64Array], seconds: list[float]) -> FloatArray:
    """Return the coefficients C1 to C5 of a device's performance by least squares.

    Notes
    -----
    Performance is non-zeros per second.
    """
    wanted = [int(part.sum()) / max(time, 1e-15) for part, time in zip(parts, seconds, strict=True)]
    found = np.linalg.lstsq(np.array([features(part) for part in parts]), np.array(wanted))[0]
    return np.asarray(found, np.float64)


def predicted_s(coefficients: FloatArray, nonzeros: Int64Array) -> float:
    """Return the seconds that a fitted model expects; infinity where it expects no performance."""
    if not len(nonzeros) or not int(nonzeros.sum()):
        return 0.0
    performance = 0.0
    for each, feature in zip(coefficients.tolist(), features(nonzeros), strict=True):
        performance += each * feature
    return int(nonzeros.sum()) / performance if performance > 0.0 else math.inf


def climb(cost: Callable[[int], float], start: int, count: int) -> int:
    """Return where hill climbing over 0 .. count - 1 ends: neither neighbour costs less.

    Examples
    --------
    >>> climb([5, 4, 2, 3, 1].__getitem__, 0, 5)
    2
    """
    place = start
    while True:
        near = [i for i in (place, place - 1, place + 1) if 0 <= i < count]
        best = min(near, key=lambda i: (cost(i), near.index(i)))
        if best == place:
            return place
        place = best


@register("finepar")
@dataclass(frozen=True, kw_only=True)
class FinePar(PlacedPolicy[None]):
    """FinePar: short rows of a sparse matrix for the GPU, long ones for the processor.

    Parameters
    ----------
    threads : int
        Threads that share the processor's rows; 0 for one per core.
    diagonal_threshold : float
        T_diag: part of the non-zeros near the diagonal that makes a matrix quasi-diagonal.
    sample_rows : int
        Rows from which the type is told, drawn at random.
    step : int
        Positions in the list of thresholds that hill climbing moves at once.

    Notes
    -----
    Models of both devices are fitted to timed random matrices of each type (Eq. 6.3, 6.4). Hill
    climbing then looks for the T_f with which the later part is predicted to end first. Other
    programs run from a central queue. Readings: docs/sources/hats.md.

    References
    ----------
    F. Zhang et al., *FinePar: irregularity-aware fine-grained workload partitioning on integrated
    architectures*, CGO 2017. Q. Chen, M. Guo, *Task Scheduling for Multi-core and Parallel
    Architectures*, Springer 2017, section 6.2.4, Eq. 6.3, 6.4.
    """

    threads: int = param(0, low=0)
    diagonal_threshold: float = param(0.5, low=0.0)
    sample_rows: int = param(1024, low=1)
    step: int = param(1, low=1, high=len(THRESHOLDS) - 1)

    def prepare(self, view: PlanView) -> Workload:
        """Return the program with its rows divided; others as they are."""
        program = view.workload
        if not isinstance(program, MatrixWorkload):
            return program
        sides = sides_of(view, self.threads)
        on_gpu = self.gpu_rows(view, sides, program)
        return _divided(view, sides, program, on_gpu)

    @staticmethod
    def least(workload: Workload) -> Iterable[Workload]:
        """Return a product of a sparse matrix as non-zeros that can be divided in any way."""
        return (any_rows(workload) if isinstance(workload, MatrixWorkload) else workload,)

    def gpu_rows(self, view: PlanView, sides: Sides, program: MatrixWorkload) -> BoolArray:
        """Return which rows the device gets; shape (n_rows,)."""
        nonzeros = program.rows.nonzeros
        if not sides.devices or not sides.cpu:
            return np.full(len(nonzeros), bool(sides.devices))
        threshold = self.threshold(view, sides, program)
        return self.short(nonzeros, threshold)

    def short(self, nonzeros: Int64Array, threshold: int) -> BoolArray:
        """Return which rows the device gets with a threshold."""
        short: BoolArray = nonzeros <= threshold
        return short

    def threshold(self, view: PlanView, sides: Sides, program: MatrixWorkload) -> int:
        """Return T_f for a matrix."""
        devices = measured(view, sides, program.costs)
        kind = self.matrix_type(program.rows, view.rng)
        for_cpu, for_gpu = self.models(devices, kind)
        nonzeros = program.rows.nonzeros
        parts = [(nonzeros[mine], nonzeros[~mine]) for mine in self._divisions(nonzeros)]

        def cost(position: int) -> float:
            gpu, cpu = parts[position]
            return max(predicted_s(for_gpu, gpu), predicted_s(for_cpu, cpu))

        peak = math.log(devices.gpu_ops_per_s / devices.cpu_ops_per_s)
        distance = [abs(math.log((_sum(gpu) + 1) / (_sum(cpu) + 1)) - peak) for gpu, cpu in parts]
        start = distance.index(min(distance))
        choices = range(start % self.step, len(THRESHOLDS), self.step)
        found = climb(lambda i: cost(choices[i]), choices.index(start), len(choices))
        return THRESHOLDS[choices[found]]

    def matrix_type(self, rows: SparseRows, rng: np.random.Generator) -> int:
        """Return the type of a matrix from a sample of its rows."""
        count = min(self.sample_rows, len(rows.nonzeros))
        chosen = rng.choice(len(rows.nonzeros), count, replace=False)
        total, near = max(1, _sum(rows.nonzeros[chosen])), max(1, _sum(rows.near[chosen]))
        return QUASI_DIAGONAL if near / total > self.diagonal_threshold else OTHER

    def models(self, devices: Devices, kind: int) -> tuple[FloatArray, FloatArray]:
        """Return the coefficients of processor and device, fitted on matrices of one type."""
        cpu: list[Int64Array] = []
        gpu: list[Int64Array] = []
        for nonzeros in training_rows(kind):
            for mine in self._divisions(nonzeros):
                cpu += [nonzeros[~mine]] if _sum(nonzeros[~mine]) else []
                gpu += [nonzeros[mine]] if _sum(nonzeros[mine]) else []
        return (
            fit(cpu, [devices.cpu_s(part) for part in cpu]),
            fit(gpu, [devices.gpu_s(part) for part in gpu]),
        )

    def _divisions(self, nonzeros: Int64Array) -> list[BoolArray]:
        """Return which rows the device gets with each threshold."""
        return [self.short(nonzeros, threshold) for threshold in THRESHOLDS]

    def plan(self, view: PlanView, state: None, graph: TaskGraph) -> Plan:
        """Return a plan in which every task has its worker."""
        program = view.workload
        if not isinstance(program, PlacedTasks):
            return central_queue(graph)
        return Plan(
            acquire=(AcquireStep("worker", "own", "oldest"),),
            instance_of=program.worker,
        )


def any_rows(program: MatrixWorkload) -> Workload:
    """Return a product of a sparse matrix as non-zeros that can be divided in any way."""
    costs, count = program.costs, int(program.rows.nonzeros.sum())
    per_nonzero = {"cpu": costs.cpu_ops, "gpu": costs.gpu_ops}
    kinds = program.graph.kinds
    nothing = np.zeros((len(kinds), 1))
    division = Division(
        units=max(1, count),
        part=np.zeros(1, np.int32),
        fixed_ops=nothing,
        unit_ops=np.array([[per_nonzero[kind]] for kind in kinds]),
        unit_read_bytes=np.zeros(0),
        unit_written_bytes=np.zeros(0),
        least_units=nothing,
    )
    graph = build_graph(nothing, kinds=kinds)
    return Workload(program.name, graph, program.iterations, division=division)


@cache
def training_rows(kind: int) -> tuple[Int64Array, ...]:
    """Return the non-zeros of the rows of the training matrices of one type."""
    make = band_rows if kind == QUASI_DIAGONAL else rmat_rows
    found = []
    for number, (scale, factor) in enumerate(TRAINING):
        rng = np.random.Generator(np.random.PCG64(np.random.SeedSequence([kind, number])))
        found.append(make(rng, scale, factor).nonzeros)
        found[-1].flags.writeable = False
    return tuple(found)


def _sum(nonzeros: Int64Array) -> int:
    return int(nonzeros.sum())


def measured(view: PlanView, sides: Sides, costs: RowCosts) -> Devices:
    """Return how fast the two sides are."""
    cpu = group_of_worker(view, sides.cpu[0])
    worker = sides.devices[0]
    gpu = group_of_worker(view, worker)
    path_s, byte_s = host_path(view.machine, int(view.worker_domain[worker]))
    launch = view.machine.costs.kernel_launch_ps * 1e-12 + 2 * path_s
    return Devices(costs, cpu.ops_per_s * len(sides.cpu), gpu.ops_per_s, launch, byte_s)


def host_path(machine: Machine, domain: int) -> tuple[float, float]:
    """Return latency and seconds per byte between a domain and its nearest main memory."""
    hosts = host_nodes(machine)
    node = next(n for n in machine.touch_order[domain].tolist() if n in hosts)
    path = machine.paths[domain][node]
    return path.latency_ps * 1e-12, 1.0 / min(path.core_cap_bytes_per_s[0], machine.link_rate(path))


def _divided(
    view: PlanView, sides: Sides, program: MatrixWorkload, on_gpu: BoolArray
) -> PlacedTasks:
    """Return the program with some rows on the first device and the others on the processor."""
    costs, nonzeros = program.costs, program.rows.nonzeros
    ops, who, read, written, classes = [], [], [], [], []

    def add(kind: str, task_class: int, worker: int, each: float, moved: tuple[int, int]) -> None:
        ops.append([each if k == kind else math.inf for k in program.graph.kinds])
        classes.append(task_class)
        who.append(worker)
        read.append(moved[0])
        written.append(moved[1])

    rest = nonzeros[~on_gpu]
    for worker, part in zip(sides.cpu, _equal_parts(rest, len(sides.cpu)), strict=True):
        sizes = _sum(part) * costs.nonzero_bytes, len(part) * costs.result_bytes
        add(CPU, CPU_PART, worker, costs.on_cpu(part), sizes)
    n_cpu = len(who)
    if sides.devices:
        worker, mine = sides.devices[0], nonzeros[on_gpu]
        group = group_of_worker(view, worker)
        launch = view.machine.costs.kernel_launch_ps * 1e-12 * group.ops_per_s * bool(len(mine))
        add(group.kind, COPY_IN, worker, 0.0, (_sum(mine) * costs.nonzero_bytes, 0))
        add(group.kind, KERNEL, worker, launch + costs.on_gpu(mine), (0, 0))
        add(group.kind, COPY_OUT, worker, 0.0, (0, len(mine) * costs.result_bytes))
    n = len(who)
    first = list(range(n_cpu, n - 1))
    tasks = np.arange(n)
    bytes_read, bytes_written = np.array(read), np.array(written)
    uses = np.column_stack([bytes_read > 0, bytes_written > 0]).ravel()
    nothing = np.zeros(n, np.int64)
    graph = build_graph(
        np.array(ops).T,
        kinds=program.graph.kinds,
        task_class=classes,
        class_names=CLASSES,
        successors=adjacency(first, [task + 1 for task in first], n),
        accessed=accesses(
            np.repeat(tasks, 2)[uses],
            np.tile([0, 1], n)[uses],
            np.column_stack([bytes_read, nothing]).ravel()[uses],
            np.column_stack([nothing, bytes_written]).ravel()[uses],
            n,
        ),
        block_bytes=program.graph.block_bytes,
    )
    worker_of = np.array(who, np.int32)
    return PlacedTasks(program.name, graph, parameters=program.parameters, worker=worker_of)


def _equal_parts(nonzeros: Int64Array, count: int) -> list[Int64Array]:
    """Return consecutive parts of rows with about equal numbers of non-zeros."""
    if not count:
        return []
    before = np.concatenate([[0], np.cumsum(nonzeros)])
    ends = np.searchsorted(before, before[-1] * np.arange(1, count) / count)
    return np.split(nonzeros, np.minimum(ends, len(nonzeros)))
