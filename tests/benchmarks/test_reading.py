"""The rows of commands and readers."""

from __future__ import annotations

import pytest

from benchmarks import reading
from benchmarks.reading import READINGS, Reading, expected, line, mistakes_of, read_file


def row_named(name: str) -> Reading:
    return next(row for row in READINGS if row.name == name)


@pytest.mark.parametrize("name", [row.name for row in READINGS if row.write is not None])
@pytest.mark.parametrize("tasks", [30, 2500])
def test_files_hold_what_is_expected(name, tasks, tmp_path):
    row = row_named(name)
    assert row.write is not None
    file = tmp_path / f"a{row.suffix}"
    file.write_text("".join(row.write(tasks)), encoding="utf-8")
    assert mistakes_of(row, tasks, [read_file(row, file)]) == []


def test_what_is_expected_is_counted():
    ops = sum(map(reading.cost_ops, range(2500)))
    edges = sum(len(reading.before(task)) for task in range(2500))
    assert expected(2500) == {"tasks": 2500, "edges": edges, "ops": ops}


def test_a_row_has_its_figures_and_what_is_missed(capsys):
    assert reading.main(["--quick", "--only", "dot", "help"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [text.split()[0] for text in lines] == ["help", "dot"]
    runs = [{"cpu_s": 9.0, "peak_bytes": 1e6}, {"cpu_s": 8.0, "peak_bytes": 2e6}]
    assert line(row_named("dot"), runs, budgets=True).endswith(
        "8.00 s CPU       1 MB  missed: cpu_s"
    )


def test_a_wrong_answer_ends_with_1(monkeypatch, capsys):
    wrong = {**expected(reading.SMALL_TASKS), "edges": 1, "cpu_s": 1.0, "peak_bytes": 1.0}
    monkeypatch.setattr(reading, "measure", lambda *_: [wrong])
    assert reading.main(["--quick", "--only", "stg"]) == 1
    assert "WRONG: stg: found 1 edges, expected 9985" in capsys.readouterr().out
