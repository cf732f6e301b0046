"""Runs that say little of their policies: found before they begin, refused where asked for."""

from __future__ import annotations

from pathlib import Path

import pytest

import simsched
from simsched.cli.app import main
from simsched.experiment.rehearsal import Misfit, check_runs, said
from simsched.experiment.study import Study
from simsched.files.errors import ConfigurationError
from simsched.files.yaml_reader import Document

REASON = "needs MapReduce jobs: found none"
DATA = {
    "name": "odd",
    "machines": [{"name": "amd_4x_opteron8380", "workers": 4}],
    "workloads": [{"name": "fork_join", "depth": 3}],
    "policies": ["cilk_a", "samr", "late"],
    "seeds": 2,
}
LINE = f"fork_join on amd_4x_opteron8380: samr, late: {REASON}"
OWN = """
from dataclasses import dataclass
from simsched.policy.algorithms.work_stealing.random_stealing import RandomStealing

@dataclass(frozen=True, kw_only=True)
class Mine(RandomStealing):
    def fits(self, view):
        return ("found a day without sun",)
"""


def test_they_are_found_without_running_them() -> None:
    found = check_runs(Study.from_yaml(Document(None, DATA)))
    places = "amd_4x_opteron8380", "fork_join"
    assert found == [Misfit(*places, name, REASON) for name in ("samr", "late")]
    assert said(found) == [LINE]


def test_also_where_programs_are_too_large_to_try_policies(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("simsched.experiment.rehearsal.TRIED_SIZE", 0)
    assert said(check_runs(Study.from_yaml(Document(None, DATA)))) == [LINE]


def test_results_mark_them() -> None:
    result = simsched.run(DATA, jobs=1)
    assert result.runs.misfits.tolist() == ["", "", REASON, REASON, REASON, REASON]
    assert f"[1] {REASON}" in result.text()
    assert "[2] same 30 decisions as samr" in result.text()
    assert "[1] needs MapReduce jobs" in result._repr_html_()
    comparison = result.document()["comparison"]
    assert [line["misfits"] for line in comparison] == [[], [REASON], [REASON]]
    assert [line["same_as"] for line in comparison] == [None, None, "samr"]


def test_strict_refuses_them_before_and_after_runs(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=f"strict: found .* accepted none: {LINE}"):
        simsched.run(DATA, strict=True, jobs=1, output=tmp_path / "none")
    assert not list(tmp_path.iterdir())
    simsched.run(DATA, jobs=1, output=tmp_path / "stored")
    with pytest.raises(ConfigurationError, match=REASON):
        simsched.run(DATA, strict=True, jobs=1, output=tmp_path / "stored")
    (tmp_path / "mine.py").write_text(OWN)
    own = {**DATA, "policies": [f"{tmp_path}/mine.py"]}
    with pytest.raises(ConfigurationError, match="a day without sun"):
        simsched.run(own, strict=True, jobs=1)
    fitting = {**DATA, "policies": ["cilk_a"]}
    assert len(simsched.run(fitting, strict=True, jobs=1)) == 2


def test_commands_say_so_before_they_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "odd.yaml"
    file.write_text(
        "name: odd\nmachines: [{name: amd_4x_opteron8380, workers: 4}]\n"
        "workloads: [{name: fork_join, depth: 3}]\npolicies: [cilk_a, samr, late]\n"
    )
    output = ["--output", str(tmp_path / "results"), "--jobs", "1"]
    assert main(["run", str(file), *output]) == 0
    out, err = capsys.readouterr()
    assert f"simsched: warning: {LINE}\n" in err
    assert f"[1] {REASON}" in out
    assert main(["run", str(file), *output, "--quiet", "--recompute"]) == 0
    assert "warning" not in capsys.readouterr().err
    assert main(["run", str(file), *output, "--strict"]) == 2
    assert main(["check", str(file)]) == 0
    assert LINE in capsys.readouterr().err
    monkeypatch.setattr("simsched.experiment.rehearsal.CHECK_S", -1.0)
    assert main(["check", str(file)]) == 0
    assert LINE not in capsys.readouterr().err  # no time
    assert main(["check", str(file), "--strict"]) == 2
    assert LINE in capsys.readouterr().err
    report = tmp_path / "odd.html"
    words = ["report", str(file), "-j", "1", "-o", str(report)]
    assert main([*words, "--set", f"output={tmp_path}/results"]) == 0
    assert f"[1] {REASON}" in report.read_text()
