"""Claims: every form of predicate, holding and failing, on rows that are made up.

The experiment is real, its rows are not: makespans follow from the labels, so that what has to come
out can be calculated by hand.
"""

from __future__ import annotations

import math
from typing import Any

import pytest

from simsched.reproduction.claims import Family, by_kind, rows_by_point
from simsched.reproduction.judge import Verdict, judge
from simsched.reproduction.schema import KINDS, ClaimsFile, parse_order

from .claim_cases import AT_ONE, SERIES, SIZE, Load, row


def verdicts(family: Family) -> list[Verdict]:
    """Return the verdicts with the rows that are made up."""
    rows = {
        point: found
        for name, study in family.studies.items()
        for point, found in rows_by_point(name, [row(cell) for cell in study.study.cells]).items()
    }
    return [judge(planned, rows) for planned in family.claims]


SHORTER = {"policy": "cilk_a", "versus": "cilk", "as": "reduction_percent"}
# At size 1 all of cilk, cilk_a and work_sharing would take 10, 10 and 9 s; at 4: 34, 28 and 36 s.
AT_FOUR = {**AT_ONE, "at": {SIZE: 4.0}}

CASES: list[tuple[str, dict[str, Any], bool]] = [
    ("a value", {**AT_ONE, "policy": "cilk", "value": 10.0}, True),
    ("a value at the edge", {**AT_ONE, "policy": "cilk", "value": 8.8}, True),
    ("a value beyond it", {**AT_ONE, "policy": "cilk", "value": 8.6}, False),
    (
        "a narrower tolerance",
        {**AT_ONE, "policy": "cilk", "value": 9.0, "tolerance": "5 %", "tolerance_reason": "r"},
        False,
    ),
    (
        "an absolute tolerance",
        {**AT_ONE, "policy": "cilk", "value": 7.0, "tolerance": 3.5, "tolerance_reason": "r"},
        True,
    ),
    ("a range", {**AT_ONE, "policy": "cilk", "min": 9.0, "max": 11.0}, True),
    ("a range without tolerance", {**AT_ONE, "policy": "cilk", "min": 10.1}, False),
    ("a limit", {**AT_ONE, "policy": "cilk", "max": 9.9}, False),
    ("a reduction", {**AT_FOUR, **SHORTER, "value": 100 * (1 - 28 / 34)}, True),
    ("another reduction", {**AT_FOUR, **SHORTER, "value": 25.0}, False),
    ("a ratio", {**AT_FOUR, **SHORTER, "as": "ratio", "value": 28 / 34}, True),
    ("a speedup", {**AT_FOUR, **SHORTER, "as": "speedup_percent", "value": 100 * 6 / 28}, True),
    ("a difference", {**AT_FOUR, **SHORTER, "as": "difference", "value": -6.0}, True),
    (
        "several baselines",
        {**AT_FOUR, **SHORTER, "versus": ["cilk", "work_sharing"], "min": 17.0, "max": 23.0},
        True,
    ),
    (
        "several baselines, one outside",
        {**AT_FOUR, **SHORTER, "versus": ["cilk", "work_sharing"], "min": 18.0, "max": 23.0},
        False,
    ),
    (
        "another experiment",
        {
            **AT_ONE,
            "policy": "cilk",
            "versus": {"experiment": "modes.yaml", "policy": "cilk_h"},
            "as": "ratio",
            "value": 2.5,
        },
        True,
    ),
    ("a share", {**AT_ONE, "policy": "cilk", "metric": "steals", "per": "tasks", "value": 2}, True),
    (
        "a sum",
        {**AT_ONE, "policy": "cilk", "metric": ["steals", "failed_probes"], "value": 400.0},
        True,
    ),
    (
        "an item",
        {**AT_ONE, "policy": "cilk_a", "metric": "iteration_s", "item": 0, "value": 3.0},
        True,
    ),
    (
        "the last item",
        {**AT_ONE, "policy": "cilk_a", "metric": "iteration_s", "item": -1, "value": 3.0},
        False,
    ),
    (
        "spread over seeds",
        {**AT_ONE, "policy": "cilk", "seeds": "spread_percent", "value": 1.0},
        True,
    ),
    (
        "the mean of the sizes above a limit, 18 and 34 s",
        {
            **AT_ONE,
            "at": {},
            "policy": "cilk",
            "over": "mean",
            "above": 10.0,
            "value": 26.0,
            "tolerance": 1e-9,
            "tolerance_reason": "exact",
        },
        True,
    ),
    (
        "nothing above a limit",
        {**AT_ONE, "at": {}, "policy": "cilk", "over": "sum", "above": 34.0, "value": 0.0},
        False,
    ),
    ("every size", {**AT_ONE, "at": {}, "policy": "cilk", "max": 20.0}, False),
    ("some size", {**AT_ONE, "at": {}, "policy": "cilk", "max": 11.0, "over": "some"}, True),
    ("most sizes", {**AT_ONE, "at": {}, "policy": "cilk", "max": 20.0, "over": "most"}, True),
    (
        "half of the sizes",
        {**AT_ONE, "at": {SIZE: [1.0, 2.0]}, "policy": "cilk", "max": 11.0, "over": "most"},
        False,
    ),
    ("not most", {**AT_ONE, "at": {}, "policy": "cilk", "max": 11.0, "over": "most"}, False),
    (
        "the mean",
        {**AT_ONE, "at": {}, "policy": "cilk", "over": "mean", "value": 62 / 3},
        True,
    ),
    ("the largest", {**AT_ONE, "at": {}, "policy": "cilk", "over": "max", "value": 34.0}, True),
    ("the smallest", {**AT_ONE, "at": {}, "policy": "cilk", "over": "min", "value": 34.0}, False),
    ("the spread", {**AT_ONE, "at": {}, "policy": "cilk", "over": "spread", "value": 24.0}, True),
    ("a slope", {**SERIES, "policy": "cilk", "over": "slope", "value": 8.0}, True),
    ("the best place", {**SERIES, "policy": "cilk", "over": "argmin", "value": 1.0}, True),
    ("the worst place", {**SERIES, "policy": "cilk", "over": "argmax", "value": 1.0}, False),
    (
        "where lines cross",  # 9 x = 6 x + 4 between 1 and 2
        {
            **SERIES,
            "policy": "work_sharing",
            "versus": "cilk_a",
            "as": "difference",
            "over": "crossing",
            "value": 4 / 3,
        },
        True,
    ),
    ("increasing", {**SERIES, "policy": "cilk", "trend": "increasing"}, True),
    ("decreasing", {**SERIES, "policy": "cilk", "trend": "decreasing"}, False),
    ("linear", {**SERIES, "policy": "cilk", "trend": "linear"}, True),
    (
        "not linear",
        {**SERIES, "policy": "cilk", "trend": "linear", "x": [1.0, 50.0, 3.0]},
        False,
    ),
    ("constant", {**SERIES, "policy": "cilk", "metric": "steals", "trend": "constant"}, True),
    ("not constant", {**SERIES, "policy": "cilk", "trend": "constant"}, False),
    (
        "a crossover",
        {
            **SERIES,
            "policy": "work_sharing",
            "versus": "cilk_a",
            "as": "ratio",
            "trend": "crossover",
        },
        True,
    ),
    (
        "no crossover",
        {
            **SERIES,
            "policy": "cilk_a",
            "versus": "work_sharing",
            "as": "ratio",
            "at": {SIZE: [2.0, 4.0]},
            "trend": "crossover",
        },
        False,
    ),
    (
        "u-shaped",  # 34, 28 and 36 s
        {
            **AT_FOUR,
            "policy": ["cilk", "cilk_a", "work_sharing"],
            "along": "policy",
            "trend": "u_shaped",
        },
        True,
    ),
    (
        "not u-shaped",
        {
            **AT_FOUR,
            "policy": ["cilk_a", "cilk", "work_sharing"],
            "along": "policy",
            "trend": "u_shaped",
        },
        False,
    ),
    ("an order", {**AT_FOUR, "order": "cilk_a < cilk < work_sharing"}, True),
    ("reversed", {**AT_FOUR, "order": "work_sharing > cilk >= cilk_a"}, True),
    ("a wrong order", {**AT_FOUR, "order": "cilk < cilk_a"}, False),
    ("an order with a group", {**AT_FOUR, "order": "cilk_a < {cilk, work_sharing}"}, True),
    ("a group that is wrong", {**AT_FOUR, "order": "{cilk_a, work_sharing} < cilk"}, False),
    ("two orders", {**AT_FOUR, "order": ["cilk_a < cilk", "cilk_a < work_sharing"]}, True),
    ("two, one wrong", {**AT_FOUR, "order": ["cilk_a < cilk", "work_sharing < cilk"]}, False),
    ("alike", {**AT_ONE, "order": "cilk ~= cilk_a"}, True),
    ("not alike", {**AT_FOUR, "order": "cilk ~= cilk_a"}, False),
    (
        "alike within more",
        {**AT_FOUR, "order": "cilk ~= cilk_a", "tolerance": "20 %", "tolerance_reason": "r"},
        True,
    ),
    ("much faster", {**AT_FOUR, "order": "cilk_a < work_sharing", "margin": "20 %"}, True),
    ("not as much", {**AT_FOUR, "order": "cilk_a < cilk", "margin": "20 %"}, False),
    ("an order everywhere", {"metric": "makespan_s", "order": "cilk_a < work_sharing"}, False),
    (
        "an order somewhere",
        {"metric": "makespan_s", "order": "cilk_a < work_sharing", "over": "some"},
        True,
    ),
    (
        "an order in most cases",
        {"metric": "makespan_s", "order": "cilk_a < work_sharing", "over": "most"},
        True,
    ),
    (
        "an order of means",  # 53 and 63 s
        {"metric": "makespan_s", "order": "cilk_a < work_sharing", "over": "mean"},
        True,
    ),
    (
        "an order of slopes",
        {
            "metric": "makespan_s",
            "along": SIZE,
            "over": "slope",
            "order": "cilk_a < {cilk, work_sharing}",
        },
        True,
    ),
    (
        "an order of gains",
        {
            "metric": "makespan_s",
            **SHORTER,
            "terms": {"small": {"at": {SIZE: 1.0}}, "large": {"at": {SIZE: 4.0}}},
            "order": "small < large",
        },
        True,
    ),
    (
        "a gain that shrinks",
        {
            "metric": "makespan_s",
            **SHORTER,
            "terms": {"small": {"at": {SIZE: 1.0}}, "large": {"at": {SIZE: 4.0}}},
            "order": "large < small",
        },
        False,
    ),
    (
        "an order of workloads",
        {
            "metric": "makespan_s",
            "policy": "cilk",
            "terms": {"h": {"workload": "heat"}, "s": {"workload": "sor"}},
            "order": "h < s",
        },
        True,
    ),
    (
        "a term of several values",
        {
            "metric": "makespan_s",
            "workload": "heat",
            "terms": {
                "best": {"policy": ["cilk", "work_sharing"], "over": "min"},
                "mine": {"policy": "cilk_a"},
            },
            "at": {SIZE: 4.0},
            "order": "mine < best",
        },
        True,
    ),
    (
        "several experiments",
        {
            "experiment": "modes.yaml",
            "metric": "makespan_s",
            "cases": [{"policy": "bats"}, {"experiment": "sizes.yaml", "policy": "cilk", **AT_ONE}],
            "max": 9.0,
        },
        False,
    ),
    (
        "a slope over keys in step",
        {**SERIES, "experiment": "steps.yaml", "policy": "cilk", "over": "slope", "value": 8.0},
        True,
    ),
    (
        "an order of slopes over keys in step",
        {
            **SERIES,
            "experiment": "steps.yaml",
            "over": "slope",
            "order": "cilk_a < {cilk, work_sharing}",
        },
        True,
    ),
    (
        "an order of points of keys in step",
        {
            "experiment": "steps.yaml",
            "metric": "makespan_s",
            "policy": "cilk",
            "terms": {"small": {"at": {SIZE: 1.0}}, "large": {"at": {SIZE: 4.0}}},
            "order": "small < large",
        },
        True,
    ),
    (
        "an order across experiments",  # 4 s of cilk_h against 10 and 18 s
        {
            **AT_ONE,
            "at": {SIZE: [1.0, 2.0]},
            "terms": {
                "flat": {
                    "experiment": "modes.yaml",
                    "policy": "cilk_h",
                    "at": {"workloads.heat.depth": 1},
                },
                "here": {"policy": "cilk"},
            },
            "order": "flat < here",
        },
        True,
    ),
    (
        "a term of another size than the case",
        {
            "metric": "makespan_s",
            "workload": "heat",
            "terms": {"first": {"policy": "cilk", "at": {SIZE: 1.0}}, "mine": {"policy": "cilk_a"}},
            "order": "first <= mine",
        },
        True,
    ),
    (
        "a probe",
        {
            "probe": "machine_count",
            "arguments": {"machine": "knl_snc4_flat", "what": "sockets"},
            "value": 4.0,
        },
        True,
    ),
    (
        "a probe that fails",
        {
            "probe": "machine_count",
            "arguments": {"machine": "knl_snc4_flat", "what": "cores"},
            "value": 4.0,
        },
        False,
    ),
    (
        "an order of probes",
        {
            "terms": {
                "hbm": {
                    "probe": "node_bandwidth_bytes_per_s",
                    "arguments": {"machine": "knl_snc4_flat", "kind": "HBM"},
                },
                "ddr": {
                    "probe": "node_bandwidth_bytes_per_s",
                    "arguments": {"machine": "knl_snc4_flat", "kind": "DRAM"},
                },
            },
            "order": "hbm > ddr",
        },
        True,
    ),
]


@pytest.mark.parametrize(("claim", "holds"), [c[1:] for c in CASES], ids=[c[0] for c in CASES])
def test_a_claim_holds_or_fails(load: Load, claim: dict[str, Any], holds: bool) -> None:
    (verdict,) = verdicts(load(claim))
    assert verdict.holds is holds


def test_a_comparison_of_seeds_is_taken_pair_by_pair(load: Load) -> None:
    (verdict,) = verdicts(load({**AT_FOUR, **SHORTER, "value": 17.0}))
    assert verdict.cases[0].simulated[""][0] == pytest.approx(100 * (1 - 28 / 34), rel=1e-12)


def test_an_ordering_is_checked_in_every_case_that_its_terms_leave_open(load: Load) -> None:
    (verdict,) = verdicts(load({"metric": "makespan_s", "order": "cilk_a < work_sharing"}))
    assert [(case.where["workload"], case.where[SIZE], case.holds) for case in verdict.cases] == [
        ("heat", "1.0", False),
        ("sor", "1.0", False),
        ("heat", "2.0", True),
        ("sor", "2.0", True),
        ("heat", "4.0", True),
        ("sor", "4.0", True),
    ]


def test_a_term_adds_to_the_swept_values_that_the_claim_selects(load: Load) -> None:
    depth = "workloads.heat.depth"
    claim = {
        "experiment": "modes.yaml",
        "metric": "makespan_s",
        "policy": "bats",
        "at": {SIZE: 2.0},
        "terms": {"a": {"at": {depth: 1}}, "b": {"at": {depth: 2}}},
        "order": "a ~= b",
    }
    (verdict,) = verdicts(load(claim))
    assert [case.where[SIZE] for case in verdict.cases] == ["2.0"]


def test_a_claim_is_not_compared_with_itself(load: Load) -> None:
    claim = {
        **AT_ONE,
        "at": {},
        "policy": "cilk",
        "versus": {"at": {SIZE: 1.0}},
        "as": "ratio",
        "min": 1.5,
    }
    (verdict,) = verdicts(load(claim))
    assert [case.simulated[""][0] for case in verdict.cases] == [
        pytest.approx(1.8),
        pytest.approx(3.4),
    ]
    assert verdict.holds


def test_a_missing_value_does_not_hold(load: Load) -> None:
    family = load({**AT_ONE, "policy": "cilk", "max": 1e9})
    study = next(iter(family.studies.values()))
    rows = [{**row(cell), "makespan_s": None} for cell in study.study.cells]
    verdict = judge(family.claims[0], rows_by_point(study.name, rows))
    assert verdict.holds is False
    assert math.isnan(verdict.missed_by)


def test_claims_are_counted_by_kind(load: Load) -> None:
    found = verdicts(
        load(
            {**AT_ONE, "policy": "cilk", "value": 10.0},
            {**AT_ONE, "policy": "cilk", "value": 99.0},
            {**AT_FOUR, "order": "cilk_a < cilk"},
            {"not_evaluable": "the figure is lost"},
        )
    )
    assert [verdict.word for verdict in found] == ["holds", "fails", "holds", "not evaluable"]
    counted = by_kind(found)
    shown = {kind: (counted[kind]["holding"], counted[kind]["evaluable"]) for kind in KINDS}
    assert shown == {
        "ordering": (1, 1),
        "comparative": (0, 0),
        "absolute": (1, 2),
        "constant": (0, 0),
        "derived": (0, 0),
    }
    assert counted["not_evaluable"] == 1


def test_the_schema_of_claims_files_can_be_exported() -> None:
    schema = ClaimsFile.model_json_schema()
    claim = schema["$defs"]["Claim"]["properties"]
    assert {"id", "source", "kind", "experiment", "as", "probe", "order", "trend"} <= claim.keys()
    assert "as_" not in claim


def test_labels_with_parameters_may_stand_in_orders() -> None:
    groups, operators = parse_order("cab[boundary=2,x=1] <= {cab[boundary=3], cilk} ~= a")
    assert groups == [["cab[boundary=2,x=1]"], ["cab[boundary=3]", "cilk"], ["a"]]
    assert operators == ["<=", "~="]
