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
