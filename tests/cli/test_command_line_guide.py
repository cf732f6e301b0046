"""The commands and files of docs/command-line.md do what the guide says."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest

from .conftest import Command
from .test_bad_input import ROOT

GUIDE = (ROOT / "docs" / "command-line.md").read_text()


def blocks(kind: str) -> list[str]:
    return re.findall(rf"```{kind}\n(.*?)```", GUIDE, re.DOTALL)


@pytest.mark.slow
def test_commands(simsched: Command) -> None:
    commands = [shlex.split(line)[1:] for block in blocks("sh") for line in block.splitlines()]
    assert len(commands) == 13
    outputs = []
    for words in commands:
        code, output, messages = simsched(*words)
        assert code == 0, messages
        outputs.append(output)
    assert "18 runs: correct" in outputs[1]
    assert "laws" in outputs[2]
    assert json.loads(outputs[3])["broken"] is False
    assert "sample_pages = 8" in outputs[4]
    assert "rows = 1024" in outputs[5]
    assert "cilk[placement=interleave]" in outputs[6]
    assert "heft" in outputs[9]
    assert "x10_places" in outputs[11]
    assert Path("cholesky.graphml").is_file()
    assert Path("machine.schema.json").is_file()


def test_the_experiment_with_specs(simsched: Command, tmp_path: Path) -> None:
    (tmp_path / "specs.yaml").write_text(blocks("yaml")[0])
    code, output, messages = simsched("check", "specs.yaml")
    assert (code, messages) == (0, "")
    assert "8 runs: correct" in output


def test_the_message_in_the_guide(simsched: Command) -> None:
    message = next(line for line in GUIDE.splitlines() if line.startswith("simsched: error"))
    assert simsched("show", "policy", "bats[sample_pages=8")[2] == f"{message}\n"


def test_exit_codes_are_those_of_the_help(simsched: Command) -> None:
    found = re.findall(r"(?m)^\| (\d+) \|", GUIDE)
    assert found == re.findall(r"(?m)^    (\d+) ", simsched("--help")[1])
