"""Static allocations of independent tasks to cores of different speeds, from exact times."""

from __future__ import annotations

import heapq
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from simsched.policy import (
    PARENT_FIRST,
    SEVERAL_SPEEDS,
    AcquireStep,
    Need,
    PlacedPolicy,
    Plan,
    PlanView,
    PoolGroup,
    Ranked,
    register,
)
from simsched.policy.algorithms.work_stealing.random_stealing import stealing_plan
from simsched.policy.parts.core_groups import core_groups, cut_points
from simsched.policy.parts.subgraphs import main_tasks
from simsched.workload.graph import Int32Array, TaskGraph, Workload


def longest_first(view: PlanView) -> Workload:
    """Return the program whose tasks spawn their longest children first."""
    graph = view.workload.graph
    parent = np.repeat(np.arange(graph.n_tasks), np.diff(graph.child_ptr))
    order = np.lexsort((-view.estimated_ops(graph)[0][graph.child], parent))
    return view.workload.changed(
        lambda found: replace(found, child=found.child[order]), init=view.workload.init
    )


class _Static(PlacedPolicy[None]):
    """What static allocations have in common: allocated tasks enter one pool group."""

    def _plan(
        self, view: PlanView, graph: TaskGraph, instance: Int32Array, *steps: AcquireStep
    ) -> Plan:
        """Return a plan in which tasks enter given pools, and main tasks the fastest worker's."""
        allocated = ~main_tasks(graph)
        main = core_groups(view).fastest_worker
        return Plan(
            acquire=(
                AcquireStep("worker", "own", "oldest"),
                AcquireStep("allocated", "own", "oldest"),
                *steps,
            ),
            pool_groups=(PoolGroup("worker"), PoolGroup("allocated", locked=True)),
            spawn_order=PARENT_FIRST,
            group_of=allocated.astype(np.int8),
            instance_of=np.where(allocated, instance, main).astype(np.int32),
        )


@register("amc_static_alg8")
@dataclass(frozen=True, kw_only=True)
class StaticCuts(_Static):
    """Tasks in the order of their length, cut into one block for each group of equal cores.

    Notes
    -----
    The longest tasks go to the fastest group; the cuts are those of
    :func:`~simsched.policy.parts.core_groups.cut_points`. The cores of a group share a pool with a
    lock, first in, first out; nobody takes tasks of another group. Readings: docs/sources/aats.md.

    References
    ----------
    Q. Chen, M. Guo, Springer 2017, section 5.5, algorithm 8.
    """

    needs: ClassVar[tuple[Need, ...]] = (SEVERAL_SPEEDS,)

    def prepare(self, view: PlanView) -> Workload:
        return view.workload if core_groups(view).n == 1 else longest_first(view)

    def plan(self, view: PlanView, state: None, graph: TaskGraph) -> Plan:
        groups, items = core_groups(view), np.flatnonzero(~main_tasks(graph))
        if groups.n == 1:
            return stealing_plan("parent_first", "oldest", "oldest")
        ops = view.estimated_ops(graph)[0]
        items = items[np.argsort(-ops[items], kind="stable")]
        times = ops[items, None] / groups.ops_per_s
        group_of = np.zeros(graph.n_tasks, np.int32)
        for group, cut in enumerate(cut_points(times, groups.size), 1):
            group_of[items[cut:]] = group
        heads = np.array([int((groups.of_worker == g).argmax()) for g in range(groups.n)])
        rank = np.full((view.n_workers, view.n_workers), -1, np.int32)
        rank[np.arange(view.n_workers), heads[groups.of_worker]] = 0
        step = AcquireStep("allocated", "anywhere", "oldest", choice=Ranked(rank))
        return self._plan(view, graph, heads[group_of].astype(np.int32), step)


@register("ideal_amc")
@dataclass(frozen=True, kw_only=True)
class IdealAllocation(_Static):
    """Near-optimal allocation, longest task first; a schedule: the lower bound is metric `bound_s`.

    Notes
    -----
    Each task goes to the core that would end it first, of equal ones to the lower worker, last to
    the one that has to spawn the tasks. What no schedule can be shorter than are the metrics
    `bound_work_s` (theorem 5.1) and `bound_s` of every run. Readings: docs/sources/aats.md.

    References
    ----------
    Q. Chen, M. Guo, Springer 2017, section 5.4, theorem 5.1. D. K. Friesen, *Tighter bounds for LPT
    scheduling on uniform processors*, SIAM J. Comput. 16(3), 1987: at most 1.67 times the optimum.
    """

    def prepare(self, view: PlanView) -> Workload:
        return longest_first(view)

    def plan(self, view: PlanView, state: None, graph: TaskGraph) -> Plan:
        groups, ops = core_groups(view), view.estimated_ops(graph)[0]
        items = np.flatnonzero(~main_tasks(graph))
        worker_of = np.zeros(graph.n_tasks, np.int32)
        free: list[list[tuple[float, bool, int]]] = [[] for _ in range(groups.n)]
        for worker, group in enumerate(groups.of_worker.tolist()):
            heapq.heappush(free[group], (0.0, worker == groups.fastest_worker, worker))
        for task in items[np.argsort(-ops[items], kind="stable")].tolist():
            end, is_main, worker, group = min(
                (free[g][0][0] + float(ops[task] / groups.ops_per_s[g]), *free[g][0][1:], g)
                for g in range(groups.n)
            )
            worker_of[task] = worker
            heapq.heapreplace(free[group], (end, is_main, worker))
        return self._plan(view, graph, worker_of)
