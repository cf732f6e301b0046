"""How near a claim comes: by how much it misses, and whether the effect has the published sign."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from simsched.reproduction.schema import ALIKE_TOLERANCE, VALUE_TOLERANCE, Claim, Tolerance

#: What a comparison is when both sides are equal.
NO_EFFECT = {"reduction_percent": 0.0, "speedup_percent": 0.0, "ratio": 1.0, "difference": 0.0}


@dataclass(frozen=True)
class Effect:
    """A simulated effect beside a published one; None where none of a sign is published."""

    #: Whether all cases are on the published side of no effect.
    same_direction: bool | None = None
    #: Whether the effect of all cases is between half and twice the published one.
    within_factor_two: bool | None = None
    #: Whether it misses the published one by 15 % at most.
    within_tolerance: bool | None = None


def effect(claim: Claim, values: Sequence[float]) -> Effect:
    """Return how the effects of all cases compare with the published ones.

    The effect is the difference from what the comparison gives for equal sides: percentages as
    they are, ratios minus one. Of a range each case has to be near the range, not near its ends.
    """
    if claim.as_ is None or not values:
        return Effect()
    equal = NO_EFFECT[claim.as_]
    low, high = (end - equal for end in interval(claim, 0))
    if not (low > 0.0 or high < 0.0):
        return Effect()
    found = [value - equal for value in values]
    if high < 0.0:
        low, high, found = -high, -low, [-item for item in found]
    return Effect(
        all(item > 0.0 for item in found),
        all(low / 2.0 <= item <= 2.0 * high for item in found),
        all(_within(item, low, high) for item in found),
    )


def _within(item: float, low: float, high: float) -> bool:
    return (1.0 - VALUE_TOLERANCE) * low <= item <= (1.0 + VALUE_TOLERANCE) * high


def interval(claim: Claim, position: int) -> tuple[float, float]:
    """Return between which numbers a quantity is published; the `position` is that in a list."""
    if claim.value is not None:
        value = claim.value[position if len(claim.value) > 1 else 0]
        return value, value
    low = -math.inf if claim.min is None else claim.min
    return low, math.inf if claim.max is None else claim.max


def accepted(claim: Claim, position: int) -> tuple[float, float]:
    """Return between which numbers a quantity holds."""
    default = VALUE_TOLERANCE if claim.value is not None else 0.0
    tolerance = claim.tolerance or Tolerance(relative=default)
    low, high = interval(claim, position)
    return (
        low - tolerance.of(low) if math.isfinite(low) else low,
        high + tolerance.of(high) if math.isfinite(high) else high,
    )


def distance(claim: Claim, value: float, position: int) -> float:
    """Return by which share of the published number a simulated one misses it; NaN for no number.

    Where the published number is 0 percent, percentage points are the share.
    """
    low, high = accepted(claim, position)
    if low <= value <= high:
        return 0.0
    end = interval(claim, position)[value > high]
    if end:
        return abs(value - end) / abs(end)
    is_percentage = claim.as_ in ("reduction_percent", "speedup_percent")
    return abs(value) / 100.0 if is_percentage else math.nan


def lack(claim: Claim, left: float, operator: str, right: float) -> float:
    """Return by which share of the larger number two numbers miss their order; NaN for no number.

    Equal numbers miss ``<`` by 0, and what holds is below 0 by its reserve.
    """
    larger = max(abs(left), abs(right))
    if operator == "~=":
        missing = abs(left - right)
        tolerance = claim.tolerance or Tolerance(relative=ALIKE_TOLERANCE)
        return _share(missing if missing > tolerance.of(larger) else -1.0, larger)
    if operator in (">", ">="):
        left, right = right, left
    margin = claim.margin.of(right) if claim.margin else 0.0
    return _share(left - (right - margin), larger)


def _share(missing: float, larger: float) -> float:
    return missing / larger if larger else missing


def worst_step(trend: str, x: Sequence[float], values: Sequence[float]) -> float:
    """Return the largest step against a trend as a share of the largest number, else NaN."""
    ordered = [value for _, value in sorted(zip(x, values, strict=True), key=lambda pair: pair[0])]
    largest = max(map(abs, ordered))
    steps = [b - a for a, b in pairwise(ordered)]
    against = {"increasing": -min(steps, default=0.0), "decreasing": max(steps, default=0.0)}
    against["constant"] = max(ordered) - min(ordered)
    return against[trend] / largest if trend in against and largest else math.nan


def missed_by(claim: Claim, distances: Sequence[float]) -> float:
    """Return by how much a claim fails whose cases fail by these distances (0 where they hold)."""
    if any(math.isnan(item) for item in distances):
        return math.nan
    ordered = sorted(distances)
    needed = {"some": 0, "most": len(ordered) // 2}.get(str(claim.over), -1)
    return max(ordered[needed], 0.0) if ordered else math.nan
