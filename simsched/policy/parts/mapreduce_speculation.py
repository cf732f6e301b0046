"""What policies with backup tasks share: scores, rates, remaining times, history of nodes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TypeVar

import numpy as np

from simsched.files.units import PER_PS
from simsched.policy.contract.base import HookView, param, seconds_to_ps
from simsched.policy.parts.mapreduce import MapReducePolicy
from simsched.policy.parts.mapreduce_formulas import (
    MAP_WEIGHTS,
    REDUCE_WEIGHTS,
    Weights,
    progress_rate,
    progress_score,
    time_to_end,
    update_weights,
)
from simsched.policy.parts.mapreduce_tracker import Attempt, Tracker
from simsched.workload.mapreduce_job import MAP

DEFAULT_WEIGHTS = (MAP_WEIGHTS, REDUCE_WEIGHTS)


@dataclass(eq=False)
class History(Tracker):
    """A tracker whose nodes remember how much of a task's time each phase takes."""

    #: by node, application and kind of task; applications that a node does not know are missing
    weights: dict[tuple[int, str, int], Weights] = field(default_factory=dict)


H = TypeVar("H", bound=History)


@dataclass(frozen=True, kw_only=True)
class SpeculativePolicy(MapReducePolicy[H]):
    """Base of the policies with backup tasks.

    Parameters
    ----------
    tuned_weights : bool
        Whether scores use the weights that each node has observed, or those of Hadoop (1 and 0 for
        map tasks, three thirds for reduce tasks).
    history_weight : float
        HP, what the weights so far count when a node has ended a task (equation 7.8); 1 keeps them
        as they are.
    sample_s : float
        Time in seconds between two looks at the phases of tasks, as far as weights are tuned.
    least_running_s : float
        Seconds that a task has to run before it gets a backup, as in Hadoop 0.19, in which all of
        these policies were implemented.
    average_over : {"running", "all"}
        Tasks of a kind with which a task is compared: those that run, as equation 7.4 and Algorithm
        11 say, or also those that have ended, as in the code of Hadoop.
    """

    tracker = History

    tuned_weights: bool = param(False)
    history_weight: float = param(0.2, low=0.0, high=1.0)
    sample_s: float = param(0.1, low=1e-3, high=1e6)
    least_running_s: float = param(60.0, low=0.0, high=1e6)
    average_over: str = param("running", choices=("running", "all"))

    @property
    def timer_period_s(self) -> float:  # type: ignore[override]  # a parameter here
        return min(self.sample_s, self.heartbeat_s) if self.tuned_weights else self.heartbeat_s

    # -------------------------------------------------------------------------------------------
    # what is known of an attempt

    def weights(self, state: H, attempt: Attempt) -> Weights:
        """Return the weights with which an attempt is judged."""
        kind = int(state.tasks.kind[attempt.task])
        if not self.tuned_weights:
            return DEFAULT_WEIGHTS[kind]
        return state.weights.get(_key(state, attempt), DEFAULT_WEIGHTS[kind])

    def score(self, state: H, attempt: Attempt) -> float:
        return progress_score(self.weights(state, attempt), attempt.phase, attempt.fraction)

    def rate(self, view: HookView, state: H, attempt: Attempt) -> float:
        """Return the progress rate per second."""
        return progress_rate(self.score(state, attempt), running_ps(view, attempt) * PER_PS)

    def remaining_s(self, view: HookView, state: H, attempt: Attempt) -> float:
        """Return the estimated remaining time in seconds."""
        return time_to_end(self.score(state, attempt), running_ps(view, attempt) * PER_PS)

    def reported(self, view: HookView, state: H, kind: int) -> list[Attempt]:
        """Return the attempts at tasks of a kind of which anything is known, by worker."""
        return [a for a in state.running(kind) if a.entered_ps]

    def judged(self, view: HookView, state: H, kind: int) -> list[Attempt]:
        """Return the attempts that stand for the running tasks of a kind, one each, by worker.

        A task is as far as the most advanced attempt at it, as in Hadoop
        (``TaskInProgress.recomputeProgress``); of equal ones, the one at the first worker counts.
        """
        first: dict[int, Attempt] = {}
        for attempt in self.reported(view, state, kind):
            other = first.setdefault(attempt.task, attempt)
            if self.score(state, attempt) > self.score(state, other):
                first[attempt.task] = attempt
        return sorted(first.values(), key=lambda a: a.worker)

    def judged_by_job(
        self, view: HookView, state: H, kind: int
    ) -> Iterator[tuple[int, list[Attempt]]]:
        """Yield each job with what stands for its running tasks of a kind; see :meth:`judged`."""
        found: dict[int, list[Attempt]] = {}
        for attempt in self.judged(view, state, kind):
            found.setdefault(int(state.tasks.job[attempt.task]), []).append(attempt)
        yield from sorted(found.items())

    def rates_ended(self, state: H, kind: int, job: int) -> list[float]:
        """Return the rates per second of the ended tasks of a kind in a job that count."""
        if self.average_over == "running":
            return []
        counts = (state.tasks.kind == kind) & (state.tasks.job == job)
        return [1.0 / s for t, s in state.ended.items() if counts[t] and s > 0.0]

    def may_back_up(self, view: HookView, state: H, attempt: Attempt, node: int) -> bool:
        """Return whether another node may start an attempt at a leaf task once more.

        It has to have run for long enough and to be the only one.
        """
        graph = state.tasks.graph
        is_leaf = graph.child_ptr[attempt.task] == graph.child_ptr[attempt.task + 1]
        long_enough = running_ps(view, attempt) >= seconds_to_ps(self.least_running_s)
        return bool(
            attempt.node != node
            and is_leaf
            and long_enough
            and not view.machine.copies_data
            and state.copies()[attempt.task] == 1
        )

    # -------------------------------------------------------------------------------------------
    # history

    def learn(self, view: HookView, state: H, attempt: Attempt) -> None:
        observed = observed_weights(state, attempt, view.live.now_ps())
        if self.tuned_weights and observed is not None:
            key = _key(state, attempt)
            old = state.weights.get(key, DEFAULT_WEIGHTS[key[2]])
            state.weights[key] = update_weights(old, observed, self.history_weight)


def observed_weights(state: Tracker, attempt: Attempt, end_ps: int) -> Weights | None:
    """Return the shares of the phases in an attempt's time; None if it was never seen running."""
    if not attempt.entered_ps or end_ps <= attempt.entered_ps[0]:
        return None
    n_phases = 2 if state.tasks.kind[attempt.task] == MAP else 3
    missing = n_phases - len(attempt.entered_ps)
    times = np.array([*attempt.entered_ps, *[end_ps] * (missing + 1)], float)
    return tuple((np.diff(times) / (times[-1] - times[0])).tolist())


def running_ps(view: HookView, attempt: Attempt) -> int:
    """Return for how long an attempt has been running."""
    return view.live.now_ps() - attempt.entered_ps[0] if attempt.entered_ps else 0


def _key(state: Tracker, attempt: Attempt) -> tuple[int, str, int]:
    """Return under what the weights of an attempt are stored."""
    job = int(state.tasks.job[attempt.task])
    return attempt.node, state.tasks.names[job][1], int(state.tasks.kind[attempt.task])
