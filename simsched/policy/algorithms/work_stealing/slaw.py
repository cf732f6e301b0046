"""SLAW: work first or help first, chosen task by task within bounds on stacks and memory."""

from __future__ import annotations

from dataclasses import dataclass, field

from simsched.policy import (
    CHILD_FIRST,
    PARENT_FIRST,
    HookView,
    PlacedPolicy,
    Plan,
    PlanView,
    param,
    register,
)
from simsched.policy.algorithms.work_stealing.random_stealing import SPAWN_ORDERS, stealing_plan
from simsched.workload.graph import TaskGraph

NOBODY = -1


@dataclass(eq=False)
class SlawState:
    """What SLAW knows of every worker and task."""

    mode: list[int]  # spawn order that each worker uses by default
    fresh: list[int]  # tasks that each worker has created parent first and that nobody has started
    #: tasks that each worker has created, and that others have stolen from it, in its present
    #: interval
    created: list[int]
    stolen: list[int]
    #: frames on the stack that each task is on top of, itself included
    depth: list[int] = field(default_factory=list)
    #: worker that has created each fresh task; `NOBODY` for tasks that are not fresh
    creator: list[int] = field(default_factory=list)
    waits: list[bool] = field(default_factory=list)  # whether each task has predecessors


@register("slaw")
@dataclass(frozen=True, kw_only=True)
class Slaw(PlacedPolicy[SlawState]):
    """Adaptive stealing (SLAW): each worker spawns child or parent first as it is robbed.

    Parameters
    ----------
    stack_limit : int
        Most frames on the stack of a worker (S).
    fresh_limit : int
        Most tasks of a worker that have been created parent first and not been started (F).
    interval_tasks : int
        Creations after which a worker chooses its default anew (INT).
    steals_per_task : float
        Steals per created task in an interval above which the next one spawns parent first.
    initial : {"parent_first", "child_first"}
        Default of all workers at the beginning.

    Notes
    -----
    A worker with a full stack spawns parent first, otherwise one with `fresh_limit` fresh tasks
    child first, otherwise by its default. Readings: docs/sources/cab.md.

    References
    ----------
    Y. Guo, J. Zhao, V. Cave, V. Sarkar, *SLAW: a scalable locality-aware adaptive work-stealing
    scheduler*, IPDPS 2010. Q. Chen, M. Guo, Springer 2017, section 3.2.
    """

    stack_limit: int = param(256, low=1)
    fresh_limit: int = param(128, low=0)
    interval_tasks: int = param(50, low=1)
    steals_per_task: float = param(1.0, low=0.0)
    initial: str = param("parent_first", choices=tuple(SPAWN_ORDERS))

    def start(self, view: PlanView) -> SlawState:
        n = view.n_workers
        return SlawState([SPAWN_ORDERS[self.initial]] * n, [0] * n, [0] * n, [0] * n)

    def plan(self, view: PlanView, state: SlawState, graph: TaskGraph) -> Plan:
        """Return random stealing; the spawn order is chosen while the program runs."""
        state.depth = [1] * graph.n_tasks
        state.creator = [NOBODY] * graph.n_tasks
        state.waits = (graph.in_degree > 0).tolist()
        return stealing_plan()

    def on_spawn(
        self, view: HookView, state: SlawState, parent: int, child: int, worker: int
    ) -> int:
        """Return the spawn order that bounds and default call for."""
        order = self._order(state, state.depth[parent], worker)
        if state.waits[child]:
            order = PARENT_FIRST
        if order == CHILD_FIRST:
            state.depth[child] = state.depth[parent] + 1
        else:
            state.fresh[worker] += 1
            state.creator[child] = worker
        state.created[worker] += 1
        if state.created[worker] == self.interval_tasks:
            limit = self.steals_per_task * self.interval_tasks
            state.mode[worker] = PARENT_FIRST if state.stolen[worker] > limit else CHILD_FIRST
            state.created[worker] = state.stolen[worker] = 0
        return order

    def on_acquire(
        self, view: HookView, state: SlawState, task: int, worker: int, group: int, instance: int
    ) -> None:
        """Count a steal, and begin a new stack where a task leaves its own."""
        creator = state.creator[task]
        if creator != NOBODY:
            state.fresh[creator] -= 1
            state.creator[task] = NOBODY
        if instance != worker:
            state.stolen[instance] += 1
        if creator != NOBODY or instance != worker:
            state.depth[task] = 1

    def _order(self, state: SlawState, depth: int, worker: int) -> int:
        """Return the spawn order for a worker whose stack has `depth` frames."""
        if depth >= self.stack_limit:
            return PARENT_FIRST
        return CHILD_FIRST if state.fresh[worker] >= self.fresh_limit else state.mode[worker]
