"""Formulas of the MapReduce schedulers: progress, stragglers, slow nodes, history, bins.

A task's *score* is the part of it that is done, its *rate* is score over running time. Equations
are those of Q. Chen, M. Guo, Springer 2017, chapter 7.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from simsched.workload.graph import BoolArray, FloatArray

Weights = tuple[float, ...]

#: Shares of a task's time in its phases as Hadoop and LATE assume them, and SAMR without history.
MAP_WEIGHTS: Weights = (1.0, 0.0)
REDUCE_WEIGHTS: Weights = (1 / 3, 1 / 3, 1 / 3)

#: Gap in score below the average that makes a straggler under least progress.
PROGRESS_GAP = 0.2
_ROUNDING = 1e-12  # so that 0.8 - 0.2 is not less than 0.6


def _mean(values: FloatArray) -> float:
    """Return the mean of some values, 0 for none."""
    return math.fsum(values) / max(1, len(values))


def progress_score(weights: Sequence[float], phase: int, fraction: float) -> float:
    """Return the score of a task: the weights of finished phases plus its part of the present one.

    Equation 7.3 for the weights of Hadoop, 7.9 and 7.10 for those of SAMR.

    >>> progress_score(REDUCE_WEIGHTS, 1, 0.5)
    0.5
    """
    return min(1.0, math.fsum(weights[:phase]) + weights[phase] * fraction)


def progress_rate(score: float, running_s: float) -> float:
    """Return score over running time, per second; 0 for a task that has just begun (equation 7.5).

    >>> progress_rate(0.5, 20.0)
    0.025
    """
    return score / running_s if running_s > 0.0 else 0.0


def time_to_end(score: float, running_s: float) -> float:
    """Return the remaining seconds if the rate stays (equation 7.6); infinite at a score of 0.

    >>> round(time_to_end(1 / 3, 30.0), 9)
    60.0
    """
    return running_s * (1.0 - score) / score if score > 0.0 else math.inf


def lags_behind(scores: FloatArray, gap: float = PROGRESS_GAP) -> BoolArray:
    """Return which running tasks are stragglers under least progress (equation 7.4).

    >>> lags_behind(np.array([0.7, 0.5, 0.9, 0.9, 0.9, 0.9])).tolist()
    [False, True, False, False, False, False]
    """
    behind: BoolArray = scores <= _mean(scores) - gap + _ROUNDING
    return behind


def update_weights(old: Sequence[float], observed: Sequence[float], history: float) -> Weights:
    """Return the weights of a node after it has ended a task (equation 7.8).

    >>> [round(v, 9) for v in update_weights((1.0, 0.0), (0.75, 0.25), 0.2)]
    [0.8, 0.2]
    """
    return tuple(
        v * history + seen * (1.0 - history) for v, seen in zip(old, observed, strict=True)
    )


def slow_tasks(rates: FloatArray, task_cap: float) -> BoolArray:
    """Return which tasks are much slower than the average of their kind (equation 7.11).

    >>> slow_tasks(np.array([1.0, 1.0, 0.6, 1.4]), 0.3).tolist()
    [False, False, True, False]
    """
    slow: BoolArray = rates < (1.0 - task_cap) * _mean(rates)
    return slow


def most_stragglers(n_running: int, strag_cap: float) -> int:
    """Return the upper bound of stragglers; rounded up, so that a single task can be backed up.

    >>> most_stragglers(12, 0.2)
    3
    """
    return math.ceil(strag_cap * n_running - _ROUNDING)


def longest_first(remaining_s: Sequence[float], candidates: BoolArray, most: int) -> list[int]:
    """Return at most `most` of the candidates, longest remaining time first, then by index.

    >>> longest_first([5.0, 9.0, 7.0], np.array([True, True, False]), 2)
    [1, 0]
    """
    chosen = np.flatnonzero(candidates).tolist()
    return sorted(chosen, key=lambda i: (-remaining_s[i], i))[:most]


def slow_nodes(node_rates: FloatArray, node_cap: float, most_share: float) -> BoolArray:
    """Return which nodes are slow for one kind of task (equation 7.12).

    >>> slow_nodes(np.array([1.0, 1.0, 0.1, 0.3, np.nan]), 0.2, 0.3).tolist()
    [False, False, True, False, False]
    """
    slow = np.zeros(len(node_rates), bool)
    known = np.flatnonzero(~np.isnan(node_rates))
    limit = (1.0 - node_cap) * _mean(node_rates[known])
    below = [node for node in known.tolist() if node_rates[node] < limit]
    most = math.floor(most_share * len(node_rates) + _ROUNDING)
    slow[sorted(below, key=lambda node: (node_rates[node], node))[:most]] = True
    return slow


def percentile(values: Sequence[float], percent: float) -> float:
    """Return a percentile of values, interpolated linearly; minus infinity without values.

    The thresholds of LATE: a value is slow if it is less than the percentile.

    >>> percentile([1.0, 2.0, 3.0, 4.0, 5.0], 25.0)
    2.0
    """
    return float(np.percentile(np.asarray(values), percent)) if len(values) else -math.inf


def reduce_bins(n_reduces: int, multiplier: int, factors: Sequence[float]) -> list[int]:
    """Return how many hash bins each reduce task gets, in proportion to its node's speed.

    All ``n_reduces * multiplier`` bins are given out; whole numbers by the largest remainder, of
    equal ones the earlier task.

    >>> reduce_bins(2, 4, [3.0, 1.0])
    [6, 2]
    """
    total = math.fsum(factors)
    exact = [n_reduces * multiplier * factor / total for factor in factors]
    bins = [math.floor(share + _ROUNDING) for share in exact]
    rest = sorted(range(n_reduces), key=lambda i: (bins[i] - exact[i], i))
    for i in rest[: n_reduces * multiplier - sum(bins)]:
        bins[i] += 1
    return bins
