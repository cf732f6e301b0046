"""Costs on processors for which only the machine has them, from its `kernels`."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from simsched.machine.model import Machine
from simsched.workload.graph import TaskGraph, Workload


def with_kernels(machine: Machine, workload: Workload) -> Workload:
    """Return a program with costs on all processors that the machine has kernels of it for.

    On kinds of processors for which program ``p`` has no costs of its own, a task of class ``c``
    takes what ``kernels["p.c"]`` states for each of its operations on the first kind that it has
    costs for. Where the machine states nothing for the class it cannot run. On kinds of devices
    for which the machine states nothing for the whole program, a task takes its operations over the
    part of their speed that the program says that its class reaches.
    """
    graphs = [workload.graph] if workload.init is None else [workload.graph, workload.init]
    classes = {name for graph in graphs for name in graph.class_names}
    known = [machine.kernels.get(f"{workload.name}.{name}", {}) for name in sorted(classes)]
    stated = {kind for times in known for kind in times}
    reached = workload.graph.device_efficiency
    by_formula = _device_kinds(machine) - stated if reached is not None and reached.any() else set()
    kinds = [
        kind
        for kind in machine.kinds
        if kind not in workload.graph.kinds and kind in stated | by_formula
    ]
    if not kinds:
        return workload
    data_bytes = int(workload.graph.block_bytes.sum())

    def costed(graph: TaskGraph) -> TaskGraph:
        rows = [
            _reached(graph)
            if kind in by_formula
            else _factors(machine, workload.name, graph, kind, data_bytes)
            for kind in kinds
        ]
        return replace(
            graph,
            kinds=(*graph.kinds, *kinds),
            ops=np.vstack([graph.ops, *(_times(graph.ops[0], row) for row in rows)]),
            join_ops=np.vstack([graph.join_ops, *(_joins(graph.join_ops[0], row) for row in rows)]),
        )

    init = None if workload.init is None else costed(workload.init)
    return workload.changed(costed, init=init)


def _device_kinds(machine: Machine) -> set[str]:
    """Return the kinds of processors whose domains have memory that a driver manages.

    With timings a machine has none: its operations are times then and not those of a processor.
    """
    if machine.timings:
        return set()
    own = {node.domain for node in machine.nodes if node.has_driver} - {None}
    cores = np.flatnonzero([domain in own for domain in machine.core_domain.tolist()])
    return {machine.core_groups[machine.core_group[core]].kind for core in cores.tolist()}


def _reached(graph: TaskGraph) -> NDArray[np.float64]:
    """Return, by task, how many operations of a device one of its operations takes the time of."""
    reached = graph.device_efficiency
    if reached is None:
        return np.full(graph.n_tasks, np.inf)
    by_class = np.full(len(reached), np.inf)
    np.divide(1.0, reached, out=by_class, where=reached > 0)
    return by_class[graph.task_class]


def _factors(
    machine: Machine, program: str, graph: TaskGraph, kind: str, data_bytes: int
) -> NDArray[np.float64]:
    """Return, by task, how many operations of a core of a kind one of its operations is."""
    speed = next(group.ops_per_s for group in machine.core_groups if group.kind == kind)
    known = [machine.kernels.get(f"{program}.{name}", {}) for name in graph.class_names]
    seconds = [t[kind].at(data_bytes) if kind in t else np.inf for t in known]
    return (np.array(seconds) * speed)[graph.task_class]


def _times(ops: NDArray[np.float64], factor: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return operations times factors; an infinite factor stands for what cannot run at all."""
    return np.where(np.isinf(factor), np.inf, ops * np.where(np.isinf(factor), 1.0, factor))


def _joins(ops: NDArray[np.float64], factor: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the operations of joins times factors; where there is nothing to join it stays so."""
    return np.where(ops > 0.0, _times(ops, factor), 0.0)
