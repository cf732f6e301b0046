"""BATS: bandwidth- and locality-aware task stealing on bandwidth-asymmetric memory."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from simsched.policy import (
    CHILD_FIRST,
    PARENT_FIRST,
    SEVERAL_MEMORIES,
    AcquireStep,
    Counters,
    Need,
    Placement,
    Plan,
    PlanView,
    Policy,
    PoolGroup,
    Uniform,
    Update,
    param,
    placement_rule,
    preset,
    register,
    seconds_to_ps,
)
from simsched.policy.algorithms.work_stealing.random_stealing import stealing_plan
from simsched.policy.parts.bats_balancer import (
    PUBLISHED_SAMPLES,
    monitor,
    monitoring_workers,
    moves,
)
from simsched.policy.parts.localization import Localization
from simsched.policy.parts.subgraphs import UPPER, Subgraphs, group_tasks
from simsched.workload.graph import Int32Array, TaskGraph

WORKER, HIGH, LOW = 0, 1, 2  #: pool groups of the hierarchical scheduler
POOL_GROUPS = (
    PoolGroup("worker"),
    PoolGroup("high", scope="domain", locked=True, marks_active=True),
    PoolGroup("low", scope="domain", locked=True, marks_active=True),
)
IDLE_DOMAIN = ("domain_inactive",)
JOINING = ("one_attempt", "before_beginning", "after_beginning")


@dataclass(eq=False)
class BatsState:
    """What BATS remembers during a run."""

    domains: Int32Array  # NUMA domains that have workers: the sockets of the paper
    subgraphs: Subgraphs | None = None  # division of the task graph; from the end of iteration 1
    localization: Localization | None = None  # where subgraphs belong; from the end of iteration 1


@register("bats")
@dataclass(frozen=True, kw_only=True)
class Bats(Policy[BatsState]):
    """Bandwidth- and locality-aware task stealing (BATS).

    Parameters
    ----------
    allocation : {"weighted", "even"}
        Initial placement: contiguous parts by the bandwidth of the nodes, or of equal size.
    balancer : bool
        Whether iteration 1 measures hotness and blocks are migrated after it.
    scheduler : {"hierarchical", "random"}
        Hierarchical stealing of subgraphs from iteration 2 on, or random stealing throughout.
    sample_pages : int
        Pages b sampled in each area, what a leaf of the initialisation allocates; beyond four, at
        most as many as the largest area has.
    monitor_threads : int
        Workers that iteration 1 does without because they poll access bits.
    migrating_workers : int
        Workers that copy blocks at the same time.
    tasks_per_core : int
        Tasks of a subgraph for each core of a socket that has a worker.
    joining : {"one_attempt", "before_beginning", "after_beginning"}
        Whom of its socket a worker asks for tasks before it begins another subgraph: one random
        worker, all, or nobody as long as there is one to begin.
    analysis_s_per_item : float
        Time in seconds of analysing a block, a task, or a profiled subgraph.

    Notes
    -----
    Readings: docs/sources/bats.md.

    References
    ----------
    H. Zhao, Q. Chen, Y. Qiu, M. Wu, Y. Shen, J. Leng, C. Li, M. Guo, *Bandwidth and Locality Aware
    Task-stealing for Manycore Architectures with Bandwidth-Asymmetric Memory*, ACM TACO 15(4),
    article 55, 2018, sections 5-8.
    """

    needs: ClassVar[tuple[Need, ...]] = (SEVERAL_MEMORIES,)

    allocation: str = param("weighted", choices=("weighted", "even"))
    balancer: bool = param(True)
    scheduler: str = param("hierarchical", choices=("hierarchical", "random"))
    sample_pages: int = param(PUBLISHED_SAMPLES, low=1, high=1_000_000)
    monitor_threads: int = param(4, low=1)
    migrating_workers: int = param(1, low=1)
    tasks_per_core: int = param(10, low=1)
    joining: str = param("one_attempt", choices=JOINING)
    analysis_s_per_item: float = param(1e-7, low=0.0, high=1e6, is_cost=True)

    def start(self, view: PlanView) -> BatsState:
        return BatsState(np.unique(view.worker_domain).astype(np.int32))

    def place(self, view: PlanView, state: BatsState) -> Placement:
        return placement_rule(self.allocation)(view)

    def plan(self, view: PlanView, state: BatsState, graph: TaskGraph) -> Plan:
        """Return random stealing; in iteration 1 without the workers that monitor."""
        if graph is view.workload.init or not self.balancer or graph.n_blocks == 0:
            return stealing_plan()
        monitoring = monitoring_workers(view.worker_domain, self.monitor_threads)
        active = ~np.isin(np.arange(view.n_workers), monitoring)
        polled = monitor(view, self.sample_pages, len(monitoring))
        return replace(stealing_plan(active_workers=active), monitor=polled)

    def on_iteration(self, view: PlanView, state: BatsState, counters: Counters) -> Update | None:
        """Return migrations after iteration 1, and new plans until all subgraphs are settled."""
        if counters.iteration == 1:
            return self._after_first(view, state, counters)
        found = state.localization
        if counters.iteration == 0 or found is None or found.is_complete:
            return None
        found.record(counters.group_bytes)
        overhead_ps = seconds_to_ps(self.analysis_s_per_item * len(found.socket))
        return Update(plan=self._hierarchical(state), overhead_ps=overhead_ps)

    def least_tasks(self, view: PlanView) -> int:
        """Return the smallest number of tasks of a subgraph."""
        core = view.machine.thread_core[view.worker_thread]
        per_domain = np.unique(np.column_stack([view.worker_domain, core]), axis=0)[:, 0]
        return self.tasks_per_core * int(np.bincount(per_domain).max())

    def _after_first(self, view: PlanView, state: BatsState, counters: Counters) -> Update:
        """Return the migrations, and the plan for iteration 2."""
        graph = view.workload.graph
        none = np.empty(0, np.int32)
        blocks, nodes = moves(view, counters, self.sample_pages) if self.balancer else (none, none)
        items = graph.n_blocks if self.balancer else 0
        if self.scheduler == "hierarchical":
            state.subgraphs = group_tasks(graph, self.least_tasks(view))
            state.localization = Localization(state.subgraphs.n_subgraphs, len(state.domains))
            items += graph.n_tasks
        return Update(
            plan=stealing_plan() if state.localization is None else self._hierarchical(state),
            move_block=blocks,
            move_node=nodes,
            migrating_workers=self.migrating_workers,
            overhead_ps=seconds_to_ps(self.analysis_s_per_item * items),
        )

    def _hierarchical(self, state: BatsState) -> Plan:
        """Return the plan that sends subgraphs to sockets; final when all are settled."""
        subgraphs, found = state.subgraphs, state.localization
        assert subgraphs is not None
        assert found is not None
        of_task, is_root = subgraphs.of_task, subgraphs.is_root
        pool = np.where(found.is_high | (not found.is_complete), HIGH, LOW)
        group_of = np.full(len(of_task), WORKER, np.int8)
        group_of[is_root] = pool[of_task[is_root]]
        instance_of = np.full(len(of_task), -1, np.int32)
        instance_of[is_root] = state.domains[found.targets()[of_task[is_root]]]
        parent_first = is_root | (of_task == UPPER)
        alone = subgraphs.separable and not found.is_complete
        return Plan(
            acquire=search_order(
                alone=alone,
                between_sockets=found.is_complete,
                joining=self.joining if found.is_complete else "before_beginning",
            ),
            pool_groups=POOL_GROUPS,
            spawn_order=np.where(parent_first, PARENT_FIRST, CHILD_FIRST).astype(np.uint8),
            group_of=group_of,
            instance_of=instance_of,
            roots="first",
            counter_group=None if found.is_complete else of_task,
        )


def search_order(
    *, alone: bool, between_sockets: bool, joining: str = "before_beginning"
) -> tuple[AcquireStep, ...]:
    """Return the levels of hierarchical stealing."""
    when = IDLE_DOMAIN if alone else ()
    own = AcquireStep("worker", "own", "newest")
    inside = AcquireStep("worker", "same_domain", "oldest")
    begin = (AcquireStep("high", "own", "oldest", when), AcquireStep("low", "own", "oldest", when))
    steps = {
        "one_attempt": (own, replace(inside, choice=Uniform(attempts=1)), *begin, inside),
        "before_beginning": (own, inside, *begin),
        "after_beginning": (own, *begin, inside),
    }[joining]
    if not between_sockets:
        return steps
    return (
        *steps,
        AcquireStep("low", "other_domains", "oldest", IDLE_DOMAIN),
        AcquireStep("high", "other_domains", "oldest", IDLE_DOMAIN),
    )


preset(
    "bats_nh",
    Bats,
    "BATS without bandwidth-aware allocation: data evenly on all nodes.",
    allocation="even",
)
preset("bats_nb", Bats, "BATS without the traffic balancer: no migration.", balancer=False)
preset("bats_nl", Bats, "BATS without hierarchical stealing: random stealing.", scheduler="random")
preset(
    "bats_h",
    Bats,
    "Of BATS only the bandwidth-aware allocation.",
    balancer=False,
    scheduler="random",
)
preset("bats_b", Bats, "Of BATS only the traffic balancer.", allocation="even", scheduler="random")
preset("bats_l", Bats, "Of BATS only hierarchical stealing.", allocation="even", balancer=False)
