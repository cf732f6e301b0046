"""The events of a Paje trace by the names of their fields.

The file defines its own events: ``%EventDef NAME NUMBER``, a line ``% FIELD TYPE`` for each field,
``%EndEventDef``. Every other line is the number of a definition and the values of its fields;
strings with blanks are in quotation marks, ``#`` begins a comment.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

from simsched.files.bounded import read_text
from simsched.files.errors import TraceError, shown
from simsched.trace.importers._slices import LIMIT_PS

WORD = re.compile(r'"([^"]*)"|(\S+)')
#: Older names of fields; those that SimGrid, ViTE and StarPU use are on the right.
FIELDS = {
    "NewContainer": "Alias",
    "NewContainerType": "Type",
    "NewType": "Alias",
    "EntityType": "Type",
    "ContainerType": "Type",
    "SourceContainer": "StartContainer",
    "DestContainer": "EndContainer",
}


@dataclass(frozen=True, slots=True)
class Definition:
    """One definition of an event."""

    name: str
    fields: list[str]


@dataclass(frozen=True, slots=True)
class Event:
    """One event."""

    line: int
    name: str
    values: dict[str, str]
    path: Path

    @property
    def where(self) -> str:
        """File and line, as messages name them."""
        return f"{self.path}:{self.line}"

    def value(self, *fields: str) -> str:
        """Return the first of several alternative fields that the event has."""
        for field in fields:
            if field in self.values:
                return self.values[field]
        raise TraceError(f"{self.where}: {self.name}: found no field {' or '.join(fields)}")

    def time_ps(self, ps_per_unit: int) -> int:
        """Return when it happened, rounded to a picosecond."""
        text = self.value("Time")
        try:
            time = Decimal(text) * ps_per_unit
            if time.is_finite() and abs(time) < LIMIT_PS:
                return int(time.to_integral_value())
        except ArithmeticError:  # no number, or more digits than fit
            pass
        raise TraceError(f"{self.where}: Time: found {shown(text)}, accepted a number")


class PajeFile:
    """A trace: its definitions, filled while events are read, and its lines."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.definitions: dict[str, Definition] = {}
        self.lines = read_text(path, TraceError).splitlines()
        self.cut_off = False

    def events(self) -> Iterator[Event]:
        """Yield the events; of a last line that is cut off nothing is read."""
        number, open_one = "", None
        for line, text in enumerate(self.lines, 1):
            if text.startswith("%"):
                number, open_one = self._define(line, text[1:].split(), number, open_one)
                continue
            words = [quoted or plain for quoted, plain in WORD.findall(text)]
            if not words or words[0].startswith("#"):
                continue
            event = self._event(line, words)
            if event is not None:
                yield event

    def _define(
        self, line: int, words: list[str], number: str, open_one: Definition | None
    ) -> tuple[str, Definition | None]:
        """Read a line of a definition."""
        where = f"{self.path}:{line}"
        if words[:1] == ["EventDef"]:
            if len(words) != 3:
                raise TraceError(
                    f"{where}: found {shown(' '.join(words))}, accepted EventDef NAME N"
                )
            return words[2], Definition(words[1], [])
        if words[:1] == ["EndEventDef"]:
            if open_one is not None:
                self.definitions[number] = open_one
            return "", None
        if open_one is not None and words:
            open_one.fields.append(FIELDS.get(words[0], words[0]))
        return number, open_one

    def _event(self, line: int, words: list[str]) -> Event | None:
        """Return the event of a line."""
        where, definition = f"{self.path}:{line}", self.definitions.get(words[0])
        if definition is None:
            raise TraceError(
                f"{where}: found the event {shown(words[0])}, which is not defined above"
            )
        values = words[1:]
        if len(values) < len(definition.fields):
            if line == len(self.lines):
                self.cut_off = True
                return None
            raise TraceError(
                f"{where}: {definition.name}: found {len(values)} values, accepted "
                f"{len(definition.fields)}: {', '.join(definition.fields)}"
            )
        return Event(
            line, definition.name, dict(zip(definition.fields, values, strict=False)), self.path
        )
