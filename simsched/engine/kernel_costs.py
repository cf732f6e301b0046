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
    costs for. Where the machine states nothing it cannot run.
    """
    graphs = [workload.graph] if workload.init is None else [workload.graph, workload.init]
    classes = {name for graph in graphs for name in graph.class_names}
    known = [machine.kernels.get(f"{workload.name}.{name}", {}) for name in sorted(classes)]
    kinds = [
        kind
        for kind in machine.kinds
        if kind not in workload.graph.kinds and any(kind in times for times in known)
    ]
    if not kinds:
        return workload
    data_bytes = int(workload.graph.block_bytes.sum())

    def costed(graph: TaskGraph) -> TaskGraph:
        rows = [_factors(machine, workload.name, graph, kind, data_bytes) for kind in kinds]
        return replace(
            graph,
            kinds=(*graph.kinds, *kinds),
            ops=np.vstack([graph.ops, *(_times(graph.ops[0], row) for row in rows)]),
            join_ops=np.vstack([graph.join_ops, *(_joins(graph.join_ops[0], row) for row in rows)]),
        )

    init = None if workload.init is None else costed(workload.init)
    return workload.changed(costed, init=init)


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
