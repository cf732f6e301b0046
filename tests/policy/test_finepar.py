"""FinePar: features, types, models, hill climbing, and what the division gains."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

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
    features,
    fit,
    predicted_s,
)
from simsched.policy.contract.base import PlanView
from simsched.policy.parts.division_steps import sides_of
from simsched.policy.parts.sparse_division import measured
from simsched.workload.registry import generate_workload
from simsched.workload.sparse_rows import MatrixWorkload, RowCosts, band_rows, rmat_rows

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
    found = fit(parts, seconds)
    for part, time in zip(parts, seconds, strict=True):
        assert predicted_s(found, part) == pytest.approx(time, rel=1e-6)
    assert predicted_s(-truth * 0, parts[0]) == float("inf")
    assert predicted_s(truth, parts[0][:0]) == 0.0


def test_hill_climbing_stops_where_no_neighbour_is_better() -> None:
    costs = [9.0, 7.0, 8.0, 3.0, 2.0, 2.0, 6.0]
    assert [climb(costs.__getitem__, start, 7) for start in (0, 2, 5, 6)] == [1, 4, 5, 5]


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
        return max(devices.gpu_s(nonzeros[mine]), devices.cpu_s(nonzeros[~mine]))

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
    assert time < min(devices.cpu_s(rows), devices.gpu_s(rows))


def test_steps_of_hill_climbing_are_positions() -> None:
    assert all(b == 2 * a for a, b in pairwise(THRESHOLDS))
    workload = matrix()
    view = view_of(workload)
    found = FinePar(step=3).threshold(view, sides_of(view, 0), workload)
    assert found in THRESHOLDS


def test_backends_agree() -> None:
    assert compare(MACHINE, matrix(), make_policy("finepar")).difference == ""
