"""What is said of a path that does not exist: what lies beside it, whichever command it is for."""

from __future__ import annotations

from pathlib import Path

import pytest

from .conftest import Command

FILES = ("trace.json", "times.csv", "graph.dot", "mine.py", "host.yaml", "run.parquet")


@pytest.fixture
def folder(tmp_path: Path, experiment: Path) -> Path:
    for name in FILES:
        (tmp_path / name).touch()
    for name in ("results", "sets"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "plan.yaml").touch()
    return experiment.parent


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        ("calibrate --programs smal.yaml", "small.yaml"),
        ("calibrate --runs set", "sets"),
        ("check trac.json", "trace.json"),
        ("compare smal.yaml:cilk small.yaml:cilk", "small.yaml"),
        ("conformance -m hst.yaml", "host.yaml"),
        ("duel min.py:Mine cilk", "mine.py"),
        ("export rn.parquet o.json", "run.parquet"),
        ("export grap.dot o.dot", "graph.dot"),
        ("import trac.json", "trace.json"),
        ("import hst.txt -o new.yaml", "host.yaml"),
        ("list policies --fits grap.dot,host.yaml", "graph.dot"),
        ("measure smal.yaml", "small.yaml"),
        ("metg smal.yaml", "small.yaml"),
        ("query --store result", "results"),
        ("references time.csv", "times.csv"),
        ("report smal.yaml", "small.yaml"),
        ("report small.yaml --runs result", "results"),
        ("reproduce smal.yaml", "small.yaml"),
        ("run smal.yaml", "small.yaml"),
        ("run small.yaml -m hst.yaml", "host.yaml"),
        ("run small.yaml -w grap.dot", "graph.dot"),
        ("run small.yaml -p min.py", "mine.py"),
        ("show machine hst.yml", "host.yaml"),
        ("show workload grap.dot", "graph.dot"),
        ("show policy min.py:Mine", "mine.py"),
        ("validate trac.json", "trace.json"),
        ("validate sets/plans.yaml", "plan.yaml"),
        ("what-if smal.yaml:cilk", "small.yaml"),
        # Of another kind, if there is nothing like it of the same kind.
        ("import trace.jsn", "trace.json"),
        ("run graph.yaml", "graph.dot"),
        # In a directory that is not there.
        ("run set/plan.yaml", "sets"),
        ("check result/deep/er.yaml", "results"),
        ("schema -o set/machine.json", "sets"),
        ("export fork_join result/g.dot", "results"),
    ],
)
def test_the_nearest_name_beside_it(
    words: str, meant: str, simsched: Command, folder: Path
) -> None:
    code, output, messages = simsched(*words.split())
    assert (code, output) == (2, "")
    assert messages.count("\n") == 1
    assert f"did you mean {meant!r}?" in messages
    assert messages.count("did you mean") == 1


@pytest.mark.parametrize("words", ["check nothing.json", "run a/b/c.yaml", "query --store x"])
def test_nothing_is_like_it(words: str, simsched: Command, folder: Path) -> None:
    code, _, messages = simsched(*words.split())
    assert code == 2
    assert "did you mean" not in messages


def test_the_directory_that_is_missing_is_named(simsched: Command, folder: Path) -> None:
    wanted = "a/b/c.yaml: no such file; found no directory 'a'"
    assert wanted in simsched("run", "a/b/c.yaml")[2]
