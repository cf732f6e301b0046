"""Sizes of MapReduce tasks: what is left of a job's reduce tasks however its keys are divided."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from simsched.policy.contract.base import PlanView
from simsched.workload.graph import FloatArray, Int64Array, TaskGraph
from simsched.workload.mapreduce_job import REDUCE, JobTasks


def scaled(tasks: JobTasks, factor: FloatArray) -> TaskGraph:
    """Return the graph with the data and operations of each task multiplied by a factor."""
    graph = tasks.graph
    of_access = np.repeat(factor, np.diff(graph.access_ptr))
    size = graph.block_bytes.copy()
    for task in np.flatnonzero(factor != 1.0).tolist():
        own = slice(int(graph.access_ptr[task]), int(graph.access_ptr[task + 1]))
        written = graph.access_block[own][graph.written_bytes[own] > 0]
        for block in np.unique(written).tolist():
            size[block] = max(1, round(float(size[block]) * float(factor[task])))
    return replace(
        graph,
        ops=graph.ops * factor,
        join_ops=graph.join_ops * factor,
        read_bytes=np.round(graph.read_bytes * of_access).astype(np.int64),
        written_bytes=np.round(graph.written_bytes * of_access).astype(np.int64),
        block_bytes=size,
    )


def smallest_reduces(graph: TaskGraph) -> TaskGraph:
    """Return a graph in which the reduce tasks of a job are as small as the smallest of them.

    Whatever their factors with a mean of 1, one is at least that large, and so are all together.
    """
    tasks = JobTasks(graph)
    reduces = tasks.kind == REDUCE
    if not reduces.any() or not np.isfinite(graph.ops[0, reduces]).all():
        return graph
    owner = np.repeat(np.arange(graph.n_tasks), np.diff(graph.access_ptr))
    moved = np.bincount(owner, graph.read_bytes + graph.written_bytes, graph.n_tasks).astype(float)
    factor = np.ones(graph.n_tasks)
    for job in range(tasks.n_jobs):
        mine = np.flatnonzero((tasks.job == job) & (tasks.kind == REDUCE))
        if len(mine):
            factor[mine] = np.minimum(*(_of_least(size[mine]) for size in (graph.ops[0], moved)))
    return scaled(tasks, factor)


def _of_least(sizes: FloatArray) -> FloatArray:
    """Return the smallest of some sizes relative to each."""
    least: FloatArray = np.divide(sizes.min(), sizes, out=np.ones(len(sizes)), where=sizes > 0)
    return least


def node_speeds(view: PlanView, graph: TaskGraph, reduces: Int64Array) -> list[float]:
    """Return how fast each node is at the mean reduce task of a job, relative to the slowest node.

    The tasks compute as fast as its cores with all slots busy, and move what they write, and read
    of that, at the node's share of its disk's bandwidth, one after the other.
    """
    machine, domains = view.machine, np.unique(view.worker_domain).tolist()
    storage = [machine.own_node(d) for d in domains]
    ops = math.fsum(view.estimated_ops(graph)[0, reduces]) / len(reduces)
    moved = sum(_own_bytes(graph, task) for task in reduces.tolist())
    times = []
    for domain, disk in zip(domains, storage, strict=True):
        slots = view.worker_thread[view.worker_domain == domain]
        cores, busy = np.unique(machine.thread_core[slots], return_counts=True)
        groups = [machine.core_groups[group] for group in machine.core_group[cores].tolist()]
        ops_per_s = math.fsum(
            group.ops_per_s * group.smt_throughput[n - 1]
            for group, n in zip(groups, busy.tolist(), strict=True)
        )
        bytes_per_s = machine.nodes[disk].bandwidth_bytes_per_s / storage.count(disk)
        times.append(ops / ops_per_s + moved / len(reduces) / bytes_per_s)
    return [max(times) / time if time > 0.0 else 1.0 for time in times]


def _own_bytes(graph: TaskGraph, task: int) -> int:
    """Return what a task moves of blocks that it writes itself, which are where it is executed."""
    own = slice(graph.access_ptr[task], graph.access_ptr[task + 1])
    block, written = graph.access_block[own], graph.written_bytes[own]
    mine = np.isin(block, block[written > 0])
    return int((graph.read_bytes[own] + written)[mine].sum())
