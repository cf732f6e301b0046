"""How a decision becomes whole numbers, the form in which engines are given it.

The fields of its dataclass are the numbers, in their order. Without a word more a field is an
index; `whole` says what else it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from functools import cache
from operator import index
from typing import Any, NamedTuple

from simsched.files.errors import PolicyError, unknown_name

MAX_INDEX = 2**31 - 1
MAX_WHOLE = 2**63 - 1
NEVER_PS = 2**62  #: the end of time
NOTHING = -1  #: stands for None


class Number(NamedTuple):
    """A field of a decision: the range of its number, and how that is made."""

    name: str
    low: int = -MAX_INDEX
    high: int = MAX_INDEX
    words: Sequence[str] = ()
    parts: int = 0
    is_optional: bool = False

    def of(self, value: Any) -> int:
        """Return the number for a value."""
        if value is None and self.is_optional:
            return NOTHING
        if self.words:
            if value not in self.words:
                raise PolicyError(unknown_name(self.name, value, self.words))
            return self.words.index(value)
        found, scale = value, 1
        if self.parts:
            scale, found = self.parts, round(value * self.parts) if 0.0 < value <= 1.0 else 0
        try:
            number = index(found)
        except TypeError:
            raise PolicyError(f"{self.name}: found {value!r}, accepted an integer") from None
        if not self.low <= number <= self.high:
            low, high = (f"{bound / scale:g}" if self.parts else bound for bound in self[1:3])
            raise PolicyError(f"{self.name}: found {value}, accepted {low} to {high}")
        return number


def whole(
    low: int = -MAX_INDEX, high: int = MAX_INDEX, *, words: Sequence[str] = (), parts: int = 0
) -> dict[str, Any]:
    """Return the metadata of a field: its range, its words, or into how many parts 1 is divided."""
    if words:
        low, high = 0, len(words) - 1
    return {"low": low, "high": high, "words": words, "parts": parts}


@cache
def numbers_of(decision: type) -> tuple[Number, ...]:
    """Return the numbers of a kind of decisions."""
    return tuple(
        Number(one.name, **one.metadata, is_optional=one.default is None)
        for one in fields(decision)
    )


class Decision:
    """What a hook decides."""

    def numbers(self) -> list[int]:
        """Return the fields as whole numbers.

        Raises
        ------
        PolicyError
            When one of them means nothing whatever the rest is.
        """
        cls: type = type(self)
        try:
            return [number.of(getattr(self, number.name)) for number in numbers_of(cls)]
        except PolicyError as error:
            raise PolicyError(f"{cls.__name__}: {error}") from None
