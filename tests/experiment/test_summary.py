"""Means, confidence intervals, reductions and verdicts."""

from __future__ import annotations

import math
from typing import Any

import pytest

from simsched.experiment.schema import Experiment
from simsched.experiment.summary import compare, estimate
from simsched.files.errors import ConfigurationError
from simsched.files.yaml_reader import validate


def experiment(**changes: Any) -> Experiment:
    data = {
        "name": "x",
        "machines": ["m"],
        "workloads": ["w"],
        "policies": ["slow", "fast"],
        "metrics": ["makespan_s", "steals"],
        **changes,
    }
    return validate(data, Experiment)


def row(policy: str, seed: int, makespan: float, **more: Any) -> dict[str, Any]:
    identity = {"machine": "m", "workload": "w", "policy": policy, "seed": seed}
    return {**identity, "makespan_s": makespan, "steals": 3, **more}


ROWS = [
    row("slow", 0, 10.0),
    row("slow", 1, 12.0),
    row("fast", 0, 5.0),
    row("fast", 1, 3.0),
]


def test_interval_is_that_of_student() -> None:
    # t(0.975, 2) = 4.3027; s = 1
    found = estimate([1.0, 2.0, 3.0])
    assert found.mean == 2.0
    assert found.half_width == pytest.approx(4.302653 / math.sqrt(3), rel=1e-6)


def test_one_value_has_no_interval_and_none_no_mean() -> None:
    assert math.isnan(estimate([4.0]).half_width)
    assert math.isnan(estimate([]).mean)


def test_reduction_is_paired_by_seed() -> None:
    slow, fast = compare(ROWS, experiment())
    assert slow.reduction_percent.mean == 0.0
    assert fast.reduction_percent.mean == pytest.approx((50.0 + 75.0) / 2)
    assert fast.metrics["makespan_s"].mean == 4.0
    assert fast.metrics["steals"].count == 2


def test_baseline_can_be_chosen() -> None:
    slow, fast = compare(ROWS, experiment(baseline="fast"))
    assert fast.reduction_percent.mean == 0.0
    assert slow.reduction_percent.mean == pytest.approx((-100.0 - 300.0) / 2)


def test_sweep_points_are_compared_among_themselves() -> None:
    rows = [{**r, "sweep.a": a, "makespan_s": r["makespan_s"] * a} for a in (1, 2) for r in ROWS]
    lines = compare(rows, experiment())
    assert [(line.policy, line.sweep["a"]) for line in lines] == [
        ("slow", 1),
        ("fast", 1),
        ("slow", 2),
        ("fast", 2),
    ]
    assert lines[3].reduction_percent.mean == pytest.approx(62.5)


def test_unknown_metric_is_named_with_the_nearest() -> None:
    with pytest.raises(ConfigurationError, match="unknown metric 'steal'; did you mean 'steals'"):
        compare(ROWS, experiment(metrics=["steal"]))


def test_policies_whose_runs_are_the_same_are_pointed_out() -> None:
    rows = [
        row("slow", 0, 10.0, decisions_hash="a", tasks=4),
        row("slow", 1, 10.0, decisions_hash="b", tasks=4),
        row("fast", 0, 10.0, decisions_hash="a", tasks=4),
        row("fast", 1, 10.0, decisions_hash="b", tasks=4),
        row("half", 0, 10.0, decisions_hash="a", tasks=4),
        row("half", 1, 10.0, decisions_hash="c", tasks=4),
    ]
    lines = compare(rows, experiment(policies=["slow", "fast", "half"]))
    assert [(line.same_as, line.tasks) for line in lines] == [("", 8), ("slow", 8), ("", 8)]
    elsewhere = [{**one, "machine": "other"} for one in rows[:2]] + rows[2:4]
    assert [line.same_as for line in compare(elsewhere, experiment())] == ["", ""]
    assert [line.same_as for line in compare(ROWS, experiment())] == ["", ""]


def test_reasons_of_seeds_are_given_once() -> None:
    rows = [row("slow", seed, 1.0, misfits="needs x; needs y") for seed in (0, 1)]
    (line,) = compare(rows, experiment(policies=["slow"]))
    assert line.misfits == ("needs x", "needs y")
    (line,) = compare(rows[:1], experiment(policies=["slow"]))
    assert line.misfits == ("needs x", "needs y")
