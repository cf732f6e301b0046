"""Latency of queries and use of the device, where applications share an accelerator.

Only the times of single tasks are looked at; they are collected while the run goes on, so that no
event trace has to be kept.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from simsched.files.units import PER_PS
from simsched.trace.schema import EventKind
from simsched.trace.sink import Events, EventSink, InformedSink
from simsched.workload.applications import Applications
from simsched.workload.graph import Workload

#: What is also said of each service: of its queries that count.
OF_SERVICE = (
    "queries",
    "mean_latency_s",
    "p99_latency_s",
    "max_latency_s",
    "late_queries",
    "misses_target",
)
NEVER = np.iinfo(np.int64).max


class TaskTimes:
    """A sink that keeps when each task of the last iteration was submitted, began and ended.

    These are the first TASK_READY, the first TASK_START and TASK_END.
    """

    def __init__(self, n_tasks: int, others: EventSink | None = None) -> None:
        self.capacity = 2**16 if others is None else others.capacity
        self._others = others
        self.ready_ps = np.full(n_tasks, NEVER, np.int64)
        self.start_ps = np.full(n_tasks, NEVER, np.int64)
        self.end_ps = np.full(n_tasks, NEVER, np.int64)

    def begin(self, workload: Workload, worker_thread: NDArray[np.int32]) -> None:
        """Tell the other sink; see :meth:`simsched.trace.sink.InformedSink.begin`."""
        if isinstance(self._others, InformedSink):
            self._others.begin(workload, worker_thread)

    def append(self, events: Events) -> None:
        """Take the next batch; see :meth:`simsched.trace.sink.EventSink.append`."""
        for kind, first in (
            (EventKind.TASK_READY, self.ready_ps),
            (EventKind.TASK_START, self.start_ps),
            (EventKind.TASK_END, self.end_ps),
        ):
            chosen = events["kind"] == kind
            np.minimum.at(first, events["task"][chosen], events["time_ps"][chosen])
        if self._others is not None:
            self._others.append(events)


def percentile(values: NDArray[np.float64], percent: float) -> float:
    """Return the smallest value that at least so many percent of the values do not exceed.

    >>> percentile(np.arange(1.0, 201.0), 99.0)
    198.0
    """
    ordered = np.sort(values)
    return float(ordered[max(0, int(np.ceil(percent / 100.0 * len(ordered))) - 1)])


def service_metrics(workload: Workload, times: TaskTimes) -> dict[str, Any]:
    """Return columns on latency and utilisation for a workload with applications.

    They are over the queries of all services together; those that begin with ``service_`` have one
    entry per service, in the order of the applications. Where no query counts, latencies are NaN.
    In a closed loop `backlog_queries` is at most one per service; where queries arrive faster than
    the device processes them, it grows with their number, and latencies with it. `colocated_s` is
    from the start to the last end of a query, or to the last end of a batch job if that is earlier.
    Of it, `batch_execution_percent` is the part in which a kernel or a copy of a batch job is
    executed, `batch_kernel_percent` that of kernels alone. A policy that keeps a part of the device
    free for critical kernels can have 100 % of both and low `batch_kernels_per_s`.
    """
    about, graph = workload.applications, workload.graph
    assert about is not None
    is_kernel = np.isfinite(graph.ops[graph.kinds.index("gpu")])
    batch = np.flatnonzero(~about.critical[about.of_task])
    kernels = batch[is_kernel[batch]]
    horizon = int(times.end_ps[batch].max(initial=0)) if len(batch) else NEVER
    row: dict[str, Any] = {"batch_kernels": len(kernels)}
    mine = np.flatnonzero(about.query >= 0)
    if len(mine):
        latency, began, ended = _latencies(about.query[mine], times, mine, about.n_queries)
        counted = began < horizon
        horizon = min(horizon, int(ended.max()))
        seconds = latency[counted].astype(np.float64) * PER_PS
        row |= _latency_columns(seconds, about.target_s)
        row |= _service_columns(about, latency, counted)
        row["queries_left_out"] = about.n_queries - len(seconds)
        row["backlog_queries"] = _most_at_once(began, ended)
        waits = times.start_ps[mine] - times.ready_ps[mine]
        row["queue_percent"] = 100.0 * float(waits.sum()) / float(latency.sum())
        row |= _copy_columns(workload, times, mine)
        lc_kernels = mine[is_kernel[mine] & (times.start_ps[mine] < horizon)]
        row["kernel_delays"], row["kernel_delays_min"] = _delays(times, lc_kernels, kernels)
    row["colocated_s"] = horizon * PER_PS
    done = int((times.end_ps[kernels] <= horizon).sum())
    row["batch_kernels_per_s"] = done / (horizon * PER_PS) if done else 0.0
    row["batch_kernel_percent"] = _busy_percent(times, kernels, horizon)
    row["batch_execution_percent"] = _busy_percent(times, batch, horizon)
    return row


def _latencies(
    query: NDArray[np.int32], times: TaskTimes, tasks: NDArray[np.int64], n: int
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Return the latency, the begin and the end of every query."""
    began, ended = np.full(n, NEVER, np.int64), np.zeros(n, np.int64)
    np.minimum.at(began, query, times.ready_ps[tasks])
    np.maximum.at(ended, query, times.end_ps[tasks])
    return ended - began, began, ended


def _most_at_once(began: NDArray[np.int64], ended: NDArray[np.int64]) -> int:
    """Return how many intervals overlap at most; where one ends, another may begin."""
    over = np.searchsorted(np.sort(ended), np.sort(began), side="right")
    return int((np.arange(1, len(began) + 1) - over).max())


def _latency_columns(seconds: NDArray[np.float64], target_s: float) -> dict[str, Any]:
    mean = tail = largest = float("nan")
    if len(seconds):
        mean, tail, largest = seconds.mean(), percentile(seconds, 99.0), seconds.max()
    return {
        "queries": len(seconds),
        "mean_latency_s": float(mean),
        "p99_latency_s": tail,
        "max_latency_s": float(largest),
        "target_s": target_s,
        "mean_latency_over_target": float(mean) / target_s,
        "p99_latency_over_target": tail / target_s,
        "late_queries": int((seconds > target_s).sum()),
        "misses_target": int(tail > target_s),
    }


def _service_columns(
    about: Applications, latency: NDArray[np.int64], counted: NDArray[np.bool_]
) -> dict[str, Any]:
    """Return a list over the services for each column on latencies."""
    of_query = np.zeros(about.n_queries, np.int32)
    mine = about.query >= 0
    of_query[about.query[mine]] = about.of_task[mine]
    services = np.unique(of_query).tolist()
    rows = [
        _latency_columns(
            latency[counted & (of_query == number)].astype(np.float64) * PER_PS, about.target_s
        )
        for number in services
    ]
    found: dict[str, Any] = {"service_name": [about.names[number] for number in services]}
    return found | {f"service_{key}": [row[key] for row in rows] for key in OF_SERVICE}


def _copy_columns(workload: Workload, times: TaskTimes, mine: NDArray[np.int64]) -> dict[str, Any]:
    about, graph = workload.applications, workload.graph
    assert about is not None
    copies = {}
    for kind in ("copy_in", "copy_out", "gpu"):
        can = np.isfinite(graph.ops[graph.kinds.index(kind)])
        copies[kind] = mine[can[mine]]
    lasted, _, ended = _latencies(
        about.query[copies["copy_in"]], times, copies["copy_in"], about.n_queries
    )
    copied_s = lasted[ended > 0].astype(np.float64) * PER_PS
    taken = {k: float((times.end_ps[t] - times.start_ps[t]).sum()) for k, t in copies.items()}
    read = np.bincount(
        np.repeat(np.arange(graph.n_tasks), np.diff(graph.access_ptr)),
        graph.read_bytes,
        graph.n_tasks,
    )
    n_bytes = float(read[copies["copy_in"]].sum())
    return {
        "copy_in_s": float(copied_s.mean()) if len(copied_s) else 0.0,
        "copy_in_bytes_per_s": n_bytes / float(copied_s.sum()) if len(copied_s) else 0.0,
        "copy_percent": 100.0 * (1.0 - taken["gpu"] / max(sum(taken.values()), 1.0)),
    }


def _delays(
    times: TaskTimes, waiting: NDArray[np.int64], kernels: NDArray[np.int64]
) -> tuple[float, int]:
    """Return mean and minimum of the kernels that are executed while each of others waits."""
    if not len(waiting):
        return 0.0, 0
    starts, ends = np.sort(times.start_ps[kernels]), np.sort(times.end_ps[kernels])
    begun = np.searchsorted(starts, times.start_ps[waiting], side="left")
    over = np.searchsorted(ends, times.ready_ps[waiting], side="right")
    number = begun - over
    return float(number.mean()), int(number.min())


def _busy_percent(times: TaskTimes, tasks: NDArray[np.int64], horizon: int) -> float:
    """Return the part of the time before a horizon in which some of the tasks is executed."""
    if not len(tasks):
        return 0.0
    order = tasks[np.argsort(times.start_ps[tasks], kind="stable")]
    begin = np.minimum(times.start_ps[order], horizon)
    until = np.minimum(times.end_ps[order], horizon)
    covered = np.maximum.accumulate(np.concatenate(([0], until)))
    busy = int(np.maximum(until - np.maximum(begin, covered[:-1]), 0).sum())
    return 100.0 * busy / horizon
