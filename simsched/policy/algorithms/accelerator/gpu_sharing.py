"""Spatial sharing of a GPU: disjoint multiprocessors, or kernels side by side in each of them.

All of these need hardware that hands out multiprocessors (SMs). Critical and batch kernels have a
part of the device each, in which they are executed in the order of their submission as under MPS.
Kernels that fill a part `o` of the device when they are alone, and get a part `s` of it, are slower
by the factor ``max(1, o / s)``: their thread blocks run in more rounds. The part is fixed
(`spatial_qos`), or the whole device while the other side runs nothing (`spart`, `smk`).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from simsched.policy.algorithms.accelerator.accelerator import (
    FIRST,
    FULL,
    GROUPS,
    QUEUE,
    AcceleratorPolicy,
    Layout,
    lay_out,
)
from simsched.policy.contract.base import Device, HookView, Pace, Plan, PlanView, S, param
from simsched.policy.contract.registry import preset, register
from simsched.policy.parts.schedules import worker_rows
from simsched.workload.graph import TaskGraph, Workload

MULTIPROCESSORS = 15
CONTEXT_BYTES = 64 * 1024 * 4 + 48 * 1024  #: registers and shared memory of an SM
BLOCKS = 16  #: thread blocks that an SM holds
MEMORY_BYTES_PER_S = 288e9


@dataclass(frozen=True, kw_only=True)
class PartitionedPolicy(AcceleratorPolicy[S]):
    """Base of policies that give critical kernels a part of the device and the rest to batch."""

    def shares(self, view: PlanView, layout: Layout, graph: TaskGraph) -> tuple[float, float]:
        """Return the parts of the device for critical kernels and for batch kernels."""
        raise NotImplementedError

    def plan(self, view: PlanView, state: S, graph: TaskGraph) -> Plan:
        """Return the plan of the base class with a device for each part."""
        plan = super().plan(view, state, graph)
        groups = list(GROUPS)
        groups[FIRST] = replace(groups[FIRST], device="critical")
        devices = (*plan.devices, Device("critical", plan.devices[0].capacity))
        return replace(plan, pool_groups=tuple(groups), devices=devices)

    def groups(self, layout: Layout) -> NDArray[np.int8]:
        """Return the group of each task: critical kernels have a part of their own."""
        return np.where(layout.is_kernel & layout.is_critical, FIRST, QUEUE).astype(np.int8)


@register("spatial_qos")
@dataclass(frozen=True, kw_only=True)
class SpatialQos(PartitionedPolicy[None]):
    """A part of the multiprocessors that the programmer chooses belongs to critical kernels.

    Parameters
    ----------
    critical_share : float
        That part.

    Notes
    -----
    The source says in a sentence that the programmer chooses; half is the default here. The share
    is fixed for a run: what one side leaves idle is not lent to the other, so that without queries
    batch kernels are as slow as beside them. ``batch_utilization_percent`` does not show that: it
    counts the time in which a batch kernel runs, on however small a part of the device.

    References
    ----------
    P. Aguilera et al., as described by Q. Chen, M. Guo, *Task Scheduling for Multi-core and
    Parallel Architectures*, Springer 2017, section 8.2.2.
    """

    critical_share: float = param(0.5, low=0.01, high=0.99)

    def prepare(self, view: PlanView) -> Workload:
        """Return the program with kernels as their part of the device executes them."""
        workload, graph = view.workload, view.workload.graph
        if workload.applications is None or graph.occupancy is None:
            return workload
        layout = lay_out(view, graph)
        ops, taken = graph.ops.copy(), graph.occupancy.astype(np.float64)
        row = graph.kinds.index("gpu")
        for mine, share in zip(sides(layout), self.shares(view, layout, graph), strict=True):
            wanted = taken[mine] / max(share, 1e-3)
            ops[row, mine] *= np.maximum(1.0, wanted / FULL)
            taken[mine] = np.minimum(FULL, np.ceil(wanted))
        changed = replace(graph, ops=ops, occupancy=taken.astype(np.int32))
        return replace(workload, graph=changed)

    def shares(self, view: PlanView, layout: Layout, graph: TaskGraph) -> tuple[float, float]:
        """Return the chosen share and the rest."""
        return self.critical_share, 1.0 - self.critical_share


def sides(layout: Layout) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Return which tasks are critical kernels, and which are batch kernels."""
    critical: NDArray[np.bool_] = layout.is_kernel & layout.is_critical
    return critical, layout.is_kernel & ~critical


@dataclass
class Neighbours:
    """What kernels run beside each other on a device whose sides make room for each other."""

    #: shape (n_tasks,): 0 for critical kernels, 1 for batch kernels, -1 for other tasks
    side: NDArray[np.int8] = field(default_factory=lambda: np.zeros(0, np.int8))
    #: shape (n_tasks,): part of the device that each kernel fills when it is alone
    filled: NDArray[np.float64] = field(default_factory=lambda: np.zeros(0))
    #: parts of the device for critical and for batch kernels while both run
    shares: tuple[float, float] = (1.0, 1.0)
    running: dict[int, int] = field(default_factory=dict)  # kernel that each busy worker executes
    #: part of its speed at which each worker computes, unless that is 1
    pace: dict[int, float] = field(default_factory=dict)

    def paces(self) -> Iterator[Pace]:
        """Yield the paces that have changed."""
        wanted = [0.0, 0.0]
        for task in self.running.values():
            wanted[self.side[task]] += float(self.filled[task])
        parts = [1.0, 1.0]
        if all(wanted):
            parts = [min(1.0, s / w) for s, w in zip(self.shares, wanted, strict=True)]
        for worker, task in self.running.items():
            part = parts[self.side[task]]
            if self.pace.get(worker, 1.0) != part:
                self.pace[worker] = part
                yield Pace(worker, part)


@dataclass(frozen=True, kw_only=True)
class CoRunningPolicy(PartitionedPolicy[Neighbours]):
    """Base of policies whose batch kernels make room when critical ones come, and get it back."""

    def switch_s(self) -> float:
        """Return what a critical kernel waits for the context of batch kernels that make room."""
        raise NotImplementedError

    def prepare(self, view: PlanView) -> Workload:
        """Return the program whose critical kernels wait for contexts, beside batch kernels."""
        workload, graph = view.workload, view.workload.graph
        if workload.applications is None:
            return workload
        critical, batch = sides(lay_out(view, graph))
        if not batch.any():
            return workload
        ops = graph.ops.copy()
        ops[graph.kinds.index("gpu"), critical] += self.switch_s() * ops_per_s(view, "gpu")
        return replace(workload, graph=replace(graph, ops=ops))

    def start(self, view: PlanView) -> Neighbours:
        """Return the state of a run, in which no kernel runs."""
        return Neighbours()

    def plan(self, view: PlanView, state: Neighbours, graph: TaskGraph) -> Plan:
        """Return the plan of the base class; note what kernels fill."""
        layout = lay_out(view, graph)
        critical, batch = sides(layout)
        state.side = np.select([critical, batch], [0, 1], -1).astype(np.int8)
        if layout.applications is None or graph.occupancy is None:
            state.side[:] = -1
        else:
            state.filled = np.maximum(graph.occupancy, 1) / FULL
            state.shares = self.shares(view, layout, graph)
        return super().plan(view, state, graph)

    def on_start(
        self, view: HookView, state: Neighbours, task: int, worker: int
    ) -> tuple[Pace, ...]:
        """Let a kernel begin beside those that run."""
        if state.side[task] < 0:
            return ()
        state.running[worker] = task
        return tuple(state.paces())

    def on_finish(
        self, view: HookView, state: Neighbours, task: int, worker: int
    ) -> tuple[Pace, ...] | None:
        """Give the others what a kernel had; its worker is at full speed for other tasks."""
        if state.running.pop(worker, None) is None:
            return None
        mine = (Pace(worker, 1.0),) if state.pace.pop(worker, 1.0) != 1.0 else ()
        return *mine, *state.paces()


def ops_per_s(view: PlanView, kind: str) -> float:
    """Return the speed of the fastest processor of a kind; 0 where the machine has none."""
    groups, _ = worker_rows(view)
    return max((group.ops_per_s for group in groups if group.kind == kind), default=0.0)


def switch_time_s(context_bytes: float, multiprocessors: int) -> float:
    """Return how long it takes when so many multiprocessors save a context each at once.

    Examples
    --------
    >>> round(switch_time_s(CONTEXT_BYTES, 8) * 1e6, 3)  # 8 * 304 KiB at 288 GB/s, in us
    8.647
    """
    return context_bytes * multiprocessors / MEMORY_BYTES_PER_S


@register("spart")
@dataclass(frozen=True, kw_only=True)
class SpatialPartitioning(CoRunningPolicy):
    """Two kernels split the multiprocessors evenly; whole multiprocessors are preempted.

    Notes
    -----
    A critical kernel waits until the context of the multiprocessors that it gets, 8 of 15, has been
    saved: registers and shared memory, 304 KiB each, at the bandwidth of the device memory. That is
    so in every program with batch kernels; that none runs when a critical one begins makes no
    difference. While only one side runs kernels it has all multiprocessors, which is why the other
    has to preempt some; what is given back takes no time. Several kernels of a side share its half.

    References
    ----------
    I. Tanasic et al., as described by Q. Chen, M. Guo, *Task Scheduling for Multi-core and Parallel
    Architectures*, Springer 2017, section 8.2.3.
    """

    def shares(self, view: PlanView, layout: Layout, graph: TaskGraph) -> tuple[float, float]:
        """Return equal shares."""
        return 0.5, 0.5

    def switch_s(self) -> float:
        """Return the time to save half of the multiprocessors, whole ones."""
        return switch_time_s(CONTEXT_BYTES, math.ceil(MULTIPROCESSORS / 2))


def drf_partition(
    demands: Sequence[Sequence[float]], capacity: Sequence[float], most: Sequence[int] = ()
) -> list[int]:
    """Return the thread blocks of each kernel in a multiprocessor, by dominant resource fairness.

    Notes
    -----
    One block more goes to the kernel with the smallest dominant share for which one still fits, of
    equal ones to the first.

    Examples
    --------
    >>> drf_partition([[1.0, 4.0], [3.0, 1.0]], [9.0, 18.0])
    [3, 2]
    """
    blocks, used = [0] * len(demands), [0.0] * len(capacity)

    def share(kernel: int) -> float:
        parts = zip(demands[kernel], capacity, strict=True)
        return blocks[kernel] * max(wanted / total for wanted, total in parts)

    while True:
        fitting = [
            k
            for k, wanted in enumerate(demands)
            if any(wanted)
            and not (most and blocks[k] >= most[k])
            and all(u + w <= c for u, w, c in zip(used, wanted, capacity, strict=True))
        ]
        if not fitting:
            return blocks
        chosen = min(fitting, key=share)
        blocks[chosen] += 1
        used = [u + w for u, w in zip(used, demands[chosen], strict=True)]


def warp_quota(compute_share: float, blocks: int, alone_blocks: int) -> float:
    """Return the part of the instruction issues that a kernel gets in an epoch.

    Examples
    --------
    >>> warp_quota(0.6, 4, 8)
    0.3
    """
    return compute_share * blocks / alone_blocks


@register("smk")
@dataclass(frozen=True, kw_only=True)
class SimultaneousMultiKernel(CoRunningPolicy):
    """Kernels run side by side inside each multiprocessor.

    Parameters
    ----------
    allocation : {"drf", "wq"}
        Thread blocks by dominant resource fairness; also instruction issues by warp quotas.
    compute_share : float
        Part of the issue cycles that a kernel needs when it is alone.

    Notes
    -----
    The dominant share of a kernel that has a multiprocessor to itself is its occupancy, that of a
    block a sixteenth of it. The parts are those of the largest critical and the largest batch
    kernel; they hold while kernels of both sides run, and one side alone has the whole device:
    thread blocks of a running kernel are saved when another kernel comes. What is given back takes
    no time. A critical kernel waits until the context of one thread block of each multiprocessor
    has been saved (partial context switching), unless the program has no batch kernels. With quotas
    that sum to more than 1 the kernels of both sides are slower by that factor. The source gives
    neither resources of kernels nor epochs, which are too short to be seen here.

    References
    ----------
    Z. Wang et al., as described by Q. Chen, M. Guo, *Task Scheduling for Multi-core and Parallel
    Architectures*, Springer 2017, section 8.2.3.
    """

    allocation: str = param("drf", choices=("drf", "wq"))
    compute_share: float = param(0.6, low=0.01, high=1.0)

    def shares(self, view: PlanView, layout: Layout, graph: TaskGraph) -> tuple[float, float]:
        """Return what the partition of thread blocks gives to both sides."""
        assert graph.occupancy is not None
        kernels = [layout.is_kernel & side for side in (layout.is_critical, ~layout.is_critical)]
        filled = np.maximum(graph.occupancy, 1)
        wanted = [int(filled[mine].max(initial=0)) for mine in kernels]
        demands = [[o / BLOCKS] for o in wanted]
        blocks = drf_partition(demands, [float(FULL)], [BLOCKS] * len(demands))
        slower = 1.0
        if self.allocation == "wq":
            quotas = [warp_quota(self.compute_share, n, BLOCKS) for n in blocks]
            slower = max(1.0, math.fsum(quotas))
        parts = [o * n / (BLOCKS * FULL * slower) for o, n in zip(wanted, blocks, strict=True)]
        return parts[0], parts[1]

    def switch_s(self) -> float:
        """Return the time to save one thread block per multiprocessor."""
        return switch_time_s(CONTEXT_BYTES / BLOCKS, MULTIPROCESSORS)


preset(
    "smk_drf",
    SimultaneousMultiKernel,
    "SMK with thread blocks by dominant resource fairness, without warp quotas.",
    allocation="drf",
)
preset("smk_wq", SimultaneousMultiKernel, "SMK with warp quotas.", allocation="wq")
