"""What is known of runs that are compared, and what the parts of their time contribute.

Idle time contributes by its share of the makespan. Where one of sixteen workers computes and the
others are idle, a second that it waits less is fifteen that they are idle less; these are no cause.
With W the time that is not idle and i the share that is, T = W / (1 - i). So ln W and -ln(1 - i)
add up to ln T, and their differences, times the logarithmic mean of both makespans, to that of T.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from simsched.analysis.supply import BETWEEN
from simsched.analysis.waterfall import MIGRATION, POOLS, SPAWN, group_of
from simsched.experiment.summary import Estimate, reduction_percent

TASKS, IDLE = "tasks", "idle"


@dataclass(frozen=True)
class Facts:
    """What is known of runs that differ in nothing but their seed: means over them."""

    label: str
    makespan_s: float
    #: Parts of the makespan, of the mean worker.
    seconds: Mapping[str, float]
    #: Columns of results that are numbers.
    metrics: Mapping[str, float]
    #: Idle time by cause and detail; nothing without traces.
    idle_s: Mapping[tuple[str, str], float] = field(default_factory=dict)
    #: The makespan by seed, where seeds are known.
    makespans_s: Mapping[int, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Pair:
    """Two sides of a comparison."""

    first: Facts
    second: Facts

    def part(self, chosen: Callable[[str], bool]) -> tuple[float, float]:
        """Return the sum of some parts on each side."""
        first, second = (
            sum(seconds for name, seconds in side.seconds.items() if chosen(name))
            for side in (self.first, self.second)
        )
        return first, second

    def change(self, chosen: Callable[[str], bool]) -> float:
        """Return by how much some parts are longer on the second side."""
        first, second = self.part(chosen)
        return second - first

    @property
    def reduction_percent(self) -> Estimate:
        """How much shorter the second side is, paired by seed as tables of results have it.

        Sides without a seed in common are compared by their means: nothing is known of an interval.
        """
        first, second = self.first.makespans_s, self.second.makespans_s
        pairs = [(mine, first[seed]) for seed, mine in second.items() if seed in first]
        return reduction_percent(pairs or [(self.second.makespan_s, self.first.makespan_s)])

    @property
    def work_weight(self) -> float:
        """What a second of the mean worker that is not idle contributes, in seconds."""
        idle = self.part(is_idle)
        first, second = self.first.makespan_s - idle[0], self.second.makespan_s - idle[1]
        if min(first, second) <= 0.0:
            return 1.0
        return self._mean_makespan_s / _logarithmic_mean(first, second)

    @property
    def idle_weight(self) -> float:
        """What all workers being idle all the time would contribute, in seconds."""
        first, second = (1.0 - share for share in self.shares(*self.part(is_idle)))
        if min(first, second) <= 0.0:
            return self._mean_makespan_s
        return self._mean_makespan_s / _logarithmic_mean(first, second)

    @property
    def _mean_makespan_s(self) -> float:
        return _logarithmic_mean(self.first.makespan_s, self.second.makespan_s)

    def shares(self, first_s: float, second_s: float) -> tuple[float, float]:
        """Return which parts of the makespans times on each side are."""
        longest = self.first.makespan_s or 1.0, self.second.makespan_s or 1.0
        return first_s / longest[0], second_s / longest[1]

    def metric(self, name: str) -> tuple[float, float]:
        """Return a column on each side, 0 where there is none."""
        return self.first.metrics.get(name, 0.0), self.second.metrics.get(name, 0.0)


def is_idle(name: str) -> bool:
    """Return whether a part is idle time, of whatever cause."""
    return group_of(name) == IDLE


def _logarithmic_mean(first: float, second: float) -> float:
    """Return (b - a) / (ln b - ln a), which is between both; 0 if one is.

    >>> round(_logarithmic_mean(1.0, math.e), 3), _logarithmic_mean(2.0, 2.0)
    (1.718, 2.0)
    """
    if min(first, second) <= 0.0 or math.isclose(first, second):
        return min(first, second)
    return (second - first) / math.log(second / first)


def facts_of(label: str, rows: Sequence[Mapping[str, Any]]) -> Facts:
    """Return what rows of results say, which differ in nothing but their seed."""
    metrics = mean_metrics(rows)
    workers = max(1.0, metrics.get("workers", 1.0))
    columns = {TASKS: "busy_s", SPAWN: "spawn_s", POOLS: "acquire_s", MIGRATION: "migrate_s"}
    seconds = {part: metrics.get(name, 0.0) / workers for part, name in columns.items()}
    between = metrics.get("between_iterations_s", 0.0)
    idle = max(0.0, metrics.get("idle_s", 0.0) / workers - between)
    seconds |= {BETWEEN: between, IDLE: idle}
    makespans = {row["seed"]: row["makespan_s"] for row in rows}
    return Facts(label, metrics["makespan_s"], seconds, metrics, makespans_s=makespans)


def mean_metrics(rows: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    """Return the means of the columns that are numbers in all rows."""
    first = rows[0]
    return {
        name: sum(float(row[name]) for row in rows) / len(rows)
        for name in first
        if all(isinstance(row.get(name), int | float) for row in rows)
    }
