"""Sharing one accelerator: the order of the hardware, of MPS, and by priority."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from simsched.policy import PlanView, register
from simsched.policy.parts.accelerator import AcceleratorPolicy, exclusive_kernels
from simsched.workload.graph import Workload


@register("mps")
@dataclass(frozen=True, kw_only=True)
class MultiProcessService(AcceleratorPolicy[None]):
    """Nvidia's Multi-Process Service: kernels of all clients in the order of their submission.

    Notes
    -----
    A kernel starts when the kernels before it in the queue have started and it fits beside those
    that are running; it is never preempted. Copies of a direction share the link.

    References
    ----------
    Q. Chen, M. Guo, Springer 2017, sections 8.1 and 8.3.
    """


@register("accelerator_fcfs")
@dataclass(frozen=True, kw_only=True)
class AcceleratorFcfs(AcceleratorPolicy[None]):
    """The order of an accelerator by itself: first come, first served, one kernel at a time.

    Notes
    -----
    As `mps`, but every kernel takes up the whole device.

    References
    ----------
    Q. Chen, M. Guo, Springer 2017, section 8.1.
    """

    def prepare(self, view: PlanView) -> Workload:
        return exclusive_kernels(view)


@register("priority")
@dataclass(frozen=True, kw_only=True)
class PriorityOrder(AcceleratorPolicy[None]):
    """Kernels of latency-critical applications first; the principle of TimeGraph and GPUSync.

    Notes
    -----
    Whenever the device can accept a kernel it gets the oldest one of high priority, if there is
    any, else the oldest one of low priority; a running kernel is never preempted. A kernel of high
    priority that does not fit is not overtaken. Readings: docs/sources/accelerators.md.

    References
    ----------
    Q. Chen, M. Guo, Springer 2017, section 8.4.
    """

    critical_first: ClassVar[bool] = True
