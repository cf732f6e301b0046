"""The commands of docs/sweeps.md do what the guide says."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
import time
from pathlib import Path

import pytest

from simsched.experiment.store import Store

from .conftest import Command
from .test_bad_input import ROOT

GUIDE = (ROOT / "docs" / "sweeps.md").read_text()
COMMANDS = [
    line
    for block in re.findall(r"```sh\n(.*?)```", GUIDE, re.DOTALL)
    for line in block.splitlines()
]


@pytest.fixture(autouse=True)
def beside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    found = re.search(r"```yaml\n(.*?)```", GUIDE, re.DOTALL)
    assert found is not None
    Path("sweep.yaml").write_text(found[1])


@pytest.mark.slow
def test_local_commands(simsched: Command) -> None:
    local = [words for words in map(shlex.split, COMMANDS) if words[0] == "simsched"]
    local = [words[1:] for words in local if "--dask" not in words]
    assert len(local) == 4
    outputs = []
    for words in local:
        code, output, messages = simsched(*words)
        assert code == 0, messages
        outputs.append(output)
    checked, run, more, again = outputs
    assert "24 runs" in checked
    assert "24 runs simulated" in run
    assert more.count("\n") < run.count("\n")
    assert "24 runs simulated" in again
    names = [path.name for path in Path("results/sweep").iterdir() if path.is_file()]
    pictures = ["bandwidth.png", "comparison.png", "matrix.png"]
    assert sorted(names) == [*pictures, "runs.parquet", "summary.json"]
    assert all(f"  {name} " in GUIDE for name in names)
    assert len(Store(Path("results/sweep/cells")).keys()) == 36  # three seeds


@pytest.mark.slow
def test_cluster_commands(simsched: Command) -> None:
    found = [shlex.split(line) for line in COMMANDS if "scheduler.json" in line]
    assert [words[0] for words in found] == ["dask", "dask", "simsched"]
    dask = [sys.executable, "-m", "dask"]
    processes = []
    try:
        for words in found[:2]:
            processes.append(
                subprocess.Popen(
                    [*dask, *words[1:]],
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                )
            )
            deadline = time.monotonic() + 60
            while not Path("scheduler.json").exists():
                assert time.monotonic() < deadline
                time.sleep(0.05)
        code, output, messages = simsched(*found[2][1:], "--json", "--set", "seeds=1")
        assert code == 0, messages
        assert json.loads(output)["computed"] == 12
    finally:
        for process in reversed(processes):
            process.terminate()
            process.wait(timeout=60)
    assert json.loads(simsched("run", "sweep.yaml", "--json")[1])["reused"] == 12
