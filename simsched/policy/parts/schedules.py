"""What static schedulers know: times of tasks, bytes over edges, what moving them takes."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from simsched.files.units import PER_PS
from simsched.machine.model import CoreGroup, Machine
from simsched.policy.contract.base import PlanView
from simsched.workload.builder import adjacency, entries
from simsched.workload.graph import FloatArray, Int32Array, Int64Array, TaskGraph


@dataclass(frozen=True, eq=False)
class Estimates:
    """A task graph with estimated costs on the workers of a machine."""

    n_tasks: int  # number of tasks
    pred_ptr: Int64Array  # shape (n_tasks + 1,):
    pred: Int32Array  # shape (n_edges,): predecessors of each task
    #: shape (n_edges,): bytes that a task reads of what each predecessor has written
    pred_bytes: FloatArray
    succ_ptr: Int64Array  # shape (n_tasks + 1,):
    succ: Int32Array  # shape (n_edges,): successors of each task
    succ_bytes: FloatArray  # shape (n_edges,): as `pred_bytes`, in the order of `succ`
    #: shape (n_workers,): row of `cost_s` that holds for a worker; its memory node, numbered
    #: densely
    worker_row: Int32Array
    worker_node: Int32Array
    cost_s: FloatArray  # shape (n_rows, n_tasks): seconds; infinite where a task cannot run
    #: shape (n_nodes, n_nodes): seconds, and seconds per byte, from one worker's node to another's;
    #: 0 on the diagonal
    latency_s: FloatArray
    byte_time_s: FloatArray

    def mean_cost_s(self) -> FloatArray:
        """Return the mean cost of each task over the workers that can run it; shape (n_tasks,)."""
        rows = np.bincount(self.worker_row, minlength=len(self.cost_s)).astype(np.float64)
        total, workers = np.zeros(self.n_tasks), np.zeros(self.n_tasks)
        for count, row in zip(rows.tolist(), self.cost_s, strict=True):
            can = np.isfinite(row)
            total += np.where(can, row, 0.0) * count
            workers += can * count
        return total / np.maximum(workers, 1.0)

    def median_cost_s(self) -> FloatArray:
        """Return the median cost of each task over all workers; shape (n_tasks,).

        A worker that cannot run a task counts as the slowest one that can, as in Sih and Lee 1993.
        """
        n, finite = len(self.worker_row), np.isfinite(self.cost_s)
        slowest = np.where(finite, self.cost_s, 0.0).max(axis=0, initial=0.0)
        cost = np.where(finite, self.cost_s, slowest)
        order = np.argsort(cost, axis=0, kind="stable")
        workers = np.bincount(self.worker_row, minlength=len(cost))[order].cumsum(axis=0)
        lower, upper = (
            np.take_along_axis(cost, order, axis=0)[
                (workers > place).argmax(axis=0), np.arange(self.n_tasks)
            ]
            for place in ((n - 1) // 2, n // 2)
        )
        median: FloatArray = (lower + upper) / 2.0
        return median

    def mean_edge_s(self, n_bytes: FloatArray) -> FloatArray:
        """Return the mean time of moving bytes over all ordered pairs of different workers."""
        n = len(self.worker_node)
        per_node = np.bincount(self.worker_node, minlength=len(self.latency_s)).astype(np.float64)
        pairs = np.outer(per_node, per_node) / max(1, n * (n - 1))
        latency = byte_time = 0.0  # in the order of indices: other orders round differently
        columns = (pairs, self.latency_s, self.byte_time_s)
        for share, delay, each in zip(
            *(column.ravel().tolist() for column in columns), strict=True
        ):
            latency += share * delay
            byte_time += share * each
        return latency + n_bytes * byte_time

    def reversed(self) -> Estimates:
        """Return the same with all edges turned round."""
        return replace(
            self,
            pred_ptr=self.succ_ptr,
            pred=self.succ,
            pred_bytes=self.succ_bytes,
            succ_ptr=self.pred_ptr,
            succ=self.pred,
            succ_bytes=self.pred_bytes,
        )


def estimate(view: PlanView, graph: TaskGraph) -> Estimates:
    """Return what a static scheduler may know of a graph; see docs/sources/list-scheduling.md."""
    source = np.repeat(np.arange(graph.n_tasks, dtype=np.int64), np.diff(graph.succ_ptr))
    target = graph.succ.astype(np.int64)
    n_bytes = _bytes_over(graph, source, target)
    succ_ptr, succ = adjacency(source, target, graph.n_tasks)
    pred_ptr, pred = adjacency(target, source, graph.n_tasks)
    by_source, by_target = np.argsort(source, kind="stable"), np.argsort(target, kind="stable")
    worker_row, cost = worker_costs(view, graph)
    worker_node, latency, byte_time = _nodes(view.machine, view.worker_domain)
    return Estimates(
        n_tasks=graph.n_tasks,
        pred_ptr=pred_ptr,
        pred=pred,
        pred_bytes=n_bytes[by_target],
        succ_ptr=succ_ptr,
        succ=succ,
        succ_bytes=n_bytes[by_source],
        worker_row=worker_row,
        worker_node=worker_node,
        cost_s=cost,
        latency_s=latency,
        byte_time_s=byte_time,
    )


def _bytes_over(graph: TaskGraph, source: Int64Array, target: Int64Array) -> FloatArray:
    """Return the bytes that each edge's target reads of what its source writes."""
    n_blocks = max(1, graph.n_blocks)
    task = np.repeat(np.arange(graph.n_tasks, dtype=np.int64), np.diff(graph.access_ptr))
    reads = np.flatnonzero(graph.read_bytes > 0)
    keys, place = np.unique(task[reads] * n_blocks + graph.access_block[reads], return_inverse=True)
    read = np.zeros(len(keys) + 1)
    np.add.at(read, place, graph.read_bytes[reads].astype(np.float64))
    count = np.diff(graph.access_ptr)[source]
    edge = np.repeat(np.arange(len(source)), count)
    access = entries(graph.access_ptr, source)
    wanted = target[edge] * n_blocks + graph.access_block[access]
    at = np.searchsorted(keys, wanted)
    known = (at < len(keys)) & (keys[np.minimum(at, len(keys) - 1)] == wanted) if len(keys) else 0
    moved = np.minimum(graph.written_bytes[access], read[at]) * known
    return np.bincount(edge, weights=moved, minlength=len(source)).astype(np.float64)


def worker_costs(view: PlanView, graph: TaskGraph) -> tuple[Int32Array, FloatArray]:
    """Return the row of each worker and the seconds of every task per row (group of cores)."""
    groups, row = worker_rows(view)
    ops = view.estimated_ops(graph)
    cost = [ops[graph.kinds.index(group.kind)] / group.ops_per_s for group in groups]
    return row, np.array(cost, np.float64)


def in_turn(view: PlanView, graph: TaskGraph) -> Int32Array:
    """Return workers for the tasks of a graph: in turn, of those that can execute them."""
    row, cost = worker_costs(view, graph)
    able = np.isfinite(cost)
    patterns, which = np.unique(able, axis=1, return_inverse=True)
    worker = np.empty(graph.n_tasks, np.int32)
    for column, pattern in enumerate(patterns.T):
        tasks = np.flatnonzero(which.reshape(-1) == column)
        workers = np.flatnonzero(pattern[row]).astype(np.int32)
        worker[tasks] = workers[np.arange(len(tasks)) % len(workers)]
    return worker


def worker_rows(view: PlanView) -> tuple[list[CoreGroup], Int32Array]:
    """Return the groups of cores that have workers, and which of these each worker belongs to."""
    used, row = np.unique(view.machine.thread_group[view.worker_thread], return_inverse=True)
    return [view.machine.core_groups[index] for index in used], row.astype(np.int32)


def _nodes(
    machine: Machine, worker_domain: Int32Array
) -> tuple[Int32Array, FloatArray, FloatArray]:
    """Return the nearest node of each worker, and latency and time per byte between these nodes."""
    domains, dense = np.unique(worker_domain, return_inverse=True)
    nearest = [machine.own_node(int(domain)) for domain in domains]
    n = len(domains)
    latency, byte_time = np.zeros((n, n)), np.zeros((n, n))
    for to, domain in enumerate(domains.tolist()):
        for origin, node in enumerate(nearest):
            if origin != to and node != nearest[to]:
                path = machine.paths[domain][node]
                latency[origin, to] = path.latency_ps * PER_PS
                byte_time[origin, to] = 1.0 / path.core_cap_bytes_per_s[0]
    return dense.astype(np.int32), latency, byte_time
