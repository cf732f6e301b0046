"""Spatial sharing of a GPU: disjoint multiprocessors, or kernels side by side in each of them.

All of these need hardware that hands out multiprocessors (SMs). A kernel that fills a part `o` of
the device when it is alone, and gets a part `s` of it, takes up ``min(o, s)`` and is slower by the
factor ``max(1, o / s)``: its thread blocks run in more rounds. Critical and batch kernels have a
part of the device each, in which they are executed in the order of their submission as under MPS.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simsched.policy.accelerator import (
    FIRST,
    FULL,
    GROUPS,
    QUEUE,
    AcceleratorPolicy,
    Layout,
    lay_out,
)
from simsched.policy.base import Device, Plan, View, param
from simsched.policy.registry import preset, register
from simsched.workload.graph import TaskGraph, Workload

MULTIPROCESSORS = 15
CONTEXT_BYTES = 64 * 1024 * 4 + 48 * 1024  #: registers and shared memory of an SM
BLOCKS = 16  #: thread blocks that an SM holds
MEMORY_BYTES_PER_S = 288e9


@dataclass(frozen=True, kw_only=True)
class PartitionedPolicy(AcceleratorPolicy):
    """Base of policies that give critical kernels a part of the device and the rest to batch."""

    def shares(self, view: View, layout: Layout, graph: TaskGraph) -> tuple[float, float]:
        """Return the parts of the device for critical kernels and for batch kernels."""
        raise NotImplementedError

    def switch_s(self) -> float:
        """Return what a critical kernel waits for the context of batch kernels that make room."""
        return 0.0

    def prepare(self, view: View) -> Workload:
        """Return the program with kernels as their part of the device executes them."""
        workload, graph = view.workload, view.workload.graph
        if workload.applications is None or graph.occupancy is None:
            return workload
        layout = lay_out(view, graph)
        ops, taken = graph.ops.copy(), graph.occupancy.astype(np.float64)
        row = graph.kinds.index("gpu")
        critical = layout.is_kernel & layout.is_critical
        batch = layout.is_kernel & ~layout.is_critical
        for mine, share in zip((critical, batch), self.shares(view, layout, graph), strict=True):
            wanted = taken[mine] / max(share, 1e-3)
            ops[row, mine] *= np.maximum(1.0, wanted / FULL)
            taken[mine] = np.minimum(FULL, np.ceil(wanted))
        if batch.any():
            ops[row, critical] += self.switch_s() * ops_per_s(view, "gpu")
        changed = replace(graph, ops=ops, occupancy=taken.astype(np.int32))
        return replace(workload, graph=changed)

    def plan(self, view: View, state: Any, graph: TaskGraph) -> Plan:
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
class SpatialQos(PartitionedPolicy):
    """A part of the multiprocessors that the programmer chooses belongs to critical kernels.

    Parameters
    ----------
    critical_share : float
        That part.

    Notes
    -----
    The source says in a sentence that the programmer chooses; half is the default here.

    References
    ----------
    P. Aguilera et al., as described by Q. Chen, M. Guo, *Task Scheduling for Multi-core and
    Parallel Architectures*, Springer 2017, section 8.2.2.
    """

    critical_share: float = param(0.5, low=0.01, high=0.99)

    def shares(self, view: View, layout: Layout, graph: TaskGraph) -> tuple[float, float]:
        """Return the chosen share and the rest."""
        return self.critical_share, 1.0 - self.critical_share


def ops_per_s(view: View, kind: str) -> float:
    """Return the speed of the fastest processor of a kind; 0 where the machine has none."""
    machine = view.machine
    groups = {int(machine.core_group[c]) for c in machine.thread_core[view.worker_thread]}
    of_kind = [machine.core_groups[group] for group in groups]
    return max((group.ops_per_s for group in of_kind if group.kind == kind), default=0.0)


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
class SpatialPartitioning(PartitionedPolicy):
    """Two kernels split the multiprocessors evenly; whole multiprocessors are preempted.

    Notes
    -----
    A critical kernel waits until the context of the multiprocessors that it gets, 8 of 15, has been
    saved: registers and shared memory, 304 KiB each, at the bandwidth of the device memory. Without
    batch kernels there is nothing to save, and critical ones have all multiprocessors, as batch
    kernels have without critical ones. Shares do not change during a run: that no batch kernel runs
    when a critical one begins makes no difference.

    References
    ----------
    I. Tanasic et al., as described by Q. Chen, M. Guo, *Task Scheduling for Multi-core and Parallel
    Architectures*, Springer 2017, section 8.2.3.
    """

    def shares(self, view: View, layout: Layout, graph: TaskGraph) -> tuple[float, float]:
        """Return equal shares, or everything where one side has no kernels."""
        critical = layout.is_critical[layout.is_kernel]
        return (0.5, 0.5) if critical.any() and not critical.all() else (1.0, 1.0)

    def switch_s(self) -> float:
        """Return the time to save half of the multiprocessors, whole ones."""
        return switch_time_s(CONTEXT_BYTES, math.ceil(MULTIPROCESSORS / 2))


def drf_partition(
    demands: Sequence[Sequence[float]], capacity: Sequence[float], most: Sequence[int] = ()
) -> list[int]:
    """Return the thread blocks of each kernel in a multiprocessor, by dominant resource fairness.

    Parameters
    ----------
    demands : sequence of sequence of float
        What a block of each kernel takes of each resource.
    capacity : sequence of float
        What a multiprocessor has of each.
    most : sequence of int
        Blocks that each kernel has when it is alone; empty for any number.

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
class SimultaneousMultiKernel(PartitionedPolicy):
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
    kernel. A critical kernel waits until the context of one thread block of each multiprocessor has
    been saved (partial context switching), unless there are no batch kernels. With quotas that sum
    to more than 1 all kernels are slower by that factor. The source gives neither resources of
    kernels nor epochs, which are too short to be seen here.

    References
    ----------
    Z. Wang et al., as described by Q. Chen, M. Guo, *Task Scheduling for Multi-core and Parallel
    Architectures*, Springer 2017, section 8.2.3.
    """

    allocation: str = param("drf", choices=("drf", "wq"))
    compute_share: float = param(0.6, low=0.01, high=1.0)

    def shares(self, view: View, layout: Layout, graph: TaskGraph) -> tuple[float, float]:
        """Return what the partition of thread blocks gives to both sides."""
        assert graph.occupancy is not None
        kernels = [layout.is_kernel & side for side in (layout.is_critical, ~layout.is_critical)]
        wanted = [int(graph.occupancy[mine].max(initial=0)) for mine in kernels]
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


preset("smk_wq", SimultaneousMultiKernel, "SMK with warp quotas.", allocation="wq")
