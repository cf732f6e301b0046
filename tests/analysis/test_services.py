"""Latency and utilisation of applications that share a device, from hand-made times."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from simsched.analysis.columns import SERVICE_METRICS
from simsched.analysis.services import TaskTimes, percentile, service_metrics
from simsched.trace.schema import EventKind
from simsched.workload.applications import Applications
from simsched.workload.builder import accesses, adjacency, build_graph
from simsched.workload.graph import Workload

MS = 10**9
KINDS = ("cpu", "gpu", "copy_in", "copy_out")


def two_queries() -> tuple[Workload, TaskTimes]:
    """Return two queries of a copy and a kernel, three batch kernels, and their times."""
    kind = [2, 1, 2, 1, 1, 1, 1]
    ops = np.full((4, 7), np.inf)
    ops[kind, np.arange(7)] = 1.0
    graph = build_graph(
        ops,
        kinds=KINDS,
        successors=adjacency([0, 1, 2], [1, 2, 3], 7),
        accessed=accesses([0, 2], [0, 0], [6 * 10**6, 6 * 10**6], 0, 7),
        block_bytes=[6 * 10**6],
    )
    about = Applications(
        ("lc", "batch"),
        np.array([True, False]),
        0.030,
        np.array([0, 0, 0, 0, 1, 1, 1], np.int32),
        np.array([0, 0, 1, 1, -1, -1, -1], np.int32),
        (),
        np.zeros((7, 0)),
        np.zeros(1, bool),
    )
    times = TaskTimes(7)
    # (submitted, begun, ended): queries last 20 and 40 ms.
    rows = [(0, 0, 2), (2, 15, 20), (20, 20, 24), (24, 49, 60), (0, 0, 10), (0, 5, 15), (0, 30, 50)]
    for task, row in enumerate(rows):
        for first, time in zip((times.ready_ps, times.start_ps, times.end_ps), row, strict=True):
            first[task] = time * MS
    return Workload("w", graph, applications=about), times


def test_columns() -> None:
    row = service_metrics(*two_queries())
    assert {name for name in row if not isinstance(row[name], list)} == set(SERVICE_METRICS)
    expected = {
        "queries": 2,
        "queries_left_out": 0,
        "backlog_queries": 1,  # the second begins when the first ends
        "mean_latency_s": 0.030,
        "p99_latency_s": 0.040,
        "max_latency_s": 0.040,
        "p99_latency_over_target": 4 / 3,
        "late_queries": 1,
        "misses_target": 1,
        "colocated_s": 0.050,  # the last batch kernel ends before the last query
        "batch_execution_percent": 100 * (15 + 20) / 50,  # 0 to 15 and 30 to 50
        "batch_kernel_percent": 100 * (15 + 20) / 50,
        "batch_kernels": 3,
        "batch_kernels_per_s": 3 / 0.050,
        "queue_percent": 100 * (13 + 25) / 60,
        "copy_in_s": 0.003,
        "copy_in_bytes_per_s": 2e9,
        "copy_percent": 100 * 6 / 22,
        "kernel_delays": 1.5,  # two while the first kernel waits, one for the second
        "kernel_delays_min": 1,
        "target_s": 0.030,
    }
    assert {name: row[name] for name in expected} == pytest.approx(expected)


def test_copies_of_batch_jobs_are_executed_too() -> None:
    # Of 50 ms, a batch kernel runs from 0 to 10 and from 30 to 50, a batch copy from 5 to 15.
    workload, times = two_queries()
    ops = workload.graph.ops.copy()
    ops[:, 5] = [np.inf, np.inf, 1.0, np.inf]
    row = service_metrics(replace(workload, graph=replace(workload.graph, ops=ops)), times)
    assert row["batch_kernel_percent"] == pytest.approx(100 * (10 + 20) / 50)
    assert row["batch_execution_percent"] == pytest.approx(100 * (15 + 20) / 50)


def test_columns_of_each_service() -> None:
    workload, times = two_queries()
    about = workload.applications
    assert about is not None
    of_task = np.array([0, 0, 2, 2, 1, 1, 1], np.int32)  # the second query is another service's
    about = replace(
        about, names=("a", "batch", "b"), critical=np.array([True, False, True]), of_task=of_task
    )
    row = service_metrics(replace(workload, applications=about), times)
    assert row["service_name"] == ["a", "b"]
    assert (row["service_queries"], row["service_late_queries"]) == ([1, 1], [0, 1])
    for name in ("mean_latency_s", "p99_latency_s", "max_latency_s"):
        assert row[f"service_{name}"] == pytest.approx([0.020, 0.040])
    assert row["service_misses_target"] == [0, 1]
    # A service none of whose queries count is there without latencies.
    times.end_ps[6] = 20 * MS
    row = service_metrics(replace(workload, applications=about), times)
    assert row["service_queries"] == [1, 0]
    assert row["service_p99_latency_s"] == pytest.approx([0.020, np.nan], nan_ok=True)


def test_without_batch_jobs_all_queries_count() -> None:
    workload, times = two_queries()
    assert workload.applications is not None
    workload.applications.critical[:] = True
    row = service_metrics(workload, times)
    assert (row["queries"], row["batch_kernels"], row["batch_execution_percent"]) == (2, 0, 0.0)


def test_queries_after_the_batch_jobs_are_left_out() -> None:
    workload, times = two_queries()
    times.end_ps[6] = 20 * MS  # the second query begins then, when the last batch kernel ends
    row = service_metrics(workload, times)
    assert (row["queries"], row["queries_left_out"], row["max_latency_s"]) == (1, 1, 0.020)
    times.start_ps[4:], times.end_ps[4:], times.ready_ps[0] = 0, MS, MS  # so does the first
    row = service_metrics(workload, times)
    assert (row["queries"], row["queries_left_out"], row["late_queries"]) == (0, 2, 0)
    assert np.isnan([row[name] for name in ("mean_latency_s", "p99_latency_over_target")]).all()


def test_backlog_is_the_most_queries_at_a_time() -> None:
    workload, times = two_queries()
    times.ready_ps[2] = 19 * MS
    assert service_metrics(workload, times)["backlog_queries"] == 2


def test_times_are_collected_and_passed_on() -> None:
    class Counting:
        capacity = 7
        n = 0
        told: object = None

        def begin(self, workload: object, worker_thread: object) -> None:
            self.told = workload

        def append(self, events: object) -> None:
            self.n += 1

    others = Counting()
    times = TaskTimes(2, others)
    assert times.capacity == 7
    workload = two_queries()[0]
    times.begin(workload, np.zeros(1, np.int32))
    assert others.told is workload
    for time, kind, task in ((3, EventKind.TASK_READY, 1), (5, EventKind.TASK_READY, 1)):
        times.append(
            {"kind": np.array([kind]), "task": np.array([task]), "time_ps": np.array([time])}
        )
    assert times.ready_ps[1] == 3
    assert others.n == 2


def test_percentile_is_a_value_that_occurs() -> None:
    assert percentile(np.arange(1.0, 101.0), 99.0) == 99.0
    assert percentile(np.array([7.0]), 99.0) == 7.0
