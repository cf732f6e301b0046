"""Hierarchical work stealing: leaders share out large tasks, slaves steal inside their group."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from simsched.policy import (
    CHILD_FIRST,
    PARENT_FIRST,
    SEVERAL_DOMAINS,
    SPAWN_TREE,
    AcquireStep,
    Need,
    PlacedPolicy,
    Plan,
    PlanView,
    PoolGroup,
    param,
    register,
)
from simsched.policy.algorithms.work_stealing.random_stealing import stealing_plan
from simsched.policy.parts.subgraphs import depths
from simsched.workload.graph import TaskGraph

SLAVE, LOCAL, GLOBAL = 0, 1, 2  #: pool groups


def default_limit(n_groups: int) -> int:
    """Return a level limit that makes at least two blocks for each group of a binary tree.

    >>> default_limit(4)
    3
    """
    return math.ceil(math.log2(n_groups)) + 1


@register("hws")
@dataclass(frozen=True, kw_only=True)
class Hws(PlacedPolicy[None]):
    """Hierarchical work stealing (HWS): global tasks between leaders, local tasks inside groups.

    Parameters
    ----------
    limit : int
        Highest level l of global tasks; 0 for ``ceil(log2 M) + 1`` with M groups.
    root_level : int
        Level of tasks without a parent: 1 if the tree begins with the recursion, 0 if its root is
        the program that starts the recursion.

    Notes
    -----
    Leaders, the first workers of NUMA domains, share out tasks down to the level l; their slaves
    take the subtrees below and steal inside their group. Readings: docs/sources/cab.md.

    References
    ----------
    J.-N. Quintin, F. Wagner, *Hierarchical work-stealing*, Euro-Par 2010. Q. Chen, M. Guo, Springer
    2017, section 3.2.
    """

    needs: ClassVar[tuple[Need, ...]] = (SEVERAL_DOMAINS, SPAWN_TREE)

    limit: int = param(0, low=0)
    root_level: int = param(1, low=0, high=1)

    def plan(self, view: PlanView, state: None, graph: TaskGraph) -> Plan:
        if graph is view.workload.init or len(graph.child) == 0:
            return stealing_plan()
        sizes = np.bincount(view.worker_domain)
        limit = self.limit or default_limit(int(np.count_nonzero(sizes)))
        level = depths(graph) + self.root_level
        return Plan(
            acquire=self._search_order(has_slaves=int(sizes[sizes > 0].min()) > 1),
            pool_groups=(
                PoolGroup("slave"),
                PoolGroup("local", scope="domain", locked=True, marks_active=True),
                PoolGroup("global", scope="domain"),
            ),
            spawn_order=np.where(level > limit + 1, CHILD_FIRST, PARENT_FIRST).astype(np.uint8),
            group_of=np.select([level <= limit, level == limit + 1], [GLOBAL, LOCAL], SLAVE).astype(
                np.int8
            ),
            roots="first",
        )

    def _search_order(self, *, has_slaves: bool) -> tuple[AcquireStep, ...]:
        """Return where leaders and slaves look for work."""
        inside = ("not_head_worker",) if has_slaves else ()
        return (
            AcquireStep("global", "own", "newest", ("head_worker",)),
            AcquireStep("global", "other_domains", "oldest", ("head_worker", "domain_inactive")),
            AcquireStep("slave", "own", "newest", inside),
            AcquireStep("slave", "same_domain", "oldest", inside),
            AcquireStep("local", "own", "oldest", inside),
        )
