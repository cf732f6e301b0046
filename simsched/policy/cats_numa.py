"""CATS (CAB-GTO) on machines with several memory nodes: data evenly on all of them."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from simsched.policy.allocation import allocate
from simsched.policy.base import Plan, View, param
from simsched.policy.cab import Cab, CabState
from simsched.policy.laws import profiling_plan
from simsched.policy.registry import preset, register
from simsched.workload.graph import TaskGraph


@register("cats_numa_init")
@dataclass(frozen=True, kw_only=True)
class CatsNumaInit(Cab):
    """CATS whose first iteration puts adjacent data evenly on all memory nodes, as LAWS does.

    Parameters
    ----------
    boundary : {"profile"}
        Footprints are those measured in iteration 1.
    subtree_affinity : {"none", "home_socket"}
        As for `Cab`; the source says that nothing ties a subtree to a socket.
    spawn_s, profile_s : float
        As for `Cab`.

    Notes
    -----
    The initialisation and iteration 1 run as under LAWS: tasks go to the sockets of their part of
    the data and stay there, so that first touch places the data. This is what the authors of LAWS
    changed for a fair comparison. Afterwards nothing ties a subtree to the socket that holds its
    data, and the packing is not revised.

    References
    ----------
    Q. Chen, M. Guo, H. Guan, *LAWS*, ICS 2014, section 5 (CATS). Q. Chen, M. Guo, *Task Scheduling
    for Multi-core and Parallel Architectures*, Springer 2017, section 4.10.2 (CAB-GTO).
    """

    boundary: str = param("profile", choices=("profile",))
    subtree_affinity: str = param("none", choices=("none", "home_socket"))
    spawn_s: float = param(1e-7, low=0.0, high=1e6)
    profile_s: float = param(2e-7, low=0.0, high=1e6)

    def plan(self, view: View, state: CabState, graph: TaskGraph) -> Plan:
        """Return the plan that keeps tasks on the sockets of their data, for `graph`."""
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
