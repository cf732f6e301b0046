"""The words in which the interface is described.

A class under :func:`interface` is a frozen dataclass whose fields say what a kernel has to know:
shape, range and meaning. The type of an array's entries is that of its annotation. Shapes and
ranges name sizes and numbers of the same class, or of what surrounds it; an expression over them
is one of C.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import Field, dataclass, field, fields
from dataclasses import replace as changed
from types import NoneType
from typing import Any, Self, TypeVar, dataclass_transform, get_args, get_type_hints, overload

import numpy as np

from simsched.docstrings import parameter_texts

T = TypeVar("T")

Bound = int | float | str  #: a number or an expression

MAX_INT32, MAX_INT64 = 2**31 - 1, 2**63 - 1


@dataclass(frozen=True)
class Range:
    """Between which two bounds, included, every entry lies."""

    low: Bound
    high: Bound


@dataclass(frozen=True)
class Rising:
    """Entries begin with 0, never fall and end with a size: rows of another array begin there."""

    end: str


def index(size: str, *, none: bool = False) -> Range:
    """Return the range of the index of one of so many things, or of -1 for none too."""
    return Range("SSK_NONE" if none else 0, f"{size} - 1")


#: what expressions that are used as bounds amount to
KNOWN = {
    "SSK_NONE": -1,
    "SSK_NEVER": 2**62,
    "SSK_NEVER - 1": 2**62 - 1,
    "SSK_NEVER / 2": 2**61,
    "SSK_MAX_COST_PS": 2**52,
    "INT32_MAX - 1": MAX_INT32 - 1,
    "INT64_MAX / 4": MAX_INT64 // 4,
    "INT64_MAX / 16": MAX_INT64 // 16,
}
DURATION_PS = Range(0, "SSK_MAX_COST_PS")
INSTANT_PS = Range(0, "SSK_NEVER - 1")
NATURAL = Range(0, MAX_INT32)
COUNT = Range(1, MAX_INT32)
FEW = Range(1, 2**20)  #: each costs memory, even if nothing belongs to it
LENGTH = Range(0, MAX_INT64)
BYTES = Range(0, 2**52)
MANY_BYTES = Range(0, "INT64_MAX / 4")
FLAG = Range(0, 1)
SHARE = Range(0.0, 1.0)
RATE = Range(1e-300, math.inf)
FINITE_RATE = Range(1e-300, 1e300)


@dataclass(frozen=True)
class Member:
    """What all kinds of members have: a name and what it means."""

    name: str
    gloss: str


@dataclass(frozen=True)
class Array(Member):
    """An array, or none where `optional`; where the number `needs` is 0 it is not used."""

    dtype: str
    shape: tuple[str, ...]
    within: Range | Rising | None
    optional: bool
    needs: str


@dataclass(frozen=True)
class Number(Member):
    """A number that is given."""

    c_type: str
    within: Range | None


@dataclass(frozen=True)
class Count(Number):
    """A number that follows from an array: an axis's length or the largest entry, plus some."""

    of: str
    axis: int | None
    plus: int


@dataclass(frozen=True)
class Values(Member):
    """One number or more as a tuple; `size` is how many there are."""

    size: str
    within: Range


@dataclass(frozen=True)
class Stream(Member):
    """A bit generator."""


@dataclass(frozen=True)
class OfC(Member):
    """What only C knows, and its type."""

    c_type: str


@dataclass(frozen=True)
class Part(Member):
    """What another class describes, under a prefix; one that ends in a dot is a C struct."""

    prefix: str
    cls: type
    optional: bool


@dataclass(frozen=True)
class Struct:
    """A class of Python and the C struct that carries it."""

    c_type: str
    cls: type
    members: tuple[Member, ...]


class Size:
    """How many of something there are, by arrays; of an instance of a class: the number."""

    def __init__(self, of: str, axis: int | None, plus: int, within: Range, gloss: str) -> None:
        self.of, self.axis, self.plus, self.within, self.gloss = of, axis, plus, within, gloss
        self.name = ""

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    @overload
    def __get__(self, instance: None, owner: type) -> Self: ...
    @overload
    def __get__(self, instance: object, owner: type) -> int: ...
    def __get__(self, instance: object | None, owner: type) -> Self | int:
        if instance is None:
            return self
        array = getattr(instance, self.of)
        least = array.max(initial=-1) if self.axis is None else array.shape[self.axis]
        return int(least) + self.plus


def length(
    of: str, *, axis: int = 0, within: Range = NATURAL, plus: int = 0, gloss: str = ""
) -> Size:
    """Return the length of an array's axis."""
    return Size(of, axis, plus, within, gloss)


def largest(of: str, *, plus: int = 1, within: Range = COUNT, gloss: str = "") -> Size:
    """Return one more than the largest entry of an array."""
    return Size(of, None, plus, within, gloss)


def array(
    *shape: str,
    gloss: str = "",
    within: Range | Rising | None = None,
    optional: bool = False,
    needs: str = "",
) -> Any:
    """Return the field of an array."""
    return _field(Array("", gloss, "", shape, within, optional, needs))


def number(within: Range | None = None, gloss: str = "") -> Any:
    """Return the field of a number."""
    return _field(Number("", gloss, "", within))


def stream(gloss: str = "") -> Any:
    """Return the field of a bit generator."""
    return _field(Stream("", gloss))


def part(prefix: str, *, gloss: str = "") -> Any:
    """Return the field of an object that is described too."""
    return _field(Part("", gloss, prefix, object, False))


def _field(member: Member) -> Any:
    return field(metadata={"member": member})


@dataclass_transform(
    frozen_default=True,
    eq_default=False,
    kw_only_default=True,
    field_specifiers=(array, number, stream, part),
)
def interface(c_type: str, *also: OfC) -> Callable[[type[T]], type[T]]:
    """Return what makes a class a dataclass with a description; C alone knows of what is `also`."""

    def made(cls: type[T]) -> type[T]:
        order = [name for name, value in vars(cls).items() if isinstance(value, Field | Size)]
        known = dataclass(frozen=True, eq=False, kw_only=True)(cls)
        given = {item.name: item for item in fields(known)}  # type: ignore[arg-type]
        hints = get_type_hints(known)
        members = [
            _member(name, given[name].metadata["member"], hints[name])
            if name in given
            else _count(vars(known)[name])
            for name in order
        ]
        _structs[known] = Struct(c_type, known, (*members, *also))
        return known

    return made


_structs: dict[type, Struct] = {}


def struct_of(cls: type) -> Struct:
    """Return the description of a class."""
    return _structs[cls]


def describe(cls: type, c_type: str, members: Mapping[str, Any], *also: OfC) -> None:
    """Describe a class of another room, whose docstring says what its fields mean."""
    texts, hints = parameter_texts(cls), get_type_hints(cls)
    found: list[Member] = []
    for name, given in members.items():
        if isinstance(given, Size):
            given.name = name
            found.append(_count(given))
        elif isinstance(given, Member):
            found.append(given)
        else:
            member = _member(name, given.metadata["member"], hints[name])
            found.append(changed(member, gloss=member.gloss or texts[name].split(". ")[0]))
    _structs[cls] = Struct(c_type, cls, (*found, *also))


def _count(size: Size) -> Count:
    c_type = "int64_t" if size.within.high == MAX_INT64 else "int32_t"
    return Count(size.name, size.gloss, c_type, size.within, size.of, size.axis, size.plus)


def _member(name: str, member: Any, hint: Any) -> Member:
    """Return a member with what its name and annotation say."""
    choices = [choice for choice in get_args(hint) if choice is not NoneType]
    is_optional = NoneType in get_args(hint)
    plain = choices[0] if is_optional else hint
    if isinstance(member, Array):
        dtype = np.dtype(get_args(get_args(plain)[1])[0]).name
        optional = member.optional or is_optional
        return changed(member, name=name, dtype=dtype, optional=optional)
    if isinstance(member, Number):
        wide = name.endswith(("_ps", "_bytes"))
        c_type = "double" if plain is float else "int64_t" if wide else "int32_t"
        within = FLAG if plain is bool else member.within
        return changed(member, name=name, c_type=c_type, within=within)
    if isinstance(member, Part):
        return changed(member, name=name, cls=plain, optional=is_optional)
    assert isinstance(member, Member)
    return changed(member, name=name)
