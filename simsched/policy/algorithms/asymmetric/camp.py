"""CAMP and bias scheduling: the threads that profit most run on the fast cores."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from simsched.files.errors import ConfigurationError
from simsched.policy import (
    SEVERAL_SPEEDS,
    HookView,
    Need,
    PlanView,
    param,
    register,
)
from simsched.policy.parts.core_groups import CoreGroups
from simsched.policy.parts.thread_balancing import even_out, idle_fast_cores
from simsched.policy.parts.threads import CRITICAL, Move, Queues, ThreadScheduler, running_tasks
from simsched.workload.graph import FloatArray


def utility_factor(speedup: float, threads: int, fast_cores: int) -> float:
    """Return how much an application gains from fast cores (equation 5.1).

    >>> utility_factor(2.0, 4, 4), utility_factor(2.0, 5, 4)
    (2.0, 0.5)
    """
    return speedup / max(1, threads - (fast_cores - 1)) ** 2


def speedups(view: PlanView, groups: CoreGroups) -> tuple[FloatArray, FloatArray]:
    """Return the speedup factor and the share of stalls of each task on the fastest cores.

    A task computes for ``ops / speed`` and stalls for what its bytes take longer than that, at the
    bandwidth that one core draws from its own node. Operations are those that the policy knows of.
    """
    graph, machine = view.workload.graph, view.machine
    moved = np.zeros(graph.n_tasks)
    owner = np.repeat(np.arange(graph.n_tasks), np.diff(graph.access_ptr))
    np.add.at(moved, owner, (graph.read_bytes + graph.written_bytes).astype(np.float64))
    cap = max(max(path.core_cap_bytes_per_s) for path in machine.paths[0])
    memory_s = moved / cap if np.isfinite(cap) else np.zeros_like(moved)
    known = view.estimated_ops(graph)[0]
    ops = np.where(np.isfinite(known), known, 0.0)
    fast = np.maximum(ops / groups.ops_per_s[0], memory_s)
    slow = np.maximum(ops / groups.ops_per_s[-1], memory_s)
    some = np.where(fast > 0.0, fast, 1.0)
    factor = np.where(fast > 0.0, slow / some, 1.0)
    stalled = np.where(fast > 0.0, 1.0 - (ops / groups.ops_per_s[0]) / some, 0.0)
    return factor, stalled


#: Classes of CAMP, the one that goes to fast cores first last.
LOW, MEDIUM, HIGH, SEQUENTIAL_BOOSTED = range(4)


@register("camp")
@dataclass(frozen=True, kw_only=True)
class Camp(ThreadScheduler):
    """Threads with a high utility factor share the fast cores.

    Parameters
    ----------
    lower, upper : float
        Utility factors between which a thread is of medium class; from `upper` on it is of high
        class. If they are equal, no thread is of medium class.
    amp_boost_ticks : int
        Rounds for which a thread of high class is boosted while it is the only one of a parallel
        application that can run. Threads of low and medium class are never boosted.

    Notes
    -----
    The class of a thread follows from its application's utility factor: mean speedup and number of
    threads that can run. Fast cores take boosted threads first, then those of high class, in turn,
    then medium and low ones. Readings: docs/sources/aats.md.

    References
    ----------
    J. C. Saez, M. Prieto, A. Fedorova, S. Blagodurov, *A comprehensive scheduler for asymmetric
    multicore systems*, EuroSys 2010. Q. Chen, M. Guo, Springer 2017, section 5.3.2.
    """

    needs: ClassVar[tuple[Need, ...]] = (SEVERAL_SPEEDS,)

    lower: float = param(1.1, low=0.0)
    upper: float = param(1.5, low=0.0)
    amp_boost_ticks: int = param(100, low=0)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.lower > self.upper:
            raise ConfigurationError(
                f"policy {type(self).name}: parameter lower: found {self.lower:g} with upper "
                f"{self.upper:g}, accepted at most upper"
            )

    def balance(self, view: HookView, state: Queues) -> list[Move]:
        class_of = self._classes(view, state)
        group = state.groups.of_worker
        moves = even_out(
            view,
            state,
            np.ones(view.n_workers),
            lambda task, source, target: class_of[task] * float(group[source] - group[target]),
        )
        running = running_tasks(view)
        on = {core: class_of[task] for core, task in running.items()}
        idle = idle_fast_cores(view, state)
        fast = [core for core in running if group[core] == 0]
        slow = [core for core in running if group[core] > 0]
        comes = sorted(slow, key=lambda core: -on[core])
        leaves = [*idle, *sorted(fast, key=lambda core: on[core])]
        places: list[Move] = []
        for source, target in zip(comes, leaves, strict=False):
            if target in idle or (on[source] > on[target] and on[source] >= HIGH):
                places += self.swap(view, state, source, target)
        sharing = [core for core in slow if on[core] == HIGH]
        shared = [core for core in fast if on[core] == HIGH]
        if not places and sharing and shared:
            turn = state.notes.get("turn", 0)
            state.notes["turn"] = turn + 1
            places += self.swap(
                view, state, sharing[turn % len(sharing)], shared[turn % len(shared)]
            )
        return moves + places

    def rests(self, view: HookView, state: Queues) -> bool:
        """Return whether no boost is going to end."""
        return all(n > self.amp_boost_ticks for n in state.notes["boosts"].values())

    def _classes(self, view: HookView, state: Queues) -> dict[int, int]:
        """Return the class of each thread that can run, by its task."""
        names = view.workload.graph.class_names
        present = [*running_tasks(view).values(), *(t for queue in state.waiting for t in queue)]
        members: dict[str, list[int]] = {}
        for task in present:
            members.setdefault(_application(names[state.task_class[task]]), []).append(task)
        threads = Counter(_application(names[t]) for t in np.unique(state.thread).tolist())
        boosts = state.notes.setdefault("boosts", Counter())
        for name in [name for name in boosts if len(members.get(name, ())) != 1]:
            del boosts[name]
        factor, _ = speedups(view, state.groups)
        class_of = {}
        for name, tasks in members.items():
            utility = utility_factor(
                float(factor[tasks].mean()), len(tasks), int(state.groups.size[0])
            )
            found = HIGH if utility >= self.upper else MEDIUM if utility >= self.lower else LOW
            if found == HIGH and len(tasks) == 1 and threads[name] > 1:
                boosts[name] += 1
                if boosts[name] <= self.amp_boost_ticks:
                    found = SEQUENTIAL_BOOSTED
            class_of.update(dict.fromkeys(tasks, found))
        return class_of


def _application(name: str) -> str:
    """Return the application that a class of tasks belongs to."""
    return name.removesuffix(CRITICAL).rpartition(".")[0]


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
    A thread that can run enters the queue of an idle big core if there is one. Every round balances
    queues first, by threads relative to speed, those with a bias to the other type of core first.
    If nothing has moved, a thread biased to small cores changes places with one biased to big ones.
    Readings: docs/sources/aats.md.

    References
    ----------
    D. Koufaty, D. Reddy, S. Hahn, *Bias scheduling in heterogeneous multi-core architectures*,
    EuroSys 2010. Q. Chen, M. Guo, Springer 2017, section 5.3.3.
    """

    needs: ClassVar[tuple[Need, ...]] = (SEVERAL_SPEEDS,)

    stall_share: float = param(0.3, low=0.0, high=1.0)

    def queue_of(self, view: HookView, state: Queues, task: int) -> int:
        """Return the core of the thread, or an idle big one."""
        home = super().queue_of(view, state, task)
        idle = idle_fast_cores(view, state)
        if not idle or home in idle:
            return home
        state.note_move(state.thread_of(task), idle[0])
        return idle[0]

    def balance(self, view: HookView, state: Queues) -> list[Move]:
        _, stalled = speedups(view, state.groups)
        group = state.groups.of_worker
        running = running_tasks(view)

        def suits(task: int, source: int, target: int) -> float:
            if (group[source] == 0) == (group[target] == 0):
                return 0.0
            return float(-stalled[task] if group[target] == 0 else stalled[task])

        moves = even_out(view, state, state.groups.ops_per_s[group], suits)
        comes = sorted((c for c in running if group[c] > 0), key=lambda c: stalled[running[c]])
        for source, target in zip(comes, idle_fast_cores(view, state), strict=False):
            moves += self.swap(view, state, source, target)
        return moves or self._exchange(view, state, stalled)

    def _exchange(self, view: HookView, state: Queues, stalled: FloatArray) -> list[Move]:
        """Return the places that two threads with biases to each other's cores change."""
        running = running_tasks(view)
        big: list[tuple[int, int]] = []
        small: list[tuple[int, int]] = []
        for core in range(view.n_workers):
            is_big = state.groups.of_worker[core] == 0
            for task in [*([running[core]] if core in running else []), *state.waiting[core]]:
                if (stalled[task] > self.stall_share) == is_big:
                    (big if is_big else small).append((task, core))
        if not big or not small:
            return []
        (first, here), (second, there) = big[0], small[0]
        return [
            self.relocate(view, state, first, here, there),
            self.relocate(view, state, second, there, here),
        ]
