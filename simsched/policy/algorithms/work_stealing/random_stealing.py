"""Random work stealing: one pool per worker, uniformly random victims."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simsched.policy.contract.base import (
    CHILD_FIRST,
    PARENT_FIRST,
    TAKES,
    AcquireStep,
    Counters,
    Exchange,
    Plan,
    PoolGroup,
    Update,
    View,
    param,
)
from simsched.policy.contract.registry import preset, register
from simsched.policy.parts.core_groups import Int32Array, core_groups
from simsched.policy.parts.placement import PlacedPolicy
from simsched.workload.graph import TaskGraph

SPAWN_ORDERS = {"child_first": CHILD_FIRST, "parent_first": PARENT_FIRST}


def stealing_plan(
    spawn: str = "child_first",
    local_take: str = "newest",
    steal_take: str = "oldest",
    roots: str = "round_robin",
    active_workers: NDArray[np.bool_] | None = None,
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


def main_on_fastest(plan: Plan, view: View, graph: TaskGraph, group: Int32Array) -> Plan:
    """Return a plan of random stealing whose main task starts on a core of the fastest group.

    Parameters
    ----------
    plan : Plan
        As :func:`stealing_plan` returns it.
    view : View
        Machine and workers.
    graph : TaskGraph
        The program.
    group : ndarray of int32, shape (n_workers,)
        Group of the core of each worker, 0 being the fastest.

    Notes
    -----
    The main task waits in a pool that the first worker on such a core looks into and nobody else.
    Its continuations are in the pools that everybody steals from. The plan stays as it is where all
    cores are equal or of different kinds, or not exactly one task without a parent spawns others.
    """
    main = (graph.parent < 0) & (np.diff(graph.child_ptr) > 0)
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


@register("random_stealing")
@dataclass(frozen=True, kw_only=True)
class RandomStealing(PlacedPolicy):
    """Random work stealing (RWS) with a double-ended pool for each worker.

    Parameters
    ----------
    spawn : {"child_first", "parent_first"}
        Whether a worker that spawns a child runs the child at once and leaves its own continuation
        to thieves (work first), or puts the child into its pool and goes on (help first).
    local_take, steal_take : {"newest", "oldest"}
        End of the pool from which its owner and thieves take.
    roots : {"round_robin", "first"}
        Tasks without a parent enter the pools of the workers in turn, or all that of the first
        worker.
    main : {"fastest", "anywhere"}
        Where the main task of an iteration starts on cores of different speeds: on a core of the
        fastest group (:func:`main_on_fastest`), or on the one that takes it first.

    Notes
    -----
    The study of cores of different speeds starts the main task on the fastest core for all
    schedulers, a favour to those that would start it at random; here in each iteration, that is
    batch, as for AATS.

    A worker with an empty pool draws victims uniformly among the other workers until one has work.
    Owners do not lock their pools, thieves do. The book's single-worker order for parent-first, t0
    t1 t2 t3 t4 t5 t6 t7, needs owners that take the oldest task; its thieves are taken to do the
    same (``pfws``). The study of LAWS changes nothing but the spawn order of Cilk
    (``random_ws_parent_first``): owners take the newest task.

    Workers are pinned, as in Cilk-a (``cilk_a``). MIT Cilk does not pin them (``cilk``):
    :class:`UnpinnedStealing`.

    References
    ----------
    Q. Chen, M. Guo, *Task Scheduling for Multi-core and Parallel Architectures*, Springer 2017,
    sections 2.2-2.3, 4.9 and 5.9. Q. Chen, M. Guo, H. Guan, *LAWS: Locality-Aware Work-Stealing for
    Multi-socket Multi-core Architectures*, ICS 2014, section 4. R. D. Blumofe, C. E. Leiserson,
    *Scheduling multithreaded computations by work stealing*, J. ACM 46(5), 1999.
    """

    spawn: str = param("child_first", choices=tuple(SPAWN_ORDERS))
    local_take: str = param("newest", choices=TAKES)
    steal_take: str = param("oldest", choices=TAKES)
    roots: str = param("round_robin", choices=("round_robin", "first"))
    main: str = param("fastest", choices=("fastest", "anywhere"))

    def plan(self, view: View, state: Any, graph: TaskGraph) -> Plan:
        """Return one and the same plan for every graph, but for its main task."""
        plan = stealing_plan(self.spawn, self.local_take, self.steal_take, self.roots)
        if self.main == "anywhere":
            return plan
        return main_on_fastest(plan, view, graph, self.seats(view, state))

    def seats(self, view: View, state: Any) -> Int32Array:
        """Return the group of each worker's core by now, 0 being the fastest.

        Parameters
        ----------
        view : View
            What the policy knows.
        state : object
            The policy's own.

        Returns
        -------
        ndarray of int32, shape (n_workers,)
            Groups.
        """
        return core_groups(view).of_worker


@register("unpinned_stealing")
@dataclass(frozen=True, kw_only=True)
class UnpinnedStealing(RandomStealing):
    """Random work stealing whose workers the operating system moves between cores.

    Parameters
    ----------
    exchange_period_s : float
        Time in seconds between two moves on the machine; 0 pins the workers. The default is an
        assumption: no source says how often threads are moved.

    Notes
    -----
    At every multiple of the period two different workers, drawn uniformly, swap their hardware
    threads, whatever they are doing; one of w workers is thus moved every ``w / 2`` periods on
    average, 80 ms for 16 workers. What they have in private caches stays behind, as does, when they
    leave the domain, what they have in its shared cache and on its memory node. The move itself
    costs nothing. A run shorter than the period is that of pinned workers.

    The study of cores of different speeds has parent-first stealing and snatching differ from Cilk
    in nothing else. As theirs, its Cilk has pinned workers in the shipped experiments (``cilk_a``).

    References
    ----------
    Q. Chen, M. Guo, *Task Scheduling for Multi-core and Parallel Architectures*, Springer 2017,
    chapter 3: MIT Cilk beside Cilk-a, in which worker i is pinned to core i.
    """

    exchange_period_s: float = param(0.01, low=0.0, high=1e6)

    @property
    def timer_period_s(self) -> float:  # type: ignore[override]  # a parameter here
        """Time between two moves in seconds."""
        return self.exchange_period_s

    def start(self, view: View) -> Int32Array:
        """Return the group of each worker's core."""
        return core_groups(view).of_worker.copy()

    def seats(self, view: View, state: Any) -> Int32Array:
        """Return who is where after the moves so far."""
        found: Int32Array = state
        return found

    def on_timer(self, view: View, state: Any) -> tuple[Exchange, ...]:
        """Return two workers that swap threads."""
        if view.n_workers < 2:
            return ()
        pair = view.rng.choice(view.n_workers, 2, replace=False).tolist()
        live = view.state
        assert live is not None
        if any(map(live.has_failed, pair)):
            return ()  # nobody is moved to a core that has failed
        state[pair] = state[pair[::-1]]
        return (Exchange(*pair),)

    def on_iteration(self, view: View, state: Any, counters: Counters) -> Update | None:
        """Return the plan with who is on the fastest core by now, where there is such a core."""
        return Update(plan=self.plan(view, state, view.workload.graph)) if state.any() else None


@register("single_thread")
@dataclass(frozen=True, kw_only=True)
class SingleThread(RandomStealing):
    """A program on one thread: the first worker executes everything, the others nothing.

    Notes
    -----
    What the latency of a kind of memory is measured with: data lie where the first worker touches
    them, on its own node of that kind as far as they fit.

    References
    ----------
    H. Zhao et al., ACM TACO 15(4), article 55, 2018, figure 4c (Cilk with one thread).
    """

    def plan(self, view: View, state: Any, graph: TaskGraph) -> Plan:
        """Return stealing with one active worker."""
        only_first = np.arange(view.n_workers) == 0
        return stealing_plan(self.spawn, self.local_take, self.steal_take, "first", only_first)


preset(
    "cilk",
    UnpinnedStealing,
    "MIT Cilk: child first, data where they are first touched, workers that are not pinned.",
)
preset("cilk_a", RandomStealing, "Cilk with pinned workers.")
preset("cilk_dram", RandomStealing, "Cilk with all data on DRAM nodes.", placement="all_dram")
preset(
    "cilk_c",
    RandomStealing,
    "Cilk on a machine whose HBM is a memory-side cache, data behind it.",
    placement="cached_dram",
)
preset("cilk_h", RandomStealing, "Cilk with all data on HBM nodes.", placement="membind_hbm")
preset("cilk_dram_1t", SingleThread, "Cilk with one thread, data in DRAM.", placement="all_dram")
preset("cilk_hbm_1t", SingleThread, "Cilk with one thread, data in HBM.", placement="membind_hbm")
preset(
    "cilk_interleave",
    RandomStealing,
    "Cilk with data dealt out to all nodes.",
    placement="interleave",
)
preset(
    "pfws",
    RandomStealing,
    "Parent-first random stealing; owners and thieves take the oldest task.",
    spawn="parent_first",
    local_take="oldest",
)
preset(
    "random_ws_parent_first",
    RandomStealing,
    "Parent-first (help-first) random stealing; owners take the newest task, thieves the oldest.",
    spawn="parent_first",
)
