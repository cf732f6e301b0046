"""Random work stealing: one pool per worker, uniformly random victims."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simsched.policy.base import (
    CHILD_FIRST,
    PARENT_FIRST,
    TAKES,
    AcquireStep,
    Exchange,
    Plan,
    View,
    param,
)
from simsched.policy.placement import PlacedPolicy
from simsched.policy.registry import preset, register
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


@register("random_stealing")
@dataclass(frozen=True, kw_only=True)
class RandomStealing(PlacedPolicy):
    """Random work stealing with a double-ended pool for each worker.

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

    Notes
    -----
    A worker with an empty pool draws victims uniformly among the other workers until one has work.
    Owners do not lock their pools, thieves do. The book's single-worker order for parent-first, t0
    t1 t2 t3 t4 t5 t6 t7, needs owners that take the oldest task; its thieves are taken to do the
    same.

    Workers are pinned, as in Cilk-a (``cilk_a``). MIT Cilk does not pin them (``cilk``):
    :class:`UnpinnedStealing`.

    References
    ----------
    Q. Chen, M. Guo, *Task Scheduling for Multi-core and Parallel Architectures*, Springer 2017,
    sections 2.2-2.3. R. D. Blumofe, C. E. Leiserson, *Scheduling multithreaded computations by work
    stealing*, J. ACM 46(5), 1999.
    """

    spawn: str = param("child_first", choices=tuple(SPAWN_ORDERS))
    local_take: str = param("newest", choices=TAKES)
    steal_take: str = param("oldest", choices=TAKES)
    roots: str = param("round_robin", choices=("round_robin", "first"))

    def plan(self, view: View, state: Any, graph: TaskGraph) -> Plan:
        """Return one and the same plan for every graph."""
        return stealing_plan(self.spawn, self.local_take, self.steal_take, self.roots)


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

    def on_timer(self, view: View, state: Any) -> tuple[Exchange, ...]:
        """Return two workers that swap threads."""
        if view.n_workers < 2:
            return ()
        first, second = view.rng.choice(view.n_workers, 2, replace=False).tolist()
        return (Exchange(first, second),)


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
