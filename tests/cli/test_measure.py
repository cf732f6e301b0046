"""simsched measure."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from simsched.hardware.measurements import INDEX, read_measurements
from tests.hardware.support import needs_linux

from .conftest import Command

pytestmark = needs_linux

LONG = 120.0  # much longer than anything here takes
SMALL = """\
name: small
description: as small as it gets
programs: [{name: empty, tasks: 50}, {name: heat, rows: 32, columns: 16, iterations: 3}]
policies: [cilk_a, work_sharing]
workers: [1, 3]
repetitions: 2
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "small.yaml"
    path.write_text(SMALL)
    return path


def test_the_table_and_what_stands_below(simsched: Command, file: Path) -> None:
    code, output, messages = simsched("measure", file)
    assert code == 0
    assert all(line.startswith("simsched: warning: ") for line in messages.splitlines())
    words = output.split()
    for column in ("program", "policy", "workers", "makespan", "spread", "steals", "idle", "CPU"):
        assert column in words
    rows = [line.split()[:4] for line in output.splitlines() if line.startswith("  empty ")]
    assert rows == [
        ["empty", "cilk_a", "1", "2"],
        ["empty", "cilk_a", "3", "2"],
        ["empty", "work_sharing", "1", "2"],
        ["empty", "work_sharing", "3", "2"],
    ]
    assert "as small as it gets" in output
    assert "tracing lengthens tasks of 20 us by " in output
    assert "events counted by the processor: " in output
    assert "16 runs measured in " in output
    assert "  measurements/small/measurements.json\n" in output
    measured = read_measurements(Path("measurements/small"))
    assert measured.about["tracing_overhead"]["pairs"] == 32
    said = [line.removeprefix("simsched: warning: ") for line in messages.splitlines()]
    assert list(measured.warnings) == said


def test_json_is_one_document_and_nothing_else(simsched: Command, file: Path) -> None:
    code, output, messages = simsched("measure", file, "--json", "--quiet", "-o", "out")
    assert (code, messages) == (0, "")
    document = json.loads(output)
    assert document["name"] == "small"
    assert len(document["cells"]) == 8
    assert len(document["runs"]) == 16
    assert document["directory"] == "out"
    assert Path("out", document["runs"][0]["file"]).is_file()
    assert not Path("measurements").exists()


def test_a_second_measurement_needs_a_word(simsched: Command, file: Path) -> None:
    there = Path("measurements/small") / INDEX
    there.parent.mkdir(parents=True)
    there.write_text("{}")
    code, output, messages = simsched("measure", file)
    assert (code, output) == (2, "")
    assert messages.startswith("simsched: error: measurements/small/measurements.json: found")
    code, output, _ = simsched("measure", file, "--quiet", "--overwrite")
    assert code == 0
    assert "measurements/" not in output


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("name: heat", "name: haet", "small.yaml:3: programs[1].name: unknown program 'haet'; did"),
        ("rows", "row", "small.yaml:3: programs[1].row: program heat: unknown parameter 'row'"),
        ("cilk_a", "bats", "small.yaml:4: policies[0]: policy bats: the task runtime cannot"),
        ("[1, 3]", "[0]", "small.yaml:5: workers[0]: found 0, accepted: greater than or equal"),
        ("repetitions: 2", "repetitions: 0", "small.yaml:6: repetitions: found 0, accepted"),
    ],
)
def test_bad_files(simsched: Command, file: Path, old: str, new: str, message: str) -> None:
    file.write_text(SMALL.replace(old, new))
    for command in ("measure", "check"):
        code, output, messages = simsched(command, file)
        assert (code, output) == (2, "")
        assert messages.startswith("simsched: error: ")
        assert message in messages
        assert messages.count("\n") == 1
    assert not Path("measurements").exists()


def test_bad_words(simsched: Command) -> None:
    code, _, messages = simsched("measure", "measure_smal")
    assert code == 2
    assert "unknown measurement 'measure_smal'; did you mean 'measure_small'?" in messages
    Path("file").touch()
    code, _, messages = simsched("measure", "measure_small", "-o", "file/deep")
    assert code == 2
    assert "file/deep: cannot be written" in messages


def test_check_says_how_many_runs(simsched: Command, file: Path) -> None:
    code, output, _ = simsched("check", file)
    assert (code, output) == (0, f"{file}: measurement with 24 runs: correct\n")


@pytest.mark.parametrize(
    "how", [pytest.param(signal.SIGINT, marks=pytest.mark.slow), signal.SIGKILL]
)
def test_what_is_left_of_an_interrupted_measurement(file: Path, how: signal.Signals) -> None:
    file.write_text(SMALL.replace("repetitions: 2", "repetitions: 9999"))
    out = file.parent / "out"
    process = subprocess.Popen(
        [sys.executable, "-m", "simsched", "measure", str(file), "-o", str(out)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        deadline = time.monotonic() + LONG
        while not (out / INDEX).exists():
            assert time.monotonic() < deadline
            assert process.poll() is None
            time.sleep(0.02)
        time.sleep(0.2)  # somewhere in a later round
        os.kill(process.pid, how)
        output, messages = process.communicate(timeout=LONG)
    finally:
        process.kill()
    assert output == ""
    measured = read_measurements(out)
    n = len(measured.runs)
    assert n >= 8
    assert all(measured.recording(run).name == run.program for run in measured.runs)
    assert f"incomplete: {n} of 79992 runs" in measured.warnings
    if how == signal.SIGINT:
        assert process.returncode == 130
        said = messages.splitlines()[-1]  # behind progress, on a busy machine
        assert said == f"simsched: interrupted; {n} of 79992 runs are kept in {out}"
        assert [
            path.name for path in out.iterdir() if path.suffix not in {".json", ".parquet"}
        ] == []
    else:
        assert n % 8 == 0


def test_several_measurements(simsched: Command) -> None:
    for name in ("one", "two"):
        text = SMALL.replace("name: small", f"name: {name}").replace("[1, 3]", "[1]")
        Path(f"{name}.yaml").write_text(text)
    code, output, _ = simsched("measure", "one.yaml", "two.yaml", "-o", "both", "--json")
    assert code == 0
    found = json.loads(output)["measurements"]
    assert [each["directory"] for each in found] == ["both/one", "both/two"]
    assert len(read_measurements(Path("both/two")).runs) == 8
    code, output, messages = simsched("measure", "one.yaml", "one.yaml")
    assert (code, output) == (2, "")
    assert "name: found 'one', accepted: another name than in" in messages
