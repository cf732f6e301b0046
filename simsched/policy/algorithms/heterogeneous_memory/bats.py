"""BATS: bandwidth- and locality-aware task stealing on bandwidth-asymmetric memory."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from simsched.policy.algorithms.work_stealing.random_stealing import stealing_plan
from simsched.policy.contract.base import (
    CHILD_FIRST,
    PARENT_FIRST,
    AcquireStep,
    Counters,
    Monitor,
    Placement,
    Plan,
    Policy,
    PoolGroup,
    Update,
    View,
    param,
)
from simsched.policy.contract.registry import preset, register
from simsched.policy.parts.localization import Localization
from simsched.policy.parts.placement import host_nodes, placement_rule
from simsched.policy.parts.subgraphs import UPPER, Subgraphs, group_tasks
from simsched.policy.parts.traffic import choose_moves, hotness, sample_pages
from simsched.workload.graph import TaskGraph

Int64Array = NDArray[np.int64]

PUBLISHED_SAMPLES = 4  #: pages of each block, also of blocks that have fewer
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
    """What BATS remembers during a run.

    Parameters
    ----------
    domains : ndarray of int32
        NUMA domains that have workers: the sockets of the paper.
    subgraphs : Subgraphs, optional
        Division of the task graph; from the end of iteration 1.
    localization : Localization, optional
        Where subgraphs belong; from the end of iteration 1.
    """

    domains: NDArray[np.int32]
    subgraphs: Subgraphs | None = None
    localization: Localization | None = None


@register("bats")
@dataclass(frozen=True, kw_only=True)
class Bats(Policy):
    """Bandwidth- and locality-aware task stealing (BATS).

    Parameters
    ----------
    allocation : {"weighted", "even"}
        Initial placement: contiguous parts in proportion to the bandwidth of the nodes, or of equal
        size.
    balancer : bool
        Whether iteration 1 measures hotness and blocks are migrated after it.
    scheduler : {"hierarchical", "random"}
        Profiling and hierarchical stealing of subgraphs from iteration 2 on, or random stealing
        throughout.
    sample_pages : int
        Pages b sampled in each block; beyond four, at most as many as the largest block has.
    monitor_threads : int
        Workers that iteration 1 does without because they poll access bits.
    migrating_workers : int
        Workers that copy blocks at the same time.
    literal_bounds : bool
        Read the outer loop of algorithm 1 as printed: the least under-utilised node is not filled.
    tasks_per_core : int
        Tasks of a subgraph for each core of a socket.
    cores : {"physical", "virtual"}
        What counts as a core of a socket: a core with a worker on it, or every worker.
    exclusive : bool
        Whether a socket works on one subgraph at a time also after profiling.
    joining : {"one_attempt", "before_beginning", "after_beginning"}
        When a worker joins the subgraphs that its socket has begun, after profiling: it asks one
        random worker of its socket before it begins another subgraph, as many as it takes to find
        a task, or nobody as long as there is a subgraph to begin.
    two_counters : bool
        Profile as on Knights Landing, with two hardware counters at a time, in an iteration more:
        whether that took one is not stated. By default all four are seen, as the equations need.
    analysis_s_per_item : float
        Time in seconds that the policy spends on every block and task when it analyses iteration 1,
        and on every subgraph after each profiling iteration.

    Notes
    -----
    *Iteration 0* (initialisation) runs under random stealing; placement does not depend on who runs
    a leaf. That all its tasks first enter one pool, in order to number the leaves, is not modelled.

    *Iteration 1* runs under random stealing while `monitor_threads` workers poll the access bits of
    sampled pages. They are taken from the domains in turn, in each the last worker first; one
    worker always remains. One polling loop takes (sampled pages) * `hotness_sample_ps` / (threads).
    Then blocks migrate (algorithm 1).

    *Iterations 2 to M + 1*: subgraphs visit the M sockets in turn, without stealing between sockets
    and one at a time per socket, until local accesses are at least as many as remote ones
    (high-localized) or all have been tried (low-localized where most accesses were local).
    Profiling ends as soon as all are settled.

    *Afterwards* a worker looks at its own pool, pools of its socket's workers, the socket's high-
    and low-localized subgraphs, then, if the socket has completed all it had, at low- and at last
    at high-localized subgraphs of other sockets. Tasks above the subgraphs are run parent first by
    the workers of the socket of the first worker and push the roots into the sockets' pools at
    their spawn; inside a subgraph tasks are spawned child first.

    How hard a worker tries to steal in its socket before it begins another subgraph is not stated;
    a thief of Cilk, on which the authors built, asks one random worker and then looks at everything
    anew. If it asks until it finds something, a socket works on one or two subgraphs at a time,
    whose data live on one node: its DRAM and HBM nodes are then busy one after the other rather
    than together, which is what the allocation is for. Whoever has found nothing to begin asks
    again.

    Interpretations: the sockets of the paper are the NUMA domains that have workers. Several roots
    of one subgraph (loops, dataflow graphs) all enter the socket's pool. If a subgraph has several
    roots or depends on others after it has started, sockets do not keep to one subgraph at a time,
    which could come to a standstill. A tree with fewer than ``tasks_per_core * cores`` tasks, or
    with one level of small children, is one subgraph and stays on one socket until others steal it.
    Which worker migrates and how fast is not stated: one worker by default.
    Levels 4 and 5 are open to any socket without unfinished subgraphs, also while the roots of an
    iteration are still being distributed. Of a subgraph with several roots an idle socket takes one
    root at a time. A single worker monitors without leaving out anybody, at no cost.

    References
    ----------
    H. Zhao, Q. Chen, Y. Qiu, M. Wu, Y. Shen, J. Leng, C. Li, M. Guo, *Bandwidth and Locality Aware
    Task-stealing for Manycore Architectures with Bandwidth-Asymmetric Memory*, ACM TACO 15(4),
    article 55, 2018.
    """

    allocation: str = param("weighted", choices=("weighted", "even"))
    balancer: bool = param(True)
    scheduler: str = param("hierarchical", choices=("hierarchical", "random"))
    sample_pages: int = param(PUBLISHED_SAMPLES, low=1, high=1_000_000)
    monitor_threads: int = param(4, low=1)
    migrating_workers: int = param(1, low=1)
    literal_bounds: bool = param(False)
    tasks_per_core: int = param(10, low=1)
    cores: str = param("physical", choices=("physical", "virtual"))
    exclusive: bool = param(False)
    joining: str = param("one_attempt", choices=JOINING)
    two_counters: bool = param(False)
    analysis_s_per_item: float = param(1e-7, low=0.0, high=1e6)

    def start(self, view: View) -> BatsState:
        """Return an empty record."""
        return BatsState(np.unique(view.worker_domain).astype(np.int32))

    def place(self, view: View, state: BatsState) -> Placement:
        """Return contiguous parts of the data on all nodes."""
        return placement_rule(self.allocation)(view)

    def plan(self, view: View, state: BatsState, graph: TaskGraph) -> Plan:
        """Return random stealing; in iteration 1 without the workers that monitor."""
        if graph is view.workload.init or not self.balancer or graph.n_blocks == 0:
            return stealing_plan()
        monitoring = monitoring_workers(view.worker_domain, self.monitor_threads)
        active = np.ones(view.n_workers, bool)
        active[monitoring] = False
        plan = stealing_plan(active_workers=active)
        return Plan(
            acquire=plan.acquire,
            spawn_order=plan.spawn_order,
            active_workers=active,
            monitor=self._monitor(view, len(monitoring)),
        )

    def on_iteration(self, view: View, state: BatsState, counters: Counters) -> Update | None:
        """Return migrations after iteration 1, and new plans until all subgraphs are settled."""
        if counters.iteration == 1:
            return self._after_first(view, state, counters)
        found = state.localization
        if counters.iteration == 0 or found is None or found.is_complete:
            return None
        found.record(counters.group_bytes)
        overhead_s = self.analysis_s_per_item * len(found.socket)
        return Update(plan=self._hierarchical(state), overhead_s=overhead_s)

    def least_tasks(self, view: View) -> int:
        """Return the smallest number of tasks of a subgraph."""
        thread = (
            view.worker_thread
            if self.cores == "virtual"
            else view.machine.thread_core[view.worker_thread]
        )
        per_domain = np.unique(np.column_stack([view.worker_domain, thread]), axis=0)[:, 0]
        return self.tasks_per_core * int(np.bincount(per_domain).max())

    def _monitor(self, view: View, n_threads: int) -> Monitor:
        """Return random pages of every block and the length of a polling loop."""
        pages = pages_of(view)
        most = max(int(pages.max(initial=1)), PUBLISHED_SAMPLES)
        sampled = sample_pages(pages, min(self.sample_pages, most), view.rng)
        loop_ps = -(-sampled.size * view.machine.costs.hotness_sample_ps // max(n_threads, 1))
        return Monitor(max(loop_ps, 1), sampled * _page_bytes(view))

    def _after_first(self, view: View, state: BatsState, counters: Counters) -> Update:
        """Return the migrations, and the plan for iteration 2."""
        graph = view.workload.graph
        none = np.empty(0, np.int32)
        blocks, nodes = self._moves(view, counters) if self.balancer else (none, none)
        items = graph.n_blocks if self.balancer else 0
        if self.scheduler == "hierarchical":
            state.subgraphs = group_tasks(graph, self.least_tasks(view))
            state.localization = Localization(
                state.subgraphs.n_subgraphs, len(state.domains), two_counters=self.two_counters
            )
            items += graph.n_tasks
        return Update(
            plan=stealing_plan() if state.localization is None else self._hierarchical(state),
            move_block=blocks,
            move_node=nodes,
            migrating_workers=self.migrating_workers,
            overhead_s=self.analysis_s_per_item * items,
        )

    def _moves(self, view: View, counters: Counters) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """Return which blocks migrate, and where to."""
        machine = view.machine
        usable = set(host_nodes(machine))
        bandwidth = [
            node.peak_bandwidth_bytes_per_s if i in usable else 0.0
            for i, node in enumerate(machine.nodes)
        ]
        used = counters.node_used_bytes.tolist()
        room = [
            node.capacity_bytes - taken for node, taken in zip(machine.nodes, used, strict=True)
        ]
        return choose_moves(
            hotness(counters.samples, pages_of(view)),
            counters.block_home,
            bandwidth,
            room,
            view.workload.graph.block_bytes,
            literal_bounds=self.literal_bounds,
        )

    def _hierarchical(self, state: BatsState) -> Plan:
        """Return the plan that sends subgraphs to sockets; final when all are settled."""
        subgraphs, found = state.subgraphs, state.localization
        assert subgraphs is not None
        assert found is not None
        of_task, is_root = subgraphs.of_task, subgraphs.is_root
        pool = (
            np.where(found.is_high, HIGH, LOW)
            if found.is_complete
            else np.full(len(found.socket), HIGH)
        )
        group_of = np.full(len(of_task), WORKER, np.int8)
        group_of[is_root] = pool[of_task[is_root]]
        instance_of = np.full(len(of_task), -1, np.int32)
        instance_of[is_root] = state.domains[found.targets()[of_task[is_root]]]
        parent_first = is_root | (of_task == UPPER)
        alone = subgraphs.separable and (self.exclusive or not found.is_complete)
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
    """Return the levels of hierarchical stealing.

    Parameters
    ----------
    alone : bool
        Whether a socket takes a subgraph only when it has none unfinished.
    between_sockets : bool
        Whether a socket that has completed its subgraphs may take those of others.
    joining : {"one_attempt", "before_beginning", "after_beginning"}
        How level 1 goes with levels 2 and 3; see :class:`Bats`.
    """
    when = IDLE_DOMAIN if alone else ()
    own = AcquireStep("worker", "own", "newest")
    inside = AcquireStep("worker", "same_domain", "oldest")
    begin = (AcquireStep("high", "own", "oldest", when), AcquireStep("low", "own", "oldest", when))
    steps = {
        "one_attempt": (own, replace(inside, attempts=1), *begin, inside),
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


def monitoring_workers(worker_domain: NDArray[np.int32], n_threads: int) -> list[int]:
    """Return the workers that monitor: from the domains in turn, the last ones first, never all.

    Examples
    --------
    >>> monitoring_workers(np.array([0, 0, 0, 1, 1, 1], np.int32), 3)
    [2, 5, 1]
    """
    of_domain = {
        d: np.flatnonzero(worker_domain == d).tolist() for d in np.unique(worker_domain).tolist()
    }
    chosen: list[int] = []
    while len(chosen) < min(n_threads, len(worker_domain) - 1):
        for workers in of_domain.values():
            if workers and len(chosen) < min(n_threads, len(worker_domain) - 1):
                chosen.append(workers.pop())
    return chosen


def pages_of(view: View) -> Int64Array:
    """Return the number of pages of each block, at least 1."""
    return np.maximum(-(-view.workload.graph.block_bytes // _page_bytes(view)), 1)


def _page_bytes(view: View) -> int:
    """Return the page size; host nodes share one."""
    return view.machine.nodes[host_nodes(view.machine)[0]].page_bytes


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
