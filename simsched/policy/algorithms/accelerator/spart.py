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
    A critical kernel waits until the context of 8 of 15 multiprocessors has been saved. While both
    sides run kernels each has half of the device; one alone has all of it. Readings:
    docs/sources/accelerators.md.

    References
    ----------
    I. Tanasic et al., as described by Q. Chen, M. Guo, Springer 2017, section 8.2.3.
    """

    def shares(self, view: PlanView, layout: Layout, graph: TaskGraph) -> tuple[float, float]:
        return 0.5, 0.5

    def switch_s(self) -> float:
        """Return the time to save half of the multiprocessors, whole ones."""
        return switch_time_s(CONTEXT_BYTES, math.ceil(MULTIPROCESSORS / 2))
