"""Baymax: kernels and copies of batch jobs only as far as queries keep their latency target."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from simsched.policy import (
    HookView,
    Plan,
    PlanView,
    Wake,
    param,
    preset,
    register,
    seconds_to_ps,
)
from simsched.policy.parts.accelerator import Layout
from simsched.policy.parts.accelerator_copies import most_batch_copies, pieces, pinned_copies
from simsched.policy.parts.accelerator_pool import (
    Asked,
    PoolState,
    Release,
    ReorderingPolicy,
    known_seconds,
)
from simsched.policy.parts.predictors import PREDICTORS, held_out_errors, predicted_seconds
from simsched.workload.graph import BoolArray, FloatArray, Int64Array, TaskGraph


def headroom(target: int, queued: int, own: int, others: int) -> int:
    """Return the headroom of a query that is launched (equation 8.5)."""
    return target - queued - own - others


def refilled(target: int, used: int, queued: int, own: int, done: int, others: int) -> int:
    """Return the headroom of a query that submits another kernel (equation 8.6)."""
    return headroom(target - used, queued, own - done, others)


class About(NamedTuple):
    """What Baymax looks at when it decides about a task."""

    application: int
    direction: int
    is_query: bool
    is_pinned: bool
    expected_ps: int


@dataclass
class Query:
    """A query that is being processed."""

    began_ps: int  # when its first task was submitted
    headroom_ps: int  # what batch work may still take, T_hr
    left: int  # tasks that have not ended
    #: expected durations of the tasks that it has submitted, and of those that have ended
    submitted_ps: int = 0
    ended_ps: int = 0


@dataclass
class BaymaxState(PoolState):
    """What Baymax remembers: also queries as they were launched, and copies of batch jobs."""

    queries: dict[int, Query] = field(default_factory=dict)
    copying: list[set[int]] = field(default_factory=lambda: [set(), set()])
    most_copies: tuple[int, int] = (1, 1)
    target_ps: int = 0
    #: expected durations of queries, and of tasks with the decisions about them
    self_ps: Int64Array = field(default_factory=lambda: np.zeros(0, np.int64))
    part_ps: Int64Array = field(default_factory=lambda: np.zeros(0, np.int64))
    n_tasks: Int64Array = field(default_factory=lambda: np.zeros(0, np.int64))
    managed: BoolArray = field(default_factory=lambda: np.zeros(0, bool))
    next_piece: Int64Array = field(default_factory=lambda: np.zeros(0, np.int64))
    about: list[About] = field(default_factory=list)
    looks_ps: int = -1  # when it has last asked to look at the pool

    @property
    def queued_ps(self) -> int:
        """T_q: kernels that have been issued and have not ended."""
        return sum(self.about[task].expected_ps for task in self.issued)

    def has_headroom(self, expected_ps: int) -> bool:
        """Return whether no query has less headroom than that."""
        return all(expected_ps <= query.headroom_ps for query in self.queries.values())


@register("baymax")
@dataclass(frozen=True, kw_only=True)
class Baymax(ReorderingPolicy[BaymaxState]):
    """Kernels in the order of submission, batch kernels only within the headroom of every query.

    Parameters
    ----------
    predictor : {"lr_knn", "lr", "knn", "svm", "ann", "view"}
        What predicts durations (:mod:`simsched.policy.parts.predictors`), or `information`.
    refills : bool
        Whether time that concurrent kernels have saved flows back into the headroom.
    manages_copies : bool
        Whether copies are managed, too.
    target_s : float
        Latency target; 0 for that of the workload.
    decision_s : float
        Time for the prediction and the decision about a kernel or copy.

    Notes
    -----
    A batch kernel is issued if its prediction does not exceed the headroom of any query
    (:func:`headroom`, :func:`refilled`), which it reduces. The pool is looked at after everything
    else that happens at the same time. Readings: docs/sources/accelerators.md.

    References
    ----------
    Q. Chen, M. Guo, Springer 2017, sections 8.6 to 8.8. Q. Chen et al., "Baymax", ASPLOS 2016.
    """

    remembers = BaymaxState

    predictor: str = param("lr_knn", choices=(*PREDICTORS, "view"))
    refills: bool = param(default=True)
    manages_copies: bool = param(default=True)
    target_s: float = param(0.0, low=0.0, high=1e6)
    decision_s: float = param(50e-6, low=0.0, high=1.0, is_cost=True)

    def plan(self, view: PlanView, state: BaymaxState, graph: TaskGraph) -> Plan:
        """Return the plan of the base class; note what belongs to which query."""
        plan = super().plan(view, state, graph)
        now = state.now
        n_queries = int(now.query.max(initial=-1)) + 1
        mine = now.query >= 0
        state.most_copies = most_batch_copies(view.machine, now)
        follows, state.next_piece = pieces(now, graph)
        copies = (now.direction >= 0) & ~follows & self.manages_copies
        state.managed = copies | (now.is_kernel & (now.direction < 0))
        known = now.applications
        state.target_ps = seconds_to_ps(self.target_s or (known.target_s if known else 0.0))
        expected_ps = np.array([seconds_to_ps(each) for each in state.seconds.tolist()], np.int64)
        state.part_ps = expected_ps + seconds_to_ps(self.decision_s) * state.managed
        state.self_ps = np.zeros(n_queries, np.int64)
        np.add.at(state.self_ps, now.query[mine], state.part_ps[mine])
        state.n_tasks = np.bincount(now.query[mine], minlength=n_queries)
        columns = (now.application, now.direction, mine, pinned_copies(now), expected_ps)
        state.about = list(map(About, *(column.tolist() for column in columns)))
        return plan

    def figures(self) -> dict[str, float]:
        """Return the mean error of the predictions of held-out samples, by task class and model."""
        if self.predictor == "view":
            return {}
        return {
            f"held_out_error_percent {name} ({model.name})": 100.0 * model.error
            for name, model in held_out_errors(self.predictor).items()
        }

    def expected_s(self, view: PlanView, layout: Layout, graph: TaskGraph) -> FloatArray:
        """Return predictions, or what the view knows where nothing can be predicted."""
        known = known_seconds(view, layout, graph)
        if self.predictor == "view" or layout.applications is None:
            return known
        return predicted_seconds(self.predictor, view.workload, graph, known)

    def is_managed(self, state: BaymaxState, task: int) -> bool:
        """Return whether a task is held back: kernels, and copies if these are managed."""
        return bool(state.managed[task])

    def note_ready(self, view: HookView, state: BaymaxState, task: int) -> None:
        """Launch a query or refill its headroom."""
        number, now_ps = int(state.now.query[task]), view.live.now_ps()
        if number < 0:
            return
        own_ps, query = int(state.self_ps[number]), state.queries.get(number)
        if query is None:
            others_ps = self._needed_ps(state, state.queries)
            left_ps = headroom(state.target_ps, state.queued_ps, own_ps, others_ps)
            query = Query(now_ps, left_ps, int(state.n_tasks[number]))
            state.queries[number] = query
        elif self.refills and state.now.is_kernel[task]:
            before = list(state.queries)[: list(state.queries).index(number)]
            used_ps, others_ps = now_ps - query.began_ps, self._needed_ps(state, before)
            known_ps = state.queued_ps, own_ps, query.submitted_ps, others_ps
            query.headroom_ps = refilled(state.target_ps, used_ps, *known_ps)
        query.submitted_ps += int(state.part_ps[task])

    def note_finish(self, view: HookView, state: BaymaxState, task: int) -> None:
        """Note the end of a query, and of a batch copy."""
        number, direction = int(state.now.query[task]), int(state.now.direction[task])
        if direction >= 0 and task in state.copying[direction]:
            state.copying[direction].remove(task)
            if state.next_piece[task] >= 0:
                state.copying[direction].add(int(state.next_piece[task]))
        if number < 0:
            return
        query = state.queries[number]
        query.left -= 1
        query.ended_ps += int(state.part_ps[task])
        if query.left == 0:
            del state.queries[number]

    def _releases(self, view: HookView, state: BaymaxState) -> Iterator[Wake]:
        """Yield a look at the pool after everything else that happens now."""
        now_ps = view.live.now_ps()
        if state.waiting and state.looks_ps != now_ps:
            state.looks_ps = now_ps
            yield Wake(now_ps)

    def on_wake(self, view: HookView, state: BaymaxState, tag: int) -> tuple[Asked, ...]:
        """Pass on what may go."""
        state.looks_ps = -1
        return tuple(super()._releases(view, state))

    def chosen(self, view: HookView, state: BaymaxState) -> Iterator[Release]:
        """Yield copies and kernels that may go, in the order of their submission."""
        stopped: set[int] = set()  # applications whose oldest kernel or copy has to wait
        for task in list(state.waiting):
            about = state.about[task]
            if about.application in stopped:
                continue
            if self._may_go(state, about):
                self._charge(state, task, about)
                yield Release(task, seconds_to_ps(self.decision_s))
            else:
                stopped.add(about.application)

    def _may_go(self, state: BaymaxState, about: About) -> bool:
        """Return whether a task may be passed to the device now."""
        if about.direction < 0:
            if state.issued and state.queued_ps > state.target_ps:
                return False
            return about.is_query or state.has_headroom(about.expected_ps)
        if about.is_query:
            return True
        if len(state.copying[about.direction]) >= state.most_copies[about.direction]:
            return False
        return not about.is_pinned or state.has_headroom(about.expected_ps)

    def _charge(self, state: BaymaxState, task: int, about: About) -> None:
        """Take batch work off the headroom of all queries; note a batch copy."""
        if about.is_query:
            return
        if about.direction >= 0:
            state.copying[about.direction].add(task)
        if about.direction < 0 or about.is_pinned:
            for query in state.queries.values():
                query.headroom_ps -= about.expected_ps

    def _needed_ps(self, state: BaymaxState, numbers: Iterable[int]) -> int:
        """Return what some queries still need, in all."""
        return sum(int(state.self_ps[q]) - state.queries[q].ended_ps for q in numbers)


preset(
    "baymax_nc", Baymax, "Baymax without refills from concurrent kernels (8.10.2).", refills=False
)
preset("baymax_np", Baymax, "Baymax without management of copies (8.10.3).", manages_copies=False)
