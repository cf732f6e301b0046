"""CATS (CAB-GTO) on machines with several memory nodes: data evenly on all of them."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from simsched.policy.algorithms.numa.cab import Cab, CabState
from simsched.policy.algorithms.numa.laws import profiling_plan
from simsched.policy.contract.base import Plan, View, param
from simsched.policy.contract.registry import preset, register
from simsched.policy.parts.allocation import allocate
from simsched.workload.graph import TaskGraph


@register("cats_numa_init")
@dataclass(frozen=True, kw_only=True)
class CatsNumaInit(Cab):
    """CATS whose first iteration puts adjacent data evenly on all memory nodes, as LAWS does.

    Parameters
    ----------
    boundary : {"profile"}
        Footprints are those measured in iteration 1, if there is another one to use them.
    every_socket : bool
        As for `Cab`; the source's own rule is false.
    subtree_affinity : {"none", "home_socket"}
        As for `Cab`, whose default is the other one; this source says that nothing ties a subtree
        to a socket.
    spawn_s, profile_s : float
        As for `Cab`.

    Notes
    -----
    The initialisation and iteration 1 run as under LAWS: tasks go to the sockets of their part of
    the data and stay there, so that first touch places the data. This is what the authors of LAWS
    changed for a fair comparison. Afterwards nothing ties a subtree to the socket that holds its
    data, and the packing is not revised.

    *A single iteration* has no later one that could use what it measures. It is cut before it runs,
    by footprints that follow from the size of the input, and first touch puts its data wherever its
    subtrees run; an initialisation before it still divides them evenly.

    Like `Cab`, it divides large subtrees until there is one for every socket (`every_socket`),
    which the source asks of a boundary but does not see to. It matters only where at most a few
    subtrees fit the caches, hence not at the published sizes.

    References
    ----------
    Q. Chen, M. Guo, H. Guan, *LAWS*, ICS 2014, section 5 (CATS). Q. Chen, M. Guo, *Task Scheduling
    for Multi-core and Parallel Architectures*, Springer 2017, Eq. 3.5 and section 4.10.2 (CAB-GTO).
    """

    boundary: str = param("profile", choices=("profile",))
    subtree_affinity: str = param("none", choices=("none", "home_socket"))
    spawn_s: float = param(1e-7, low=0.0, high=1e6)
    profile_s: float = param(2e-7, low=0.0, high=1e6)

    def plan(self, view: View, state: CabState, graph: TaskGraph) -> Plan:
        """Return the plan that keeps tasks at their data; bi-tier for a single iteration."""
        if graph is not view.workload.init and not self.is_profiled(view):
            return self._bi_tier(view, state, graph)
        sockets = np.unique(view.worker_domain).astype(np.int32)
        plan = profiling_plan(allocate(graph, len(sockets)), sockets)
        if graph is view.workload.init:
            return plan
        return replace(plan, counter_group=np.arange(graph.n_tasks, dtype=np.int32))

    def is_profiled(self, view: View) -> bool:
        """Return whether the program is iterative, so that profiling is of use."""
        return view.workload.iterations > 1


preset(
    "cab_gto_numa_init",
    CatsNumaInit,
    "The same policy under the name that the book gives it.",
)
