"""The rows of studies of small programs."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from benchmarks import studies
from benchmarks.studies import LEAF_S, TASKS, Study, is_right


def test_runs_have_their_figures_and_what_is_missed(capsys: pytest.CaptureFixture[str]) -> None:
    assert studies.main(["--runs", "3", "--repeat", "1"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [text.split()[0] for text in lines] == ["simulate", "many", "run", "run-2"]
    assert all("ms a run of" in text for text in lines)


@pytest.mark.parametrize(
    ("makespan_s", "tasks", "right"),
    [
        (4 * LEAF_S, TASKS, True),
        (5 * LEAF_S, TASKS, True),
        (5.1 * LEAF_S, TASKS, False),
        (3.9 * LEAF_S, TASKS, False),
        (4 * LEAF_S, TASKS - 1, False),
    ],
)
def test_what_no_greedy_schedule_gives_is_wrong(makespan_s: float, tasks: int, right: bool) -> None:
    assert is_right((makespan_s, tasks)) is right


def test_a_wrong_run_is_told(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def slow(count: int) -> Iterator[tuple[float, int]]:
        yield from [(1.0, TASKS)] * count

    monkeypatch.setattr(studies, "STUDIES", (Study("slow", slow, 0.0),))
    assert studies.main(["--runs", "2", "--repeat", "1"]) == 1
    assert "missed\nWRONG: runs with other tasks" in capsys.readouterr().out
