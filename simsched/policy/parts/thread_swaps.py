"""Threads that swap cores: who snatches from whom, and what that costs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from simsched.files.units import PS_PER_S
from simsched.machine.model import Machine
from simsched.policy.contract.base import Exchange, HookView, PlanView, seconds_to_ps
from simsched.policy.parts.core_groups import core_groups
from simsched.policy.parts.footprint import private_level
from simsched.workload.graph import TaskGraph

LINE_BYTES = 64  #: of a cache line
REFILLS = ("streamed", "by_line", "none")


@dataclass(frozen=True)
class SwapCost:
    """What a swap of two threads costs; see :func:`refill_ps`."""

    swap_s: float
    refill: str


class Seats:
    """Which group of cores and which hardware thread every worker is on."""

    def __init__(self, view: PlanView) -> None:
        self.group = core_groups(view).of_worker.copy()
        self.thread = view.worker_thread.copy()

    def is_fast(self, worker: int) -> bool:
        """Return whether there are slower cores than that of a worker."""
        return bool(self.group[worker] < self.group.max())

    def snatch(
        self, view: HookView, graph: TaskGraph, choose: Callable[[list[int]], int], cost: SwapCost
    ) -> list[Exchange]:
        """Return the swaps of waiting workers with workers that execute tasks on slower cores.

        Parameters
        ----------
        view : HookView
            View of the run.
        graph : TaskGraph
            Tasks of the iteration.
        choose : callable
            Returns one of some workers.
        cost : SwapCost
            What a swap costs.
        """
        live, group = view.live, self.group.tolist()
        swaps: list[Exchange] = []
        busy = [worker for worker in range(view.n_workers) if live.running_task(worker) >= 0]
        slowest = max((group[worker] for worker in busy), default=0)
        for worker in [w for w, g in enumerate(group) if g < slowest and live.is_waiting(w)]:
            victims = [other for other in busy if group[other] > group[worker]]
            if victims:
                victim = choose(victims)
                cost_ps = self._cost_ps(view, graph, worker, victim, cost)
                swaps.append(Exchange(worker, victim, cost_ps))
                group[worker], group[victim] = group[victim], group[worker]
                pair = [worker, victim]
                self.thread[pair] = self.thread[pair[::-1]]
        self.group[:] = group
        return swaps

    def _cost_ps(
        self, view: HookView, graph: TaskGraph, worker: int, victim: int, cost: SwapCost
    ) -> int:
        """Return what the task of a victim waits for; engines know what its blocks cost."""
        swap_ps, task = seconds_to_ps(cost.swap_s), view.live.running_task(victim)
        if graph.access_ptr[task] < graph.access_ptr[task + 1]:
            return swap_ps
        old, new = int(self.thread[victim]), int(self.thread[worker])
        return swap_ps + refill_ps(view.machine, old, new, cost.refill)


def refill_ps(machine: Machine, old_thread: int, new_thread: int, refill: str) -> int:
    """Return what it takes to fill a private cache anew for a task that changes cores.

    All of its outermost private cache is lost. The data are where the task has touched them: in the
    memory that is nearest to the old core.

    Parameters
    ----------
    machine : Machine
        The machine.
    old_thread, new_thread : int
        Hardware threads.
    refill : {"streamed", "by_line", "none"}
        At the bandwidth of one core, one cache line after the other, or without any time.
    """
    level = private_level(machine)
    old, new = machine.thread_core[[old_thread, new_thread]].tolist()
    if refill == "none" or level is None or old == new:
        return 0
    lost_bytes = machine.caches[level].capacity_bytes
    node = int(machine.touch_order[machine.core_domain[old], 0])
    path = machine.paths[int(machine.core_domain[new])][node]
    if refill == "by_line":
        return round(lost_bytes / LINE_BYTES * path.latency_ps)
    return round(lost_bytes / path.core_cap_bytes_per_s[0] * PS_PER_S)
