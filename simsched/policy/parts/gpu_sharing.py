"""Spatial sharing of a GPU: critical and batch kernels have a part of the device each.

Kernels that fill a part `o` of the device when they are alone, and get a part `s` of it, are slower
by the factor ``max(1, o / s)``. Readings: docs/sources/accelerators.md.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from simsched.policy.contract.base import HookView, Pace, Plan, PlanView, S
from simsched.policy.parts.accelerator import FULL, AcceleratorPolicy, Layout, lay_out, with_device
from simsched.policy.parts.schedules import worker_rows
from simsched.workload.graph import BoolArray, FloatArray, TaskGraph, Workload

MULTIPROCESSORS = 15
CONTEXT_BYTES = 64 * 1024 * 4 + 48 * 1024  #: registers and shared memory of an SM
BLOCKS = 16  #: thread blocks that an SM holds
MEMORY_BYTES_PER_S = 288e9
LEAST_ISSUE = 1e-3  #: part of the instruction issues that a kernel gets beside one that needs all


@dataclass(frozen=True, kw_only=True)
class PartitionedPolicy(AcceleratorPolicy[S]):
    """Base of policies that give critical kernels a part of the device and the rest to batch."""

    critical_first: ClassVar[bool] = True

    def shares(self, view: PlanView, layout: Layout, graph: TaskGraph) -> tuple[float, float]:
        """Return the parts of the device for critical kernels and for batch kernels."""
        raise NotImplementedError

    def plan(self, view: PlanView, state: S, graph: TaskGraph) -> Plan:
        """Return the plan of the base class with a device for each part."""
        plan = super().plan(view, state, graph)
        return with_device(plan, "critical", plan.devices[0].capacity)


def sides(layout: Layout) -> tuple[BoolArray, BoolArray]:
    """Return which tasks are critical kernels, and which are batch kernels."""
    critical: BoolArray = layout.is_kernel & layout.is_critical
    return critical, layout.is_kernel & ~critical


def issued_parts(needed: Sequence[float], older: int, *, is_fair: bool) -> list[float]:
    """Return the part of the instruction issues they need that each of two sides gets.

    Where they need more than there are, all get the same part of their need, or the side whose
    kernel is older gets everything it needs and the other one the rest, however little.

    >>> issued_parts([0.6, 0.6], 0, is_fair=False)  # 0.4 of 0.6 for the other one
    [1.0, 0.6666666666666667]
    >>> issued_parts([0.75, 0.5], 0, is_fair=True)
    [0.8, 0.8]
    """
    total = needed[0] + needed[1]
    if total <= 1.0:
        return [1.0, 1.0]
    if is_fair:
        return [1.0 / total, 1.0 / total]
    parts = [1.0, 1.0]
    parts[1 - older] = max(1.0 - needed[older], LEAST_ISSUE) / needed[1 - older]
    return parts


@dataclass
class Neighbours:
    """What kernels run beside each other on a device whose sides make room for each other."""

    #: shape (n_tasks,): 0 for critical kernels, 1 for batch kernels, -1 for other tasks
    side: NDArray[np.int8] = field(default_factory=lambda: np.zeros(0, np.int8))
    #: shape (n_tasks,): part of the device that each kernel fills when it is alone
    filled: FloatArray = field(default_factory=lambda: np.zeros(0))
    #: parts of the device for critical and for batch kernels while both run
    shares: tuple[float, float] = (1.0, 1.0)
    #: part of the instruction issues that a side which has all its blocks needs, 0 where sides do
    #: not issue from the same multiprocessors; whether each gets as much of it as the other
    issue_share: float = 0.0
    is_fair: bool = False
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
            older = int(self.side[next(iter(self.running.values()))])
            needed = [self.issue_share * part for part in parts]
            issued = issued_parts(needed, older, is_fair=self.is_fair)
            parts = [part * got for part, got in zip(parts, issued, strict=True)]
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
        waited = self.switch_s() * ops_per_s(view, "gpu")

        def longer(graph: TaskGraph) -> TaskGraph:
            ops = graph.ops.copy()
            ops[graph.kinds.index("gpu"), critical] += waited
            return replace(graph, ops=ops)

        return workload.changed(longer, init=workload.init)

    def start(self, view: PlanView) -> Neighbours:
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

    >>> round(switch_time_s(CONTEXT_BYTES, 8) * 1e6, 3)  # 8 * 304 KiB at 288 GB/s, in us
    8.647
    """
    return context_bytes * multiprocessors / MEMORY_BYTES_PER_S
