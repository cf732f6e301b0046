"""Metrics follow from the summary; series over time conserve bytes."""

from __future__ import annotations

from dataclasses import fields, replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from benchmarks.policies import CentralQueue
from simsched.analysis.columns import JOB_METRICS
from simsched.analysis.metrics import (
    CACHE_COUNTS,
    SERIES,
    iterations_to_amortise,
    metric_names,
    run_metrics,
)
from simsched.engine.run import BACKENDS, simulate
from simsched.engine.ways import ways_of
from simsched.machine.model import Machine, RuntimeCosts
from simsched.machine.synthetic import make_machine
from simsched.policy import make_policy
from simsched.policy.contract.base import Counters, PlanView, Update
from simsched.trace.run import Run
from simsched.trace.schema import Summary
from simsched.workload.builder import accesses, build_graph
from simsched.workload.graph import Workload
from simsched.workload.registry import generate_workload


@pytest.fixture(scope="module")
def run() -> Run:
    machine = make_machine(
        hbm_per_domain=True, caches=[("L2", 2**20, 20e9, 100, 2)], core_cap_bytes_per_s=5e9
    )
    workload = generate_workload("fork_join", {"depth": 5, "leaf_bytes": 2**21, "iterations": 3})
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
    named = {"iteration_dram_bytes", "iteration_hbm_bytes", "domain_l2_missing_lines"}
    assert series == {*SERIES, *named}
    rest = {name: value for name, value in row.items() if name not in series}
    assert all(isinstance(value, int | float) for value in rest.values())
    assert [*rest, *JOB_METRICS] == metric_names(run.machine)  # no MapReduce program


def spans(*pairs: tuple[int, int]) -> Any:
    """Return counters of which only the starts and ends of iterations 1, 2, ... are known."""
    starts, ends = np.array(pairs, np.int64).T
    return SimpleNamespace(
        iteration=np.arange(1, len(pairs) + 1),
        iteration_start_ps=starts,
        iteration_end_ps=ends,
    )


def test_overhead_is_made_up_for_by_faster_iterations() -> None:
    # The first takes 100, then 50 of overhead, then 80 each: ends at 100, 230, 310, 390 against
    # 100, 200, 300, 400.
    run = spans((0, 100), (150, 230), (230, 310), (310, 390))
    assert iterations_to_amortise(run, 0) == 4
    assert iterations_to_amortise(spans((0, 100), (150, 230), (230, 310)), 0) == -1
    assert iterations_to_amortise(spans((0, 100), (100, 180)), 0) == 1
    # Barriers of 20 are no overhead.
    assert iterations_to_amortise(spans((0, 100), (120, 220)), barrier_ps=20) == 1
    assert iterations_to_amortise(spans((0, 100), (121, 221)), barrier_ps=20) == -1


def test_the_straggler_is_the_socket_with_the_fewest_local_accesses() -> None:
    machine = make_machine(
        domains=3, cores_per_domain=1, domains_per_socket=1, caches=[("L3", 2**20, 20e9, 100, 1)]
    )
    assert machine.n_sockets == 3
    # The initialisation (iteration 0) does not count; socket 2 moves nothing.
    node_bytes = np.array(
        [
            [[0, 0, 0], [64_000, 0, 0], [0, 0, 0]],
            [[6400, 640, 0], [640, 1280, 0], [0, 0, 0]],
            [[6400, 0, 0], [0, 1280, 6463], [0, 0, 0]],
        ]
    )
    summary = counters(
        machine,
        node_bytes,
        cache_missing_bytes=np.array([[[9]] * 3, [[64], [6400], [0]], [[64], [63], [0]]]),
    )
    row = run_metrics(summary, machine, Workload("w", build_graph([1.0])), np.zeros(1, np.int32))
    assert row["straggler_socket"] == 1
    assert row["straggler_local_accesses"] == 2560 // 64
    assert row["straggler_memory_accesses"] == (640 + 2560 + 6463) // 64
    assert row["straggler_l3_missing_lines"] == 6463 // 64
    assert row["l3_missing_lines"] == (27 + 128 + 6463) // 64
    assert row["l3_counted_misses"] == (27 + 128 + 6463) // 64
    assert row["domain_l3_missing_lines"] == [(9 + 128) // 64, (9 + 6463) // 64, 0]
    assert row["domain_local_bytes"] == [12_800, 2560, 0]
    assert row["domain_remote_bytes"] == [640, 64_000 + 640 + 6463, 0]
    near = 12_800 + 2560
    assert row["local_percent"] == pytest.approx(100 * near / (near + 640 + 64_640 + 6463))
    assert row["local_percent"] + row["remote_percent"] == pytest.approx(100)


def counters(machine: Machine, node_bytes: np.ndarray, **known: np.ndarray) -> Summary:
    """Return counters that are zero but for what is given; iterations count from 0."""
    n, domains, _ = node_bytes.shape
    caches = dict.fromkeys(CACHE_COUNTS, np.zeros((n, domains, 1), np.int64))
    values: dict[str, Any] = {
        f.name: 0 if f.type == "int" else np.zeros(n, np.int64) for f in fields(Summary)
    }
    paths = ways_of(machine, np.zeros(1, np.int32)).latency_ps
    values["path_bytes"] = np.zeros_like(paths)
    values["managed_bytes"] = np.zeros(2, np.int64)
    values["node_hit_bytes"] = np.zeros((n, node_bytes.shape[2]), np.int64)
    values |= caches | {"node_bytes": node_bytes, "iteration": np.arange(n, dtype=np.int32)}
    return Summary(**values | known)


@pytest.mark.parametrize("backend", BACKENDS)
def test_work_of_the_policy_and_migrations_are_told_apart(backend: str) -> None:
    class Moving(CentralQueue):
        def on_iteration(self, view: PlanView, state: Any, counters: Counters) -> Update | None:
            if counters.iteration != 1:
                return None
            moves = np.array([0], np.int32), np.array([1], np.int32)
            return Update(move_block=moves[0], move_node=moves[1], overhead_ps=3_000_000)

    graph = build_graph([1e6], accessed=accesses([0], [0], 4096, 0, 1), block_bytes=[40_960])
    costs = RuntimeCosts(barrier_ps=7_000_000, page_migration_ps=1_000_000)
    machine = make_machine(costs=costs)
    run = simulate(machine, Workload("w", graph, 3), Moving(home=0), workers=1, backend=backend)
    row = run_metrics(run.summary, machine, run.workload, run.worker_thread)
    assert row["policy_work_s"] == pytest.approx(3e-6)
    assert row["migration_overhead_s"] == pytest.approx(10e-6)  # ten pages of a microsecond
    assert row["policy_overhead_s"] == pytest.approx(13e-6)
    assert row["between_iterations_s"] == pytest.approx(27e-6)
    assert row["migration_overhead_percent"] == pytest.approx(1e3 / (row["makespan_s"] * 1e6))


def test_counters_that_count_a_line_several_times() -> None:
    level = make_machine(domains=1, caches=[("L2", 2**20, 20e9, 100, 1)]).caches[0]
    machine = replace(make_machine(domains=1), caches=(replace(level, counted_per_line=2.5),))
    moved = np.zeros((1, 1, 1), np.int64)
    summary = counters(machine, moved, cache_missing_bytes=np.array([[[64 * 7 + 63]]]))
    row = run_metrics(summary, machine, Workload("w", build_graph([1.0])), np.zeros(1, np.int32))
    assert (row["l2_missing_lines"], row["l2_counted_misses"]) == (7, 18)  # 17.5, to even
