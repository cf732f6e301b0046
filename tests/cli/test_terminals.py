"""Terminals, pipes and interruptions: what is written where, and how a command ends."""

from __future__ import annotations

import contextlib
import os
import pty
import re
import select
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

SIMSCHED = (sys.executable, "-m", "simsched")
LONG = 120.0
ESCAPE = "\x1b"
ENDLESS = """\
name: endless
machines: [{name: opteron48, workers: 4}]
workloads: [{name: heat, rows: 1024, columns: 512, iterations: 50000000}]
policies: [cilk_a]
seeds: 2
"""


def environment(**changes: str) -> dict[str, str]:
    """Return the environment of a terminal with colours, but for the changes."""
    names = ("NO_COLOR", "FORCE_COLOR", "COLUMNS", "LINES", "TTY_COMPATIBLE", "CI")
    kept = {key: value for key, value in os.environ.items() if key not in names}
    return {**kept, "TERM": "xterm-256color", **changes}


class Terminal:
    """A command whose standard output and standard error are a terminal."""

    def __init__(self, folder: Path, *words: object, **changes: str) -> None:
        self.master, slave = pty.openpty()
        self.text = ""
        self.process = subprocess.Popen(
            [*SIMSCHED, *map(str, words)],
            stdin=slave,
            stdout=slave,
            stderr=slave,
            cwd=folder,
            env=environment(**changes),
            start_new_session=True,
        )
        os.close(slave)

    def read(self, until: str = "") -> str:
        """Read until a text has appeared, or to the end."""
        deadline = time.monotonic() + LONG
        while not until or until not in self.text:
            assert time.monotonic() < deadline, self.text
            if select.select([self.master], [], [], 0.1)[0]:
                try:
                    part = os.read(self.master, 65536)
                except OSError:  # the other end is closed
                    break
                self.text += part.decode(errors="replace")
        return self.text

    def end(self) -> int:
        """Read the rest; return the exit code."""
        self.read()
        with contextlib.suppress(OSError):
            os.close(self.master)
        return self.process.wait(LONG)


@pytest.fixture
def endless(tmp_path: Path) -> Path:
    path = tmp_path / "endless.yaml"
    path.write_text(ENDLESS)
    return path


def interrupted(terminal: Terminal, shown: str) -> str:
    """Wait for a text, press Ctrl-C and return everything that was shown."""
    terminal.read(shown)
    terminal.process.send_signal(signal.SIGINT)
    assert terminal.end() == 130
    assert "Traceback" not in terminal.text
    return terminal.text


def test_a_terminal_has_a_bar_and_gets_its_cursor_back(endless: Path) -> None:
    text = interrupted(Terminal(endless.parent, "run", endless, "-j", 1), "0:00:01")
    assert "\x1b[?25l" in text
    assert text.rfind("\x1b[?25h") > text.rfind("\x1b[?25l")
    assert "the same command continues" in text


def test_a_closed_terminal_ends_a_run(endless: Path) -> None:
    """Nobody can be told; what must not be is a worker that goes on, or a traceback's code."""
    terminal = Terminal(endless.parent, "run", endless, "-j", 2)
    terminal.read("0:00:01")
    found = subprocess.run(
        ["pgrep", "-P", str(terminal.process.pid)], capture_output=True, text=True, check=True
    )
    workers = found.stdout.split()
    os.close(terminal.master)
    terminal.process.send_signal(signal.SIGHUP)  # the session has no controlling terminal
    assert terminal.process.wait(LONG) == 129
    assert len(workers) == 1  # besides the process itself, which runs cells, too
    assert not any(Path("/proc", worker).exists() for worker in workers)


@pytest.mark.parametrize(
    "plain", [{"NO_COLOR": "1"}, pytest.param({"TERM": "dumb"}, marks=pytest.mark.slow)], ids=str
)
def test_plain_terminals_get_no_escape_sequences(experiment: Path, plain: dict[str, str]) -> None:
    terminal = Terminal(experiment.parent, "run", experiment, "-j", 1, **plain)
    assert terminal.end() == 0
    assert ESCAPE not in terminal.text
    assert "work_sharing" in terminal.text


@pytest.mark.slow
def test_colours_on_a_terminal_unless_no_color_is_set(tmp_path: Path) -> None:
    fancy = Terminal(tmp_path, "list", "placements")
    assert fancy.end() == 0
    assert ESCAPE in fancy.text
    plain = Terminal(tmp_path, "list", "placements", NO_COLOR="1")
    assert plain.end() == 0
    assert ESCAPE not in plain.text
    empty = Terminal(tmp_path, "list", "placements", NO_COLOR="")  # no value means not set
    assert empty.end() == 0
    assert ESCAPE in empty.text


@pytest.mark.slow
@pytest.mark.parametrize(
    "words",
    [["list", "placements"], ["run", "small.yaml", "-q"]],
    ids=" ".join,
)
def test_pipes_get_no_escape_sequences_even_where_colours_are_forced(
    experiment: Path, words: list[str]
) -> None:
    done = subprocess.run(
        [*SIMSCHED, *words],
        capture_output=True,
        text=True,
        check=True,
        cwd=experiment.parent,
        env=environment(FORCE_COLOR="1", TTY_COMPATIBLE="1"),
        timeout=LONG,
    )
    assert ESCAPE not in done.stdout + done.stderr
    assert done.stderr == ""


@pytest.mark.slow
def test_an_interrupted_command_says_nothing_on_plain_output(endless: Path) -> None:
    words = [*SIMSCHED, "compare", "cilk_a", "cilk_a", "-e", str(endless)]
    process = subprocess.Popen(
        words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=endless.parent
    )
    assert process.stderr is not None
    assert "2 seeds" in process.stderr.readline()
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    output, messages = process.communicate(timeout=LONG)
    assert (process.returncode, output, messages) == (130, "", "")


@pytest.mark.parametrize(
    "words",
    [
        "list policies",
        pytest.param("list policies --json", marks=pytest.mark.slow),
        pytest.param("show policy bats", marks=pytest.mark.slow),
        pytest.param("list machines --markdown", marks=pytest.mark.slow),
    ],
)
def test_a_closed_pipe_ends_silently(words: str) -> None:
    command = " ".join([*SIMSCHED, words])
    shell = f"set -o pipefail; {command} | head -c 10; exit $?"
    done = subprocess.run(
        ["bash", "-c", shell], capture_output=True, text=True, check=False, timeout=LONG
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert len(done.stdout) == 10


@pytest.mark.slow
def test_encodings_without_the_characters_of_a_table(experiment: Path) -> None:
    done = subprocess.run(
        [*SIMSCHED, "run", str(experiment), "-j", "1"],
        capture_output=True,
        check=True,
        cwd=experiment.parent,
        env=environment(PYTHONIOENCODING="ascii"),
        timeout=LONG,
    )
    assert done.stdout.isascii()
    assert re.search(rb"work_sharing", done.stdout)


@pytest.mark.parametrize(
    ("words", "closed", "code"),
    [
        ("list machines", ">&-", 0),
        ("list machines --json", ">&- 2>&-", 0),
        ("run nope", "2>&-", 2),
        ("run nope", "2>/dev/full", 2),
        ("nope", "2>/dev/full", 2),
        ("show", "2>/dev/full", 2),
        ("list machines", ">/dev/full", 2),
    ],
)
def test_streams_that_nobody_holds(tmp_path: Path, words: str, closed: str, code: int) -> None:
    shell = f'"$0" -m simsched {words} {closed}'
    done = subprocess.run(
        ["/bin/sh", "-c", shell, sys.executable], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == code
    assert "Traceback" not in done.stderr
    assert done.stderr.count("\n") == (closed == ">/dev/full")
