"""AATS: classes of tasks are divided among groups of equally fast cores by what they have cost."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from simsched.policy.algorithms.asymmetric.snatching import Seats
from simsched.policy.algorithms.work_stealing.random_stealing import main_on_fastest, stealing_plan
from simsched.policy.contract.base import (
    CHILD_FIRST,
    PARENT_FIRST,
    AcquireOrder,
    AcquireStep,
    Counters,
    Exchange,
    HookView,
    Plan,
    PlanView,
    PoolGroup,
    Ranked,
    Update,
    Wake,
    param,
    seconds_to_ps,
)
from simsched.policy.contract.registry import preset, register
from simsched.policy.parts.batch_gate import GATE, gated, is_batch
from simsched.policy.parts.core_groups import CoreGroups, core_groups, cut_points, preference
from simsched.policy.parts.placement import PlacedPolicy
from simsched.workload.graph import TaskGraph, Workload

FloatArray = NDArray[np.float64]
Int32Array = NDArray[np.int32]


class History:
    """What the tasks of each class have cost on the cores of each group.

    Notes
    -----
    On the fastest group the estimate is the mean of measured times. On group i it is the mean of
    ``t_1 * ipc / ipc_task`` (equation 5.4), because what delays a task does not change the ratio of
    instructions and cycles; t_1 and ipc are those of the moment. A task is measured by its own time
    as long as its class has not been seen on the fastest group. The printed equation also changes
    ipc, which would then not be the mean on the fastest group; that is left out.
    """

    def __init__(self, n_classes: int, n_groups: int) -> None:
        self.n = np.zeros((n_classes, n_groups), np.int64)
        self.time_s = np.zeros((n_classes, n_groups))
        self.ipc = np.zeros(n_classes)
        self._ipc_sum = np.zeros((n_classes, n_groups))

    def finish(self, task_class: int, group: int, time_s: float, ipc: float) -> None:
        """Note a task that has ended on a core of a group."""
        c, n = task_class, int(self.n[task_class, group])
        estimate = time_s
        if group == 0:
            self.ipc[c] = (self.ipc[c] * n + ipc) / (n + 1)
        elif self.n[c, 0] > 0:
            estimate = float(self.time_s[c, 0] * self.ipc[c] / ipc)
        self.time_s[c, group] = (self.time_s[c, group] * n + estimate) / (n + 1)
        self._ipc_sum[c, group] += ipc
        self.n[c, group] = n + 1

    @property
    def is_complete(self) -> bool:
        """Whether every class has been seen on every group."""
        return bool((self.n > 0).all())

    def batch_time_s(self) -> FloatArray:
        """Return the estimates for batches: ``t_1 * ipc / mean ipc on the group`` (equation 5.5).

        Only for a history that is complete.
        """
        table: FloatArray = (self.time_s[:, 0] * self.ipc)[:, None] * (self.n / self._ipc_sum)
        table[:, 0] = self.time_s[:, 0]
        return table


def allocate(time_s: FloatArray, n_tasks: FloatArray, size: Int32Array) -> Int32Array:
    """Return the group of each class.

    Notes
    -----
    Classes are sorted by the time of one task on the fastest group, and cut into blocks
    (:func:`~simsched.policy.parts.core_groups.cut_points`), the heaviest one for the fastest group.
    """
    order = np.argsort(-time_s[:, 0], kind="stable")
    cuts = cut_points((time_s * n_tasks[:, None])[order], size)
    group = np.zeros(len(order), np.int32)
    for number, cut in enumerate(cuts, 1):
        group[order[cut:]] = number
    return group


@dataclass(eq=False)
class _Memory:
    """What AATS remembers during a run."""

    groups: CoreGroups
    seats: Seats
    classes: Int32Array  # those with pools in use, indices into the names of the classes
    history: History
    is_batch: bool
    steals: bool  # plain stealing instead
    kind_row: Int32Array  # row of the graph's operations by worker
    is_pooled: NDArray[np.bool_]  # tasks that enter pools of classes
    cluster: Int32Array | None = None  # group of each class in use; None: not known yet
    by_weight: Int32Array | None = None  # place of each class among all then, the heaviest first
    finished: list[tuple[int, int, float, float]] = field(default_factory=list)
    graph: TaskGraph | None = None  # of the iteration that is going on
    helper_ps: int = -1  # when the helper thread is woken next, or was last


@register("aats")
@dataclass(frozen=True, kw_only=True)
class Aats(PlacedPolicy[_Memory]):
    """Asymmetry-aware task scheduling by the history of task classes.

    Parameters
    ----------
    helps : {"weaker_first", "nobody"}
        Whether a core whose group has no tasks left takes those of the next slower groups, then of
        the faster ones.
    within : {"random", "in_order"}
        Which pool of a group's classes a core tries: a random one, or the heaviest class first, as
        known when classes were divided.
    snatching : {"none", "largest"}
        Whether a core that finds no task takes over the largest one that a slower core executes.
    helper_period_s : float
        Time in seconds between two looks of the helper thread at the tasks that have ended. With
        snatching its first one in an iteration comes at or after the first look of the thieves.
    snatch_s, look_s, failed_steals : float, float, int
        As for `RandomSnatching`; used with `snatching`.

    Notes
    -----
    A class consists of the tasks of one function and has a pool with a lock, first in, first out.
    Tasks are spawned parent first; the main task starts on the fastest core.

    As long as some class has not ended on some group, workers try random pools. Then classes are
    divided by :func:`allocate`. In a batch program (one task that spawns all others, which depend
    on nothing) this happens between batches, with the numbers of tasks of the next batch, and
    nobody takes a task of a batch before all have been created: the port of the program
    (`prepare`) makes them wait for a last child, which the main task's worker executes at once. In
    other programs the helper thread does it whenever tasks have ended, with the numbers of ended
    tasks. The helper itself and the division cost nothing here; both are called negligible.

    Instructions per cycle are operations by time executed; cycles are those of a constant clock, as
    estimates would not depend on the clock otherwise.

    Where functions spawn themselves, tasks are stolen at random, child first; likewise, parent
    first, if all cores are equal or there are fewer classes than groups.

    References
    ----------
    Q. Chen, M. Guo, *Adaptive workload-aware task scheduling for single-ISA asymmetric multicore
    architectures*, ACM TACO 11(1), article 8, 2014. The same authors, *Task Scheduling for
    Multi-core and Parallel Architectures*, Springer 2017, sections 5.4-5.9, algorithms 8 and 9.
    """

    helps: str = param("weaker_first", choices=("weaker_first", "nobody"))
    within: str = param("random", choices=("random", "in_order"))
    snatching: str = param("none", choices=("none", "largest"))
    helper_period_s: float = param(1e-3, low=1e-6, high=1e6)
    snatch_s: float = param(1e-5, low=0.0, high=1000.0)
    look_s: float = param(1e-5, low=1e-6, high=1e6)
    failed_steals: int = param(1, low=1)

    @property
    def timer_period_s(self) -> float:  # type: ignore[override]  # a parameter here
        """Time between two looks of the thieves if there are any, else of the helper thread."""
        return self.helper_period_s if self.snatching == "none" else self.look_s

    def prepare(self, view: PlanView) -> Workload:
        """Return the program; batches wait until they are complete."""
        graph = view.workload.graph
        if self._steals(view, graph) or not is_batch(graph):
            return view.workload
        return replace(view.workload, graph=gated(graph))

    def start(self, view: PlanView) -> _Memory:
        """Return an empty history."""
        graph, groups = view.workload.graph, core_groups(view)
        classes = np.unique(graph.task_class[_in_pools(graph)]).astype(np.int32)
        kinds = view.machine.thread_group[view.worker_thread]
        rows = [graph.kinds.index(view.machine.core_groups[kind].kind) for kind in kinds.tolist()]
        return _Memory(
            groups=groups,
            seats=Seats(groups.of_worker),
            classes=classes,
            history=History(len(classes), groups.n),
            is_batch=graph.class_names[-1] == GATE,
            steals=self._steals(view, graph),
            kind_row=np.array(rows, np.int32),
            is_pooled=_in_pools(graph),
        )

    def _steals(self, view: PlanView, graph: TaskGraph) -> bool:
        """Return whether a program is left to plain stealing."""
        n_groups = core_groups(view).n
        n_classes = len(np.unique(graph.task_class[_in_pools(graph)]))
        return n_groups == 1 or n_classes < n_groups or _is_recursive(graph)

    def plan(self, view: PlanView, state: _Memory, graph: TaskGraph) -> Plan:
        """Return a plan with a pool for every class, or one of plain stealing."""
        state.graph = graph if graph is view.workload.graph else None
        if state.steals or state.graph is None:
            plan = stealing_plan("parent_first", "oldest", "oldest")
            if _is_recursive(graph):
                plan = stealing_plan("child_first")
            return main_on_fastest(plan, view, graph, state.seats.group)
        pooled = state.is_pooled
        order = np.full(graph.n_tasks, PARENT_FIRST, np.uint8)
        instance = np.full(graph.n_tasks, -1, np.int32)
        if state.is_batch:  # created by whoever has created the batch
            order[-1] = CHILD_FIRST
        instance[~pooled & (graph.parent < 0)] = int(state.seats.group.argmin())
        return Plan(
            acquire=self._acquire(view, state),
            pool_groups=(PoolGroup("worker"), PoolGroup("classes", "class", locked=True)),
            spawn_order=order,
            group_of=pooled.astype(np.int8),
            instance_of=instance,
            times_tasks=True,
        )

    def _acquire(self, view: PlanView, state: _Memory) -> tuple[AcquireStep, ...]:
        """Return the order of pools for workers where they are now."""
        n_groups, n_classes = state.groups.n, len(state.classes)
        rank = np.full((view.n_workers, _pools(view.workload)), -1, np.int32)
        if state.cluster is None:
            rank[:, state.classes] = 0
        else:
            for group in range(n_groups):
                place = np.full(n_groups, -1)
                wanted = preference(group, n_groups) if self.helps == "weaker_first" else [group]
                place[wanted] = np.arange(len(wanted))
                ranks = place[state.cluster]
                if self.within == "in_order":
                    ranks = np.where(ranks < 0, -1, ranks * n_classes + state.by_weight)
                rank[np.ix_(state.seats.group == group, state.classes)] = ranks
        return (
            AcquireStep("worker", "own", "oldest"),
            AcquireStep("classes", "anywhere", "oldest", choice=Ranked(rank)),
        )

    def on_finish(self, view: HookView, state: _Memory, task: int, worker: int) -> None:
        """Note a task until the helper thread looks."""
        if state.steals or state.graph is None or not state.is_pooled[task]:
            return
        ops = float(state.graph.ops[state.kind_row[worker], task])
        time_s = view.live.executed_ps(task) * 1e-12
        if time_s > 0.0 and 0.0 < ops < np.inf:
            place = int(np.searchsorted(state.classes, state.graph.task_class[task]))
            group = int(state.seats.group[worker])
            state.finished.append((place, group, time_s, ops / time_s))

    def on_timer(
        self, view: HookView, state: _Memory
    ) -> tuple[Exchange | AcquireOrder | Wake, ...]:
        """Return swaps with the new order of pools, and when the helper thread looks."""
        if state.steals or state.graph is None:
            return ()
        if self.snatching == "none":
            return self._help(view, state)
        swaps = self._snatch(view, state)
        order = (AcquireOrder(self._acquire(view, state)),) if swaps else ()
        return *swaps, *order, *self._call_helper(view, state)

    def on_wake(self, view: HookView, state: _Memory, tag: int) -> tuple[AcquireOrder | Wake, ...]:
        """Let the helper thread look, now and in a period."""
        return *self._help(view, state), self._next_look(view, state, least_ps=1)

    def _call_helper(self, view: HookView, state: _Memory) -> tuple[Wake, ...]:
        """Return the next look of the helper thread unless it is to come in this iteration."""
        if state.helper_ps >= view.live.now_ps():
            return ()
        return (self._next_look(view, state, least_ps=0),)

    def _next_look(self, view: HookView, state: _Memory, *, least_ps: int) -> Wake:
        """Return the look of the helper thread at the next multiple of its period."""
        period_ps = seconds_to_ps(self.helper_period_s)
        state.helper_ps = -(-(view.live.now_ps() + least_ps) // period_ps) * period_ps
        return Wake(state.helper_ps)

    def _help(self, view: PlanView, state: _Memory) -> tuple[AcquireOrder, ...]:
        """Let the helper thread look; return the new order of pools if anything has changed."""
        before = state.cluster, state.by_weight
        self._learn(state)
        if not state.is_batch:
            self._divide(state, state.history.time_s, state.history.n.sum(axis=1))
        same = _same(before[0], state.cluster)
        if self.within == "in_order":  # classes may change places within a group, too
            same = same and _same(before[1], state.by_weight)
        return () if same else (AcquireOrder(self._acquire(view, state)),)

    def on_iteration(self, view: PlanView, state: _Memory, counters: Counters) -> Update | None:
        """Return the plan for the next batch."""
        if state.steals or state.graph is None:
            return None
        self._learn(state)
        if state.is_batch and state.history.is_complete:
            tasks = np.bincount(view.workload.graph.task_class, minlength=_pools(view.workload))
            self._divide(state, state.history.batch_time_s(), tasks[state.classes])
        return Update(plan=self.plan(view, state, view.workload.graph))

    def _snatch(self, view: HookView, state: _Memory) -> list[Exchange]:
        """Return swaps with those who execute the largest tasks, as far as these are known."""
        live, graph = view.live, state.graph
        assert graph is not None

        def size(worker: int) -> float:
            place = np.flatnonzero(state.classes == graph.task_class[live.running_task(worker)])
            return float(state.history.time_s[place[0], 0]) if len(place) else 0.0

        return state.seats.snatch(
            view,
            self.failed_steals,
            seconds_to_ps(self.snatch_s),
            lambda victims: max(victims, key=size),
        )

    def _learn(self, state: _Memory) -> None:
        """Add the tasks that have ended to the history."""
        for ended in state.finished:
            state.history.finish(*ended)
        state.finished.clear()

    def _divide(self, state: _Memory, time_s: FloatArray, n_tasks: NDArray[np.int64]) -> None:
        """Divide the classes anew if all are known."""
        if state.history.is_complete:
            state.cluster = allocate(time_s, n_tasks.astype(np.float64), state.groups.size)
            order = np.argsort(-time_s[:, 0], kind="stable")
            state.by_weight = np.argsort(order).astype(np.int32)


def _in_pools(graph: TaskGraph) -> NDArray[np.bool_]:
    """Return which tasks enter pools of classes: all but main tasks and the gate of a batch."""
    gate = graph.class_names.index(GATE) if GATE in graph.class_names else len(graph.class_names)
    is_main = (graph.parent < 0) & (np.diff(graph.child_ptr) > 0)
    pooled: NDArray[np.bool_] = ~is_main & (graph.task_class != gate)
    return pooled


def _is_recursive(graph: TaskGraph) -> bool:
    """Return whether a function spawns tasks of the same function."""
    spawned = graph.parent >= 0
    return bool((graph.task_class[spawned] == graph.task_class[graph.parent[spawned]]).any())


def _pools(workload: Workload) -> int:
    """Return the number of pools of a group with one for each class."""
    graphs = (workload.graph, workload.init or workload.graph)
    return max(1, *(len(graph.class_names) for graph in graphs))


def _same(first: Int32Array | None, second: Int32Array | None) -> bool:
    """Return whether two divisions are equal."""
    if first is None or second is None:
        return first is second
    return bool((first == second).all())


preset("wats", Aats, "AATS under its earlier name.")
preset("aats_np", Aats, "AATS whose cores take only tasks of their own group.", helps="nobody")
preset("aats_ts", Aats, "AATS that also snatches the largest tasks.", snatching="largest")
preset(
    "aats_ordered_pools",
    Aats,
    "AATS whose cores go through the pools of a group in the order of their classes.",
    within="in_order",
)
