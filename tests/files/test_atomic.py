"""Files that are written completely or not at all: what may be replaced."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from simsched.files.atomic import check_writable, write_text
from simsched.files.errors import ConfigurationError


@pytest.mark.parametrize("write", [check_writable, lambda path: write_text(path, "new")])
def test_what_is_no_file_is_left_alone(tmp_path: Path, write) -> None:  # type: ignore[no-untyped-def]
    pipe, link = tmp_path / "pipe", tmp_path / "link"
    os.mkfifo(pipe)
    link.symlink_to(pipe)
    for path in (pipe, link):
        with pytest.raises(ConfigurationError, match="found a device or a pipe, accepted: a file"):
            write(path)
    with pytest.raises(ConfigurationError, match="it is a directory"):
        write(tmp_path)
    assert stat.S_ISFIFO(pipe.stat().st_mode)
    assert {path.name for path in tmp_path.iterdir()} == {"pipe", "link"}


def test_a_link_keeps_leading_to_the_file(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    file, link = tmp_path / "there" / "file", tmp_path / "link"
    file.write_text("old")
    link.symlink_to(file)
    write_text(link, "new")
    assert link.is_symlink()
    assert file.read_text() == "new"
    assert list(file.parent.iterdir()) == [file]
