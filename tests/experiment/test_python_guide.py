"""docs/python-api.md: everything in it can be typed, in its order."""

from __future__ import annotations

import re
import shlex
import sys
from pathlib import Path
from types import ModuleType

import matplotlib as mpl
import pytest

from simsched.cli.app import main

GUIDE = (Path(__file__).parents[2] / "docs" / "python-api.md").read_text(encoding="utf-8")


@pytest.mark.slow
def test_the_session_runs_from_top_to_bottom(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    mpl.use("Agg")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("simsched.experiment.runner.available_cores", lambda: 1)  # starts quicker
    session = ModuleType("__main__")  # as notebooks have it
    monkeypatch.setitem(sys.modules, "__main__", session)
    blocks = re.findall(r"^```python\n(.*?)^```", GUIDE, re.MULTILINE | re.DOTALL)
    assert len(blocks) > 6
    for block in blocks:
        exec(compile(block, "docs/python-api.md", "exec"), vars(session))
    assert (tmp_path / "gantt.pdf").stat().st_size > 1000
    assert set(session.frame["experiment"]) == {"mine", "shared"}
    assert len(session.trial) == 6
    assert session.mine.policies == ["cilk", "NearFirst", "NearFirst[take=newest]"]
    commands = re.findall(r"^simsched (.*)$", GUIDE, re.MULTILINE)
    assert len(commands) == 4
    for command in commands:
        words = shlex.split(command.partition(" > ")[0], comments=True)
        capfd.readouterr()
        assert main(words) == 0
        assert capfd.readouterr().out
    mpl.pyplot.close("all")


def test_every_public_name_is_in_the_guide() -> None:
    import simsched

    internal = {"Catalogue", "SimschedError", "__version__", "param", "make_policy"}
    listed = {name for name in simsched.__all__ if not name.startswith("list_")}
    assert {name for name in listed - internal if f"{name}" not in GUIDE} == set()
