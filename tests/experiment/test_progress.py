"""Progress: a bar on a terminal, plain lines elsewhere, an estimate from what is done."""

from __future__ import annotations

from io import StringIO
from types import SimpleNamespace
from typing import Any

import pytest
from rich.console import Console

from simsched.experiment import progress
from simsched.experiment.progress import ProgressBar, duration


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    found = Clock()
    monkeypatch.setattr(progress, "time", found)
    return found


def cell(key: str) -> Any:
    return SimpleNamespace(key=key)


def test_estimate_counts_parts_of_running_cells(clock: Clock) -> None:
    bar = ProgressBar(4, Console(file=StringIO()))
    assert bar.remaining_s() is None
    clock.now += 10
    bar.progressed(cell("a"), 0.5)
    bar.progressed(cell("b"), 0.5)
    assert bar.remaining_s() == pytest.approx(30)
    bar.finished(cell("a"))
    assert bar.part() == pytest.approx(1.5 / 4)


def test_without_a_terminal_there_is_a_line_now_and_then(clock: Clock) -> None:
    text = StringIO()
    with ProgressBar(100, Console(file=text, width=80)) as bar:
        for number in range(100):
            clock.now += 1
            bar.finished(cell(str(number)))
    lines = text.getvalue().splitlines()
    assert lines[0] == "10/100 runs, about 1 min 30 s left"
    assert len(lines) == 9
    assert "\x1b" not in text.getvalue()


def test_a_dumb_terminal_gets_no_control_codes(
    clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TERM", "dumb")
    text = StringIO()
    with ProgressBar(3, Console(file=text, width=80, force_terminal=True)) as bar:
        clock.now += 11
        bar.finished(cell("a"))
    assert text.getvalue() == "1/3 runs, about 22 s left\n"


def test_a_terminal_gets_a_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    text = StringIO()
    with ProgressBar(2, Console(file=text, width=80, force_terminal=True), "a [/u] [x]") as bar:
        bar.finished(cell("a"))
    assert "1/2 runs" in text.getvalue()
    assert "a [/u] [x]" in text.getvalue()  # no markup


@pytest.mark.parametrize(
    ("seconds", "text"), [(0.2, "1 s"), (59.5, "1 min 0 s"), (3600, "1 h 0 min")]
)
def test_durations(seconds: float, text: str) -> None:
    assert duration(seconds) == text
