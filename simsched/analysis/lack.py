"""Ready tasks and idle workers over time: where a run lacks parallelism."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simsched.analysis.idle import idle_spans
from simsched.analysis.supply import stays_of
from simsched.trace.run import Run

FloatArray = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Lack:
    """Means over equal bins of time; shape (n_bins,) unless said otherwise."""

    #: Edges of the bins, shape (n_bins + 1,).
    edges_ps: FloatArray
    #: Tasks in pools.
    ready: FloatArray
    idle: FloatArray


def lack_of_tasks(run: Run, bins: int) -> Lack:
    """Return how many tasks were ready and how many workers idle in each bin of a run's time.

    Many idle workers without ready tasks lack parallelism; with ready tasks, their policy keeps
    these from them.
    """
    if run.trace is None:
        raise ValueError("run: found no event trace, accepted: a run with events=True")
    time = run.trace.events["time_ps"].astype(np.float64)
    edges = np.linspace(0.0, max(1.0, float(run.summary.makespan_ps)), bins + 1)
    stays = stays_of(run.trace)
    idle, _ = idle_spans(run.trace, len(run.worker_thread), run.summary.makespan_ps)
    return Lack(
        edges,
        _means(time[stays.first], time[stays.last], edges),
        _means(idle.begin_ps.astype(np.float64), idle.end_ps.astype(np.float64), edges),
    )


def _means(begin: FloatArray, end: FloatArray, edges: FloatArray) -> FloatArray:
    """Return how many spans there are in each bin, on average over its time."""
    before = _length_before(begin, edges) - _length_before(end, edges)
    return np.asarray(np.diff(before) / np.diff(edges), np.float64)


def _length_before(since: FloatArray, edges: FloatArray) -> FloatArray:
    """Return for each edge the time since moments before it, added up."""
    since = np.sort(since)
    count = np.searchsorted(since, edges)
    return np.asarray(count * edges - np.append(0.0, np.cumsum(since))[count], np.float64)
