"""CAMP and bias scheduling: the threads that profit most run on the fast cores."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simsched.policy.base import View, param
from simsched.policy.core_groups import CoreGroups
from simsched.policy.registry import register
from simsched.policy.threads import CRITICAL, Move, Queues, ThreadScheduler

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


#: Classes of CAMP, the one that goes to fast cores first last; a core that runs nothing.
IDLE, LOW, MEDIUM, HIGH, SEQUENTIAL_BOOSTED = -1, 0, 1, 2, 3


@register("camp")
@dataclass(frozen=True, kw_only=True)
class Camp(ThreadScheduler):
    """Threads with a high utility factor share the fast cores.

    Parameters
    ----------
    lower, upper : float
        Utility factors between which a thread is of medium class; from `upper` on it is of high
        class.
    amp_boost_ticks : int
        Rounds for which a thread of high class is boosted while it is the only one of its
        application that can run. Threads of low and medium class are never boosted.

    Notes
    -----
    Threads ``a.x`` and ``a.y`` belong to application ``a``; all whose names have no full stop are
    one application. The utility factor of a thread has its own speedup and the number of threads of
    its application that can run. A boosted thread on a slow core changes places with what a fast
    core runs unless that is boosted as well, a thread of high class with one of lower class; of
    those, threads of low class go first. If all fast cores run threads of high class and others
    wait on slow cores, one of these changes places with one of them in every round, so that they
    share the fast cores. Left-over fast cores keep what they run; those that run nothing take
    threads of medium class from slow cores, then of low class. In a program of one application a
    boosted thread has no rival. Thresholds are not published; the defaults separate threads that
    hardly gain, and the times of stalls come from the program, not from counters.

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
        live = view.state
        assert live is not None
        running = running_tasks(view)
        group = state.groups.of_worker
        class_of = self._classes(view, state, running)
        fast = [core for core in range(view.n_workers) if group[core] == 0]
        slow = [core for core in running if group[core] > 0]
        comes = sorted(slow, key=lambda core: -class_of[core])
        leaves = sorted(fast, key=lambda core: class_of.get(core, IDLE))
        moves: list[Move] = []
        for source, target in zip(comes, leaves, strict=False):
            above = class_of[source] > class_of.get(target, IDLE)
            if above and (class_of[source] >= HIGH or live.is_waiting(target)):
                moves += self.swap(view, state, source, target)
        sharing = [core for core in slow if class_of[core] == HIGH]
        shared = [core for core in fast if class_of.get(core, IDLE) == HIGH]
        if not moves and sharing and shared:
            turn = state.notes.get("turn", 0)
            state.notes["turn"] = turn + 1
            moves += self.swap(
                view, state, sharing[turn % len(sharing)], shared[turn % len(shared)]
            )
        return moves

    def _classes(self, view: View, state: Queues, running: dict[int, int]) -> dict[int, int]:
        """Return the class of the thread that each core runs."""
        assert state.task_class is not None
        names = view.workload.graph.class_names
        application = {
            task: names[state.task_class[task]].removesuffix(CRITICAL).rpartition(".")[0]
            for task in (*running.values(), *(t for queue in state.waiting for t in queue))
        }
        threads = Counter(application.values())
        boosts = state.notes.setdefault("boosts", Counter())
        for name in [name for name in boosts if threads[name] != 1]:
            del boosts[name]
        factor, _ = speedups(view, state.groups)
        n_fast = int(state.groups.size[0])
        class_of = {}
        for core, task in running.items():
            name = application[task]
            utility = utility_factor(float(factor[task]), threads[name], n_fast)
            class_of[core] = HIGH if utility >= self.upper else MEDIUM
            if utility < self.lower:
                class_of[core] = LOW
            elif threads[name] == 1 and class_of[core] == HIGH:
                boosts[name] += 1
                if boosts[name] <= self.amp_boost_ticks:
                    class_of[core] = SEQUENTIAL_BOOSTED
        return class_of


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
