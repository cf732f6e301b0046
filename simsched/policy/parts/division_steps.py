"""Steps of a divided loop: who executes which part, and the program whose iterations they are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simsched.files.errors import ModelError
from simsched.files.units import PER_PS
from simsched.machine.model import CoreGroup
from simsched.policy.contract.base import PlanView
from simsched.workload.builder import accesses, adjacency, build_graph
from simsched.workload.division import Division, divided
from simsched.workload.graph import TaskGraph, Workload

CPU = "cpu"
CLASSES = ("cpu_part", "copy_in", "kernel", "copy_out")
CPU_PART, COPY_IN, KERNEL, COPY_OUT = range(4)


@dataclass(frozen=True)
class Sides:
    """Who executes the parts of a step."""

    #: workers that share the processor's part, part 0; empty when there are none
    cpu: tuple[int, ...]
    devices: tuple[int, ...]  # worker of each device; a part each, after that of the processor

    @property
    def n_parts(self) -> int:
        return bool(self.cpu) + len(self.devices)

    @property
    def first_device(self) -> int:
        """Part of the first device."""
        return int(bool(self.cpu))


def is_loop(program: Workload) -> bool:
    """Return whether a program with divisible work can be divided anywhere.

    Its parts are then independent tasks, all with the same costs per unit.
    """
    graph, division = program.graph, program.division
    assert division is not None
    if not np.array_equal(division.part, np.arange(graph.n_tasks)) or len(graph.succ):
        return False
    span = np.diff(graph.access_ptr)
    by_part = [division.fixed_ops, division.unit_ops, division.least_units, span[None]]
    if not all((costs == costs[:, :1]).all() for costs in by_part):
        return False
    return all((each == each[:1]).all() for each in _of_parts(graph, division))


def _of_parts(graph: TaskGraph, division: Division) -> list[NDArray[Any]]:
    """Return blocks, bytes read and bytes written by part and access; each part has as many."""
    columns = (graph.access_block, division.unit_read_bytes, division.unit_written_bytes)
    return [np.asarray(column).reshape(graph.n_tasks, -1) for column in columns]


def group_of_worker(view: PlanView, worker: int) -> CoreGroup:
    """Return the kind of core on which a worker runs."""
    return view.machine.core_groups[int(view.machine.thread_group[view.worker_thread[worker]])]


def sides_of(view: PlanView, threads: int) -> Sides:
    """Return who takes part in steps."""
    cpu = [w for w in range(view.n_workers) if group_of_worker(view, w).kind == CPU]
    cores = view.machine.thread_core[view.worker_thread[cpu]].tolist()
    rank = [cores[:i].count(core) for i, core in enumerate(cores)]
    count = threads or len(set(cores))
    chosen = sorted(sorted(range(len(cpu)), key=lambda i: (rank[i], i))[:count])
    devices = [w for w in range(view.n_workers) if group_of_worker(view, w).kind != CPU]
    return Sides(tuple(cpu[i] for i in chosen), tuple(devices))


@dataclass(frozen=True, eq=False)
class _Row:
    """A task of a step: its part, class, kind of processor, and what a unit costs there."""

    part: int
    task_class: int
    kind: int
    fixed_ops: float = 0.0
    unit_ops: float = 0.0
    least_units: float = 0.0
    reads: float = 0.0  # share of the bytes that a unit reads
    writes: float = 0.0


def step_program(view: PlanView, threads: int) -> Workload:
    """Return the program whose iterations are steps.

    The processor's part is a task for each of its threads, with equal shares of the part. The part
    of a device copies its input from main memory, runs the kernel, with the machine's cost of a
    launch, and copies the output back. A copy reads or writes main memory over the link of the
    device.
    """
    program, sides = view.workload, sides_of(view, threads)
    graph, loop = program.graph, program.division
    assert loop is not None
    if not is_loop(program):
        raise ModelError(
            f"workload {program.name}: found parts that differ, accepted a loop: independent "
            "chunks with the same costs per unit"
        )
    fixed_ops, unit_ops, least_units = (
        costs[:, 0].tolist() for costs in (loop.fixed_ops, loop.unit_ops, loop.least_units)
    )
    rows = []
    for _ in sides.cpu:
        kind, count = graph.kinds.index(CPU), len(sides.cpu)
        costs = fixed_ops[kind], unit_ops[kind] / count, least_units[kind]
        rows.append(_Row(0, CPU_PART, kind, *costs, 1 / count, 1 / count))
    for part, worker in enumerate(sides.devices, start=sides.first_device):
        group = group_of_worker(view, worker)
        kind = graph.kinds.index(group.kind)
        launch = view.machine.costs.kernel_launch_ps * PER_PS * group.ops_per_s
        costs = fixed_ops[kind] + launch, unit_ops[kind], least_units[kind]
        rows.append(_Row(part, COPY_IN, kind, reads=1.0))
        rows.append(_Row(part, KERNEL, kind, *costs))
        rows.append(_Row(part, COPY_OUT, kind, writes=1.0))
    step, division = _assembled(graph, loop, rows)
    whole = divided(step, division, division.equal_shares())
    parameters = program.parameters
    return Workload(
        program.name, whole, program.iterations, parameters=parameters, division=division
    )


def _assembled(graph: TaskGraph, loop: Division, rows: list[_Row]) -> tuple[TaskGraph, Division]:
    """Return the tasks of a step, and how many units of the loop each of them gets."""
    n, n_kinds = len(rows), len(graph.kinds)
    fixed = np.full((n_kinds, n), np.inf)
    unit, least = np.zeros((n_kinds, n)), np.zeros((n_kinds, n))
    for task, row in enumerate(rows):
        fixed[row.kind, task], unit[row.kind, task] = row.fixed_ops, row.unit_ops
        least[row.kind, task] = row.least_units
    block, read_bytes, written_bytes = (column[0] for column in _of_parts(graph, loop))
    read = np.outer([row.reads for row in rows], read_bytes)
    written = np.outer([row.writes for row in rows], written_bytes)
    owner, access = np.nonzero((read != 0.0) | (written != 0.0))
    before = [t for t, row in enumerate(rows) if row.task_class in (COPY_IN, KERNEL)]
    step = build_graph(
        np.zeros((n_kinds, n)),
        kinds=graph.kinds,
        task_class=[row.task_class for row in rows],
        class_names=CLASSES,
        successors=adjacency(before, [task + 1 for task in before], n),
        accessed=accesses(owner, block[access], 0, 0, n),
        block_bytes=graph.block_bytes,
    )
    division = Division(
        units=loop.units,
        part=np.array([row.part for row in rows], np.int32),
        fixed_ops=fixed,
        unit_ops=unit,
        unit_read_bytes=read[owner, access],
        unit_written_bytes=written[owner, access],
        least_units=least,
    )
    return step, division
