"""CATS (CAB-GTO) on machines with several memory nodes: data evenly on all of them."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from simsched.policy import (
    Plan,
    PlanView,
    preset,
    register,
)
from simsched.policy.algorithms.numa.cab import CabState
from simsched.policy.algorithms.numa.cab_gto import CabGtoProfile
from simsched.policy.algorithms.numa.laws import profiling_plan
from simsched.policy.parts.allocation import allocate
from simsched.policy.parts.footprint import estimated_footprint
from simsched.workload.graph import TaskGraph


@register("cats_numa_init")
@dataclass(frozen=True, kw_only=True)
class CatsNumaInit(CabGtoProfile):
    """CATS whose first iteration puts adjacent data evenly on all memory nodes, as LAWS does.

    Notes
    -----
    `cats` (`cab_gto_profile`) has the same tiers from iteration 2 on, but steals at random before:
    data stay where the initialisation of the program puts them, which may be one node. The paper on
    LAWS compares with this one. Readings: docs/sources/laws.md.

    References
    ----------
    Q. Chen, M. Guo, H. Guan, *LAWS*, ICS 2014, section 5 (CATS). Q. Chen, M. Guo, Springer 2017,
    Eq. 3.5 and section 4.10.2 (CAB-GTO).
    """

    def plan(self, view: PlanView, state: CabState, graph: TaskGraph) -> Plan:
        """Return the plan that keeps tasks at their data; bi-tier for a single iteration."""
        if graph is not view.workload.init and view.workload.iterations == 1:
            size = estimated_footprint(graph, self.data_bytes(graph))
            state.tiers = self.tiers(view, graph, size)
            return self.bi_tier(graph, state.tiers)
        sockets = np.unique(view.worker_domain).astype(np.int32)
        plan = profiling_plan(allocate(graph, len(sockets)), sockets)
        if graph is view.workload.init:
            return plan
        return replace(plan, counter_group=np.arange(graph.n_tasks, dtype=np.int32))


preset(
    "cab_gto_numa_init",
    CatsNumaInit,
    "The same policy under the name that the book gives it.",
)
