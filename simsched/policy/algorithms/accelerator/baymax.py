"""Baymax: kernels and copies of batch jobs only as far as queries keep their latency target."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from simsched.files.units import PER_PS
from simsched.policy import HookView, Plan, PlanView, param, preset, register, seconds_to_ps
from simsched.policy.parts.accelerator import Layout
from simsched.policy.parts.accelerator_copies import most_batch_copies, pieces, pinned_copies
from simsched.policy.parts.accelerator_pool import (
    PoolState,
    Release,
    ReorderingPolicy,
    known_seconds,
)
from simsched.policy.parts.predictors import PREDICTORS, held_out_errors, predicted_seconds
from simsched.workload.graph import BoolArray, FloatArray, Int64Array, TaskGraph


def headroom_s(target_s: float, queued_s: float, own_s: float, others_s: float) -> float:
    """Return the headroom of a query that is launched (equation 8.5)."""
    return target_s - queued_s - own_s - others_s


def refilled_s(
    target_s: float, used_s: float, queued_s: float, own_s: float, done_s: float, others_s: float
) -> float:
    """Return the headroom of a query that submits another kernel (equation 8.6)."""
    return headroom_s(target_s - used_s, queued_s, own_s - done_s, others_s)


class About(NamedTuple):
    """What Baymax looks at when it decides about a task."""

    application: int
    direction: int
    is_query: bool
    is_pinned: bool
    seconds: float


@dataclass
class Query:
    """A query that is being processed."""

    began_ps: int  # when its first task was submitted
    headroom_s: float  # what batch work may still take, T_hr
    left: int  # tasks that have not ended
    #: expected durations of the tasks that it has submitted, and of those that have ended
    submitted_s: float = 0.0
    ended_s: float = 0.0


@dataclass
class BaymaxState(PoolState):
    """What Baymax remembers: also queries as they were launched, and copies of batch jobs."""

    queries: dict[int, Query] = field(default_factory=dict)
    copying: list[set[int]] = field(default_factory=lambda: [set(), set()])
    most_copies: tuple[int, int] = (1, 1)
    self_s: FloatArray = field(default_factory=lambda: np.zeros(0))
    part_s: FloatArray = field(default_factory=lambda: np.zeros(0))
    n_tasks: Int64Array = field(default_factory=lambda: np.zeros(0, np.int64))
    managed: BoolArray = field(default_factory=lambda: np.zeros(0, bool))
    next_piece: Int64Array = field(default_factory=lambda: np.zeros(0, np.int64))
    about: list[About] = field(default_factory=list)

    @property
    def least_headroom_s(self) -> float:
        """What batch work may still take; infinity without a query."""
        return min((query.headroom_s for query in self.queries.values()), default=math.inf)

    @property
    def queued_s(self) -> float:
        """T_q: kernels that have been issued and have not ended."""
        return math.fsum(self.issued.values())


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
    (:func:`headroom_s`, :func:`refilled_s`), which it reduces. Readings:
    docs/sources/accelerators.md.

    References
    ----------
    Q. Chen, M. Guo, Springer 2017, sections 8.6 to 8.8. Q. Chen et al., "Baymax", ASPLOS 2016.
    """

    remembers = BaymaxState

    predictor: str = param("lr_knn", choices=(*PREDICTORS, "view"))
    refills: bool = param(default=True)
    manages_copies: bool = param(default=True)
    target_s: float = param(0.0, low=0.0, high=1e6)
    decision_s: float = param(50e-6, low=0.0, high=1.0)

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
        state.part_s = state.seconds + self.decision_s * state.managed
        parts = np.bincount(now.query[mine], state.part_s[mine], n_queries)
        state.self_s = parts.astype(np.float64)
        state.n_tasks = np.bincount(now.query[mine], minlength=n_queries)
        columns = (now.application, now.direction, mine, pinned_copies(now), state.seconds)
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
        own_s, target_s = float(state.self_s[number]), self._target_s(state)
        query = state.queries.get(number)
        if query is None:
            others_s = self._needed_s(state, state.queries)
            headroom = headroom_s(target_s, state.queued_s, own_s, others_s)
            query = Query(now_ps, headroom, int(state.n_tasks[number]))
            state.queries[number] = query
        elif self.refills and state.now.is_kernel[task]:
            before = list(state.queries)[: list(state.queries).index(number)]
            used_s, others_s = (now_ps - query.began_ps) * PER_PS, self._needed_s(state, before)
            known_s = state.queued_s, own_s, query.submitted_s, others_s
            query.headroom_s = refilled_s(target_s, used_s, *known_s)
        query.submitted_s += float(state.part_s[task])

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
        query.ended_s += float(state.part_s[task])
        if query.left == 0:
            del state.queries[number]

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
            if state.issued and state.queued_s > self._target_s(state):
                return False
            return about.is_query or about.seconds <= state.least_headroom_s
        if about.is_query:
            return True
        if len(state.copying[about.direction]) >= state.most_copies[about.direction]:
            return False
        return not about.is_pinned or about.seconds <= state.least_headroom_s

    def _charge(self, state: BaymaxState, task: int, about: About) -> None:
        """Take batch work off the headroom of all queries; note a batch copy."""
        if about.is_query:
            return
        if about.direction >= 0:
            state.copying[about.direction].add(task)
        if about.direction < 0 or about.is_pinned:
            for query in state.queries.values():
                query.headroom_s -= about.seconds

    def _needed_s(self, state: BaymaxState, numbers: Iterable[int]) -> float:
        """Return what some queries still need, in all."""
        return math.fsum(state.self_s[q] - state.queries[q].ended_s for q in numbers)

    def _target_s(self, state: BaymaxState) -> float:
        """Return the latency target."""
        known = state.now.applications
        if self.target_s > 0.0 or known is None:
            return self.target_s
        return known.target_s


preset(
    "baymax_nc", Baymax, "Baymax without refills from concurrent kernels (8.10.2).", refills=False
)
preset("baymax_np", Baymax, "Baymax without management of copies (8.10.3).", manages_copies=False)
