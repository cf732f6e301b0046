"""Simultaneous multikernel: kernels side by side in each multiprocessor."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from simsched.policy import PlanView, param, preset, register
from simsched.policy.parts.accelerator import FULL, Layout
from simsched.policy.parts.gpu_sharing import (
    BLOCKS,
    CONTEXT_BYTES,
    MULTIPROCESSORS,
    CoRunningPolicy,
    Neighbours,
    sides,
    switch_time_s,
)
from simsched.workload.graph import TaskGraph


def drf_partition(
    demands: Sequence[Sequence[float]], capacity: Sequence[float], most: Sequence[int] = ()
) -> list[int]:
    """Return the thread blocks of each kernel in a multiprocessor, by dominant resource fairness.

    One block more goes to the kernel with the smallest dominant share for which one still fits, of
    equal ones to the first.

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


@register("smk")
@dataclass(frozen=True, kw_only=True)
class SimultaneousMultiKernel(CoRunningPolicy):
    """Kernels run side by side inside each multiprocessor.

    Parameters
    ----------
    allocation : {"drf", "wq"}
        Thread blocks by dominant resource fairness; also instruction issues by warp quotas.
    compute_share : float
        Part of the instruction issues that a kernel needs when it is alone.

    Notes
    -----
    While kernels of both sides run, they have the parts of the largest critical and the largest
    batch kernel (:func:`drf_partition`); one side alone has the whole device. A side needs the
    part ``compute_share * blocks / blocks alone`` of the instruction issues, its warp quota. Where
    both need more than all of them, the older one gets what it needs, or with quotas both the same
    part of their need. A critical kernel waits until the context of one thread block of each
    multiprocessor has been saved. Readings: docs/sources/accelerators.md.

    References
    ----------
    Z. Wang et al., as described by Q. Chen, M. Guo, Springer 2017, section 8.2.3.
    """

    allocation: str = param("drf", choices=("drf", "wq"))
    compute_share: float = param(0.6, low=0.01, high=1.0)

    def start(self, view: PlanView) -> Neighbours:
        return Neighbours(issue_share=self.compute_share, is_fair=self.allocation == "wq")

    def shares(self, view: PlanView, layout: Layout, graph: TaskGraph) -> tuple[float, float]:
        """Return what the partition of thread blocks gives to both sides."""
        assert graph.occupancy is not None
        filled = np.maximum(graph.occupancy, 1)
        wanted = [int(filled[mine].max(initial=0)) for mine in sides(layout)]
        demands = [[o / BLOCKS] for o in wanted]
        blocks = drf_partition(demands, [float(FULL)], [BLOCKS] * len(demands))
        parts = [o * n / (BLOCKS * FULL) for o, n in zip(wanted, blocks, strict=True)]
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
