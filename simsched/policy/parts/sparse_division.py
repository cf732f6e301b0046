"""A product of a sparse matrix whose rows the processor and a device share."""

from __future__ import annotations

import math
from dataclasses import dataclass

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


def divided_rows(
    view: PlanView, sides: Sides, program: MatrixWorkload, on_gpu: BoolArray
) -> ScheduledWorkload:
    """Return the program with some rows on the first device and the others on the processor."""
    costs, nonzeros = program.costs, program.rows.nonzeros
    ops, who, read, written, classes = [], [], [], [], []

    def add(kind: str, task_class: int, worker: int, each: float, moved: tuple[int, int]) -> None:
        ops.append([each if k == kind else math.inf for k in program.graph.kinds])
        classes.append(task_class)
        who.append(worker)
        read.append(moved[0])
        written.append(moved[1])

    rest = nonzeros[~on_gpu]
    for worker, part in zip(sides.cpu, _equal_parts(rest, len(sides.cpu)), strict=True):
        sizes = int(part.sum()) * costs.nonzero_bytes, len(part) * costs.result_bytes
        add(CPU, CPU_PART, worker, costs.on_cpu(part), sizes)
    n_cpu = len(who)
    if sides.devices:
        worker, mine = sides.devices[0], nonzeros[on_gpu]
        group = group_of_worker(view, worker)
        launch = view.machine.costs.kernel_launch_ps * 1e-12 * group.ops_per_s * bool(len(mine))
        add(group.kind, COPY_IN, worker, 0.0, (int(mine.sum()) * costs.nonzero_bytes, 0))
        add(group.kind, KERNEL, worker, launch + costs.on_gpu(mine), (0, 0))
        add(group.kind, COPY_OUT, worker, 0.0, (0, len(mine) * costs.result_bytes))
    n = len(who)
    first = list(range(n_cpu, n - 1))
    tasks = np.arange(n)
    bytes_read, bytes_written = np.array(read), np.array(written)
    uses = np.column_stack([bytes_read > 0, bytes_written > 0]).ravel()
    nothing = np.zeros(n, np.int64)
    graph = build_graph(
        np.array(ops).T,
        kinds=program.graph.kinds,
        task_class=classes,
        class_names=CLASSES,
        successors=adjacency(first, [task + 1 for task in first], n),
        accessed=accesses(
            np.repeat(tasks, 2)[uses],
            np.tile([0, 1], n)[uses],
            np.column_stack([bytes_read, nothing]).ravel()[uses],
            np.column_stack([nothing, bytes_written]).ravel()[uses],
            n,
        ),
        block_bytes=program.graph.block_bytes,
    )
    worker_of = np.array(who, np.int32)
    return ScheduledWorkload(program.name, graph, parameters=program.parameters, worker=worker_of)


def _equal_parts(nonzeros: Int64Array, count: int) -> list[Int64Array]:
    """Return consecutive parts of rows with about equal numbers of non-zeros."""
    if not count:
        return []
    before = np.concatenate([[0], np.cumsum(nonzeros)])
    ends = np.searchsorted(before, before[-1] * np.arange(1, count) / count)
    return np.split(nonzeros, np.minimum(ends, len(nonzeros)))
