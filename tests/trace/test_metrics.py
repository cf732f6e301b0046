"""Metrics follow from the summary; series over time conserve bytes."""

from __future__ import annotations

import numpy as np
import pytest

from simsched.engine.run import Run, simulate
from simsched.machine.synthetic import make_machine
from simsched.policy import make_policy
from simsched.trace.metrics import (
    SERIES,
    bandwidth_over_time,
    iteration_bandwidth,
    metric_names,
    path_nodes,
    run_metrics,
    spread,
)
from simsched.workload.registry import make_workload


@pytest.fixture(scope="module")
def run() -> Run:
    machine = make_machine(
        hbm_per_domain=True, caches=[("L2", 2**20, 20e9, 100, 2)], core_cap_bytes_per_s=5e9
    )
    workload = make_workload("fork_join", {"depth": 5, "leaf_bytes": 2**21, "iterations": 3})
    policy = make_policy("random_stealing", {"placement": "interleave"})
    return simulate(machine, workload, policy, seed=1, backend="simpy", events=True)


@pytest.fixture(scope="module")
def row(run: Run) -> dict[str, object]:
    return run_metrics(run.summary, run.machine, run.workload, run.worker_thread)


def number(row: dict[str, object], name: str) -> float:
    value = row[name]
    assert isinstance(value, int | float)
    return value


def test_worker_times_add_up(row: dict[str, object], run: Run) -> None:
    parts = ("busy_s", "spawn_s", "acquire_s", "migrate_s", "idle_s")
    total = sum(number(row, name) for name in parts)
    assert total == pytest.approx(number(row, "makespan_s") * 4)
    shares = [name.replace("_s", "_percent") for name in parts]
    assert sum(number(row, name) for name in shares) == pytest.approx(100)


def test_traffic_is_split_by_kind_and_distance(row: dict[str, object]) -> None:
    names = [f"{where}_{kind}_bytes" for where in ("local", "remote") for kind in ("dram", "hbm")]
    assert all(number(row, name) > 0 for name in names)
    assert sum(number(row, name) for name in names) == number(row, "memory_bytes")
    assert number(row, "local_bytes") + number(row, "remote_bytes") == number(row, "memory_bytes")
    per_iteration = [row["iteration_dram_bytes"], row["iteration_hbm_bytes"]]
    assert np.sum(per_iteration) == number(row, "memory_bytes")


def test_iterations_and_initialisation_are_told_apart(row: dict[str, object]) -> None:
    assert row["iterations"] == 3
    lengths = row["iteration_s"]
    assert isinstance(lengths, list)
    assert len(lengths) == 4
    assert number(row, "initialisation_s") == lengths[0]
    assert number(row, "iteration_mean_s") == pytest.approx(np.mean(lengths[1:]))
    assert number(row, "iteration_last_s") == lengths[-1]


def test_steals_by_distance_add_up(row: dict[str, object]) -> None:
    parts = ("steals_same_core", "steals_same_domain", "steals_remote")
    assert sum(number(row, name) for name in parts) == number(row, "steals") > 0


def test_every_column_is_a_number_or_a_known_series(row: dict[str, object], run: Run) -> None:
    series = {name for name, value in row.items() if isinstance(value, list)}
    assert series == {*SERIES, "iteration_dram_bytes", "iteration_hbm_bytes"}
    rest = {name: value for name, value in row.items() if name not in series}
    assert all(isinstance(value, int | float) for value in rest.values())
    assert list(rest) == metric_names(run.machine)


def test_iteration_bandwidth_times_length_is_bytes(run: Run, row: dict[str, object]) -> None:
    edges, rates = iteration_bandwidth(run.summary, run.machine)
    assert len(edges) == 5
    lengths = np.array(row["iteration_s"])
    total = sum(float((rate * lengths).sum()) for rate in rates.values())
    assert total == pytest.approx(number(row, "memory_bytes"))


def test_bandwidth_over_time_conserves_bytes_and_respects_capacity(run: Run) -> None:
    assert run.trace is not None
    path_node = path_nodes(run.machine, run.workload, run.worker_thread)
    edges, rates = bandwidth_over_time(run.trace, path_node, run.machine, bins=50)
    for kind, limit in (("DRAM", 20e9), ("HBM", 80e9)):
        nodes = run.machine.nodes_of_kind(kind)
        moved = float((rates[kind] * np.diff(edges)).sum())
        assert moved == pytest.approx(float(run.summary.node_bytes[:, :, nodes].sum()), rel=1e-6)
        assert rates[kind].max() <= limit * 1.001


def test_spread_of_one_interval_over_bins() -> None:
    edges = np.linspace(0.0, 4.0, 5)
    rate = spread(np.array([0.5]), np.array([2.5]), np.array([8.0]), np.array([True]), edges)
    assert rate.tolist() == pytest.approx([2.0, 4.0, 2.0, 0.0])
