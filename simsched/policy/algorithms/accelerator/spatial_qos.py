"""Spatial QoS: disjoint multiprocessors, as the programmer divides them."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from simsched.policy import PlanView, param, register
from simsched.policy.parts.accelerator import FULL, Layout, lay_out
from simsched.policy.parts.gpu_sharing import PartitionedPolicy, sides
from simsched.workload.graph import TaskGraph, Workload


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
    The share is fixed for a run: what one side leaves idle is not lent to the other. Readings:
    docs/sources/accelerators.md.

    References
    ----------
    P. Aguilera et al., as described by Q. Chen, M. Guo, Springer 2017, section 8.2.2.
    """

    critical_share: float = param(0.5, low=0.01, high=0.99)

    def prepare(self, view: PlanView) -> Workload:
        """Return the program with kernels as their part of the device executes them."""
        workload, graph = view.workload, view.workload.graph
        if workload.applications is None or graph.occupancy is None:
            return workload
        layout = lay_out(view, graph)
        longer, taken = np.ones(graph.ops.shape), graph.occupancy.astype(np.float64)
        row = graph.kinds.index("gpu")
        for mine, share in zip(sides(layout), self.shares(view, layout, graph), strict=True):
            wanted = taken[mine] / max(share, 1e-3)
            longer[row, mine] = np.maximum(1.0, wanted / FULL)
            taken[mine] = np.minimum(FULL, np.ceil(wanted))
        occupancy = taken.astype(np.int32)
        return workload.changed(
            lambda each: replace(each, ops=each.ops * longer, occupancy=occupancy),
            init=workload.init,
        )

    def shares(self, view: PlanView, layout: Layout, graph: TaskGraph) -> tuple[float, float]:
        return self.critical_share, 1.0 - self.critical_share
