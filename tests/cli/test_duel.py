"""`simsched duel`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from simsched.cli.app import main

MINE = """
from simsched.policy.algorithms.work_stealing.work_sharing import WorkSharing


class Mine(WorkSharing):
    pass
"""
TRIES = ["--tries", "1000", "--seed", "3"]


def test_what_is_found_runs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out"
    assert main(["duel", "work_sharing", "cilk", *TRIES, "-o", str(out)]) == 0
    said = capsys.readouterr().out.splitlines()
    assert said[0].startswith("work_sharing takes ")
    assert said[-3:] == [str(out / name) for name in ("program.dot", "machine.yaml", "duel.yaml")]
    assert any("because its workers" in line for line in said)
    ratio = float(said[0].split()[2])
    assert main(["run", str(out / "duel.yaml"), "-q", "--json", "-o", str(tmp_path / "runs")]) == 0
    rows = json.loads(capsys.readouterr().out)["runs"]
    first, second = (
        sum(row["makespan_s"] for row in rows if row["policy"] == name)
        for name in ("work_sharing", "cilk")
    )
    assert first / second == pytest.approx(ratio, rel=1e-3)


def test_what_is_found_of_a_generator_runs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["duel", "cpu_only", "gpu_only", "--tries", "20", "--json", "-o", str(tmp_path)]
    assert main([*words, "-q"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert sorted(Path(path).name for path in found["files"]) == ["duel.yaml", "machine.yaml"]
    ran = ["run", str(tmp_path / "duel.yaml"), "-q", "--json", "-o", str(tmp_path / "runs")]
    assert main(ran) == 0
    rows = json.loads(capsys.readouterr().out)["runs"]
    first, second = (
        sum(row["makespan_s"] for row in rows if row["policy"] == name)
        for name in ("cpu_only", "gpu_only")
    )
    assert first / second == pytest.approx(found["ratio"])


def test_nothing_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("mine.py").write_text(MINE)
    alike = ["duel", "mine.py:Mine", "work_sharing"]
    assert main([*alike, "--tries", "20", "-o", "out", "-q"]) == 1
    caught = capsys.readouterr()
    said = "mine.py:Mine takes at most 1 times as long as work_sharing on 20 candidates\n"
    assert (caught.out, caught.err) == (said, "")
    assert not Path("out").exists()
    assert main([*alike, "--tries", "5", "--json"]) == 1
    found = json.loads(capsys.readouterr().out)
    assert (found["ratio"], found["files"], found["tries"]) == (1.0, [], 5)


def test_a_policy_of_ones_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("mine.py").write_text(MINE)
    assert main(["duel", "mine.py:Mine", "cilk", *TRIES, "-q", "-o", "out"]) == 0
    assert main(["run", "out/duel.yaml", "-q", "-o", "runs"]) == 0


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["cilk", "clik"], "did you mean 'cilk'"),
        (["cilk", "bats", "--factor", "1"], "--factor: found 1.0, accepted a finite number, 1.01"),
        (["cilk", "bats", "--factor", "x"], "--factor: found 'x'"),
        (["cilk", "bats", "--seed", "-1"], "--seed: found -1, accepted a whole number, 0 or more"),
        (["cilk", "bats", "--seconds", "inf"], "--seconds: found inf"),
        (["cilk", "bats", "--tries", "0"], "--tries: found 0, accepted: a whole number, 1 or more"),
        (["cilk", "cilk"], "duel: cilk: found one and the same policy, accepted two that differ"),
        (["cilk_hbm_1t", "single_thread[placement=membind_hbm]"], "found one and the same policy"),
        (["finepar", "late"], "duel: finepar, late: found none of 60 small programs"),
    ],
)
def test_bad_input_is_one_message(
    words: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    assert main(["duel", *words, "-q", "-o", str(out)]) == 2
    caught = capsys.readouterr()
    assert message in caught.err
    assert caught.err.count("\n") == 1
    assert caught.out == ""
    assert not out.exists()


def test_a_directory_that_cannot_be_is_known_before_the_search(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "out").write_text("mine")
    words = ["duel", "cilk", "work_sharing", "--seconds", "1e6", "-o", str(tmp_path / "out")]
    assert main([*words, "-q"]) == 2
    assert "out: " in capsys.readouterr().err
    assert (tmp_path / "out").read_text() == "mine"


def test_what_is_there_is_not_replaced_unasked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "machine.yaml").write_text("mine")
    words = ["duel", "cilk", "bats", "--factor", "1000", "--tries", "5", "-q", "-o", str(tmp_path)]
    assert main(words) == 2
    assert "machine.yaml: found a file, accepted: a name that is free" in capsys.readouterr().err
    assert (tmp_path / "machine.yaml").read_text() == "mine"
    assert main([*words, "--overwrite"]) == 1


def test_names_are_checked_before_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "duel.yaml").touch()
    assert main(["duel", "cilk", "nosuch", "-o", str(tmp_path)]) == 2
    assert "unknown policy 'nosuch'" in capsys.readouterr().err
    assert main(["duel", "cilk", "work_sharing", "-o", str(tmp_path)]) == 2
    assert "duel.yaml: found a file" in capsys.readouterr().err
