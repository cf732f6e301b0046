"""The record of accuracy: its page, its sums, and what it says when rows move."""

from __future__ import annotations

from pathlib import Path

import pytest

from . import accuracy


@pytest.fixture
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep the record in another folder."""
    monkeypatch.setattr(accuracy, "RECORD", tmp_path / "accuracy.json")
    monkeypatch.setattr(accuracy, "PAGE", tmp_path / "accuracy.md")
    accuracy.RECORD.write_text("{}")


def test_the_page_is_made_of_the_file() -> None:
    assert accuracy.PAGE.read_text("utf-8") == accuracy.page(accuracy.read())


@pytest.mark.usefixtures("elsewhere")
def test_a_row_that_moves_is_named() -> None:
    accuracy.renew("a", {"one": (2.0, 2.5), "two": (3.0, 3.0)})
    accuracy.renew("claims", {"c": "ordering holds: x"})
    assert accuracy.differences("a", {"two": (3.0, 3.0), "one": (2.0, 2.500001)}) == []
    assert accuracy.differences("a", {"one": (2.0, 2.5002), "three": (1.0, 1.0)}) == [
        "a: one: recorded [2.0, 2.5], found [2.0, 2.5002]",
        "a: three: recorded nothing, found [1.0, 1.0]",
        "a: two: recorded [3.0, 3.0], found nothing",
    ]
    assert accuracy.differences("claims", {"c": "ordering fails by a tie: x"}) != []


@pytest.mark.usefixtures("elsewhere")
def test_sums_are_those_of_the_errors() -> None:
    rows = {  # errors of 4, 8 and 46 %; of three pairs two are apart, one of them is in order
        "x | a": (100.0, 104.0),
        "x | b": (103.0, 103.0 * 1.08),
        "x | c": (200.0, 108.0),
        "y | d": (1.0, 1.0),
    }
    accuracy.renew("a", rows)
    accuracy.renew("b", {"claim": "ordering fails by 1 %: ", "other": "ordering holds: "})
    accuracy.renew("b", {"claim": "ordering fails by 1 %: ", "third": "calibration holds: "})
    lines = accuracy.PAGE.read_text().splitlines()
    assert "| a | 4 | 6.0 % | 34.6 % | 2 / 4 | 3 / 4 | 1 / 2 |" in lines
    assert "| b | 0 / 1 | 0 / 0 | 0 / 0 | 0 / 0 | 0 / 0 |" in lines
