"""Events of a Chrome trace file one by one, also of one whose end is missing."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

from simsched.files.bounded import read_text
from simsched.files.errors import TraceError, shown

BETWEEN = re.compile(r"[\s,]*")
UNFINISHED = re.compile(r"[-+.\w\\]*")
EVENTS = "traceEvents"


class ChromeFile:
    """A trace file in one of the two forms: an array of events, or an object that holds one.

    When all events have been read, `members` has what the object holds beside them, and `truncated`
    says whether the file ends inside an event or, unless it is an array, before the object is
    closed. NaN and Infinity, which programs write though JSON has neither, are decimal numbers.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.members: dict[str, Any] = {}
        self.truncated = False
        self._text = read_text(path, TraceError)
        self._decoder = json.JSONDecoder(parse_float=Decimal, parse_constant=Decimal)

    def events(self) -> Iterator[object]:
        """Yield the events, which should be objects."""
        place = self._skip(0)
        opening = self._text[place : place + 1]
        if opening == "[":
            yield from self._array(place)
            return
        if opening != "{":
            raise TraceError(
                f"{self.path}: found {shown(self._text[place : place + 20])} at the beginning, "
                "accepted an array of events or an object with traceEvents"
            )
        place, found = self._skip(place + 1), False
        while place < len(self._text) and self._text[place] != "}":
            key = self._value(place, "a key")
            if key is None:
                return
            name, place = str(key[0]), self._skip(key[1], ":")
            if name == EVENTS and self._text[place : place + 1] == "[":
                found = True
                yield from self._array(place)
                place = self._skip(self._end)
                continue
            value = self._value(place, name)
            if value is None:
                return
            self.members[name], place = value[0], self._skip(value[1])
        self.truncated |= place >= len(self._text)
        if not found:
            raise TraceError(f"{self.path}: {EVENTS}: missing, accepted an array of events")

    def _array(self, place: int) -> Iterator[object]:
        """Yield the events of the array that begins at a place; remember where it ends."""
        place, number = self._skip(place + 1), 0
        while place < len(self._text) and self._text[place] != "]":
            found = self._value(place, f"event {number}")
            if found is None:
                self._end = len(self._text)
                return
            yield found[0]
            place, number = self._skip(found[1]), number + 1
        self._end = min(len(self._text), place + 1)

    def _value(self, place: int, what: str) -> tuple[Any, int] | None:
        """Return the value at a place and where it ends; None where the file ends before."""
        try:
            value, end = self._decoder.raw_decode(self._text, place)
        except json.JSONDecodeError as error:
            rest = self._text[error.pos :].strip()
            if error.msg.startswith("Unterminated") or UNFINISHED.fullmatch(rest):
                self.truncated = True
                return None
            raise TraceError(
                f"{self.path}:{error.lineno}: column {error.colno}: {what}: not JSON: {error.msg}"
            ) from error
        except (ValueError, RecursionError, ArithmeticError) as error:
            reason = "nested too deeply" if isinstance(error, RecursionError) else str(error)
            line = self._text.count("\n", 0, place) + 1
            raise TraceError(f"{self.path}:{line}: {what}: {reason}") from error
        return value, end

    def _skip(self, place: int, also: str = "") -> int:
        """Return the place of the next value: behind blanks, commas and `also`."""
        match = BETWEEN.match(self._text, place)
        place = match.end() if match else place
        if also and self._text[place : place + 1] == also:
            return self._skip(place + 1)
        return place
