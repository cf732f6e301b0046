"""What the records of the contract accept, and how a decision becomes whole numbers.

A field accepts what its annotation says. Its metadata, see :func:`accepts`, narrow that. Decisions
reach engines as numbers: those of their fields, in their order.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import fields, is_dataclass
from functools import cache
from numbers import Real
from operator import index
from types import MappingProxyType, NoneType, UnionType
from typing import Any, NamedTuple, Union, get_args, get_origin, get_type_hints

import numpy as np

from simsched.files.errors import PolicyError, shown, unknown_name, with_article

MAX_INDEX = 2**31 - 1
MAX_WHOLE = 2**63 - 1
NEVER_PS = 2**62  #: the end of time
NOTHING = -1  #: stands for None
NO_SIZES: Mapping[str, Any] = MappingProxyType({})


def accepts(
    low: float | None = None,
    high: float | None = None,
    *,
    words: Sequence[str] | None = None,
    parts: int | None = None,
    of: str | None = None,
    shape: tuple[str, ...] | None = None,
) -> dict[str, Any]:
    """Return the metadata of a field.

    Parameters
    ----------
    low, high : float, optional
        Range of its number, or of the entries of its array; an index begins with 0.
    words : sequence of str, optional
        The only accepted texts.
    parts : int, optional
        Into how many parts 1 is divided, of a field that is a part of 1.
    of : str, optional
        What a number or an entry is an index of, a key of the sizes of a check.
    shape : tuple of str, optional
        Of an array, in such keys; another name stands for any length.
    """
    low = 0 if of and low is None else low
    if words:
        low, high = 0, len(words) - 1
    given = {"low": low, "high": high, "words": words, "parts": parts, "of": of, "shape": shape}
    return {name: value for name, value in given.items() if value is not None}


class Number(NamedTuple):
    """A field of a decision: the range of its number, and how that is made."""

    name: str
    low: int = -MAX_INDEX
    high: int = MAX_INDEX
    words: Sequence[str] = ()
    parts: int = 0
    of: str = ""
    is_optional: bool = False

    def made_of(self, value: Any, n_things: int | None = None) -> int:
        """Return the number for a value; `n_things` is of how many it is an index."""
        high = self.high if n_things is None else n_things - 1
        if type(value) is int and self.low <= value <= high and not (self.parts or self.words):
            return value  # most are right
        if value is None and self.is_optional:
            return NOTHING
        if self.words:
            check_word(self.name, value, self.words)
            return self.words.index(value)
        scale, found = self.parts or 1, value
        try:
            if self.parts:
                found = round(float(value) * self.parts) if 0.0 < value <= 1.0 else 0
            number = index(found)
        except (TypeError, ValueError):
            kind = "a number" if self.parts else "an integer"
            raise PolicyError(f"{self.name}: found {told(value)}, accepted {kind}") from None
        if not self.low <= number <= high:
            bounds = (f"{bound / scale:g}" if self.parts else bound for bound in (self.low, high))
            raise PolicyError(
                f"{self.name}: found {told(value)}, accepted {' to '.join(map(str, bounds))}"
            )
        return number


@cache
def numbers_of(decision: type) -> tuple[Number, ...]:
    """Return the numbers of a kind of decisions."""
    return tuple(
        Number(one.name, **one.metadata, is_optional=one.default is None)
        for one in fields(decision)
    )


class Decision:
    """What a hook decides."""

    def numbers(self, sizes: Mapping[str, Any] = NO_SIZES) -> list[int]:
        """Return the fields as whole numbers.

        Parameters
        ----------
        sizes : mapping of str to int or list of int
            How many there are of what indices are of; of pools in each group.

        Returns
        -------
        list of int
            In the order of the fields.

        Raises
        ------
        PolicyError
            When one of them means nothing whatever the rest is.
        """
        cls: type = type(self)
        numbers: list[int] = []
        try:
            for number in numbers_of(cls):
                n_things = sizes.get(number.of)
                if isinstance(n_things, list):  # the field before is the group
                    n_things = n_things[numbers[-1]]
                numbers.append(number.made_of(getattr(self, number.name), n_things))
        except PolicyError as error:
            raise PolicyError(f"{cls.__name__}: {error}") from None
        return numbers


class Accepted(NamedTuple):
    """What a field of a record accepts."""

    kinds: tuple[Any, ...]  #: alternatives of its annotation
    narrowed: Mapping[str, Any] = NO_SIZES  #: its metadata

    def check(self, value: Any, where: str, sizes: Mapping[str, int]) -> None:
        """Refuse another value."""
        if not self._holds(value, where, sizes):
            accepted = " or ".join(self._told(kind, sizes) for kind in self.kinds)
            raise PolicyError(_at(where, f"found {told(value)}, accepted {accepted}"))

    def _holds(self, value: Any, where: str, sizes: Mapping[str, int]) -> bool:
        """Return whether a value has one of the kinds; refuse what is wrong in one that has."""
        for kind in self.kinds:
            if get_origin(kind) is np.ndarray and isinstance(value, np.ndarray):
                if self._holds_array(value, _scalar(kind), where, sizes):
                    return True
                continue
            if get_origin(kind) is tuple and isinstance(value, tuple | list):
                one = Accepted(get_args(kind)[:1], self.narrowed)
                for place, item in enumerate(value):
                    one.check(item, f"{where}[{place}]", sizes)
                return True
            if kind in (int, bool, float) and _is_number(value, kind):
                low, high = self._range(sizes)
                return kind is bool or bool(low <= value <= high)
            if isinstance(kind, type) and isinstance(value, kind):
                if "words" in self.narrowed:
                    check_word(where, value, self.narrowed["words"])
                if is_dataclass(kind):
                    check_record(value, where, sizes)
                return True
        return False

    def _holds_array(
        self, array: Any, scalar: np.dtype[Any], where: str, sizes: Mapping[str, int]
    ) -> bool:
        """Return whether entries have the type; refuse another shape, and what is out of range."""
        is_flag, is_whole = scalar.kind == "b", scalar.kind == "i"
        if array.size and array.dtype.kind not in ("iu" if is_whole else scalar.kind):
            return False
        axes = self.narrowed.get("shape", ("any",))
        shape = tuple(sizes.get(axis) for axis in axes)
        if array.ndim != len(shape) or any(
            n not in (None, length) for n, length in zip(shape, array.shape, strict=True)
        ):
            accepted = str(shape).replace("None", "any")
            raise PolicyError(
                f"{where}: found shape {array.shape}, accepted {accepted} ({', '.join(axes)})"
            )
        if is_flag or not array.size:
            return True
        low, high = self._range(sizes)
        if is_whole:
            low, high = max(low, np.iinfo(scalar).min), min(high, np.iinfo(scalar).max)
        if not low <= array.min().item() <= array.max().item() <= high:
            place = np.argwhere(~((array >= low) & (array <= high)))[0].tolist()
            found = array[tuple(place)]
            raise PolicyError(f"{where}{place}: found {found}, accepted {low} to {high}")
        return True

    def _range(self, sizes: Mapping[str, int]) -> tuple[float, float]:
        """Return the bounds of a number or an entry."""
        n_things = sizes.get(self.narrowed.get("of", ""))
        high = self.narrowed.get("high", np.inf) if n_things is None else n_things - 1
        return self.narrowed.get("low", -np.inf), high

    def _told(self, kind: Any, sizes: Mapping[str, int]) -> str:
        """Return a kind in words."""
        if get_origin(kind) is np.ndarray:
            entries = {"b": "booleans", "f": "numbers"}.get(_scalar(kind).kind, "integers")
            return f"an array of {entries}"
        if get_origin(kind) is tuple:
            return f"a tuple of {get_args(kind)[0].__name__}"
        if kind in (int, float):
            low, high = self._range(sizes)
            if kind is int:
                return "an integer" if np.isinf(high) else f"an integer from {low} to {high}"
            return f"a number from {low:g} to {high:g}"
        words = {NoneType: "None", str: "a str", bool: "True or False"}
        return words.get(kind) or with_article(kind)


@cache
def _accepted_by(record: type) -> tuple[tuple[str, Accepted, Any], ...]:
    """Return what the fields of a record accept, and their defaults."""
    hints = get_type_hints(record)
    return tuple(
        (one.name, Accepted(tuple(_alternatives(hints[one.name])), one.metadata), one.default)
        for one in fields(record)
    )


def _alternatives(hint: Any) -> Iterator[Any]:
    """Yield the types of an annotation."""
    if get_origin(hint) in (UnionType, Union):
        for one in get_args(hint):
            yield from _alternatives(one)
    else:  # from NumPy 2.5 on that of an array is an alias not yet resolved
        alias = getattr(get_origin(hint), "__value__", None)
        yield hint if alias is None else alias[get_args(hint)]


def _scalar(array: Any) -> np.dtype[Any]:
    """Return the type of the entries of an annotated array."""
    found: np.dtype[Any] = np.dtype(get_args(get_args(array)[1])[0])
    return found


def _is_number(value: Any, kind: type) -> bool:
    """Return whether a value is a number of a kind; those of NumPy are, too."""
    if kind is bool:
        return isinstance(value, bool | np.bool_) or (_is_number(value, int) and value in (0, 1))
    if kind is float:
        return isinstance(value, Real) and not isinstance(value, bool)
    try:
        index(value)
    except TypeError:
        return False
    return True


def check(value: Any, kind: type, where: str = "", sizes: Mapping[str, int] = NO_SIZES) -> None:
    """Refuse what is no record of a kind, and a record a field of which means nothing.

    `sizes` are those to which shapes and indices refer. Lengths that are not among them are free.
    """
    Accepted((kind,)).check(value, where, sizes)


def check_record(record: Any, where: str, sizes: Mapping[str, int]) -> None:
    """Refuse a record a field of which means nothing."""
    cls: type = type(record)
    for name, accepted, default in _accepted_by(cls):
        value = getattr(record, name)
        if value is not default:
            accepted.check(value, _at(where, name), sizes)


def check_word(where: str, value: Any, accepted: Sequence[str]) -> None:
    """Refuse what is not one of some words."""
    if not isinstance(value, str):
        raise PolicyError(f"{where}: found {told(value)}, accepted: {', '.join(accepted)}")
    if value not in accepted:
        above, _, what = where.rpartition(": ")
        raise PolicyError(_at(above, unknown_name(what, value, accepted)))


def _at(where: str, what: str) -> str:
    """Return a place or message below another place."""
    return f"{where}: {what}" if where else what


def told(value: object) -> str:
    """Return a value as messages show it, on one line and shortened."""
    if isinstance(value, np.ndarray):
        return f"an array of {value.dtype} with shape {value.shape}"
    return " ".join(shown(value).split())


@contextmanager
def said_of(what: str) -> Iterator[None]:
    """Let errors of a policy's decisions begin with what they are about, but the policy's name."""
    try:
        yield
    except PolicyError as error:
        if str(error).startswith("policy "):
            raise
        raise PolicyError(f"{what}: {error}") from error


def index_below(n_things: int, value: object, query: str) -> int:
    """Return what a hook asks about as an index; `query` says which operand of which method.

    Raises
    ------
    PolicyError
        When there is no such thing.
    """
    try:
        found = index(value)  # type: ignore[arg-type]
    except TypeError:
        found = -1
    if not 0 <= found < n_things:
        raise PolicyError(f"{query}: found {told(value)}, accepted 0 to {n_things - 1}")
    return found
