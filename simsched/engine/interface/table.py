"""The words in which the interface is described.

A class under :func:`interface` is a frozen dataclass whose fields say what a kernel has to know:
shape, range, meaning; the type is that of the annotation. Shapes and ranges name sizes and numbers
of the same class or of what surrounds it; an expression over them is one of C.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import Field, dataclass, field, replace
from types import MappingProxyType, NoneType
from typing import Any, Self, TypeVar, dataclass_transform, get_args, get_type_hints, overload

import numpy as np

T = TypeVar("T")
Bound = int | float | str  #: a number or an expression


@dataclass(frozen=True)
class Range:
    """Between which two bounds, included, every entry lies."""

    low: Bound
    high: Bound


@dataclass(frozen=True)
class Rising:
    """Entries begin with 0, never fall and end with a size: rows of another array begin there."""

    end: str


def index(size: str) -> Range:
    """Return the range of the index of one of so many things."""
    return Range(0, f"{size} - 1")


def index_or_none(size: str) -> Range:
    """Return the range of an index or -1."""
    return Range("SSK_NONE", f"{size} - 1")


DURATION_PS = Range(0, "SSK_MAX_COST_PS")
INSTANT_PS = Range(0, "SSK_NEVER - 1")
NATURAL = Range(0, "INT32_MAX")
COUNT = Range(1, "INT32_MAX")
FEW = Range(1, "1 << 20")  #: each costs memory, even if nothing belongs to it
LENGTH = Range(0, "INT64_MAX")
BYTES = Range(0, "(int64_t)1 << 52")
MANY_BYTES = Range(0, "INT64_MAX / 4")
FLAG = Range(0, 1)
SHARE = Range(0.0, 1.0)
RATE = Range(1e-300, math.inf)
FINITE_RATE = Range(1e-300, 1e300)


@dataclass(frozen=True)
class Member:
    """What one name of a class means to C; what does not apply is empty.

    It is an array, a number, a size that follows from an array, a tuple of values, a random stream,
    a part with a description of its own, or a member of C alone.
    """

    kind: str
    gloss: str = ""
    within: Range | Rising | None = None
    shape: tuple[str, ...] = ()  #: of an array
    optional: bool = False  #: may be missing
    needs: str = ""  #: number without which an array is not used
    of: str = ""  #: of a size: array
    axis: int | None = None  #: of which the size is the length; None: of the largest entry
    plus: int = 0  #: more than that
    prefix: str = ""  #: of the members of a part; with a dot at its end they are a C struct
    name: str = ""
    c_type: str = ""
    dtype: str = ""  #: of NumPy
    cls: type = object  #: of a part


@dataclass(frozen=True)
class Struct:
    """A class of Python and the C struct that carries it."""

    c_type: str
    cls: type
    members: tuple[Member, ...]


class Size:
    """A member that is the size of others; of an instance of a class: the number."""

    def __init__(self, member: Member) -> None:
        self.member = member

    @overload
    def __get__(self, instance: None, owner: type) -> Self: ...
    @overload
    def __get__(self, instance: object, owner: type) -> int: ...
    def __get__(self, instance: object | None, owner: type) -> Self | int:
        if instance is None:
            return self
        array, axis = getattr(instance, self.member.of), self.member.axis
        return int(array.max(initial=-1) if axis is None else array.shape[axis]) + self.member.plus


def length(
    of: str, within: Range = NATURAL, gloss: str = "", *, axis: int = 0, plus: int = 0
) -> Size:
    """Return the length of an array's axis."""
    return Size(Member("size", gloss, within, of=of, axis=axis, plus=plus))


def largest(of: str, within: Range = COUNT, gloss: str = "", *, plus: int = 1) -> Size:
    """Return one more than the largest entry of an array."""
    return Size(Member("size", gloss, within, of=of, plus=plus))


def array(
    shape: str,
    within: Range | Rising | None = None,
    gloss: str = "",
    *,
    optional: bool = False,
    needs: str = "",
) -> Any:
    """Return the field of an array."""
    axes = tuple(shape.split(", "))
    return _field(Member("array", gloss, within, axes, optional, needs))


def number(within: Range = FLAG, gloss: str = "") -> Any:
    """Return the field of a number."""
    return _field(Member("number", gloss, within))


def values(within: Range, gloss: str = "") -> Any:
    """Return the field of a tuple."""
    return _field(Member("values", gloss, within))


def stream(gloss: str) -> Any:
    """Return the field of a bit generator."""
    return _field(Member("stream", gloss))


def part(prefix: str, gloss: str = "") -> Any:
    """Return the field of an object that is described too."""
    return _field(Member("part", gloss, prefix=prefix))


def of_c(c_type: str, name: str, gloss: str) -> Member:
    """Return a member of the C struct that Python knows nothing of."""
    return Member("c", gloss, name=name, c_type=c_type)


def _field(member: Member) -> Any:
    return field(metadata={"member": member})


_structs: dict[type, Struct] = {}


def struct_of(cls: type) -> Struct:
    """Return the description of a class."""
    return _structs[cls]


@dataclass_transform(
    frozen_default=True,
    eq_default=False,
    kw_only_default=True,
    field_specifiers=(array, number, part, stream),
)
def interface(c_type: str, *also: Member) -> Callable[[type[T]], type[T]]:
    """Return what makes a class a dataclass with a description."""

    def made(cls: type[T]) -> type[T]:
        given = {name: item for name, item in vars(cls).items() if isinstance(item, Field | Size)}
        known = dataclass(frozen=True, eq=False, kw_only=True)(cls)
        describe(known, c_type, given, *also)
        return known

    return made


def describe(
    cls: type,
    c_type: str,
    given: Mapping[str, Any],
    *also: Member,
    texts: Mapping[str, str] = MappingProxyType({}),
) -> None:
    """Describe a class; `texts` say what members mean whose description does not."""
    hints = get_type_hints(cls)
    members = [
        _named(name, item, hints.get(name), texts.get(name, "")) for name, item in given.items()
    ]
    _structs[cls] = Struct(c_type, cls, (*members, *also))


def _named(name: str, given: Field[Any] | Size, hint: Any, text: str) -> Member:
    """Return a member with what its name and annotation say."""
    member: Member = given.member if isinstance(given, Size) else given.metadata["member"]
    plain = next((one for one in get_args(hint) if NoneType in get_args(hint)), hint)
    wide = name.endswith(("_ps", "_bytes")) or member.within == LENGTH
    c_type, dtype = "double" if plain is float else "int64_t" if wide else "int32_t", ""
    if member.kind == "array":
        dtype = np.dtype(_scalar(plain)).name
        c_type = {"float64": "double", "bool": "uint8_t"}.get(dtype, f"{dtype}_t")
    return replace(
        member,
        name=name,
        gloss=member.gloss or text.split(". ")[0].rstrip("."),
        c_type=c_type,
        dtype=dtype,
        optional=member.optional or NoneType in get_args(hint),
        cls=plain if member.kind == "part" else object,
    )


def _scalar(array_type: Any) -> type:
    """Return what `NDArray[scalar]` holds; from NumPy 2.5 on that is an alias not yet resolved."""
    last: type = get_args(array_type)[-1]
    return next(iter(get_args(last)), last)
