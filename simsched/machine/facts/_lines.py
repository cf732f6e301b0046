"""Reading tables of numbers in the output of tools, line by line."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

from simsched.files.bounded import read_text
from simsched.files.errors import ConfigurationError, shown
from simsched.machine.facts.contents import Matrix

#: No latency in ns or rate in MB/s or GB/s is beyond these.
LEAST, MOST = 1e-6, 1e9


class Lines:
    """The lines of a file, counted from 1."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.lines = read_text(path).splitlines()

    def fail(self, number: int, message: str) -> ConfigurationError:
        """Return the error for a line."""
        return ConfigurationError(f"{self.path}:{number}: {message}")

    def find(self, start: str, after: int = 0) -> int | None:
        """Return the number of the first line beyond another one that begins with a text."""
        for number in range(after + 1, len(self.lines) + 1):
            if self.lines[number - 1].strip().lower().startswith(start.lower()):
                return number
        return None

    def fields(self, number: int) -> list[str]:
        """Return the words of a line, none beyond the end."""
        return self.lines[number - 1].split() if number <= len(self.lines) else []

    def number(self, text: str, line: int, what: str) -> float:
        """Return a number of a size that measurements have."""
        try:
            value = float(text)
        except ValueError:
            value = math.nan
        if not LEAST <= value <= MOST:
            raise self.fail(
                line, f"{what}: found {shown(text)}, accepted a number from {LEAST:g} to {MOST:g}"
            )
        return value

    def whole(self, text: str, line: int, what: str) -> int:
        """Return a whole number above 0."""
        value = self.number(text, line, what)
        if value != int(value):
            raise self.fail(line, f"{what}: found {shown(text)}, accepted a whole number")
        return int(value)

    def matrix(self, first: int, labels: Sequence[str], what: str) -> Matrix:
        """Return a square table whose rows begin with a label, as many as there are labels."""
        rows = []
        for place, label in enumerate(labels):
            line = first + place
            fields = self.fields(line)
            if not fields or fields[0].rstrip(":") != label:
                found = shown(" ".join(fields)) if fields else "the end of the table"
                raise self.fail(line, f"{what}: found {found}, accepted row {label}")
            if len(fields) != 1 + len(labels):
                raise self.fail(
                    line,
                    f"{what}: row {label}: found {len(fields) - 1} numbers, accepted {len(labels)}",
                )
            rows.append(tuple(self.number(text, line, what) for text in fields[1:]))
        return Matrix(tuple(rows), f"line {first}")
