"""CAMP and bias scheduling: the threads that profit most run on the fast cores."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simsched.policy.base import View, param
from simsched.policy.core_groups import CoreGroups
from simsched.policy.registry import register
from simsched.policy.threads import Move, Queues, ThreadScheduler

FloatArray = NDArray[np.float64]


def utility_factor(speedup: float, threads: int, fast_cores: int) -> float:
    """Return how much an application gains from fast cores (equation 5.1).

    Parameters
    ----------
    speedup : float
        Mean speedup factor of its threads on a fast core.
    threads : int
        Its threads that can run.
    fast_cores : int
        Number of fast cores.

    Examples
    --------
    >>> utility_factor(2.0, 4, 4), utility_factor(2.0, 5, 4)
    (2.0, 0.5)
    """
    return speedup / max(1, threads - (fast_cores - 1)) ** 2


def speedups(view: View, groups: CoreGroups) -> tuple[FloatArray, FloatArray]:
    """Return the speedup factor and the share of stalls of each task on the fastest cores.

    A task computes for ``ops / speed`` and stalls for what its bytes take longer than that, at the
    bandwidth that one core draws from its own node.
    """
    graph, machine = view.workload.graph, view.machine
    moved = np.zeros(graph.n_tasks)
    owner = np.repeat(np.arange(graph.n_tasks), np.diff(graph.access_ptr))
    np.add.at(moved, owner, (graph.read_bytes + graph.written_bytes).astype(np.float64))
    cap = max(max(path.core_cap_bytes_per_s) for path in machine.paths[0])
    memory_s = moved / cap if np.isfinite(cap) else np.zeros_like(moved)
    ops = np.where(np.isfinite(graph.ops[0]), graph.ops[0], 0.0)
    fast = np.maximum(ops / groups.ops_per_s[0], memory_s)
    slow = np.maximum(ops / groups.ops_per_s[-1], memory_s)
    some = np.where(fast > 0.0, fast, 1.0)
    factor = np.where(fast > 0.0, slow / some, 1.0)
    stalled = np.where(fast > 0.0, 1.0 - (ops / groups.ops_per_s[0]) / some, 0.0)
    return factor, stalled


def running_tasks(view: View) -> dict[int, int]:
    """Return the task that each core is running."""
    live = view.state
    assert live is not None
    found = {core: live.running_task(core) for core in range(view.n_workers)}
    return {core: task for core, task in found.items() if task >= 0}


@register("camp")
@dataclass(frozen=True, kw_only=True)
class Camp(ThreadScheduler):
    """Threads with a high utility factor share the fast cores.

    Parameters
    ----------
    lower, upper : float
        Utility factors between which a thread is of medium class.
    amp_boost_ticks : int
        Rounds for which the only thread that can run is boosted, whatever its factor, if it is not
        of low class.

    Notes
    -----
    The program is one application. A thread of high class on a slow core changes places with one of
    lower class on a fast core, the one that has run there longest first; if all fast cores run such
    threads and others wait on slow cores, one of these changes places with one of them in every
    round, so that they share the fast cores. Left-over fast cores keep what they run: lower classes
    are not exchanged. Thresholds are not published; the defaults separate threads that hardly gain,
    and the times of stalls come from the program, not from counters.

    References
    ----------
    J. C. Saez, M. Prieto, A. Fedorova, S. Blagodurov, *A comprehensive scheduler for asymmetric
    multicore systems*, EuroSys 2010. Q. Chen, M. Guo, *Task Scheduling for Multi-core and Parallel
    Architectures*, Springer 2017, section 5.3.2.
    """

    lower: float = param(1.1, low=0.0)
    upper: float = param(1.5, low=0.0)
    amp_boost_ticks: int = param(100, low=0)

    def balance(self, view: View, state: Queues) -> list[Move]:
        """Return the places that threads change."""
        running = running_tasks(view)
        factor, _ = speedups(view, state.groups)
        threads = len(running) + sum(len(queue) for queue in state.waiting)
        n_fast = int(state.groups.size[0])
        utility = {
            core: utility_factor(float(factor[task]), threads, n_fast)
            for core, task in running.items()
        }
        boosts = state.notes.get("boosts", 0)
        state.notes["boosts"] = boosts + 1 if threads == 1 else 0
        boosted = threads == 1 and boosts < self.amp_boost_ticks
        group = state.groups.of_worker
        limit = self.lower if boosted else self.upper
        slow = [c for c in running if group[c] > 0 and utility[c] >= limit]
        fast = [c for c in range(view.n_workers) if group[c] == 0]
        low = [c for c in fast if c not in running or utility[c] < self.upper]
        moves: list[Move] = []
        for source, target in zip(slow, low, strict=False):
            moves += self.swap(view, state, source, target)
        if not low and slow and fast:
            turn = state.notes.get("turn", 0)
            state.notes["turn"] = turn + 1
            moves += self.swap(view, state, slow[turn % len(slow)], fast[turn % len(fast)])
        return moves


@register("bias_scheduling")
@dataclass(frozen=True, kw_only=True)
class BiasScheduling(ThreadScheduler):
    """Threads that stall leave the big cores to threads that compute.

    Parameters
    ----------
    stall_share : float
        Threads that stall for a larger share of their time are biased towards small cores.

    Notes
    -----
    In every round one thread with a bias to small cores that runs on a big core changes places with
    one with a bias to big cores that runs on a small core; big cores that wait take such a thread
    first. The threshold is not published, and stalls come from the program, not from counters.

    References
    ----------
    D. Koufaty, D. Reddy, S. Hahn, *Bias scheduling in heterogeneous multi-core architectures*,
    EuroSys 2010. Q. Chen, M. Guo, *Task Scheduling for Multi-core and Parallel Architectures*,
    Springer 2017, section 5.3.3.
    """

    stall_share: float = param(0.3, low=0.0, high=1.0)

    def balance(self, view: View, state: Queues) -> list[Move]:
        """Return the places that two threads change."""
        running = running_tasks(view)
        _, stalled = speedups(view, state.groups)
        group = state.groups.of_worker
        big = [c for c in range(view.n_workers) if group[c] == 0]
        leaves = [c for c in big if c not in running and not state.waiting[c]]
        leaves += [c for c in big if c in running and stalled[running[c]] > self.stall_share]
        comes = [c for c, t in running.items() if group[c] > 0 and stalled[t] <= self.stall_share]
        return self.swap(view, state, comes[0], leaves[0]) if leaves and comes else []
