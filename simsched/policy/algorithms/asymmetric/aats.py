"""AATS: classes of tasks are divided among groups of equally fast cores by what they have cost."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from simsched.files.units import PER_PS
from simsched.policy import (
    CHILD_FIRST,
    PARENT_FIRST,
    SEVERAL_SPEEDS,
    AcquireOrder,
    AcquireStep,
    Counters,
    Exchange,
    HookView,
    Need,
    PlacedPolicy,
    Plan,
    PlanView,
    PoolGroup,
    Ranked,
    Rest,
    Update,
    Wake,
    param,
    preset,
    register,
)
from simsched.policy.algorithms.work_stealing.random_stealing import main_on_fastest, stealing_plan
from simsched.policy.parts.batch_gate import GATE, gated, is_batch
from simsched.policy.parts.core_groups import CoreGroups, core_groups, preference
from simsched.policy.parts.task_classes import (
    History,
    allocate,
    in_pools,
    is_recursive,
    n_pools,
    ranks_of_classes,
)
from simsched.policy.parts.thread_swaps import Seats
from simsched.workload.graph import (
    BoolArray,
    FloatArray,
    Int32Array,
    Int64Array,
    TaskGraph,
    Workload,
)


@dataclass(eq=False)
class AatsState:
    """What AATS remembers during a run."""

    groups: CoreGroups
    seats: Seats
    classes: Int32Array  # those with pools in use, indices into the names of the classes
    history: History
    is_batch: bool
    steals: bool  # plain stealing instead
    kind_row: Int32Array  # row of the graph's operations by worker
    is_pooled: BoolArray  # tasks that enter pools of classes
    cluster: Int32Array | None = None  # group of each class in use; None: not known yet
    by_weight: Int32Array | None = None  # place of each class among all then, the heaviest first
    finished: list[tuple[int, int, float, float]] = field(default_factory=list)
    graph: TaskGraph | None = None  # of the iteration that is going on
    helper_ps: int = -1  # when the helper thread of thieves is woken next, or was last
    helper_rests: bool = False  # its looks are put off until something happens


@register("aats")
@dataclass(frozen=True, kw_only=True)
class Aats(PlacedPolicy[AatsState]):
    """Asymmetry-aware task scheduling by the history of task classes.

    Parameters
    ----------
    helps : {"weaker_first", "nobody"}
        Whether a core whose group has no tasks left takes those of the next slower groups, then of
        the faster ones.
    within : {"random", "in_order"}
        Which pool of a group's classes a core tries: a random one, or the heaviest class first, as
        known when classes were divided.
    helper_period_s : float
        Time in seconds between two looks of the helper thread at the tasks that have ended.
    cycles : {"core", "constant"}
        Which cycles the counters count to which instructions are related: those of the core, or
        those of a clock that is the same on all cores, which counters offer, too.

    Notes
    -----
    A class consists of the tasks of one function and has a pool with a lock, first in, first out.
    As long as some class has not ended on some group, workers try random pools. Then classes are
    divided by :func:`~simsched.policy.parts.task_classes.allocate`: of a batch program, one task
    that spawns all others, between batches, by the tasks of the next batch; of other programs by
    the helper thread whenever tasks have ended, by these. Readings: docs/sources/aats.md.

    References
    ----------
    Q. Chen, M. Guo, *Adaptive workload-aware task scheduling for single-ISA asymmetric multicore
    architectures*, ACM TACO 11(1), article 8, 2014. Q. Chen, M. Guo, Springer 2017,
    sections 5.4-5.9, algorithms 8 and 9.
    """

    needs: ClassVar[tuple[Need, ...]] = (SEVERAL_SPEEDS,)

    helps: str = param("weaker_first", choices=("weaker_first", "nobody"))
    within: str = param("random", choices=("random", "in_order"))
    helper_period_s: float = param(1e-3, low=1e-6, high=1e6)
    cycles: str = param("core", choices=("core", "constant"))

    @property
    def timer_period_s(self) -> float:  # type: ignore[override]  # a parameter here
        return self.helper_period_s

    def prepare(self, view: PlanView) -> Workload:
        """Return the program; batches wait until they are complete."""
        program = view.workload
        if self._steals(view, program.graph) or not is_batch(program.graph):
            return program
        return program.changed(gated, init=program.init)

    def start(self, view: PlanView) -> AatsState:
        graph, groups = view.workload.graph, core_groups(view)
        classes = np.unique(graph.task_class[in_pools(graph)]).astype(np.int32)
        kinds = view.machine.thread_group[view.worker_thread]
        rows = [graph.kinds.index(view.machine.core_groups[kind].kind) for kind in kinds.tolist()]
        return AatsState(
            groups=groups,
            seats=Seats(view),
            classes=classes,
            history=History(len(classes), groups.n),
            is_batch=graph.class_names[-1] == GATE,
            steals=self._steals(view, graph),
            kind_row=np.array(rows, np.int32),
            is_pooled=in_pools(graph),
        )

    def _steals(self, view: PlanView, graph: TaskGraph) -> bool:
        """Return whether a program is left to plain stealing."""
        return core_groups(view).n == 1 or is_recursive(graph) or not in_pools(graph).any()

    def plan(self, view: PlanView, state: AatsState, graph: TaskGraph) -> Plan:
        """Return a plan with a pool for every class, or one of plain stealing."""
        state.graph = graph if graph is view.workload.graph else None
        if state.steals or state.graph is None:
            plan = stealing_plan("parent_first", "oldest", "oldest")
            if is_recursive(graph):
                plan = stealing_plan("child_first")
            return main_on_fastest(plan, view, graph, state.seats.group)
        pooled = state.is_pooled
        order = np.full(graph.n_tasks, PARENT_FIRST, np.uint8)
        instance = np.full(graph.n_tasks, -1, np.int32)
        if state.is_batch:  # created by whoever has created the batch
            order[-1] = CHILD_FIRST
        instance[~pooled & (graph.parent < 0)] = int(state.seats.group.argmin())
        return Plan(
            acquire=search(self.ranks(view, state)),
            pool_groups=(PoolGroup("worker"), PoolGroup("classes", "class", locked=True)),
            spawn_order=order,
            group_of=pooled.astype(np.int8),
            instance_of=instance,
            times_tasks=True,
        )

    def ranks(self, view: PlanView, state: AatsState) -> Int32Array:
        """Return the order of the classes' pools for workers where they are now."""
        rank = np.full((view.n_workers, n_pools(view.workload)), -1, np.int32)
        if state.cluster is None:
            rank[:, state.classes] = 0
            return rank
        n_groups, within = state.groups.n, state.by_weight if self.within == "in_order" else None
        for group in range(n_groups):
            wanted = preference(group, n_groups) if self.helps == "weaker_first" else [group]
            mine = np.ix_(state.seats.group == group, state.classes)
            rank[mine] = ranks_of_classes(state.cluster, wanted, within)
        return rank

    def on_finish(self, view: HookView, state: AatsState, task: int, worker: int) -> None:
        """Note a task until the helper thread looks."""
        if state.steals or state.graph is None or not state.is_pooled[task]:
            return
        ops = float(state.graph.ops[state.kind_row[worker], task])
        time_s = view.live.executed_ps(task) * PER_PS
        if time_s > 0.0 and 0.0 < ops < np.inf:
            place = int(np.searchsorted(state.classes, state.graph.task_class[task]))
            group = int(state.seats.group[worker])
            clock_hz = float(state.groups.clock_hz[group if self.cycles == "core" else 0])
            state.finished.append((place, group, time_s, ops / (time_s * clock_hz)))

    def on_timer(
        self, view: HookView, state: AatsState
    ) -> tuple[Exchange | AcquireOrder | Wake | Rest, ...]:
        """Return the order of pools after a look of the helper thread."""
        if state.steals or state.graph is None:
            return (Rest(),)
        return self.help(view, state) or (Rest(),)

    def help(self, view: PlanView, state: AatsState) -> tuple[AcquireOrder, ...]:
        """Let the helper thread look; return the new order of pools if anything has changed.

        When nothing has, nothing does until a task ends.
        """
        before = self.ranks(view, state)
        self._learn(state)
        if not state.is_batch:
            self._divide(state, state.history.time_s, state.history.n.sum(axis=1))
        after = self.ranks(view, state)
        return () if np.array_equal(before, after) else (AcquireOrder(search(after)),)

    def on_iteration(self, view: PlanView, state: AatsState, counters: Counters) -> Update | None:
        """Return the plan for the next batch."""
        if state.steals or state.graph is None:
            return None
        self._learn(state)
        if state.is_batch and state.history.is_complete:
            tasks = np.bincount(view.workload.graph.task_class, minlength=n_pools(view.workload))
            self._divide(state, state.history.batch_time_s(), tasks[state.classes])
        return Update(plan=self.plan(view, state, view.workload.graph))

    def _learn(self, state: AatsState) -> None:
        """Add the tasks that have ended to the history."""
        for ended in state.finished:
            state.history.finish(*ended)
        state.finished.clear()

    def _divide(self, state: AatsState, time_s: FloatArray, n_tasks: Int64Array) -> None:
        """Divide the classes anew if all are known."""
        if state.history.is_complete:
            state.cluster = allocate(time_s, n_tasks.astype(np.float64), state.groups.size)
            order = np.argsort(-time_s[:, 0], kind="stable")
            state.by_weight = np.argsort(order).astype(np.int32)


def search(rank: Int32Array) -> tuple[AcquireStep, ...]:
    """Return how workers look for work."""
    own = AcquireStep("worker", "own", "oldest")
    return own, AcquireStep("classes", "anywhere", "oldest", choice=Ranked(rank))


preset("wats", Aats, "AATS under its earlier name.")
preset("aats_np", Aats, "AATS whose cores take only tasks of their own group.", helps="nobody")
preset(
    "aats_ordered_pools",
    Aats,
    "AATS whose cores go through the pools of a group in the order of their classes.",
    within="in_order",
)
