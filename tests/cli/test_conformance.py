"""Refusals of conformance, grouped by reason."""

from __future__ import annotations

import json

import pytest

from simsched.cli.conformance import common_reason
from simsched.engine.conformance import Case

from .conftest import Command


@pytest.mark.parametrize(
    ("refused", "reason"),
    [
        (
            "ModelError: policy laws: parameter placement: 'membind_hbm' does not fit: "
            "machine m_1: unknown memory kind 'HBM'; accepted: DRAM",
            "ModelError: parameter placement: 'membind_hbm' does not fit: the machine: "
            "unknown memory kind 'HBM'; accepted: DRAM",
        ),
        (
            "ModelError: workload heat: found 1,024 bytes placed, accepted at most 64",
            "ModelError: the workload: found N bytes placed, accepted at most N",
        ),
        ("ModelError: workload heat_2: found m_12", "ModelError: workload heat_2: found m_12"),
    ],
)
def test_reasons_are_the_same_for_other_names_and_numbers(refused: str, reason: str) -> None:
    assert common_reason(Case("m_1", "heat", "laws_h", 0, "", refused)) == reason


def test_refusals_are_counted_by_reason(simsched: Command) -> None:
    words = ["conformance", "-m", "opteron48", "-w", "independent", "-w", "chain"]
    words += ["-p", "cilk_h", "-p", "laws_h", "--json", "--quiet"]
    code, output, _ = simsched(*words)
    assert code == 0
    found = json.loads(output)
    assert found["refused"] == 4
    assert list(found["refusals"].values()) == [4]
