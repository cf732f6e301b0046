"""Text files of StarPU samplings, line by line."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field
from pathlib import Path

from simsched.files.bounded import member, read_text, unreadable
from simsched.files.errors import ConfigurationError

MAX_LINKS = 8
MAX_DIGITS = 18
_NOT_IN_NAMES = re.compile(r"[\s#/\x00-\x1f\ufffd]")


def real_file(path: Path) -> Path:
    """Return the file that a path stands for.

    Archives and version control keep StarPU's symbolic links as files whose only word is the name
    of another file in the same directory.
    """
    for _ in range(MAX_LINKS):
        path = member(path.parent, path.name)
        try:
            with path.open("rb") as file:
                head = file.read(257)
        except OSError as error:
            raise ConfigurationError(unreadable(path, error)) from error
        name = head.decode("utf-8", "replace")
        if len(head) > 256 or not name.strip(".") or _NOT_IN_NAMES.search(name):
            return path
        target = path.parent / name
        if not target.is_file():
            raise ConfigurationError(f"{path}:1: found a link to {name!r}, which is no file here")
        path = target
    raise ConfigurationError(f"{path}: found links that lead in a circle")


@dataclass
class Lines:
    """The lines of a file, read one after the other; `number` is that of the last one, from 1."""

    path: Path
    lines: list[str] = field(default_factory=list)
    number: int = 0

    @classmethod
    def read(cls, path: Path) -> Lines:
        """Return the lines of a UTF-8 text file, gzip or not."""
        text = read_text(path)
        return cls(path, text.splitlines())

    @property
    def where(self) -> str:
        """File and line, for messages."""
        return f"{self.path}:{self.number}"

    def fail(self, message: str) -> ConfigurationError:
        """Return the error for the line that was read last."""
        return ConfigurationError(f"{self.where}: {message}")

    def comment(self) -> str | None:
        """Return the next line that is not empty if it is a comment, normalised; skip no data."""
        position = self.number
        while position < len(self.lines):
            text = self.lines[position].strip()
            position += 1
            if text.strip("#"):
                if not text.startswith("#"):
                    return None
                self.number = position
                return " ".join(text.lstrip("#").split())
        self.number = position
        return None

    def data(self, what: str) -> list[str]:
        """Return the fields of the next line that is neither empty nor a comment."""
        while self.number < len(self.lines):
            text = self.lines[self.number].strip()
            self.number += 1
            if text and not text.startswith("#"):
                return text.split()
        self.number = len(self.lines)
        raise self.fail(f"found the end of the file, accepted {what}")

    def whole(self, what: str) -> int:
        """Return the next line as an integer of at least zero."""
        fields = self.data(what)
        if len(fields) != 1 or not fields[0].isdecimal() or len(fields[0]) > MAX_DIGITS:
            raise self.fail(f"found {' '.join(fields)[:40]!r}, accepted {what}")
        return int(fields[0])

    def number_in(self, text: str, what: str, *, least: float = 0.0, above: bool = False) -> float:
        """Return a finite number of the line read last, at least `least`, or `above` it."""
        try:
            value = float(text)
        except ValueError:
            value = math.nan
        if not math.isfinite(value) or value < least or (above and value == least):
            than = "more than" if above else "at least"
            raise self.fail(f"{what}: found {text[:40]!r}, accepted a number of {than} {least:g}")
        return value
