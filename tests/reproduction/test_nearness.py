"""How near claims come, on made-up rows: cilk, cilk_a and work_sharing take 34, 28, 36 s."""

from __future__ import annotations

import math
from typing import Any

import pytest

from simsched.reproduction.claims import count
from simsched.reproduction.nearness import Effect

from .claim_cases import AT_ONE, SERIES, Load
from .test_claims import AT_FOUR, SHORTER, verdicts

REDUCTION = 100 * (1 - 28 / 34)  # 17.6 %
LONGER = {**SHORTER, "policy": "work_sharing"}  # 36 instead of 34 s: -5.9 %

MISSED: list[tuple[str, dict[str, Any], float]] = [
    ("a value that holds", {**AT_FOUR, "policy": "cilk", "value": 34.0}, 0.0),
    ("a value", {**AT_FOUR, "policy": "cilk", "value": 40.0, "tolerance": "1 %"}, 0.15),
    ("below a range", {**AT_FOUR, "policy": "cilk", "min": 40.0, "max": 50.0}, 0.15),
    ("above a range", {**AT_FOUR, "policy": "cilk", "max": 17.0}, 1.0),
    ("a gain that is a loss", {**AT_FOUR, **LONGER, "min": 0.0}, 36 / 34 - 1),
    ("no scale", {**AT_FOUR, "policy": "cilk", "metric": "makespan_s", "max": 0.0}, math.nan),
    ("an order", {**AT_FOUR, "order": "cilk < cilk_a"}, 6 / 34),
    ("a tie", {**AT_ONE, "order": "cilk < cilk_a"}, 0.0),
    ("with a margin", {**AT_FOUR, "order": "cilk_a < cilk", "margin": "20 %"}, 0.8 / 34),
    ("the worst of two", {**AT_FOUR, "order": ["cilk < cilk_a", "work_sharing < cilk"]}, 6 / 34),
    ("not alike", {**AT_FOUR, "order": "cilk ~= cilk_a"}, 6 / 34),
    ("against a trend", {**SERIES, "policy": "cilk", "trend": "decreasing"}, 16 / 34),
    ("not constant", {**SERIES, "policy": "cilk", "trend": "constant"}, 24 / 34),
    ("every size", {**AT_ONE, "at": {}, "policy": "cilk", "max": 17.0}, 1.0),
    # 10, 18 and 34 s against 9 s: the second decides most, the first some
    ("most", {**AT_ONE, "at": {}, "policy": "cilk", "max": 9.0, "over": "most"}, 1.0),
    ("some", {**AT_ONE, "at": {}, "policy": "cilk", "max": 8.0, "over": "some"}, 0.25),
]


@pytest.mark.parametrize(("claim", "missed"), [c[1:] for c in MISSED], ids=[c[0] for c in MISSED])
def test_a_failing_claim_says_by_how_much(load: Load, claim: dict[str, Any], missed: float) -> None:
    if "tolerance" in claim:
        claim = {**claim, "tolerance_reason": "a reason"}
    (verdict,) = verdicts(load(claim))
    assert verdict.missed_by == pytest.approx(missed, rel=1e-9, nan_ok=True)
    assert verdict.holds is (claim.get("value") == 34.0)


EFFECTS: list[tuple[str, dict[str, Any], Effect]] = [
    ("near", {**SHORTER, "value": REDUCTION / 1.14}, Effect(True, True, True)),
    ("beyond 15 %", {**SHORTER, "value": REDUCTION / 1.16}, Effect(True, True, False)),
    ("a factor of 1.9", {**SHORTER, "value": REDUCTION / 1.9}, Effect(True, True, False)),
    ("a factor of 2.1", {**SHORTER, "value": REDUCTION / 2.1}, Effect(True, False, False)),
    ("half", {**SHORTER, "value": REDUCTION * 1.9}, Effect(True, True, False)),
    ("less than half", {**SHORTER, "value": REDUCTION * 2.1}, Effect(True, False, False)),
    ("the other direction", {**SHORTER, "value": -REDUCTION}, Effect(False, False, False)),
    ("a loss", {**LONGER, "value": -100 * (36 / 34 - 1)}, Effect(True, True, True)),
    ("a ratio", {**SHORTER, "as": "ratio", "value": 1 - 1.9 * 6 / 34}, Effect(True, True, False)),
    ("within a range", {**SHORTER, "min": 10.0, "max": 20.0}, Effect(True, True, True)),
    ("a limit that says no direction", {**SHORTER, "max": 20.0}, Effect()),
    ("at least", {**SHORTER, "min": 19.0}, Effect(True, True, True)),
    (
        "every case counts",
        {**SHORTER, "versus": ["cilk", "work_sharing"], "value": REDUCTION},
        Effect(True, True, False),  # 22.2 %
    ),
]


@pytest.mark.parametrize(("claim", "found"), [c[1:] for c in EFFECTS], ids=[c[0] for c in EFFECTS])
def test_an_effect_has_a_direction_and_a_size(
    load: Load, claim: dict[str, Any], found: Effect
) -> None:
    (verdict,) = verdicts(load({**AT_FOUR, **claim}))
    assert verdict.effect == found


def test_only_comparative_numbers_have_effects(load: Load) -> None:
    order = {**AT_FOUR, **SHORTER, "kind": "ordering", "min": 1.0}
    (verdict,) = verdicts(load(order))
    assert verdict.effect == Effect()


def test_directions_are_counted_beside_what_holds(load: Load) -> None:
    values = [REDUCTION, REDUCTION / 1.9, REDUCTION * 3, -REDUCTION]
    found = count(verdicts(load(*({**AT_FOUR, **SHORTER, "value": value} for value in values))))
    assert found == {
        "evaluable": 4,
        "holding": 1,
        "directed": 4,
        "same_direction": 3,
        "within_factor_two": 2,
        "within_tolerance": 1,
    }
