"""Work sharing: one central queue that every worker locks."""

from __future__ import annotations

from dataclasses import dataclass

from simsched.policy import TAKES, PlacedPolicy, Plan, PlanView, param, preset, register
from simsched.policy.parts.central_queue import central_queue
from simsched.workload.graph import TaskGraph


@register("work_sharing")
@dataclass(frozen=True, kw_only=True)
class WorkSharing(PlacedPolicy[None]):
    """Central task queue with one lock that is held for every push and every pop.

    Parameters
    ----------
    take : {"oldest", "newest"}
        End from which tasks are taken.

    Notes
    -----
    Tasks are spawned parent first. Readings: docs/sources/cab.md.

    References
    ----------
    Q. Chen, M. Guo, Springer 2017, section 2.2. H. Zhao et al., ACM TACO 15(4), article 55, 2018,
    section 2 (task sharing).
    """

    take: str = param("oldest", choices=TAKES)

    def plan(self, view: PlanView, state: None, graph: TaskGraph) -> Plan:
        return central_queue(graph, self.take)


preset("task_sharing", WorkSharing, "Work sharing under the name used for early X10.")
