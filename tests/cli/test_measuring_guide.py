"""The commands and the program of docs/measuring.md do what the guide says."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest

from simsched.hardware import disturbance, measure, overhead
from tests.hardware.support import needs_linux

from .conftest import Command
from .test_bad_input import ROOT

pytestmark = needs_linux

GUIDE = (ROOT / "docs" / "measuring.md").read_text()


def blocks(kind: str) -> list[str]:
    return re.findall(rf"```{kind}\n(.*?)```", GUIDE, re.DOTALL)


def test_commands(simsched: Command) -> None:
    text = blocks("yaml")[0]
    assert "repetitions: 3 " in text
    Path("kernels.yaml").write_text(text.replace("repetitions: 3 ", "repetitions: 1 "))
    commands = [shlex.split(line)[1:] for block in blocks("sh") for line in block.splitlines()]
    assert len(commands) == 4
    outputs = []
    for words in commands:
        code, output, messages = simsched(*words)
        assert code == 0, messages
        outputs.append(output)
    assert outputs[0] == "kernels.yaml: measurement with 24 runs: correct\n"
    assert "12 runs measured" in outputs[1]
    assert "tracing lengthens tasks of 20 us by" in outputs[1]
    assert all(label in outputs[1] for label in ("heat_1", "heat_large", "merge_sort"))
    assert json.loads(outputs[2])["directory"] == "measured"
    assert len(list(Path("measurements/kernels").glob("0000_heat_1_*.parquet"))) == 1
    assert len(list(Path("measurements/kernels").iterdir())) == 13
    for program in blocks("python"):
        namespace: dict[str, object] = {}
        exec(compile(program, "guide", "exec"), namespace)
        assert len(namespace["measured"].cells()) == 12  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    "text",
    [
        f"{disturbance.MAX_OTHERS:.0%} of each core".replace("%", " %"),
        f"above {disturbance.MAX_STOLEN:.0%} of each core".replace("%", " %"),
        f"below {disturbance.MIN_CPU_SHARE:.0%} in any run".replace("%", " %"),
        f"more than {disturbance.MAX_SLOWER:.0%} above".replace("%", " %"),
        f"above {disturbance.MAX_OVERHEAD:.0%} of tasks".replace("%", " %"),
        f"tasks of {overhead.TASK_US} us",
        f"{overhead.PAIRS} pairs",
    ],
)
def test_limits(text: str) -> None:
    assert text in " ".join(GUIDE.split())
    assert measure.WATCH_S == 0.5
