"""Random work stealing: one pool per worker, uniformly random victims."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from simsched.policy import (
    CHILD_FIRST,
    PARENT_FIRST,
    TAKES,
    AcquireStep,
    PlacedPolicy,
    Plan,
    PlanView,
    PoolGroup,
    param,
    preset,
    register,
)
from simsched.policy.contract.base import S
from simsched.policy.parts.core_groups import core_groups
from simsched.policy.parts.subgraphs import main_tasks
from simsched.workload.graph import BoolArray, Int32Array, TaskGraph

SPAWN_ORDERS = {"child_first": CHILD_FIRST, "parent_first": PARENT_FIRST}


def stealing_plan(
    spawn: str = "child_first",
    local_take: str = "newest",
    steal_take: str = "oldest",
    roots: str = "round_robin",
    active_workers: BoolArray | None = None,
) -> Plan:
    """Return the plan of random stealing; parameters as for `RandomStealing`."""
    return Plan(
        acquire=(
            AcquireStep("worker", "own", local_take),
            AcquireStep("worker", "anywhere", steal_take),
        ),
        spawn_order=SPAWN_ORDERS[spawn],
        roots=roots,
        active_workers=active_workers,
    )


def main_on_fastest(plan: Plan, view: PlanView, graph: TaskGraph, group: Int32Array) -> Plan:
    """Return a plan of random stealing whose main task starts on a core of the fastest group.

    The main task waits in a pool that the first worker on such a core looks into and nobody else.
    Its continuations are in the pools that everybody steals from. The plan stays as it is where all
    cores are equal or of different kinds, or not exactly one task without a parent spawns others.
    """
    main = main_tasks(graph)
    kinds = view.machine.thread_group[view.worker_thread]
    alike = len({view.machine.core_groups[kind].kind for kind in kinds.tolist()}) == 1
    if not group.any() or not alike or int(main.sum()) != 1:
        return plan
    own, steal = plan.acquire
    return replace(
        plan,
        acquire=(own, AcquireStep("main", "own", "oldest"), steal),
        pool_groups=(*plan.pool_groups, PoolGroup("main")),
        group_of=main.astype(np.int8),
        instance_of=np.where(main, group.argmin(), -1).astype(np.int32),
    )


def with_queue(plan: Plan, graph: TaskGraph) -> Plan:
    """Return a plan of random stealing whose tasks without a parent wait in a queue for all."""
    own, steal = plan.acquire
    return replace(
        plan,
        acquire=(own, AcquireStep("queue", "own", "oldest"), steal),
        pool_groups=(*plan.pool_groups, PoolGroup("queue", scope="machine")),
        group_of=(graph.parent < 0).astype(np.int8),
    )


@register("random_stealing")
@dataclass(frozen=True, kw_only=True)
class RandomStealing(PlacedPolicy[S]):
    """Random work stealing (RWS) with a double-ended pool for each worker.

    Parameters
    ----------
    spawn : {"child_first", "parent_first"}
        Whether a worker runs a child at once and leaves its continuation to thieves (work first),
        or puts the child into its pool and goes on (help first).
    local_take, steal_take : {"newest", "oldest"}
        End of the pool from which its owner and thieves take.
    roots : {"round_robin", "first", "queue"}
        Tasks without a parent enter the pools of the workers in turn, all that of the first worker,
        or a first-in first-out queue into which workers look before they steal.
    main : {"fastest", "anywhere"}
        Where the main task starts on cores of different speeds: on one of the fastest group
        (:func:`main_on_fastest`), or on the one that takes it first.

    Notes
    -----
    A worker with an empty pool draws victims uniformly among the others until one has work. Owners
    do not lock their pools, thieves do. Readings: docs/sources/cab.md.

    References
    ----------
    Q. Chen, M. Guo, Springer 2017, sections 2.2-2.3, 4.9, 5.9. R. D. Blumofe, C. E. Leiserson, J.
    ACM 46(5), 1999.
    """

    spawn: str = param("child_first", choices=tuple(SPAWN_ORDERS))
    local_take: str = param("newest", choices=TAKES)
    steal_take: str = param("oldest", choices=TAKES)
    roots: str = param("round_robin", choices=("round_robin", "first", "queue"))
    main: str = param("fastest", choices=("fastest", "anywhere"))

    def plan(self, view: PlanView, state: S, graph: TaskGraph) -> Plan:
        """Return one and the same plan for every graph, but for tasks without a parent."""
        if self.roots == "queue":
            return with_queue(stealing_plan(self.spawn, self.local_take, self.steal_take), graph)
        plan = stealing_plan(self.spawn, self.local_take, self.steal_take, self.roots)
        if self.main == "anywhere":
            return plan
        return main_on_fastest(plan, view, graph, self.seats(view, state))

    def seats(self, view: PlanView, state: S) -> Int32Array:
        """Return the group of each worker's core by now, 0 being the fastest."""
        return core_groups(view).of_worker


@register("single_thread")
@dataclass(frozen=True, kw_only=True)
class SingleThread(RandomStealing[None]):
    """A program on one thread: the first worker executes everything, the others nothing.

    Notes
    -----
    Data lie where the first worker touches them. Readings: docs/sources/bats.md.

    References
    ----------
    H. Zhao et al., ACM TACO 15(4), article 55, 2018, figure 4c (Cilk with one thread).
    """

    def plan(self, view: PlanView, state: None, graph: TaskGraph) -> Plan:
        only_first = np.arange(view.n_workers) == 0
        return stealing_plan(self.spawn, self.local_take, self.steal_take, "first", only_first)


preset("cilk_a", RandomStealing, "Cilk with pinned workers.")
for _name, _class, _text, _placement in (
    ("cilk_dram", RandomStealing, "Cilk with all data on DRAM nodes.", "all_dram"),
    ("cilk_h", RandomStealing, "Cilk with all data on HBM nodes.", "membind_hbm"),
    ("cilk_dram_1t", SingleThread, "Cilk with one thread, data in DRAM.", "all_dram"),
    ("cilk_hbm_1t", SingleThread, "Cilk with one thread, data in HBM.", "membind_hbm"),
    ("cilk_interleave", RandomStealing, "Cilk with data dealt out to all nodes.", "interleave"),
):
    preset(_name, _class, _text, placement=_placement)
preset(
    "cilk_c",
    RandomStealing,
    "Cilk on a machine whose HBM is a memory-side cache, data behind it.",
    placement="cached_dram",
)
preset(
    "pfws",
    RandomStealing,
    "Parent-first random stealing; owners and thieves take the oldest task.",
    spawn="parent_first",
    local_take="oldest",
)
preset(
    "tbb",
    RandomStealing,
    "Intel TBB, oneTBB: children enter their worker's deque; owners newest first, thieves oldest.",
    spawn="parent_first",
    roots="first",
)
preset(
    "tpl",
    RandomStealing,
    "Task Parallel Library of .NET: as tbb, and a global queue that comes before stealing.",
    spawn="parent_first",
    roots="queue",
)
preset(
    "java_fork_join",
    RandomStealing,
    "Java's ForkJoinPool: forked tasks enter their worker's deque, submitted ones a queue.",
    spawn="parent_first",
    roots="queue",
)
preset(
    "random_ws_parent_first",
    RandomStealing,
    "Parent-first (help-first) random stealing; owners take the newest task, thieves the oldest.",
    spawn="parent_first",
)
