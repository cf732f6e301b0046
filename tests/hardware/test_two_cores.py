"""Measured programs on two cores: the report's times beside those of the present model."""

from __future__ import annotations

from pathlib import Path
from statistics import median
from typing import Any

import pytest

from simsched.hardware.measure_schema import load_matrix
from simsched.hardware.pricing import price, simulated_trace
from simsched.hardware.program import make_program
from simsched.machine.load import load_machine
from simsched.trace.times import makespan_s

REPORT = Path(__file__).resolve().parents[2] / "docs" / "validation" / "two_cores"
#: Those of `make validate` are twenty; three seeds move no median by more than a few per cent.
SEEDS = 3


def measured_s() -> dict[tuple[str, str], float]:
    """Return the measured makespan of each program and policy in the report."""
    rows = (REPORT / "validation.md").read_text("utf-8").splitlines()
    cells = [[cell.strip() for cell in row.strip("|").split("|")] for row in rows]
    return {
        (row[0], row[1]): float(row[4]) / 1e3 for row in cells if len(row) > 12 and row[2] == "2"
    }


@pytest.mark.accuracy
@pytest.mark.validation
def test_programs_on_two_cores_within_nine_percent_in_nine_of_ten(record: Any) -> None:
    machine, matrix = load_machine(REPORT / "host.yaml"), load_matrix("validation")
    measured, found = measured_s(), {}
    for label, entry in zip(matrix.labels(), matrix.programs, strict=True):
        workload = price(make_program(entry.name, entry.parameters).workload, machine)
        for policy in matrix.policies:
            simulated = [
                makespan_s(simulated_trace(workload, machine, policy, workers=2, seed=seed))
                for seed in range(SEEDS)
            ]
            found[f"{label} | {policy}"] = (measured[label, policy], median(simulated))
    record("16 programs on two cores", found)
    assert len(found) == len(measured) == 96
    errors = sorted(abs(simulated / real - 1.0) for real, simulated in found.values())
    assert median(errors) < 0.04
    assert errors[86] < 0.10
