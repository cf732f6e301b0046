"""Finished runs, named by the hash of everything that determines them.

They stand one in a line, in files to which one process each appends: making a file takes fifty
times as long as writing a line, and studies have up to millions of runs.
"""

from __future__ import annotations

import hashlib
import json
import os
import weakref
from collections.abc import Sequence
from contextlib import suppress
from itertools import takewhile
from pathlib import Path
from typing import Any

from simsched.files.atomic import HOST, naming

FORMAT = 3
_HEAD = f'{{"format": {FORMAT}, "key": "'.encode()


class Store:
    """A directory of finished rows.

    A row is written when its run has finished, in one piece: whatever happens to the process, a
    complete line is a complete row. Nobody waits for the disk, which takes some 10 ms. The hash of
    a row is stored with it: a line that was cut short, or that somebody has changed, is no row, and
    the run is repeated. Of several lines with one key the one written last counts.
    """

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self._lines: dict[str, tuple[Path, int]] | None = None
        self._own: _Own | None = None

    def keys(self) -> set[str]:
        """Return the keys of all rows that are there now, complete or not."""
        self._lines = dict(self._found())
        return set(self._lines)

    def load(self, key: str) -> dict[str, Any] | None:
        """Return a row that was there when keys were looked for first; None without one."""
        if self._lines is None:
            self.keys()
        assert self._lines is not None
        if key not in self._lines:
            return None
        path, begin = self._lines[key]
        try:
            with path.open("rb") as file:
                file.seek(begin)
                line = file.readline()
        except OSError:
            return None
        return _row_in(line, key)

    def saved_by(self, process: int, keys: Sequence[str]) -> list[dict[str, Any]]:
        """Return rows that a process of this computer has saved, up to the first that is not."""
        rows: dict[str, dict[str, Any]] = {}
        with suppress(OSError), self._file_of(process).open("rb") as file:
            for line in file:
                key = _key_in(line)
                row = _row_in(line, key) if key in keys else None
                if row is not None:
                    rows[key] = row
        return [rows[key] for key in takewhile(rows.__contains__, keys)]

    def save(self, key: str, row: dict[str, Any]) -> None:
        """Append a row to the file of this process."""
        path, line = self._file_of(os.getpid()), _line(key, row)
        with naming(path):
            if self._own is None or self._own.path != path or self._own.is_gone():
                self._own = _Own(path)
            self._own.append(line)

    def _file_of(self, process: int) -> Path:
        return self.directory / f"{HOST}.{process}.jsonl"

    def _found(self) -> list[tuple[str, tuple[Path, int]]]:
        """Return the beginning of each line by the key that stands in it, the last written last."""
        found = []
        files = filter(Path.is_file, self.directory.glob("*.jsonl"))
        for path in sorted(files, key=_age):
            begin = 0
            with suppress(OSError), path.open("rb") as file:
                for line in file:
                    key = _key_in(line)
                    if key:
                        found.append((key, (path, begin)))
                    begin += len(line)
        return found


def _line(key: str, row: dict[str, Any]) -> bytes:
    text = json.dumps(row)
    content = hashlib.sha256(text.encode()).hexdigest()
    head = json.dumps({"format": FORMAT, "key": key, "content": content}).removesuffix("}")
    return f'{head}, "row": {text}}}\n'.encode()


def _key_in(line: bytes) -> str:
    """Return the key that stands in a line, nothing where none does."""
    key = line[len(_HEAD) :].partition(b'"')[0] if line.startswith(_HEAD) else b""
    return key.decode("ascii", "replace")


def _row_in(line: bytes, key: str) -> dict[str, Any] | None:
    """Return the row with a key that a line is, None where it is not as it was saved."""
    try:
        row = json.loads(line)["row"]
        as_saved = isinstance(row, dict) and line == _line(key, row)
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
    return row if as_saved else None


class _Own:
    """The file of this process, open: to open it takes longer than to write a line."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o666)
        weakref.finalize(self, os.close, self._file)
        size = os.fstat(self._file).st_size
        #: Whether an earlier process with the same number has left it within a line.
        self._is_cut_short = size > 0 and os.pread(self._file, 1, size - 1) != b"\n"

    def is_gone(self) -> bool:
        """Return whether somebody has removed it."""
        return os.fstat(self._file).st_nlink == 0

    def append(self, line: bytes) -> None:
        """Write a line, or nothing."""
        before = os.fstat(self._file).st_size
        rest = b"\n" + line if self._is_cut_short else line
        try:
            while rest:
                rest = rest[os.write(self._file, rest) :]
        except OSError:
            os.ftruncate(self._file, before)
            if before == 0:
                self.path.unlink()
            raise
        self._is_cut_short = False


def _age(path: Path) -> tuple[int, str]:
    return path.stat().st_mtime_ns, path.name
