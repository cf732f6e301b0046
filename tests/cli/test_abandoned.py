"""Temporary files of programs that were killed."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from simsched.files.atomic import HOST, discard_abandoned


@pytest.fixture
def ended() -> Iterator[subprocess.Popen[bytes]]:
    """Return a process that has ended and that nobody has asked how."""
    process = subprocess.Popen([sys.executable, "-c", ""], stdout=subprocess.PIPE)
    assert process.stdout is not None
    process.stdout.read()
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    yield process
    process.stdout.close()
    process.wait()


def test_files_of_ended_programs_go_and_those_of_others_stay(
    tmp_path: Path, ended: subprocess.Popen[bytes]
) -> None:
    gone, kept = (tmp_path / f".x.{HOST}.{pid}.tmp" for pid in (ended.pid, os.getpid()))
    for file in (gone, kept):
        file.touch()
    discard_abandoned(tmp_path)
    assert list(tmp_path.iterdir()) == [kept]
