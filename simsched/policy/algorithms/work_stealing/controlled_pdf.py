"""Controlled parallel-depth-first scheduling: supernodes that fit the caches, one after another."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simsched.policy import (
    CHILD_FIRST,
    PARENT_FIRST,
    AcquireStep,
    PlacedPolicy,
    Plan,
    PlanView,
    PoolGroup,
    register,
)
from simsched.policy.algorithms.work_stealing.random_stealing import stealing_plan
from simsched.policy.parts.footprint import (
    INNER,
    ROOT,
    UPPER,
    cut_by_footprint,
    exact_footprint,
    shared_cache_bytes,
)
from simsched.workload.graph import BoolArray, TaskGraph

PRIVATE, ABOVE, SHARED, INSIDE = 0, 1, 2, 3  #: pool groups


@register("controlled_pdf")
@dataclass(frozen=True, kw_only=True)
class ControlledPdf(PlacedPolicy[None]):
    """One supernode of the shared cache at a time, cut into supernodes of the private caches.

    Notes
    -----
    The tree is cut twice: into the largest subtrees whose data fit the shared cache, and these into
    the largest ones that fit the cache nearest the core. The supernodes of the shared cache are
    executed one after another, in the order in which all workers together unfold the tasks above
    them; the workers take the small supernodes inside in the order of their creation, and one
    worker executes each of them alone, child first. Tasks above either cut are spawned parent
    first. Readings: docs/sources/cab.md.

    References
    ----------
    G. E. Blelloch, R. A. Chowdhury, P. B. Gibbons, V. Ramachandran, S. Chen, M. Kozuch, *Provably
    good multicore cache performance for divide-and-conquer algorithms*, SODA 2008. Q. Chen, M. Guo,
    Springer 2017, section 3.2.
    """

    def plan(self, view: PlanView, state: None, graph: TaskGraph) -> Plan:
        """Return the plan for the socket of the first worker."""
        active = view.worker_domain == view.worker_domain[0]
        tree = len(graph.child) > 0 and graph is not view.workload.init
        if not tree or not view.machine.caches:
            return stealing_plan(active_workers=active)
        footprint = exact_footprint(graph)
        shared = shared_cache_bytes(view.machine, view.worker_domain[:1])
        large = cut_by_footprint(graph, footprint, shared)
        small = cut_by_footprint(graph, footprint, view.machine.caches[0].capacity_bytes)
        if not large.separable or not (small.of_task == UPPER).any():
            return stealing_plan(active_workers=active)
        group_of = np.full(graph.n_tasks, INSIDE, np.int8)
        group_of[small.of_task == INNER] = PRIVATE
        group_of[large.of_task == UPPER] = ABOVE
        group_of[large.of_task == ROOT] = SHARED
        return _supernode_plan(group_of, active)


def _supernode_plan(group_of: NDArray[np.int8], active: BoolArray) -> Plan:
    """Return the plan for tasks that have been dealt out to the pool groups."""
    return Plan(
        acquire=(
            AcquireStep("worker", "own", "newest"),
            AcquireStep("inside", "own", "oldest"),
            AcquireStep("above", "own", "oldest"),
            AcquireStep("shared", "own", "oldest", ("domain_inactive",)),
        ),
        pool_groups=(
            PoolGroup("worker"),
            PoolGroup("above", scope="domain", locked=True),
            PoolGroup("shared", scope="domain", locked=True, marks_active=True),
            PoolGroup("inside", scope="domain", locked=True),
        ),
        spawn_order=np.where(group_of == PRIVATE, CHILD_FIRST, PARENT_FIRST).astype(np.uint8),
        group_of=group_of,
        roots="first",
        active_workers=active,
    )
