"""A product of a sparse matrix whose rows the processor and a device share."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from simsched.files.units import PER_PS
from simsched.policy.contract.base import PlanView
from simsched.policy.contract.fit import Need
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
from simsched.policy.parts.host_memory import host_path, nearest_host
from simsched.policy.parts.static_order import ScheduledWorkload
from simsched.workload.builder import accesses, adjacency, build_graph
from simsched.workload.division import Division
from simsched.workload.graph import BoolArray, Int64Array, Workload
from simsched.workload.sparse_rows import MatrixWorkload, RowCosts

MATRIX_ROWS = Need(
    "the rows of a sparse matrix",
    lambda view: "" if isinstance(view.workload, MatrixWorkload | ScheduledWorkload) else "none",
)


@dataclass(frozen=True, eq=False)
class Devices:
    """How fast the two sides are, as an earlier run on the machine has measured it."""

    costs: RowCosts  # what rows cost
    cpu_ops_per_s: float  # speed of all threads of the processor together, and of the device
    gpu_ops_per_s: float
    threads: int  # of the processor
    launch_s: float  # time of a launch, and of setting up a copy
    copy_s: float
    memory_bytes_per_s: float  # rate of main memory, of a thread, and of a copy
    thread_bytes_per_s: float
    copy_bytes_per_s: float

    def together_s(self, cpu: Int64Array, gpu: Int64Array) -> tuple[float, float]:
        """Return the seconds of rows on the processor, and of others on the device meanwhile.

        Both begin at the same time. Threads read and compute at once; the device copies, computes,
        copies back. What copies and threads move at the same time shares main memory.
        """
        left, clock_s, reads_s = float(self._moved(cpu)), 0.0, 0.0
        for pause_s, copied in self._phases(gpu):
            for is_copy, amount in ((False, pause_s), (True, copied)):
                todo = amount
                while todo > 0.0:
                    threads_rate, copy_rate = self.rates(left > 0.0, is_copy)
                    rate = copy_rate if is_copy else 1.0
                    passed_s = todo / rate
                    if left > 0.0 and left / threads_rate < passed_s:
                        passed_s = left / threads_rate
                        reads_s = clock_s + passed_s
                        todo, left = todo - rate * passed_s, 0.0
                    else:
                        todo, left = 0.0, left - threads_rate * passed_s
                    clock_s += passed_s
        if left > 0.0:
            reads_s = clock_s + left / self.rates(True, False)[0]
        return max(reads_s, self.costs.on_cpu(cpu) / self.cpu_ops_per_s), clock_s

    def rates(self, reads: bool, copies: bool) -> tuple[float, float]:
        """Return bytes per second of all threads that read, and of a copy, as memory is shared."""
        threads, copy = (
            self.threads * self.thread_bytes_per_s * reads,
            self.copy_bytes_per_s * copies,
        )
        if threads + copy <= self.memory_bytes_per_s:
            return threads, copy
        fair = self.memory_bytes_per_s / (self.threads + copies)
        copy = min(copy, max(fair, self.memory_bytes_per_s - threads))
        return min(threads, self.memory_bytes_per_s - copy), copy

    def _moved(self, nonzeros: Int64Array) -> int:
        """Return the bytes that rows and their results are."""
        results = len(nonzeros) * self.costs.result_bytes
        return int(nonzeros.sum()) * self.costs.nonzero_bytes + results

    def _phases(self, nonzeros: Int64Array) -> Iterator[tuple[float, float]]:
        """Yield what the device does with rows: seconds without copies, then bytes of a copy."""
        if len(nonzeros):
            kernel_s = self.launch_s + self.costs.on_gpu(nonzeros) / self.gpu_ops_per_s
            yield self.copy_s, float(int(nonzeros.sum()) * self.costs.nonzero_bytes)
            yield kernel_s + self.copy_s, float(len(nonzeros) * self.costs.result_bytes)


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
    machine, worker = view.machine, sides.devices[0]
    cpu, gpu = group_of_worker(view, sides.cpu[0]), group_of_worker(view, worker)
    home = int(view.worker_domain[sides.cpu[0]])
    copy_s, copy_bytes_per_s = host_path(machine, int(view.worker_domain[worker]))
    return Devices(
        costs,
        cpu_ops_per_s=cpu.ops_per_s * len(sides.cpu),
        gpu_ops_per_s=gpu.ops_per_s,
        threads=len(sides.cpu),
        launch_s=machine.costs.kernel_launch_ps * PER_PS,
        copy_s=copy_s,
        memory_bytes_per_s=machine.nodes[nearest_host(machine, home)].bandwidth_bytes_per_s,
        thread_bytes_per_s=host_path(machine, home)[1],
        copy_bytes_per_s=copy_bytes_per_s,
    )


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
