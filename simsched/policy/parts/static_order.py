"""Static schedules: tasks with workers of their own, and their order on every worker."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simsched.policy.contract.base import AcquireStep, Plan
from simsched.workload.builder import adjacency, distinct
from simsched.workload.graph import FloatArray, Int32Array, TaskGraph, Workload


@dataclass(frozen=True, eq=False)
class ScheduledWorkload(Workload):
    """A program whose tasks have their workers."""

    #: shape (n_tasks,): worker of each task
    worker: Int32Array = field(default_factory=lambda: np.empty(0, np.int32))


def own_lists(worker: Int32Array, **others: Any) -> Plan:
    """Return the plan in which every worker executes its own tasks only, the oldest one first.

    `others` are fields of the plan.
    """
    return Plan(acquire=(AcquireStep("worker", "own", "oldest"),), instance_of=worker, **others)


def scheduled(
    workload: Workload,
    worker: Int32Array,
    start_s: FloatArray,
    finish_s: FloatArray,
    below: FloatArray,
    *,
    fetches_ahead: bool,
) -> ScheduledWorkload:
    """Return a program tied into a schedule; see :func:`follow`."""

    def tie(graph: TaskGraph) -> TaskGraph:
        return follow(graph, worker, start_s, finish_s, below, fetches_ahead=fetches_ahead)

    changed = workload.changed(tie, init=workload.init)
    return ScheduledWorkload(
        workload.name,
        changed.graph,
        workload.iterations,
        workload.init,
        workload.parameters,
        worker,
        varying=changed.varying,
    )


def tied(graph: TaskGraph, first: NDArray[np.integer], second: NDArray[np.integer]) -> TaskGraph:
    """Return the graph with more dependences, leaving out those that it has already.

    The program's own edges stay in front: they are followed in their order.
    """
    n = graph.n_tasks
    source = np.repeat(np.arange(n, dtype=np.int64), np.diff(graph.succ_ptr))
    known = np.isin(first.astype(np.int64) * n + second, source * n + graph.succ)
    succ_ptr, succ = adjacency(
        np.concatenate([source, first[~known].astype(np.int64)]),
        np.concatenate([graph.succ.astype(np.int64), second[~known].astype(np.int64)]),
        n,
    )
    return replace(graph, succ_ptr=succ_ptr, succ=succ)


def follow(
    graph: TaskGraph,
    worker: Int32Array,
    start_s: FloatArray,
    finish_s: FloatArray,
    below: FloatArray,
    *,
    fetches_ahead: bool,
) -> TaskGraph:
    """Return the graph in which tasks become ready in the order of their worker's schedule.

    Of tasks with equal starts the one that ends first comes first, then the one with more `below`
    it, then the lower one; as this order grows along every edge of the program it never contradicts
    one.

    To be ready one task early, a task waits for the one before the previous one of its worker, and
    for what the previous one waits for. Where the same task makes both ready, the order of its
    edges decides: they are followed in the order of starts. What is ready from the beginning enters
    pools by number; the second task of a worker waits for the first one where that would reverse
    them. So does whatever follows a task that arrives later.
    """
    order = np.lexsort((np.arange(graph.n_tasks), -below, finish_s, start_s, worker)).astype(
        np.int64
    )
    same = worker[order][1:] == worker[order][:-1]
    previous, following = order[:-1][same], order[1:][same]
    if not fetches_ahead:
        return tied(graph, previous, following)
    n = graph.n_tasks
    next_of = np.full(n, -1, np.int64)
    next_of[previous] = following
    source = np.repeat(np.arange(n, dtype=np.int64), np.diff(graph.succ_ptr))
    target = graph.succ.astype(np.int64)
    edge_source = np.concatenate([source, source, previous])
    edge_target = np.concatenate([target, next_of[target], next_of[following]])
    is_free = ~np.isin(np.arange(n), edge_target)
    tied_up = is_free[previous] & is_free[following] & (following < previous)
    if graph.arrival_ps is not None:
        tied_up |= graph.arrival_ps[previous] > 0
    edge_source = np.concatenate([edge_source, previous[tied_up]])
    edge_target = np.concatenate([edge_target, following[tied_up]])
    by_start = np.lexsort((np.arange(n), -below, finish_s, start_s))
    rank = np.empty(n, np.int64)
    rank[by_start] = np.arange(n)
    exists = edge_target >= 0
    keys = distinct(edge_source[exists] * n + rank[edge_target[exists]])
    succ_ptr, succ = adjacency(keys // n, by_start[keys % n], n)
    return replace(graph, succ_ptr=succ_ptr, succ=succ)
