"""Stored rows: what is read is what was saved, whatever has happened to the files."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from simsched.experiment.store import Store
from simsched.files.errors import ConfigurationError

ROW = {"makespan_s": 0.1, "policy": "ä", "list": [1, 2], "nothing": None}


def file_of(folder: Path) -> Path:
    (file,) = folder.glob("*.jsonl")
    return file


def test_a_row_comes_back(tmp_path: Path) -> None:
    store = Store(tmp_path)
    assert store.load("a") is None
    store.save("a", ROW)
    store.save("b", ROW | {"makespan_s": float("nan")})
    assert Store(tmp_path).load("a") == ROW
    assert Store(tmp_path).keys() == {"a", "b"}
    assert len(file_of(tmp_path).read_bytes().splitlines()) == 2


def test_the_last_of_several_lines_counts(tmp_path: Path) -> None:
    for makespan in (1.0, 3.0, 2.0):
        Store(tmp_path).save("a", ROW | {"makespan_s": makespan})
    own = file_of(tmp_path)
    other = own.rename(tmp_path / "other.1.jsonl")
    Store(tmp_path).save("a", ROW)
    assert Store(tmp_path).load("a") == ROW
    os.utime(own, ns=(0, 0))
    assert Store(tmp_path).load("a") == ROW | {"makespan_s": 2.0}
    other.unlink()
    assert Store(tmp_path).load("a") == ROW


@pytest.mark.parametrize("cut", range(2, 41, 3))
def test_a_line_that_was_cut_short_is_no_row_and_harms_no_other(tmp_path: Path, cut: int) -> None:
    Store(tmp_path).save("a", ROW)
    Store(tmp_path).save("b", ROW)
    file = file_of(tmp_path)
    file.write_bytes(file.read_bytes()[:-cut])
    Store(tmp_path).save("c", ROW)  # by a process with the same number
    store = Store(tmp_path)
    assert [store.load(key) for key in "abc"] == [ROW, None, ROW]


def test_a_full_disk_leaves_nothing_behind(tmp_path: Path) -> None:
    """A limit on the size of files fails like a full disk, in the middle of a line."""
    lines = f"""
import resource
from pathlib import Path
from simsched.experiment.store import Store
resource.setrlimit(resource.RLIMIT_FSIZE, (300, 300))
for number in range(10):
    Store(Path({str(tmp_path)!r})).save(str(number), {ROW!r})
"""
    done = subprocess.run(
        [sys.executable, "-c", lines], capture_output=True, text=True, check=False
    )
    assert "File too large" in done.stderr
    stored = Store(tmp_path)
    assert stored.keys() == {"0"}
    assert stored.load("0") == ROW
    assert file_of(tmp_path).read_bytes().endswith(b"\n")


def test_what_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "cells").touch()
    with pytest.raises(ConfigurationError, match=r"cells/.*\.jsonl: cannot be written: Not a dir"):
        Store(tmp_path / "cells").save("a", ROW)
    assert Store(tmp_path / "nowhere").load("a") is None


def test_a_file_that_somebody_removes_is_made_again(tmp_path: Path) -> None:
    store = Store(tmp_path)
    store.save("a", ROW)
    file_of(tmp_path).unlink()
    store.save("b", ROW)
    assert Store(tmp_path).keys() == {"b"}
    assert Store(tmp_path).load("b") == ROW


def test_stores_of_one_process_share_a_file(tmp_path: Path) -> None:
    first, second = Store(tmp_path), Store(tmp_path)
    for number in range(6):
        (first if number % 2 else second).save(str(number), ROW)
    assert Store(tmp_path).keys() == {*"012345"}
    assert len(file_of(tmp_path).read_bytes().splitlines()) == 6


def test_rows_of_a_process_are_those_up_to_the_first_that_it_has_not_saved(tmp_path: Path) -> None:
    store = Store(tmp_path)
    for key in "xabd":
        store.save(key, ROW | {"key": key})
    own = os.getpid()
    assert [row["key"] for row in Store(tmp_path).saved_by(own, "abcd")] == ["a", "b"]
    assert Store(tmp_path).saved_by(own, "ca") == []
    assert Store(tmp_path).saved_by(own + 1, "ab") == []
    file = file_of(tmp_path)
    file.write_bytes(file.read_bytes()[:-3])
    assert [row["key"] for row in store.saved_by(own, "abd")] == ["a", "b"]
