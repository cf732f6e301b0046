"""TATL: thieves and victims of a topology-aware scheduler know each other by a bit per queue."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from simsched.files.units import PER_PS
from simsched.policy import (
    PARENT_FIRST,
    SEVERAL_DOMAINS,
    AcquireStep,
    HookView,
    Need,
    PlacedPolicy,
    Plan,
    PlanView,
    Pool,
    Transfer,
    param,
    register,
)
from simsched.workload.graph import TaskGraph


@dataclass(eq=False)
class TatlState:
    """Bits, rates and messages."""

    is_victim: list[bool]  # the bit of each worker's queue
    pushed: list[int]  # entries that each queue has taken in and given away so far
    popped: list[int]
    busy_until_ps: list[int] = field(default_factory=list)  # when each worker's steal is over


@register("tatl")
@dataclass(frozen=True, kw_only=True)
class Tatl(PlacedPolicy[TatlState]):
    """Topology-aware stealing from queues that call themselves victims, of the own socket first.

    Parameters
    ----------
    capacity : int
        Capacity C of a queue in tasks.

    Notes
    -----
    A queue becomes a victim on reaching ``S = C - lambda T_push + mu T_pop`` entries. It becomes a
    thief if it has ``s = mu T_pop`` when its owner has executed a task, or when this has none left;
    lambda and mu are the rates at which entries arrive and leave, T_push and T_pop the costs of the
    machine. A worker takes the oldest of its own tasks; when it has none it takes the newest one of
    a random victim queue of its domain, else of another domain, and goes on looking until there is
    one. Readings: docs/sources/laws.md.

    References
    ----------
    K. Vikranth, R. Wankar, C. R. Rao, *Topology aware task stealing for on-chip NUMA multi-core
    processors*, Procedia Computer Science 18, 2013. Q. Chen, M. Guo, Springer 2017, section 4.3.5
    and algorithm 5.
    """

    needs: ClassVar[tuple[Need, ...]] = (SEVERAL_DOMAINS,)

    capacity: int = param(64, low=2)

    def start(self, view: PlanView) -> TatlState:
        n = view.n_workers
        return TatlState([False] * n, [0] * n, [0] * n, [0] * n)

    def plan(self, view: PlanView, state: TatlState, graph: TaskGraph) -> Plan:
        return Plan(
            acquire=(AcquireStep("worker", "own", "oldest"),),
            spawn_order=PARENT_FIRST,
            roots="first",
        )

    def on_ready(
        self, view: HookView, state: TatlState, task: int, worker: int
    ) -> tuple[Pool | Transfer, ...]:
        """Note an entry that a worker queues, and return the steals if its queue is a victim."""
        owner = max(worker, 0)  # tasks without a pusher enter the first worker's queue
        state.pushed[owner] += 1
        size = view.live.queue_length(0, owner) + 1
        pool = Pool(0, owner)
        if size >= self.thresholds(view, state, owner)[1]:
            state.is_victim[owner] = True
        return (pool, *self._noticed(view, state, owner)) if state.is_victim[owner] else (pool,)

    def on_acquire(
        self, view: HookView, state: TatlState, task: int, worker: int, group: int, instance: int
    ) -> None:
        """Note an entry that has left a queue."""
        state.popped[instance] += 1

    def on_finish(self, view: HookView, state: TatlState, task: int, worker: int) -> None:
        """Make a thief of a queue whose owner has executed a task, if it is that short."""
        if view.live.queue_length(0, worker) == self.thresholds(view, state, worker)[0]:
            state.is_victim[worker] = False

    def on_idle(self, view: HookView, state: TatlState, worker: int) -> Transfer | None:
        """Return the steal of a worker that has nothing, if there is a victim."""
        return self._find(view, state, worker, [0] * view.n_workers)

    def _noticed(self, view: HookView, state: TatlState, victim: int) -> list[Transfer]:
        """Return the steals of those who wait, when a victim takes in an entry."""
        live = view.live
        taken = [0] * view.n_workers
        taken[victim] = -1  # the entry is not there yet
        waiting = [
            worker
            for worker in range(view.n_workers)
            if worker != victim and live.is_waiting(worker) and live.queue_length(0, worker) == 0
        ]
        order = view.rng.permutation(len(waiting)).tolist()
        found = (self._find(view, state, waiting[place], taken) for place in order)
        return [steal for steal in found if steal is not None]

    def _find(
        self, view: HookView, state: TatlState, worker: int, taken: list[int]
    ) -> Transfer | None:
        """Return the steal of a worker that has nothing, if there is a victim."""
        live = view.live
        state.is_victim[worker] = False
        if state.busy_until_ps[worker] > live.now_ps():
            return None
        domain = view.worker_domain
        victims = [
            v
            for v in range(view.n_workers)
            if state.is_victim[v] and v != worker and live.queue_length(0, v) > taken[v]
        ]
        near = [v for v in victims if domain[v] == domain[worker]]
        candidates = near or victims
        if not candidates:
            return None
        victim = candidates[int(view.rng.integers(len(candidates)))]
        return self._steal(view, state, worker, victim, taken)

    def thresholds(self, view: HookView, state: TatlState, worker: int) -> tuple[int, int]:
        """Return s and S of a worker's queue, in entries."""
        seconds = view.live.now_ps() * PER_PS
        costs = view.machine.costs
        arriving = state.pushed[worker] / seconds if seconds > 0 else 0.0
        leaving = state.popped[worker] / seconds if seconds > 0 else 0.0
        return queue_thresholds(
            self.capacity, arriving * costs.push_ps * PER_PS, leaving * costs.pop_ps * PER_PS
        )

    def _steal(
        self, view: HookView, state: TatlState, thief: int, victim: int, taken: list[int]
    ) -> Transfer:
        """Return the transfer of one entry to the thief."""
        live, thread = view.live, view.worker_thread
        delay_ps = max(1, view.machine.steal_ps(int(thread[thief]), int(thread[victim])))
        state.busy_until_ps[thief] = live.now_ps() + delay_ps
        state.pushed[thief] += 1
        state.popped[victim] += 1
        taken[victim] += 1
        return Transfer(0, victim, 0, thief, 1, delay_ps, "newest")


def queue_thresholds(capacity: int, pushing: float, popping: float) -> tuple[int, int]:
    """Return the lengths at which a queue becomes a thief and a victim.

    ``s = mu T_pop`` and ``S = C - lambda T_push + mu T_pop``, rounded up, ``1 <= s < S <= C``.

    >>> queue_thresholds(64, 0.5, 0.1)
    (1, 64)
    >>> queue_thresholds(8, 3.0, 2.0)
    (2, 7)
    """
    least = min(max(int(np.ceil(popping)), 1), capacity - 1)
    most = int(np.ceil(capacity - pushing + popping))
    return least, min(max(most, least + 1), capacity)
