"""Whether claims hold: numbers of stored rows, and what they are compared with."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np

from simsched.reproduction import nearness
from simsched.reproduction.points import (
    Measure,
    PlannedClaim,
    Point,
    Quantity,
    Reading,
    Series,
)
from simsched.reproduction.schema import (
    ALIKE_TOLERANCE,
    ALONG_ONLY,
    LINEAR_R2,
    QUANTIFIERS,
    Claim,
    Tolerance,
    parse_order,
)

Row = Mapping[str, Any]
#: Rows by point and seed.
Rows = Mapping[Point, Mapping[int, Row]]
HOLDS, FAILS = "holds", "fails"
#: What makes one number of several; see :data:`simsched.reproduction.schema.REDUCTIONS`.
REDUCED: dict[str, Callable[[Sequence[float]], float]] = {
    "mean": np.mean,
    "min": min,
    "max": max,
    "sum": sum,
    "spread": np.ptp,
}


@dataclass(frozen=True)
class CaseVerdict:
    """One case of a claim."""

    #: Its labels.
    where: dict[str, str]
    #: The numbers by the name of a term; ``""`` when there is only one quantity.
    simulated: dict[str, list[float]]
    holds: bool
    #: The share of the published number, or of the larger side of an order, by which it fails; NaN
    #: where there is no such number.
    missed_by: float


@dataclass(frozen=True)
class Verdict:
    """What has come out for a claim."""

    planned: PlannedClaim
    #: None when it cannot be evaluated.
    holds: bool | None
    cases: list[CaseVerdict] = field(default_factory=list)
    #: Labels and numbers of what a quantity is made of, before one number is made of them.
    parts: list[tuple[dict[str, str], float]] = field(default_factory=list)
    #: What a probe says, when that is text.
    text: str = ""

    @property
    def claim(self) -> Claim:
        """The claim."""
        return self.planned.claim

    @property
    def word(self) -> str:
        """``holds``, ``fails`` or ``not evaluable``."""
        return "not evaluable" if self.holds is None else HOLDS if self.holds else FAILS

    @property
    def missed_by(self) -> float:
        """The share by which it fails: 0 for a tie and for what holds, NaN where it has none."""
        if self.holds:
            return 0.0
        return nearness.missed_by(self.claim, [case.missed_by for case in self.cases])

    @property
    def effect(self) -> nearness.Effect:
        """How its effect compares with the published one, where it compares numbers."""
        if self.claim.kind != "comparative":
            return nearness.Effect()
        return nearness.effect(self.claim, [case.simulated[""][0] for case in self.cases])


def judge(planned: PlannedClaim, rows: Rows) -> Verdict:
    """Return the verdict on a claim from the rows of all its experiments."""
    claim = planned.claim
    if claim.not_evaluable is not None:
        return Verdict(planned, None)
    if claim.equals is not None:
        answer = str(planned.answer)
        holds = " ".join(answer.split()) == " ".join(claim.equals.split())
        return Verdict(planned, holds, text=answer)
    if claim.order is not None:
        cases = [_order(claim, case.where, case.terms, rows) for case in planned.cases]
        return Verdict(planned, _enough(claim, cases), cases)
    assert planned.quantity is not None
    cases = _cases(claim, planned.quantity, rows)
    parts = [(s.where, value) for s in planned.quantity.series for value in _values(s, rows)]
    return Verdict(planned, _enough(claim, cases), cases, parts)


def _enough(claim: Claim, cases: Sequence[CaseVerdict]) -> bool:
    """Return whether as many cases hold as the claim says."""
    holding = sum(case.holds for case in cases)
    if claim.over == "some":
        return holding > 0
    if claim.over == "most":
        return 2 * holding > len(cases)
    return holding == len(cases)


def _cases(claim: Claim, quantity: Quantity, rows: Rows) -> list[CaseVerdict]:
    """Return the cases of a claim about a single quantity."""
    if claim.trend is not None:
        found = []
        for series in quantity.series:
            values = _values(series, rows)
            signs = _signs(claim, values)
            holds = has_trend(claim.trend, series.x, values, signs, claim.tolerance)
            missed = 0.0 if holds else nearness.worst_step(claim.trend, series.x, values)
            found.append(CaseVerdict(series.where, {"": values}, holds, missed))
        return found
    if claim.over in ALONG_ONLY:
        numbers = [(item.where, _reduced(item, claim, rows)) for item in quantity.series]
    elif claim.over is None or claim.over in QUANTIFIERS:
        numbers = [(s.where, value) for s in quantity.series for value in _values(s, rows)]
    else:
        together = [value for series in quantity.series for value in _values(series, rows)]
        if claim.above is not None:
            together = [value for value in together if not value <= claim.above]
        numbers = [({}, reduce(claim.over, together) if together else math.nan)]
    found = []
    for position, (where, value) in enumerate(numbers):
        low, high = nearness.accepted(claim, position)
        missed = nearness.distance(claim, value, position)
        found.append(CaseVerdict(where, {"": [value]}, low <= value <= high, missed))
    return found


def _reduced(series: Series, claim: Claim, rows: Rows) -> float:
    """Return what one number is made of a series along an axis."""
    values = _values(series, rows)
    if claim.over == "crossing":
        return crossing(series.x, _signs(claim, values))
    return reduce_along(str(claim.over), series.x, values)


def _signs(claim: Claim, values: Sequence[float]) -> list[float]:
    """Return values that are positive on one side of equality with the baseline."""
    return [value - 1.0 for value in values] if claim.as_ == "ratio" else list(values)


def _order(
    claim: Claim, where: dict[str, str], terms: Mapping[str, Quantity], rows: Rows
) -> CaseVerdict:
    """Return whether the terms of one case are in the published order."""
    numbers = {name: _number(quantity, rows) for name, quantity in terms.items()}
    lacks = [
        (nearness.lack(claim, numbers[left], operator, numbers[right]), operator in ("<", ">"))
        for groups, operators in map(parse_order, claim.order or ())
        for (before, after), operator in zip(pairwise(groups), operators, strict=True)
        for left in before
        for right in after
    ]
    holds = all(lack < 0.0 if strict else lack <= 0.0 for lack, strict in lacks)
    missed = 0.0 if holds else float(np.max([lack for lack, _ in lacks]))
    return CaseVerdict(where, {name: [value] for name, value in numbers.items()}, holds, missed)


def _number(quantity: Quantity, rows: Rows) -> float:
    if quantity.over in ALONG_ONLY:
        series = quantity.series[0]
        return reduce_along(str(quantity.over), series.x, _values(series, rows))
    values = [value for series in quantity.series for value in _values(series, rows)]
    return values[0] if quantity.over is None else reduce(quantity.over, values)


def _values(series: Series, rows: Rows) -> list[float]:
    return [read(item, rows) if isinstance(item, Reading) else item for item in series.items]


def read(reading: Reading, rows: Rows) -> float:
    """Return a simulated number.

    Means of comparisons are taken over comparisons of runs with the same seed when both points have
    the same seeds, otherwise means are compared.
    """
    mine = rows[reading.point]
    own = _by_seed(mine, reading.measure)
    if reading.base is None or reading.base_measure is None:
        return _seeds(list(own.values()), reading.measure.seeds)
    base = _by_seed(rows[reading.base], reading.base_measure)
    comparison = str(reading.comparison)
    if reading.measure.seeds == "mean" and own.keys() == base.keys():
        return float(np.mean([compare(comparison, own[seed], base[seed]) for seed in own]))
    return compare(
        comparison,
        _seeds(list(own.values()), reading.measure.seeds),
        _seeds(list(base.values()), reading.base_measure.seeds),
    )


def _by_seed(rows: Mapping[int, Row], measure: Measure) -> dict[int, float]:
    return {seed: _measured(row, measure) for seed, row in rows.items()}


def _measured(row: Row, measure: Measure) -> float:
    """Return a measure of one run; NaN where the run has no such value."""
    upper = _sum(row, measure.metric, measure.item)
    if not measure.per:
        return upper
    lower = _sum(row, measure.per, measure.item)
    return upper / lower if lower else math.nan


def _sum(row: Row, names: Sequence[str], item: int | None) -> float:
    total = 0.0
    for name in names:
        value = row.get(name)
        if isinstance(value, list):
            inside = item is not None and -len(value) <= item < len(value)
            value = value[item] if inside and item is not None else None
        total += math.nan if value is None else float(value)
    return total


def _seeds(values: Sequence[float], how: str) -> float:
    """Return one number for several seeds."""
    if how == "spread_percent":
        mean = float(np.mean(values))
        return 100.0 * (max(values) - min(values)) / mean if mean else math.nan
    return reduce(how, values)


def compare(how: str, value: float, base: float) -> float:
    """Return a number beside a baseline.

    >>> compare("reduction_percent", 3.0, 4.0), compare("speedup_percent", 4.0, 5.0)
    (25.0, 25.0)
    """
    if how == "difference":
        return value - base
    if how == "speedup_percent":
        return 100.0 * (base / value - 1.0) if value else math.nan
    if not base:
        return math.nan
    return value / base if how == "ratio" else 100.0 * (1.0 - value / base)


def reduce(how: str, values: Sequence[float]) -> float:
    """Return the mean, min, max, sum or spread (largest minus smallest) of numbers."""
    if any(math.isnan(value) for value in values):
        return math.nan
    return float(REDUCED[how](values))


def reduce_along(how: str, x: Sequence[float], values: Sequence[float]) -> float:
    """Return the slope of the least-squares line, or the place of the smallest or largest value.

    >>> reduce_along("argmin", [1.0, 2.0, 4.0], [3.0, 1.0, 2.0])
    2.0
    """
    if any(math.isnan(value) for value in values):
        return math.nan
    if how == "slope":
        return line(x, values)[0]
    if how == "crossing":
        return crossing(x, values)
    choose = min if how == "argmin" else max
    return float(x[choose(range(len(values)), key=lambda position: values[position])])


def line(x: Sequence[float], y: Sequence[float]) -> tuple[float, float]:
    """Return the slope of the least-squares line and the share of the variance that it explains."""
    dx = np.asarray(x, np.float64) - np.mean(x)
    dy = np.asarray(y, np.float64) - np.mean(y)
    if not dx.any():
        return math.nan, math.nan
    slope = float((dx * dy).sum() / (dx * dx).sum())
    total = float((dy * dy).sum())
    rest = float(((dy - slope * dx) ** 2).sum())
    return slope, 1.0 if total == 0.0 else 1.0 - rest / total


def crossing(x: Sequence[float], signs: Sequence[float]) -> float:
    """Return where numbers change their sign, by linear interpolation; NaN unless they do so once.

    >>> crossing([1.0, 2.0, 3.0], [-1.0, -1.0, 3.0])
    2.25
    """
    kept = sorted((place, value) for place, value in zip(x, signs, strict=True) if value)
    changes = [(a, b) for a, b in pairwise(kept) if (a[1] < 0) != (b[1] < 0)]
    if len(changes) != 1:
        return math.nan
    (left, below), (right, above) = changes[0]
    return left + (right - left) * below / (below - above)


def has_trend(
    trend: str,
    x: Sequence[float],
    values: Sequence[float],
    signs: Sequence[float],
    tolerance: Tolerance | None = None,
) -> bool:
    """Return whether numbers along an axis behave as published.

    `signs` are numbers whose sign says on which side of equality the values are. The tolerance of a
    constant is relative to the largest number.
    """
    if any(math.isnan(value) for value in values):
        return False
    order = sorted(range(len(x)), key=lambda position: x[position])
    y = [values[position] for position in order]
    steps = [b - a for a, b in pairwise(y)]
    if trend == "linear":
        return line(x, values)[1] >= LINEAR_R2
    if trend == "increasing":
        return all(step > 0 for step in steps)
    if trend == "decreasing":
        return all(step < 0 for step in steps)
    if trend == "constant":
        accepted = tolerance or Tolerance(relative=ALIKE_TOLERANCE)
        return max(y) - min(y) <= accepted.of(max(map(abs, y)))
    if trend == "u_shaped":
        lowest = min(range(len(y)), key=lambda position: y[position])
        return 0 < lowest < len(y) - 1
    return not math.isnan(crossing(x, signs))
