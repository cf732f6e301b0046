from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from simsched.cli.app import main

Command = Callable[..., tuple[int, str, str]]

EXPERIMENT = """\
name: small
machines: [{name: amd_4x_opteron8380, workers: 4}]
workloads: [{name: fork_join, depth: 3}]
policies: [cilk_a, work_sharing]
seeds: 2
backend: simpy
"""


@pytest.fixture
def simsched(
    capfd: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Command:
    """Run the command line in an empty directory: exit code, standard output, standard error."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("COLUMNS", raising=False)  # parallel test processes may have a narrow one

    def command(*words: object) -> tuple[int, str, str]:
        code = main([str(word) for word in words])
        output, messages = capfd.readouterr()
        return code, output, messages

    return command


@pytest.fixture
def experiment(tmp_path: Path) -> Path:
    path = tmp_path / "small.yaml"
    path.write_text(EXPERIMENT)
    return path
