"""Claims as text: what is published, what is simulated, the report."""

from __future__ import annotations

from typing import Any

import pytest

from simsched.report.claims import published_text, simulated_text, tolerance_text, what_text
from simsched.reproduction.judge import CaseVerdict, Verdict
from simsched.reproduction.points import PlannedClaim
from simsched.reproduction.schema import Claim


def claim(**keys: Any) -> Claim:
    base = {"id": "a", "source": "Book §1", "kind": "derived", "experiment": "e"}
    return Claim.model_validate({**base, **keys})


def verdict(item: Claim, *cases: CaseVerdict) -> Verdict:
    return Verdict(PlannedClaim(item, "Book"), all(case.holds for case in cases), list(cases))


def case(holds: bool, where: str = "heat", **numbers: float) -> CaseVerdict:
    values = {name.replace("_", ""): [value] for name, value in numbers.items()}
    return CaseVerdict({"workload": where}, values, holds, missed_by=0.0)


@pytest.mark.parametrize(
    ("keys", "text"),
    [
        ({"value": 37.7}, "37.7"),
        ({"min": 10, "max": 55}, "10 to 55"),
        ({"min": 450e9}, "at least 450e9"),
        ({"max": 2}, "at most 2"),
        ({"order": "a < b"}, "a < b"),
        ({"order": ["a < b", "c ~= d"]}, "a < b; c ~= d"),
        ({"trend": "u_shaped", "along": "rows"}, "u-shaped along rows"),
    ],
)
def test_what_is_published(keys: dict[str, Any], text: str) -> None:
    assert published_text(claim(**keys)) == text


def test_one_number_and_a_range_of_numbers() -> None:
    item = claim(value=3)
    assert simulated_text(verdict(item, case(True, _=2.5))) == "2.5"
    assert simulated_text(verdict(item, case(True, _=2.5), case(False, _=9.0))) == "2.5 to 9"


def test_an_ordering_shows_the_first_case_that_contradicts_it() -> None:
    item = claim(order="a < b")
    assert simulated_text(verdict(item, case(True, a=1.0, b=2.0))) == "a 1, b 2"
    cases = [case(True, a=1.0, b=2.0), case(False, "sor", a=3.0, b=2.0)]
    assert simulated_text(verdict(item, *cases)) == "1 of 2 cases; not sor: a 3, b 2"
    assert simulated_text(verdict(item, cases[0], cases[0])) == "2 of 2 cases"


def test_a_long_series_is_cut() -> None:
    item = claim(trend="linear", along="rows")
    series = CaseVerdict({}, {"": [float(n) for n in range(9)]}, True, missed_by=0.0)
    assert simulated_text(verdict(item, series)) == "0, 1, 2, 3, 4, 5, ..."


def test_what_a_claim_is_about() -> None:
    item = claim(
        metric=["l2_misses", "l3_misses"],
        per="tasks",
        policy="cab",
        versus=["cilk", "slaw"],
        **{"as": "reduction_percent"},
        workload=["a", "b", "c", "d"],
        value=1,
    )
    assert what_text(item) == (
        "l2_misses + l3_misses, per tasks, reduction percent, cab, vs cilk/slaw, a/... (4)"
    )
    some = claim(metric="makespan_s", over="mean", above=1.5, value=1)
    assert what_text(some) == "makespan_s, (mean of those above 1.5)"


def test_tolerances() -> None:
    assert tolerance_text(claim(value=1)) == "15 %"
    own = claim(value=1, tolerance="5 %", tolerance_reason="about equal")
    assert tolerance_text(own) == "5 % (about equal)"
    assert tolerance_text(claim(max=1)) == ""
