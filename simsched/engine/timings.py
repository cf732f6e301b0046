"""Durations of measured codelets as the operations of a program's tasks."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from simsched.engine.kernel_costs import with_kernels
from simsched.files.errors import ModelError, unknown_name
from simsched.machine.model import CodeletTime, Machine
from simsched.workload.builder import distinct
from simsched.workload.graph import TaskGraph, Workload

Sizes = dict[int, CodeletTime]


def timed(machine: Machine, workload: Workload) -> Workload:
    """Return a program whose tasks last as long as a machine's timings say.

    The size of a task is the bytes of all blocks of its body, each once, as StarPU counts. On
    processor kinds for which a codelet has not been measured at all, its tasks cannot run.
    Operations are the mean duration times the speed of the first group of cores of the kind. A
    program without codelets stays as it is, but for costs that only the machine has
    (:func:`~simsched.engine.kernel_costs.with_kernels`). Random durations are drawn at last.
    """
    graph = _timed_graph(machine, workload.name, workload.graph)
    init = workload.init and _timed_graph(machine, workload.name, workload.init)
    if graph is workload.graph and init is workload.init:
        return with_kernels(machine, workload).drawn()
    return replace(workload, graph=graph, init=init).drawn()


def _timed_graph(machine: Machine, workload: str, graph: TaskGraph) -> TaskGraph:
    """Return a graph with durations from the machine, the same one without codelets."""
    if graph.codelets is None:
        return graph
    if not machine.timings:
        raise ModelError(
            f"workload {workload}: found measured codelets, accepted only on machines with timings "
            f"of them: {machine.name} has none"
        )
    sizes = _task_bytes(graph)
    ops = np.full((len(machine.kinds), graph.n_tasks), np.inf)
    speed = {group.kind: group.ops_per_s for group in reversed(machine.core_groups)}
    for index, codelet in enumerate(graph.codelets):
        tasks = np.flatnonzero(graph.task_class == index)
        if len(tasks) == 0:
            continue
        where = f"workload {workload}: class {graph.class_names[index]}"
        if codelet not in machine.timings:
            what = f"timing of codelet on machine {machine.name}"
            raise ModelError(f"{where}: {unknown_name(what, codelet, machine.timings)}")
        for row, kind in enumerate(machine.kinds):
            known = machine.timings[codelet].get(kind)
            for size in np.unique(sizes[tasks]).tolist() if known else ():
                mean = _mean_s(known, size, f"{where}: codelet {codelet} on {machine.name} {kind}")
                ops[row, tasks[sizes[tasks] == size]] = mean * speed[kind]
    return replace(graph, ops=ops, join_ops=np.zeros_like(ops), kinds=machine.kinds)


def _mean_s(known: Sizes | None, size: int, where: str) -> float:
    assert known is not None
    if size not in known:
        listed = ", ".join(map(str, sorted(known)))
        raise ModelError(
            f"{where}: found no timing for {size} bytes of data, accepted: {listed} bytes"
        )
    return known[size].mean_s


def _task_bytes(graph: TaskGraph) -> NDArray[np.int64]:
    """Return the bytes of all blocks of each body, each counted once."""
    counts = np.diff(graph.access_ptr)
    task = np.repeat(np.arange(graph.n_tasks, dtype=np.int64), counts)
    in_body = np.arange(graph.n_accesses) < graph.join_access[task]
    pairs = distinct((task[in_body] << 32) | graph.access_block[in_body])
    total = np.zeros(graph.n_tasks, np.int64)
    np.add.at(total, pairs >> 32, graph.block_bytes[pairs & 0xFFFFFFFF])
    return total
