"""What schedulers have in common that divide a loop between a processor and its devices.

A *step* gives some iterations of the loop to the processor and others to each device, at the same
time, and waits for all of them. It is one iteration of the run.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simsched.files.errors import ModelError
from simsched.machine.model import CoreGroup
from simsched.policy.contract.base import (
    Counters,
    Plan,
    PlanView,
    Update,
    param,
    seconds_to_ps,
)
from simsched.policy.parts.central_queue import central_queue
from simsched.policy.parts.placement import PlacedPolicy
from simsched.policy.parts.static_order import own_lists
from simsched.workload.builder import accesses, adjacency, build_graph
from simsched.workload.division import Division, divided
from simsched.workload.graph import (
    BoolArray,
    FloatArray,
    Int32Array,
    Int64Array,
    TaskGraph,
    Workload,
)

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


@dataclass(frozen=True, eq=False)
class Loop:
    """A loop that can be divided anywhere: what an iteration costs."""

    units: int  # iterations
    kinds: tuple[str, ...]  # processor kinds, in the order of the costs
    fixed_ops: FloatArray  # shape (n_kinds,): as for :class:`~simsched.workload.division.Division`
    unit_ops: FloatArray
    least_units: FloatArray
    block: Int32Array  # shape (n_accesses,): blocks that an iteration accesses
    read_bytes: FloatArray  # shape (n_accesses,): bytes per iteration
    written_bytes: FloatArray


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


def loop_of(program: Workload) -> Loop:
    """Return the loop that a program with divisible work is."""
    graph, division = program.graph, program.division
    assert division is not None
    if not is_loop(program):
        raise ModelError(
            f"workload {program.name}: found parts that differ, accepted a loop: independent "
            "chunks with the same costs per unit"
        )
    return Loop(
        division.units,
        graph.kinds,
        division.fixed_ops[:, 0],
        division.unit_ops[:, 0],
        division.least_units[:, 0],
        *(column[0] for column in _of_parts(graph, division)),
    )


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
    program, loop, sides = view.workload, loop_of(view.workload), sides_of(view, threads)
    rows = []
    for _ in sides.cpu:
        kind, count = loop.kinds.index(CPU), len(sides.cpu)
        cost = float(loop.unit_ops[kind]) / count
        fixed, least = float(loop.fixed_ops[kind]), float(loop.least_units[kind])
        rows.append(_Row(0, CPU_PART, kind, fixed, cost, least, 1 / count, 1 / count))
    for part, worker in enumerate(sides.devices, start=sides.first_device):
        group = group_of_worker(view, worker)
        kind = loop.kinds.index(group.kind)
        launch = view.machine.costs.kernel_launch_ps * 1e-12 * group.ops_per_s
        fixed, least = float(loop.fixed_ops[kind]) + launch, float(loop.least_units[kind])
        rows.append(_Row(part, COPY_IN, kind, reads=1.0))
        rows.append(_Row(part, KERNEL, kind, fixed, float(loop.unit_ops[kind]), least))
        rows.append(_Row(part, COPY_OUT, kind, writes=1.0))
    graph, division = _assembled(program.graph, loop, rows)
    whole = divided(graph, division, division.equal_shares())
    parameters = program.parameters
    return Workload(
        program.name, whole, program.iterations, parameters=parameters, division=division
    )


def _assembled(graph: TaskGraph, loop: Loop, rows: list[_Row]) -> tuple[TaskGraph, Division]:
    n, n_kinds = len(rows), len(loop.kinds)
    fixed, unit, least = (
        np.full((n_kinds, n), np.inf),
        np.zeros((n_kinds, n)),
        np.zeros((n_kinds, n)),
    )
    owner, block, read, written = [], [], [], []
    for task, row in enumerate(rows):
        fixed[row.kind, task], unit[row.kind, task] = row.fixed_ops, row.unit_ops
        least[row.kind, task] = row.least_units
        for access in range(len(loop.block)):
            moved = loop.read_bytes[access] * row.reads, loop.written_bytes[access] * row.writes
            if any(moved):
                owner.append(task)
                block.append(int(loop.block[access]))
                read.append(moved[0])
                written.append(moved[1])
    before = [t for t, row in enumerate(rows) if row.task_class in (COPY_IN, KERNEL)]
    step = build_graph(
        np.zeros((n_kinds, n)),
        kinds=loop.kinds,
        task_class=[row.task_class for row in rows],
        class_names=CLASSES,
        successors=adjacency(before, [task + 1 for task in before], n),
        accessed=accesses(owner, block, 0, 0, n),
        block_bytes=graph.block_bytes,
    )
    division = Division(
        units=loop.units,
        part=np.array([row.part for row in rows], np.int32),
        fixed_ops=fixed,
        unit_ops=unit,
        unit_read_bytes=np.array(read, np.float64),
        unit_written_bytes=np.array(written, np.float64),
        least_units=least,
    )
    return step, division


def rounded(shares: FloatArray, count: int) -> Int64Array:
    """Return whole units by shares: rounded for the parts after the first, which gets the rest.

    >>> rounded(np.array([0.5, 0.5]), 513).tolist()
    [256, 257]
    """
    units = np.zeros(len(shares), np.int64)
    left = count
    for part in range(1, len(shares)):
        units[part] = min(left, int(np.floor(shares[part] * count + 0.5)))
        left -= int(units[part])
    units[0] = left
    return units


def first_fraction(units: int, fraction: float, least: int) -> int:
    """Return a part of all units, at least as many as `least` as far as there are as many."""
    return min(units, max(least, round(fraction * units)))


def with_unmeasured(units: Int64Array, unmeasured: BoolArray) -> Int64Array:
    """Return a step in which parts whose speed is not known have a unit each.

    Each unit comes from the part that has most to spare, the first of several; a part that needs
    one keeps its last. In a step with fewer units than such parts some remain without.

    >>> with_unmeasured(np.array([0, 3, 5]), np.array([True, True, False])).tolist()
    [1, 3, 4]
    >>> with_unmeasured(np.array([0, 1]), np.array([True, True])).tolist()
    [0, 1]
    """
    found, keeps = units.copy(), unmeasured.astype(np.int64)
    for part in np.flatnonzero(unmeasured & (units == 0)).tolist():
        giver = int((found - keeps).argmax())
        if found[giver] <= keeps[giver]:
            break
        found[giver] -= 1
        found[part] += 1
    return found


@dataclass(eq=False)
class DivisionState:
    """What a dividing policy remembers."""

    sides: Sides  # who takes part
    shares: FloatArray  # shape (n_parts,): shares of the parts in the present step
    #: shape (n_parts,): units per second of each part when it last had work; 0 before
    rate: FloatArray
    step: int = 0  # units of the present step

    @property
    def unmeasured(self) -> BoolArray:
        """Which parts have a share but no measured speed yet; shape (n_parts,)."""
        missing: BoolArray = (self.shares > 0.0) & (self.rate == 0.0)
        return missing


@dataclass(frozen=True, kw_only=True)
class DividingPolicy(PlacedPolicy[DivisionState]):
    """Base of policies that divide a loop between a processor and its devices.

    Parameters
    ----------
    threads : int
        Threads that share the processor's part; 0 for one per core.
    decision_s : float
        Time in seconds that the scheduler needs between two steps.
    """

    threads: int = param(1, low=0)
    decision_s: float = param(1e-6, low=0.0, high=1e6)

    def prepare(self, view: PlanView) -> Workload:
        """Return the program as steps; one without divisible work as it is."""
        if view.workload.division is None:
            return view.workload
        return step_program(view, self.threads)

    def start(self, view: PlanView) -> DivisionState:
        sides = sides_of(view, self.threads)
        return DivisionState(sides, device_shares(sides, 0.5), np.zeros(sides.n_parts))

    def plan(self, view: PlanView, state: DivisionState, graph: TaskGraph) -> Plan:
        if view.workload.division is None:
            return central_queue(graph)
        workers = list(state.sides.cpu)
        workers += [device for device in state.sides.devices for _ in (COPY_IN, KERNEL, COPY_OUT)]
        return own_lists(
            np.array(workers, np.int32),
            active_workers=np.isin(np.arange(view.n_workers), workers),
        )

    def on_iteration(
        self, view: PlanView, state: DivisionState, counters: Counters
    ) -> Update | None:
        """Return the time that the scheduler needs."""
        return (
            None
            if view.workload.division is None
            else Update(overhead_ps=seconds_to_ps(self.decision_s))
        )


def device_shares(sides: Sides, share: float) -> FloatArray:
    """Return the shares of the parts when the devices together get `share`, equal parts each."""
    if not sides.devices or not sides.cpu:
        return np.full(sides.n_parts, 1.0 / sides.n_parts)
    each = share / len(sides.devices)
    return np.array([1.0 - share] + [each] * len(sides.devices))


@dataclass(frozen=True, kw_only=True)
class MeasuringPolicy(DividingPolicy):
    """Base of dividing policies that follow the measured speeds of the parts.

    Parameters
    ----------
    initial_share : float
        Share of the devices in the first step; with 0 or 1 one side never has work.
    timer_noise : float
        Standard deviation of measured times, relative to the times.

    Notes
    -----
    A speed is measured where a part has had work; as long as some part that has a share has not
    been measured, shares stay as they are. Readings: docs/sources/hats.md.
    """

    initial_share: float = param(0.5, low=0.0, high=1.0)
    timer_noise: float = param(0.0, low=0.0, high=1.0)

    def divide(
        self, view: PlanView, state: DivisionState, remaining: int, counters: Counters | None
    ) -> Int64Array:
        """Return the first step of an invocation or, with new shares, the next one."""
        division = view.workload.division
        assert division is not None
        if counters is None or remaining == division.units:
            state.shares = device_shares(state.sides, self.initial_share)
            state.rate[:] = 0.0
            return self.give(state, self.first_step(state, remaining))
        shares = self.follow(view, state, counters)
        return self.give(state, self.next_step(state, remaining, shares))

    def first_step(self, state: DivisionState, units: int) -> int:
        """Return the size of the first step of an invocation."""
        raise NotImplementedError

    def next_step(self, state: DivisionState, remaining: int, shares: FloatArray) -> int:
        """Take over new shares and return the size of the next step."""
        raise NotImplementedError

    def give(self, state: DivisionState, count: int) -> Int64Array:
        """Return a step of `count` units by the present shares, and remember its size."""
        state.step = count
        return with_unmeasured(rounded(state.shares, count), state.unmeasured)

    def follow(self, view: PlanView, state: DivisionState, counters: Counters) -> FloatArray:
        """Return new shares, in proportion to the speeds of the step that has just ended.

        Speeds are units per second, ``r_p = n_p / T_p``; new shares ``r_p / sum r``. A part that
        had no units keeps the speed that it had before; shares remain until the speed of every part
        that has a share is known.
        """
        time = counters.part_s
        if self.timer_noise > 0.0:
            factor = 1.0 + self.timer_noise * view.rng.standard_normal(len(time))
            time = time * np.maximum(factor, 0.01)
        had = counters.part_units > 0
        state.rate[had] = counters.part_units[had] / np.maximum(time[had], 1e-12)
        if state.unmeasured.any():
            return state.shares
        total = 0.0
        for rate in state.rate.tolist():
            total += rate
        return state.rate / total
