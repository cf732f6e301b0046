"""A product of a sparse matrix whose rows the processor and a device share."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from simsched.policy.contract.base import PlanView
from simsched.policy.parts.division_steps import (
    CLASSES,
    COPY_IN,
    COPY_OUT,
    CPU,
    CPU_PART,
    KERNEL,
    Sides,
    group_of_worker,
)
from simsched.policy.parts.host_memory import host_path
from simsched.policy.parts.static_order import ScheduledWorkload
from simsched.workload.builder import accesses, adjacency, build_graph
from simsched.workload.division import Division
from simsched.workload.graph import BoolArray, Int64Array, Workload
from simsched.workload.sparse_rows import MatrixWorkload, RowCosts


@dataclass(frozen=True, eq=False)
class Devices:
    """How fast the two sides are, as an earlier run on the machine has measured it."""

    costs: RowCosts  # what rows cost
    cpu_ops_per_s: float  # speed of all threads of the processor together, and of the device
    gpu_ops_per_s: float
    launch_s: float  # time of a launch with its two copies, and of a copied byte
    byte_s: float

    def cpu_s(self, nonzeros: Int64Array) -> float:
        """Return the seconds of rows on the processor."""
        return self.costs.on_cpu(nonzeros) / self.cpu_ops_per_s

    def gpu_s(self, nonzeros: Int64Array) -> float:
        """Return the seconds of rows on the device, copies and launch included."""
        if not len(nonzeros):
            return 0.0
        moved = int(nonzeros.sum()) * self.costs.nonzero_bytes
        moved += len(nonzeros) * self.costs.result_bytes
        return (
            self.launch_s + moved * self.byte_s + self.costs.on_gpu(nonzeros) / self.gpu_ops_per_s
        )


def any_rows(program: MatrixWorkload) -> Workload:
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


def measured(view: PlanView, sides: Sides, costs: RowCosts) -> Devices:
    """Return how fast the two sides are."""
    cpu = group_of_worker(view, sides.cpu[0])
    worker = sides.devices[0]
    gpu = group_of_worker(view, worker)
    path_s, bytes_per_s = host_path(view.machine, int(view.worker_domain[worker]))
    launch = view.machine.costs.kernel_launch_ps * 1e-12 + 2 * path_s
    return Devices(costs, cpu.ops_per_s * len(sides.cpu), gpu.ops_per_s, launch, 1.0 / bytes_per_s)


class _Task(NamedTuple):
    """A part of the rows, or a copy for one: kind of processor, class, worker and costs."""

    kind: str
    task_class: int
    worker: int
    ops: float = 0.0
    read: int = 0
    written: int = 0


def divided_rows(
    view: PlanView, sides: Sides, program: MatrixWorkload, on_gpu: BoolArray
) -> ScheduledWorkload:
    """Return the program with some rows on the first device and the others on the processor."""
    costs, nonzeros = program.costs, program.rows.nonzeros
    tasks: list[_Task] = []
    rest = nonzeros[~on_gpu]
    for worker, part in zip(sides.cpu, _equal_parts(rest, len(sides.cpu)), strict=True):
        read, written = int(part.sum()) * costs.nonzero_bytes, len(part) * costs.result_bytes
        tasks.append(_Task(CPU, CPU_PART, worker, costs.on_cpu(part), read, written))
    n_cpu = len(tasks)
    if sides.devices:
        worker, mine = sides.devices[0], nonzeros[on_gpu]
        group = group_of_worker(view, worker)
        launch = view.machine.costs.kernel_launch_ps * 1e-12 * group.ops_per_s * bool(len(mine))
        read, written = int(mine.sum()) * costs.nonzero_bytes, len(mine) * costs.result_bytes
        tasks.append(_Task(group.kind, COPY_IN, worker, read=read))
        tasks.append(_Task(group.kind, KERNEL, worker, launch + costs.on_gpu(mine)))
        tasks.append(_Task(group.kind, COPY_OUT, worker, written=written))
    n, kinds = len(tasks), program.graph.kinds
    first = list(range(n_cpu, n - 1))
    moved = np.array([(task.read, task.written) for task in tasks])
    owner, block = np.nonzero(moved)  # tasks read the first block and write the second one
    size = moved[owner, block]
    graph = build_graph(
        np.array([[t.ops if kind == t.kind else math.inf for t in tasks] for kind in kinds]),
        kinds=kinds,
        task_class=[task.task_class for task in tasks],
        class_names=CLASSES,
        successors=adjacency(first, [task + 1 for task in first], n),
        accessed=accesses(owner, block, size * (block == 0), size * (block == 1), n),
        block_bytes=program.graph.block_bytes,
    )
    worker_of = np.array([task.worker for task in tasks], np.int32)
    return ScheduledWorkload(program.name, graph, parameters=program.parameters, worker=worker_of)


def _equal_parts(nonzeros: Int64Array, count: int) -> list[Int64Array]:
    """Return consecutive parts of rows with about equal numbers of non-zeros."""
    if not count:
        return []
    before = np.concatenate([[0], np.cumsum(nonzeros)])
    ends = np.searchsorted(before, before[-1] * np.arange(1, count) / count)
    return np.split(nonzeros, np.minimum(ends, len(nonzeros)))
