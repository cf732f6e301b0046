"""Verdicts on published claims as the record of accuracy has them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from simsched.experiment.runner import RunOptions
from simsched.report.claims import simulated_text, verdict_text
from simsched.reproduction.claims import families, load_family, reproduce
from simsched.reproduction.judge import Verdict, judge

ROOT = Path(__file__).resolve().parents[2]


def rows(verdicts: list[Verdict]) -> dict[str, str]:
    """Return the kind, the verdict and the numbers of claims that can be evaluated."""
    return {
        verdict.claim.id: f"{kind} {verdict_text(verdict)}: {simulated_text(verdict)}"
        for verdict in verdicts
        if verdict.holds is not None
        for kind in ["calibration" if verdict.claim.calibrated_on else verdict.claim.kind]
    }


@pytest.mark.parametrize("family", families())
def test_claims_that_need_no_run_are_as_recorded(family: str, record: Any) -> None:
    planned = [item for item in load_family(family).claims if not item.experiments()]
    record.part(f"claims: {family}", rows([judge(item, {}) for item in planned]))


QUICK = ("cpu_gpu",)  #: families that run within seconds


@pytest.mark.accuracy
@pytest.mark.timeout(7200)
@pytest.mark.parametrize(
    "family",
    [
        pytest.param(family, marks=[] if family in QUICK else pytest.mark.slow)
        for family in families()
    ],
)
def test_all_claims_are_as_recorded(family: str, record: Any) -> None:
    found = reproduce([load_family(family)], RunOptions(output=ROOT / "results"))
    record(f"claims: {family}", rows(found.all))
