"""FinePar: rows of a sparse matrix divided by their length, with models of performance."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache
from typing import ClassVar

import numpy as np

from simsched.policy import (
    DEVICE,
    Need,
    PlacedPolicy,
    Plan,
    PlanView,
    param,
    register,
)
from simsched.policy.parts.central_queue import central_queue
from simsched.policy.parts.division_steps import Sides, sides_of
from simsched.policy.parts.sparse_division import (
    MATRIX_ROWS,
    Devices,
    any_rows,
    divided_rows,
    measured,
)
from simsched.policy.parts.static_order import ScheduledWorkload, own_lists
from simsched.workload.graph import BoolArray, FloatArray, Int64Array, TaskGraph, Workload
from simsched.workload.sparse_rows import MatrixWorkload, SparseRows, band_rows, rmat_rows

THRESHOLDS = (16, 32, 64, 128, 256, 512, 1024, 2048)  #: T_f
QUASI_DIAGONAL, OTHER = 1, 2  #: types of matrices
#: logarithm of the rows of training matrices, and their mean numbers of non-zeros per row
TRAINING = ((10, 16), (12, 4), (12, 16), (12, 32), (14, 16))


def features(nonzeros: Int64Array) -> list[float]:
    """Return AW, VW, log NW, log SW and 1 of the rows of a part (Eq. 6.3 and 6.4); base 2.

    >>> features(np.array([2, 2, 4, 8]))
    [4.0, 6.0, 2.0, 4.0, 1.0]
    """
    total = int(nonzeros.sum())
    mean = total / len(nonzeros)
    variance = float(((nonzeros - mean) ** 2).sum()) / len(nonzeros)
    return [mean, variance, math.log2(len(nonzeros)), math.log2(max(total, 1)), 1.0]


def fit(runs: list[tuple[Int64Array, float]]) -> FloatArray:
    """Return the coefficients C1 to C5 of a device's performance by least squares.

    Performance is non-zeros per second; parts without any say nothing.
    """
    had = [(part, seconds) for part, seconds in runs if part.any()]
    wanted = [int(part.sum()) / max(seconds, 1e-15) for part, seconds in had]
    known = np.array([features(part) for part, _ in had])
    return np.asarray(np.linalg.lstsq(known, np.array(wanted))[0], np.float64)


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
    climbing then looks for the T_f with which the later part is predicted to end first. Readings:
    docs/sources/hats.md.

    References
    ----------
    F. Zhang et al., *FinePar: irregularity-aware fine-grained workload partitioning on integrated
    architectures*, CGO 2017. Q. Chen, M. Guo, Springer 2017, section 6.2.4, Eq. 6.3, 6.4.
    """

    needs: ClassVar[tuple[Need, ...]] = (MATRIX_ROWS, DEVICE)

    chooses_processors: ClassVar[bool] = True

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
        return divided_rows(view, sides, program, on_gpu)

    @staticmethod
    def least(workload: Workload) -> Iterable[Workload]:
        return (any_rows(workload) if isinstance(workload, MatrixWorkload) else workload,)

    def gpu_rows(self, view: PlanView, sides: Sides, program: MatrixWorkload) -> BoolArray:
        """Return which rows the device gets; shape (n_rows,)."""
        nonzeros = program.rows.nonzeros
        if not sides.devices or not sides.cpu:
            return np.full(len(nonzeros), bool(sides.devices))
        short: BoolArray = nonzeros <= self.threshold(view, sides, program)
        return short

    def threshold(self, view: PlanView, sides: Sides, program: MatrixWorkload) -> int:
        """Return T_f for a matrix."""
        devices = measured(view, sides, program.costs)
        kind = self.matrix_type(program.rows, view.rng)
        for_cpu, for_gpu = self.models(devices, kind)
        nonzeros = program.rows.nonzeros
        choices = divisions(nonzeros)
        parts = [(nonzeros[mine], nonzeros[~mine]) for mine in choices.values()]

        def cost(position: int) -> float:
            gpu, cpu = parts[position]
            return max(predicted_s(for_gpu, gpu), predicted_s(for_cpu, cpu))

        peak = math.log(devices.gpu_ops_per_s / devices.cpu_ops_per_s)
        distance = [
            abs(math.log((int(gpu.sum()) + 1) / (int(cpu.sum()) + 1)) - peak) for gpu, cpu in parts
        ]
        start = distance.index(min(distance))
        steps = range(start % self.step, len(parts), self.step)
        found = climb(lambda i: cost(steps[i]), steps.index(start), len(steps))
        return list(choices)[steps[found]]

    def matrix_type(self, rows: SparseRows, rng: np.random.Generator) -> int:
        """Return the type of a matrix from a sample of its rows."""
        count = min(self.sample_rows, len(rows.nonzeros))
        chosen = rng.choice(len(rows.nonzeros), count, replace=False)
        total = max(1, int(rows.nonzeros[chosen].sum()))
        near = max(1, int(rows.near[chosen].sum()))
        return QUASI_DIAGONAL if near / total > self.diagonal_threshold else OTHER

    def models(self, devices: Devices, kind: int) -> tuple[FloatArray, FloatArray]:
        """Return the coefficients of processor and device, fitted on matrices of one type."""
        cpu: list[tuple[Int64Array, float]] = []
        gpu: list[tuple[Int64Array, float]] = []
        for rows in training_rows(kind):
            for mine in divisions(rows).values():
                cpu_s, gpu_s = devices.together_s(rows[~mine], rows[mine])
                cpu.append((rows[~mine], cpu_s))
                gpu.append((rows[mine], gpu_s))
        return fit(cpu), fit(gpu)

    def plan(self, view: PlanView, state: None, graph: TaskGraph) -> Plan:
        program = view.workload
        if not isinstance(program, ScheduledWorkload):
            return central_queue(graph)
        return own_lists(program.worker)


def divisions(nonzeros: Int64Array) -> dict[int, BoolArray]:
    """Return which rows the device gets by threshold: the short ones.

    Of thresholds that divide the rows alike only the first is there, since tuning among them would
    end where nothing changes.

    >>> list(divisions(np.array([3, 20, 20, 300])))
    [16, 32, 512]
    """
    found: dict[int, BoolArray] = {}
    for threshold in THRESHOLDS:
        mine: BoolArray = nonzeros <= threshold
        if not any(int(mine.sum()) == int(other.sum()) for other in found.values()):
            found[threshold] = mine
    return found


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
