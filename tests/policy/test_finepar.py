"""FinePar: features, types, models, hill climbing, and what the division gains."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from simsched.analysis.services import TaskTimes
from simsched.engine.conformance import compare
from simsched.engine.run import simulate
from simsched.machine import load_machine
from simsched.policy import make_policy
from simsched.policy.algorithms.divided_work.finepar import (
    OTHER,
    QUASI_DIAGONAL,
    THRESHOLDS,
    FinePar,
    climb,
    divisions,
    features,
    fit,
    predicted_s,
)
from simsched.policy.contract.base import PlanView
from simsched.policy.parts.division_steps import COPY_IN, CPU_PART, Sides, sides_of
from simsched.policy.parts.sparse_division import Devices, divided_rows, measured
from simsched.workload.registry import generate_workload
from simsched.workload.sparse_rows import MatrixWorkload, RowCosts, SparseRows, band_rows, rmat_rows

MACHINE = load_machine("e5620_m2090")


def view_of(workload: MatrixWorkload) -> PlanView:
    threads = MACHINE.place_workers()
    domains = MACHINE.core_domain[MACHINE.thread_core[threads]]
    return PlanView(MACHINE, workload, threads, domains, np.random.default_rng(0))


def matrix(**params: object) -> MatrixWorkload:
    workload = generate_workload("spmv", {"scale": 12, "nonzero_bytes": 1, **params})
    assert isinstance(workload, MatrixWorkload)
    return workload


def test_generated_matrices() -> None:
    random, band = (f(np.random.default_rng(1), 12, 16) for f in (rmat_rows, band_rows))
    assert len(random.nonzeros) == len(band.nonzeros) == 4096
    assert random.nonzeros.sum() == 16 * 4096
    assert random.nonzeros.max() > 20 * 16  # a few rows are very long
    assert band.near.sum() / band.nonzeros.sum() > 0.99
    assert random.near.sum() / random.nonzeros.sum() < 0.3
    assert np.all(random.near <= random.nonzeros)


def test_a_gpu_executes_rows_in_lock_step() -> None:
    costs = RowCosts(cpu_ops=2.0, gpu_ops=3.0, warp_rows=4, saturation_rows=10.0)
    rows = np.array([1, 2, 3, 9, 5, 5])
    assert costs.on_cpu(rows) == 2.0 * 25
    assert costs.on_gpu(rows) == 3.0 * (4 * (9 + 5) + 10 * 25 / 6)
    assert costs.on_gpu(rows[:0]) == 0.0


def test_chunks_cover_the_matrix() -> None:
    workload = matrix(chunks=7)
    graph = workload.graph
    assert graph.read_bytes.sum() == workload.rows.nonzeros.sum()
    assert graph.written_bytes.sum() == 4 * 4096
    assert graph.ops[0].sum() == 4.0 * workload.rows.nonzeros.sum()


def test_a_fitted_model_reproduces_a_linear_performance() -> None:
    rng = np.random.default_rng(3)
    parts = [rng.integers(1, 50, size) for size in (10, 40, 100, 300, 900, 2000, 7000)]
    truth = np.array([1e3, -2.0, 5e4, 3e3, 1e5])
    seconds = [int(p.sum()) / float(np.dot(truth, features(p))) for p in parts]
    found = fit([*zip(parts, seconds, strict=True), (parts[0][:0], 0.0)])
    for part, time in zip(parts, seconds, strict=True):
        assert predicted_s(found, part) == pytest.approx(time, rel=1e-6)
    assert predicted_s(-truth * 0, parts[0]) == float("inf")
    assert predicted_s(truth, parts[0][:0]) == 0.0


def test_hill_climbing_stops_where_no_neighbour_is_better() -> None:
    costs = [9.0, 7.0, 8.0, 3.0, 2.0, 2.0, 6.0]
    assert [climb(costs.__getitem__, start, 7) for start in (0, 2, 5, 6)] == [1, 4, 5, 5]


@pytest.mark.parametrize(
    ("copy_bytes_per_s", "expected"),
    # 80 bytes for the processor at 8 B/s, 20 for the device, which computes 5 s after a launch of
    # 1 s; main memory moves 10 B/s. A copy at 4 B/s leaves 6: 5 s, in which 30 bytes are read, then
    # 50 / 8 s. One at 8 B/s and the thread get 5 each: 4 s, 20 bytes, then 60 / 8 s.
    [(4.0, (5 + 50 / 8, 5 + 6)), (8.0, (4 + 60 / 8, 4 + 6))],
)
def test_both_sides_share_the_memory(
    copy_bytes_per_s: float, expected: tuple[float, float]
) -> None:
    costs = RowCosts(1.0, 1.0, 1, 0.0, nonzero_bytes=1, result_bytes=0)
    devices = Devices(costs, 100.0, 4.0, 1, 1.0, 0.0, 10.0, 8.0, copy_bytes_per_s)
    assert devices.together_s(np.array([80]), np.array([15, 5])) == pytest.approx(expected)
    assert devices.together_s(np.array([1000]), np.array([], int)) == (125.0, 0.0)


@pytest.mark.parametrize("threshold", [16, 128])
def test_training_runs_take_as_long_as_both_sides_together(threshold: int) -> None:
    workload = matrix(scale=14, nonzero_bytes=8)
    view, rows = view_of(workload), workload.rows.nonzeros
    sides, mine = sides_of(view, 0), rows <= threshold

    class Fixed(FinePar):
        def threshold(self, view: PlanView, sides: Sides, program: MatrixWorkload) -> int:
            return threshold

    times = TaskTimes(divided_rows(view, sides, workload, mine).graph.n_tasks)
    simulate(MACHINE, workload, Fixed(), events=times)
    ends_s, n_cpu = times.end_ps * 1e-12, len(sides.cpu)
    found = measured(view, sides, workload.costs).together_s(rows[~mine], rows[mine])
    assert found == pytest.approx((ends_s[:n_cpu].max(), ends_s[-1]), rel=0.03)


def test_tuning_does_not_end_at_thresholds_that_divide_alike() -> None:
    # No row of this matrix has more than 512 and at most 1024 non-zeros, so that both thresholds
    # divide it alike and a climb from 2048 ended there; the best one is 16.
    workload = generate_workload("spmv", {"scale": 16})
    assert isinstance(workload, MatrixWorkload)
    rows = workload.rows.nonzeros
    view, policy = view_of(workload), FinePar()
    assert list(divisions(rows)) != list(THRESHOLDS)
    assert policy.threshold(view, sides_of(view, 0), workload) == 16
    assert simulate(MACHINE, workload, policy).makespan_s < 0.6e-3


def test_types_of_matrices() -> None:
    policy, rng = FinePar(), np.random.default_rng(0)
    random, band = matrix().rows, matrix(matrix="band").rows
    assert policy.matrix_type(random, rng) == OTHER
    assert policy.matrix_type(band, rng) == QUASI_DIAGONAL


@pytest.mark.parametrize("kind", ["rmat", "band"])
def test_the_division_is_close_to_the_best_threshold(kind: str) -> None:
    workload = matrix(matrix=kind, cpu_ops=16.0, gpu_ops=60.0)
    policy = FinePar()
    view = view_of(workload)
    sides = sides_of(view, 0)
    devices = measured(view, sides, workload.costs)
    nonzeros = workload.rows.nonzeros

    def time(threshold: int) -> float:
        mine = nonzeros <= threshold
        return max(devices.together_s(nonzeros[~mine], nonzeros[mine]))

    best = min(time(threshold) for threshold in THRESHOLDS)
    chosen = policy.threshold(view, sides, workload)
    assert time(chosen) <= 1.2 * best
    run = simulate(MACHINE, workload, policy)
    assert run.makespan_s == pytest.approx(time(chosen), rel=0.05)


def test_long_rows_go_to_the_processor() -> None:
    workload = matrix()
    policy = FinePar()
    prepared = policy.prepare(view_of(workload)).graph
    of_class = prepared.task_class
    cpu = prepared.ops[0][of_class == 0]
    rows = workload.rows.nonzeros
    threshold = policy.threshold(view_of(workload), sides_of(view_of(workload), 0), workload)
    assert cpu.sum() == 4.0 * rows[rows > threshold].sum()
    assert cpu.max() - cpu.min() <= 4.0 * rows.max()  # as equal as rows allow


def test_both_sides_together_beat_each_alone() -> None:
    workload = matrix(cpu_ops=16.0, gpu_ops=60.0)
    time = simulate(MACHINE, workload, FinePar()).makespan_s
    rows, view = workload.rows.nonzeros, view_of(workload)
    devices = measured(view, sides_of(view, 0), workload.costs)
    nothing = rows[:0]
    assert time < min(devices.together_s(rows, nothing)[0], devices.together_s(nothing, rows)[1])


@pytest.mark.parametrize(("share", "first"), [(0.0, 0), (0.5, 3), (1.0, 5)])
def test_a_row_split_gives_the_first_rows_to_the_device(share: float, first: int) -> None:
    # Of 20 non-zeros, the first three rows have 2 + 4 + 4 = 10, one half.
    rows = np.array([2, 4, 4, 9, 1])
    workload = matrix(nonzero_bytes=8)
    workload = replace(workload, rows=SparseRows(rows, rows))
    prepared = make_policy("row_split", {"share": share}).prepare(view_of(workload)).graph
    assert prepared.ops[0][prepared.task_class == CPU_PART].sum() == 4.0 * rows[first:].sum()
    copies = np.flatnonzero(prepared.task_class == COPY_IN)
    read = prepared.read_bytes[prepared.access_ptr[copies[0]] : prepared.access_ptr[copies[0] + 1]]
    assert read.sum() == 8 * rows[:first].sum()


def test_steps_of_hill_climbing_are_positions() -> None:
    assert all(b == 2 * a for a, b in pairwise(THRESHOLDS))
    workload = matrix()
    view = view_of(workload)
    found = FinePar(step=3).threshold(view, sides_of(view, 0), workload)
    assert found in THRESHOLDS


@pytest.mark.parametrize("policy", ["finepar", "row_split"])
def test_backends_agree(policy: str) -> None:
    assert compare(MACHINE, matrix(), make_policy(policy)).difference == ""
