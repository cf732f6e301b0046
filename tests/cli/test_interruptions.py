"""Ctrl-C, kill, kill -9 and a full disk: no finished run is lost, nothing half-written stays."""

from __future__ import annotations

import json
import os
import re
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from simsched import api
from simsched.cli.app import main
from simsched.experiment.store import Store
from simsched.files.atomic import HOST

LONG = 120.0  # much longer than anything here takes; a program that hangs is found with it
POLICY = """
import os
from dataclasses import dataclass
from simsched.policy.contract.base import param
from simsched.policy.algorithms.work_stealing.random_stealing import RandomStealing

@dataclass(frozen=True, kw_only=True)
class Marking(RandomStealing):
    marker: str = param("")

    def start(self, view):
        with open(self.marker, "a") as file:
            file.write(f"{os.getpid()}\\n")
        return super().start(view)
"""
SMALL = {"name": "fork_join", "depth": 3}
ENDLESS = {"name": "heat", "rows": 1024, "columns": 512, "iterations": 50_000_000}
# The build begins with a mark and never ends.
SLOW_BUILD = """
import sys
from pathlib import Path
from simsched.experiment import inputs

def marked(*arguments):
    Path("marker").touch()
    while True:
        pass

inputs.generate_workload = marked
from simsched.cli.app import main
sys.exit(main(sys.argv[1:]))
"""
# The commands are imported after a mark, and never.
SLOW_IMPORT = """
import sys
from importlib.abc import MetaPathFinder
from pathlib import Path

class Slow(MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name == "simsched.cli.app":
            Path("marker").touch()
            while True:
                pass

sys.meta_path.insert(0, Slow())
from simsched.__main__ import main
sys.exit(main())
"""
NO_HANG_UP = """
import signal, sys
signal.signal(signal.SIGHUP, signal.SIG_IGN)
from simsched.cli.app import main
sys.exit(main(sys.argv[1:]))
"""
CLAIMS = """
sources: {Book: A book}
claims:
  - {id: fast, source: Book §1, kind: absolute, experiment: x.yaml, metric: makespan_s,
     policy: "mine[marker=marker]", value: 1, tolerance: 1 %, tolerance_reason: a guess}
"""
SIMSCHED = ("-m", "simsched")
CODES = {signal.SIGINT: 130, signal.SIGTERM: 143, signal.SIGHUP: 129}


_started: list[subprocess.Popen[str]] = []


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Work in an empty directory; leave no process behind, whatever the test finds."""
    monkeypatch.chdir(tmp_path)
    yield
    while _started:
        process = _started.pop()
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


def write(workload: dict[str, Any], seeds: int, **more: Any) -> None:
    """Write the experiment `x.yaml`; its runs leave their process in `marker`."""
    Path("mine.py").write_text(POLICY)
    data = {
        "name": "x",
        "machines": [{"name": "opteron48", "workers": 4}],
        "workloads": [workload],
        "policies": [{"name": "./mine.py", "marker": "marker"}],
        "seeds": seeds,
        "output": "out",
        **more,
    }
    Path("x.yaml").write_text(json.dumps(data))


def start(
    *options: object,
    program: tuple[str, ...] = SIMSCHED,
    command: tuple[str, ...] = ("run", "x.yaml"),
) -> subprocess.Popen[str]:
    """Start `simsched run x.yaml` with a process group of its own, as a terminal does."""
    process = subprocess.Popen(
        [sys.executable, *program, *command, *map(str, options)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    _started.append(process)
    return process


def end(process: subprocess.Popen[str], how: signal.Signals) -> str:
    """Send a signal to the whole group; return what the program has said."""
    os.killpg(process.pid, how)
    output, messages = process.communicate(timeout=LONG)
    assert process.returncode == CODES.get(how, -how)
    assert output == ""
    return messages


def wait_for(condition: Callable[[], object]) -> None:
    deadline = time.monotonic() + LONG
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def stored() -> int:
    return len(Store(Path("out/cells")).keys())


def finish() -> tuple[int, int]:
    """Run the experiment to its end: how many runs were computed and how many were reused."""
    outcome = api.run("x.yaml", jobs=1).outcome
    assert [path.name for path in Path("out").rglob(".*")] == []
    return outcome.computed, outcome.reused


@pytest.mark.parametrize(
    ("jobs", "how"),
    [
        pytest.param(1, signal.SIGINT, marks=pytest.mark.slow),
        (2, signal.SIGINT),
        (1, signal.SIGTERM),
        pytest.param(2, signal.SIGTERM, marks=pytest.mark.slow),
        pytest.param(2, signal.SIGHUP, marks=pytest.mark.slow),
    ],
)
def test_a_signal_ends_a_long_run(jobs: int, how: signal.Signals) -> None:
    write(ENDLESS, 2)
    process = start("--jobs", jobs)
    wait_for(lambda: len(marks()) >= jobs)
    time.sleep(0.3)  # some way into the engine
    messages = end(process, how)
    assert messages == (
        "simsched: interrupted; 0 of 2 runs are stored in out; the same command continues\n"
    )
    assert not Path("out").exists()
    for number in marks():
        wait_for(lambda number=number: not is_running(number))


@pytest.mark.parametrize(
    "how",
    [pytest.param(how, marks=[] if how == signal.SIGTERM else [pytest.mark.slow]) for how in CODES],
)
def test_the_first_process_alone_ends_the_others(how: signal.Signals) -> None:
    """As `kill` and batch systems do it; they used to end half a second later, without a word."""
    write(ENDLESS, 2)
    process = start("--jobs", 2)
    wait_for(lambda: len(marks()) >= 2)
    process.send_signal(how)
    _, messages = process.communicate(timeout=LONG)
    assert process.returncode == CODES[how]
    assert "0 of 2 runs are stored in out" in messages
    assert not any(map(is_running, marks()))


def test_no_hang_up() -> None:
    """What nohup has the program ignore does not end it."""
    write(SMALL, 20)
    process = start("--jobs", 2, program=("-c", NO_HANG_UP))
    wait_for(lambda: marks())
    os.killpg(process.pid, signal.SIGHUP)
    process.communicate(timeout=LONG)
    assert process.returncode == 0
    assert finish() == (0, 20)


def test_a_check_of_claims_is_ended() -> None:
    write(ENDLESS, 2)
    Path("c.yaml").write_text(CLAIMS)
    process = start("--jobs", 2, "-o", "here", command=("reproduce", "c.yaml"))
    wait_for(lambda: len(marks()) >= 2)
    messages = end(process, signal.SIGTERM)
    assert messages == (
        "simsched: interrupted; 0 of 2 runs are stored in here/x; the same command continues\n"
    )


def marks() -> list[int]:
    """Return the processes that have begun a run."""
    path = Path("marker")
    return [int(line) for line in path.read_text().splitlines()] if path.exists() else []


def is_running(process: int) -> bool:
    command = ["ps", "-o", "stat=", "-p", str(process)]
    state = subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()
    return bool(state) and not state.startswith("Z")


@pytest.mark.parametrize("jobs", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_ctrl_c_while_a_workload_is_built(jobs: int) -> None:
    write(SMALL, 2)
    process = start("--jobs", jobs, program=("-c", SLOW_BUILD))
    wait_for(Path("marker").exists)
    time.sleep(0.3)
    messages = end(process, signal.SIGINT)
    assert re.fullmatch(r"simsched: interrupted; 0 of 2 runs are stored in out; .*\n", messages)
    assert not Path("out").exists()


@pytest.mark.parametrize("how", CODES)
def test_a_signal_while_commands_are_imported(how: signal.Signals) -> None:
    """Ctrl-C used to end in a traceback."""
    process = start(program=("-c", SLOW_IMPORT))
    wait_for(Path("marker").exists)
    assert end(process, how) == ""


def test_little_is_imported_before_signals_are_heard() -> None:
    program = "import sys; before = {*sys.modules}; import simsched.__main__; "
    program += "print(*sorted({*sys.modules} - before))"
    words = [sys.executable, "-c", program]
    imported = subprocess.run(words, capture_output=True, text=True, check=True).stdout.split()
    own = [name for name in imported if name.startswith("simsched")]
    assert own == ["simsched", "simsched.__main__"]
    assert "ast" not in imported


@pytest.mark.parametrize("how", CODES)
def test_a_signal_before_a_command_begins(
    how: signal.Signals, monkeypatch: pytest.MonkeyPatch
) -> None:
    """SIGTERM used to end with 130, the code of Ctrl-C."""

    def interrupted(*_: object, **__: object) -> None:
        signal.raise_signal(how)

    monkeypatch.setattr("typer.core.TyperGroup.parse_args", interrupted)
    assert main(["list", "machines"]) == CODES[how]


def test_ctrl_c_while_worker_processes_start() -> None:
    """It used to reach them too, and each said so with a traceback."""
    write(SMALL, 2)
    process = start("--jobs", 2)
    wait_for(Path("out").exists)  # made just before the workers
    messages = end(process, signal.SIGINT)
    assert re.fullmatch(r"simsched: interrupted; \d of 2 runs are stored in out; .*\n", messages)


@pytest.mark.parametrize("jobs", [pytest.param(1, marks=pytest.mark.slow), 2])
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_in_the_middle_of_a_sweep(jobs: int, how: signal.Signals) -> None:
    runs = 100
    write(SMALL, runs)
    process = start("--jobs", jobs)
    wait_for(lambda: stored() >= 10)
    messages = end(process, how)
    # What it would leave when it is killed in the middle of a file:
    Path(f"out/cells/.row.json.{HOST}.{process.pid}.tmp").touch()
    Path(f"out/.runs.parquet.{HOST}.{process.pid}.tmp").touch()
    there = stored()
    assert 10 <= there < runs
    if how == signal.SIGINT:
        assert f"{there} of {runs} runs are stored" in messages
    assert not Path("out/runs.parquet").exists()
    assert finish() == (runs - there, there)
    assert finish() == (0, runs)


def test_workers_end_when_the_program_alone_is_killed() -> None:
    write(ENDLESS, 2)
    process = start("--jobs", 2)
    wait_for(lambda: len(marks()) == 2)
    process.kill()
    process.communicate(timeout=LONG)
    for number in marks():
        assert number != process.pid
        wait_for(lambda number=number: not is_running(number))


@pytest.mark.parametrize(
    ("jobs", "what", "limit", "rows"),
    [
        (1, r"cells/\S+\.jsonl", 500, 0),
        pytest.param(2, r"cells/\S+\.jsonl", 500, 0, marks=pytest.mark.slow),
        (1, r"runs\.parquet", 20_000, 3),
    ],
)
def test_a_full_disk(jobs: int, what: str, limit: int, rows: int) -> None:
    """A limit on the size of files fails like a full disk, in the middle of writing."""
    write(SMALL, 3)
    process = subprocess.run(
        [sys.executable, "-B", "-m", "simsched", "run", "x.yaml", "--jobs", str(jobs)],
        capture_output=True,
        text=True,
        check=False,
        timeout=LONG,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)),
    )
    assert process.returncode == 2
    message = rf"simsched: error: out/{what}: cannot be written: .*File too large.*\n"
    assert re.fullmatch(message, process.stderr), process.stderr
    assert stored() == rows
    left = [p.suffix for p in Path().glob("out/**/*") if p.is_file()]
    assert left == [".jsonl"] * (rows > 0)
    assert finish() == (3 - rows, rows)
