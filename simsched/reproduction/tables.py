"""Tables of others in comma-separated values.

A table has a head. Lines that begin with ``#``, blanks before it or not, are comments.
"""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path

from simsched.files.bounded import read_text
from simsched.files.errors import ConfigurationError, shown


def read_table(path: Path, columns: Sequence[str]) -> list[tuple[str, dict[str, str]]]:
    """Return the rows of a table: file and line, and values by column.

    Refused is a head without one of the columns, and a row of another length.
    """
    lines = _lines(path)
    rows = [_fields(f"{path}:{number}", line) for number, line in lines]
    head = [name.strip() for name in rows[0]]
    _check_head(head, columns, f"{path}:{lines[0][0]}")
    found = []
    for (number, _), row in zip(lines[1:], rows[1:], strict=True):
        where = f"{path}:{number}"
        if len(row) != len(head):
            raise ConfigurationError(f"{where}: found {len(row)} values, accepted {len(head)}")
        found.append((where, dict(zip(head, (value.strip() for value in row), strict=True))))
    if not found:
        raise ConfigurationError(f"{path}: found no row below the head, accepted one or more")
    return found


def head_of(path: Path) -> list[str]:
    """Return the names of a table's columns."""
    number, line = _lines(path)[0]
    return [name.strip() for name in _fields(f"{path}:{number}", line)]


def _lines(path: Path) -> list[tuple[int, str]]:
    """Return the lines that are no comments, with their numbers."""
    lines = [
        (number, line)
        for number, line in enumerate(read_text(path).splitlines(), start=1)
        if line.strip() and not line.lstrip().startswith("#")
    ]
    if not lines:
        raise ConfigurationError(f"{path}: found no line, accepted a head and rows")
    return lines


def _check_head(head: list[str], columns: Sequence[str], where: str) -> None:
    """Refuse a head without the columns, with one of them twice, or with other separators."""
    for name in columns:
        if name not in head:
            message = f"found columns {shown(', '.join(head))}, accepted: {', '.join(columns)}"
            for separator, called in (("\t", "tabs"), (";", "semicolons")):
                if any(separator in column for column in head):
                    message = f"found columns separated by {called}, accepted commas"
            raise ConfigurationError(f"{where}: {message}")
    for name in dict.fromkeys(head):
        if name and head.count(name) > 1:
            message = f"found column {name} {head.count(name)} times, accepted once"
            raise ConfigurationError(f"{where}: {message}")


def _fields(where: str, line: str) -> list[str]:
    """Return the values of a line; text in quotation marks ends with the line."""
    try:
        (fields,) = csv.reader([line], skipinitialspace=True, strict=True)
    except csv.Error as error:
        raise ConfigurationError(f"{where}: not CSV: {error}") from error
    return fields
