"""CAB: cache-aware bi-tier task stealing between and inside sockets; CAB-FTO for full trees."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from simsched.policy import (
    CHILD_FIRST,
    PARENT_FIRST,
    SEVERAL_DOMAINS,
    SPAWN_TREE,
    AcquireStep,
    Counters,
    Need,
    PlacedPolicy,
    Plan,
    PlanView,
    PoolGroup,
    Uniform,
    Update,
    param,
    preset,
    register,
)
from simsched.policy.algorithms.work_stealing.random_stealing import stealing_plan
from simsched.policy.parts.cab_boundary import boundary_level, root_degree, same_places
from simsched.policy.parts.footprint import (
    INNER,
    ROOT,
    UPPER,
    Tiers,
    cut_by_level,
    input_bytes,
    shared_cache_bytes,
)
from simsched.policy.parts.spawn_cost import slower_spawns
from simsched.workload.graph import Int32Array, TaskGraph, Workload

WORKER, ABOVE, SUBTREE = 0, 1, 2  #: pool groups
GROUP_OF_TIER = {INNER: WORKER, UPPER: ABOVE, ROOT: SUBTREE}
EQUATION = -1  #: the boundary level follows from Eq. 3.4


@dataclass(eq=False)
class CabState:
    """What CAB remembers during a run."""

    #: cut of the graph that runs; None while it runs under random stealing
    tiers: Tiers | None = None


@dataclass(frozen=True, kw_only=True)
class BiTierStealing(PlacedPolicy[CabState]):
    """Stealing between sockets above a boundary of the spawn tree, inside sockets below it.

    Parameters
    ----------
    input_bytes : int
        Size of the input in bytes, as given on the command line; 0 for the size of all data that
        the program touches.
    heads_only : bool
        Whether only the first worker of a socket takes tasks between sockets.
    exclusive : bool
        Whether a socket works on one subtree at a time.
    subtree_affinity : {"none", "home_socket"}
        Whether the roots of subtrees enter the pool of the socket whose task creates them (table
        3.3), or that of the socket that ran them in the iteration before, to which others leave
        the last one.
    spawn_s : float
        Time in seconds that each spawn takes longer, for finding out the tier of the child.
    """

    needs: ClassVar[tuple[Need, ...]] = (SEVERAL_DOMAINS, SPAWN_TREE)

    input_bytes: int = param(0, low=0)
    heads_only: bool = param(True)
    exclusive: bool = param(True)
    subtree_affinity: str = param("none", choices=("none", "home_socket"))
    spawn_s: float = param(0.0, low=0.0, high=1e6, is_cost=True)

    def start(self, view: PlanView) -> CabState:
        return CabState()

    def prepare(self, view: PlanView) -> Workload:
        return slower_spawns(view, self.spawn_s)

    def fits(self, view: PlanView) -> tuple[str, ...]:
        lacking = super().fits(view)
        is_cut_before = type(self).plan is BiTierStealing.plan
        if lacking or not is_cut_before or self.tiers(view, view.workload.graph) is not None:
            return lacking
        return ("runs as random stealing: found no subtrees for the sockets' caches",)

    def plan(self, view: PlanView, state: CabState, graph: TaskGraph) -> Plan:
        """Return the bi-tier plan for a graph that is cut before it runs."""
        state.tiers = self.tiers(view, graph)
        return self.bi_tier(graph, state.tiers)

    def bi_tier(
        self,
        graph: TaskGraph,
        tiers: Tiers | None,
        last_socket: Int32Array | None = None,
    ) -> Plan:
        """Return the plan for a cut; random stealing where there is none.

        `last_socket` is the socket on which each task last ended; only roots of subtrees count.
        """
        if tiers is None:
            return stealing_plan()
        has_home = last_socket is not None
        instance_of = np.full(graph.n_tasks, -1, np.int32)
        if last_socket is not None:
            instance_of[tiers.roots] = last_socket[tiers.roots]
        group_of = np.zeros(graph.n_tasks, np.int8)
        for tier, group in GROUP_OF_TIER.items():
            group_of[tiers.of_task == tier] = group
        inner = tiers.of_task == INNER
        return Plan(
            acquire=self._search_order(has_home=has_home),
            pool_groups=(
                PoolGroup("worker"),
                PoolGroup("upper", scope="domain", locked=not self.heads_only),
                PoolGroup(
                    "subtree",
                    scope="domain",
                    locked=has_home or not self.heads_only,
                    marks_active=True,
                ),
            ),
            spawn_order=np.where(inner, CHILD_FIRST, PARENT_FIRST).astype(np.uint8),
            group_of=group_of,
            instance_of=instance_of,
            roots="last",
        )

    def _search_order(self, *, has_home: bool) -> tuple[AcquireStep, ...]:
        """Return where a free worker looks for work: in its socket, then between sockets."""
        when = ("head_worker",) * self.heads_only + ("domain_inactive",) * self.exclusive
        return (
            AcquireStep("worker", "own", "newest"),
            AcquireStep("worker", "same_domain", "oldest"),
            AcquireStep("upper", "own", "oldest", when),
            AcquireStep("subtree", "own", "oldest", when),
            AcquireStep("upper", "other_domains", "oldest", when),
            AcquireStep(
                "subtree",
                "other_domains",
                "oldest",
                when,
                choice=Uniform(least=2 if has_home else 1),
            ),
        )

    def on_iteration(self, view: PlanView, state: CabState, counters: Counters) -> Update | None:
        """Return the plan that sends subtrees home, if they have a home."""
        graph, init = view.workload.graph, view.workload.init
        if self.subtree_affinity == "none" or state.tiers is None:
            return None
        last_socket = view.worker_domain[counters.executed_by]
        if counters.iteration == 0:
            state.tiers = self.tiers(view, graph)
            if state.tiers is None or init is None:
                return None
            last_socket = same_places(graph, state.tiers.roots, init, last_socket)
        return Update(plan=self.bi_tier(graph, state.tiers, last_socket))

    def tiers(
        self, view: PlanView, graph: TaskGraph, footprint: NDArray[Any] | None = None
    ) -> Tiers | None:
        """Return the cut of a graph, None where random stealing is left to run it.

        `footprint` is what has been measured of each task's data, in bytes, if something has.
        """
        sockets = np.unique(view.worker_domain)
        if len(graph.child) == 0 or len(sockets) < 2:
            return None
        cache_bytes = shared_cache_bytes(view.machine, sockets)
        found = self.cut(graph, footprint, len(sockets), cache_bytes)
        return found if found is not None and found.separable else None

    def cut(
        self, graph: TaskGraph, footprint: NDArray[Any] | None, n_sockets: int, cache_bytes: int
    ) -> Tiers | None:
        """Return the boundary of a tree for sockets with shared caches; None for none."""
        raise NotImplementedError

    def data_bytes(self, graph: TaskGraph) -> int:
        """Return the size of the input, S_d."""
        return self.input_bytes or input_bytes(graph)


@register("cab")
@dataclass(frozen=True, kw_only=True)
class Cab(BiTierStealing):
    """Cache-aware bi-tier stealing (CAB): sockets take subtrees that fit their shared cache.

    Parameters
    ----------
    boundary_level : int
        Level of the roots of subtrees; -1 for Eq. 3.4, 0 for random stealing (programs bound by
        computation).
    root_level : int
        Level of tasks without a parent: 1 if the tree begins with the recursion, 0 if its root is
        the program that starts the recursion.

    Notes
    -----
    The boundary is one level of a full tree (FTO). Readings: docs/sources/cab.md.

    References
    ----------
    Q. Chen, M. Guo, Springer 2017, sections 3.3 and 3.4.1, Eq. 3.1-3.4. Q. Chen, Z. Huang, M. Guo,
    J. Zhou, *CAB*, ICPP 2011.
    """

    boundary_level: int = param(EQUATION, low=EQUATION)
    root_level: int = param(1, low=0, high=1)

    def cut(
        self, graph: TaskGraph, footprint: NDArray[Any] | None, n_sockets: int, cache_bytes: int
    ) -> Tiers | None:
        level = self.boundary_level
        if level == EQUATION:
            data_bytes = self.data_bytes(graph)
            level = boundary_level(root_degree(graph), n_sockets, data_bytes, cache_bytes)
        return cut_by_level(graph, level, root_level=self.root_level) if level > 0 else None


preset("cab_fto", Cab, "CAB for full trees: subtrees begin at one level.")
preset(
    "cab_multi_subtree",
    Cab,
    "CAB whose sockets may work on several subtrees at a time; only heads take them, so that cores "
    "still idle.",
    exclusive=False,
)
preset(
    "cab_all_steal",
    Cab,
    "CAB in which every worker may take tasks between sockets, but only for an idle socket.",
    heads_only=False,
)
preset(
    "cab_relaxed",
    Cab,
    "CAB with both relaxations: every worker without work may begin a subtree.",
    exclusive=False,
    heads_only=False,
)
