"""What every policy has to execute of a program, whatever its runtime makes of it.

A policy's runtime may execute a program in another form
(:meth:`simsched.policy.contract.base.Policy.prepare`). Most forms only add to the program: the
order of a schedule, moves of data, the cost of a spawn, the part of a device that a kernel gets.
Some leave things out or choose anew what the program leaves open; a lower bound for every policy
may not count on these:

* a loop has only the leaves of a spawn tree, and of the rest what touches data: creating tasks, and
  bodies and joins that merely divide and collect, are left out;
* a data-flow program has versions with private buffers and with shared arrays, in which one task
  or many create the others;
* a job tracker starts reduce tasks after any of the map tasks, not certain ones, and may give the
  reduce tasks of a job other parts of its data, with the same mean;
* the rows of a sparse matrix may be divided in any way, and a GPU processes rows of one length
  faster than others.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import get_args

import numpy as np

from simsched.files.errors import ConfigurationError
from simsched.policy.algorithms.mapreduce.tarazu import scaled
from simsched.policy.parts.loop import kept
from simsched.policy.parts.mapreduce_waiting import without_slowstart
from simsched.workload.builder import build_graph
from simsched.workload.dataflow_program import Control, Version
from simsched.workload.division import Division
from simsched.workload.graph import FloatArray, TaskGraph, Workload
from simsched.workload.mapreduce_job import REDUCE, JobTasks
from simsched.workload.registry import generator_of
from simsched.workload.sparse_rows import MatrixWorkload
from simsched.workload.variants import variant

CHOICES = {"version": get_args(Version), "control": get_args(Control)}


def versions(program: Workload) -> Iterator[Workload]:
    """Yield programs of which every policy executes at least one, maybe with additions."""
    if isinstance(program, MatrixWorkload):
        yield _any_rows(program)
        return
    for version in _generated(program):
        tracked = without_slowstart(version)
        yield replace(
            tracked,
            graph=_of_loop(_smallest_reduces(tracked.graph)),
            init=tracked.init and _of_loop(tracked.init),
        )


def _generated(program: Workload) -> Iterator[Workload]:
    """Yield the versions of a data-flow program that take the least, any other one as it is.

    With sequential control, no task waits for the one that creates it, but for the root. A program
    that has been changed since it was generated is taken as it is.
    """
    maker = generator_of(program)
    known = {} if maker is None else maker.parameters
    has = {key for key, item in known.items() if item.choices == CHOICES.get(key)}
    wanted = {"control": "sequential"} if "control" in has else {}
    own = program.parameters.get("version")
    try:
        found = {
            version: variant(program, version=str(version), **wanted)
            for version in (CHOICES["version"] if "version" in has else [own])
        }
    except ConfigurationError:
        found = {}
    yield from found.values() if _is_same(program, found.get(own)) else [program]


def _is_same(program: Workload, again: Workload | None) -> bool:
    """Return whether a program does what its generator makes of its parameters."""
    if again is None:
        return False
    pairs = [
        (program.graph.ops, again.graph.ops),
        (program.graph.read_bytes, again.graph.read_bytes),
        (program.graph.written_bytes, again.graph.written_bytes),
    ]
    return all(
        math.isclose(own[np.isfinite(own)].sum(), made[np.isfinite(made)].sum(), rel_tol=1e-9)
        for own, made in pairs
    )


def _of_loop(graph: TaskGraph) -> TaskGraph:
    """Return a graph without the operations that a loop over its leaves leaves out."""
    if len(graph.child) == 0:
        return graph
    body, join = kept(graph)
    return replace(
        graph,
        ops=np.where(body, graph.ops, 0.0),
        join_ops=np.where(join, graph.join_ops, 0.0),
        creation_ops=np.zeros(graph.n_tasks),
    )


def _smallest_reduces(graph: TaskGraph) -> TaskGraph:
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


def _any_rows(program: MatrixWorkload) -> Workload:
    """Return a product of a sparse matrix as non-zeros that can be divided in any way."""
    costs, count = program.costs, int(program.rows.nonzeros.sum())
    per_nonzero = {"cpu": costs.cpu_ops, "gpu": costs.gpu_ops}
    kinds = program.graph.kinds
    nothing = np.zeros((len(kinds), 1))
    division = Division(
        units=max(1, count),
        part=np.zeros(1, np.int32),
        fixed_ops=nothing,
        unit_ops=np.array([[per_nonzero[kind]] for kind in kinds]),
        unit_read_bytes=np.zeros(0),
        unit_written_bytes=np.zeros(0),
        least_units=nothing,
    )
    graph = build_graph(nothing, kinds=kinds)
    return Workload(program.name, graph, program.iterations, division=division)
