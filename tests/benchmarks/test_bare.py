"""The bare algorithms beside the kernel compute what they should."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest

from benchmarks import bare
from benchmarks.instructions import UnavailableError


def test_programs_compute_what_python_does(tmp_path: Path) -> None:
    try:
        program = bare.build(tmp_path)
    except UnavailableError as reason:
        pytest.skip(str(reason))
    assert bare.wrong_checks(program) == []


@pytest.mark.parametrize(
    ("ways", "n_resources", "rates"),
    [
        ([0, 0], 2, [(1, 4)] * 2),  # at their caps
        ([0] * 8, 2, [(1, 8)] * 8),  # the only resource is full
        ([0, 0, 0, 0, 0, 1], 3, [(1, 5)] * 5 + [(1, 4)]),  # one is at its cap
    ],
)
def test_rates_are_those_of_a_calculation_by_hand(
    ways: list[int], n_resources: int, rates: list[tuple[int, int]]
) -> None:
    assert bare.fair_rates(ways, n_resources) == [Fraction(*rate) for rate in rates]


def test_a_wrong_result_is_told(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(bare, "CHECKS", (("heap", 2, 100, 10),))
    monkeypatch.setattr(bare, "expected_heap", lambda *_: -1.0)
    status = bare.main([])
    told = capsys.readouterr()
    if status == 2:
        pytest.skip(told.err)
    assert status == 1
    assert told.out.startswith("heap 2 100 10: found ")
    assert told.out.endswith(", expected -1.0\n")
