"""Spatial multitasking with preemption: two kernels split the multiprocessors evenly."""

from __future__ import annotations

import math
from dataclasses import dataclass

from simsched.policy import PlanView, register
from simsched.policy.parts.accelerator import Layout
from simsched.policy.parts.gpu_sharing import (
    CONTEXT_BYTES,
    MULTIPROCESSORS,
    CoRunningPolicy,
    switch_time_s,
)
from simsched.workload.graph import TaskGraph


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
