"""`simsched metg`."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from simsched.cli.app import main

SMALL = ["-m", "toy_1fast_3slow", "-w", "task_bench[width=8, steps=10]", "-p", "work_sharing"]


def test_table_files_and_figure(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["metg", "task_bench", *SMALL, "-p", "cilk", "--workers", "2", "--workers", "4"]
    assert main([*words, "-o", str(tmp_path / "out"), "--set", "seeds=2"]) == 0
    caught = capsys.readouterr()
    assert "METG(50 %)" in caught.out
    rows = pq.read_table(tmp_path / "out" / "metg.parquet").to_pylist()
    assert [(row["policy"], row["workers"], row["seed"]) for row in rows[:4]] == [
        ("work_sharing", 2, 0),
        ("work_sharing", 4, 0),
        ("work_sharing", 2, 1),
        ("work_sharing", 4, 1),
    ]
    assert len(rows) == 8
    assert all(row["metg_s"] > row["task_s"] > 0.0 for row in rows)
    trials = pq.read_table(tmp_path / "out" / "metg_trials.parquet").to_pylist()
    assert len(trials) == sum(row["runs"] for row in rows)
    assert (tmp_path / "out" / "metg.png").read_bytes().startswith(b"\x89PNG")
    for name in ("metg.parquet", "metg_trials.parquet", "metg.png"):
        assert str(tmp_path / "out" / name) in caught.out


def test_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["metg", "task_bench", *SMALL, "--json", "-q", "--efficiency", "0.8"]) == 0
    caught = capsys.readouterr()
    (row,) = json.loads(caught.out)["metg"]
    assert row["target_efficiency"] == 0.8
    assert row["efficiency"] >= 0.8
    assert caught.err == ""


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--efficiency", "50"], "--efficiency: found '50', accepted: a number between 0 and 1"),
        (["--efficiency", "half"], "--efficiency: found 'half'"),
        (["--efficiency", "nan"], "--efficiency: found 'nan'"),
        (["--workers", "0"], "--workers: found 0, accepted: a whole number, 1 or more"),
        (["--workers", "5"], "toy_1fast_3slow"),
        (["-p", "work_sharin"], "work_sharing"),
        (["-w", "task_bench[patern=fft]"], "pattern"),
        (["-w", "task_bench[kernel=empty]"], "found tasks without work"),
    ],
)
def test_bad_input_is_one_message(
    words: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    assert main(["metg", "task_bench", *SMALL, "-q", "-o", str(out), *words]) == 2
    caught = capsys.readouterr()
    assert message in caught.err
    assert caught.err.count("\n") == 1
    assert caught.out == ""
    assert not out.exists()
