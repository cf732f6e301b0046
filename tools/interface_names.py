"""How generated code writes the names and expressions of the interface's description."""

import re
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass

from simsched.engine.interface.contents import GIVEN
from simsched.engine.interface.table import Array, Member, Part, Range, Rising, Struct, struct_of

WIDTH = 118
C_TYPES = {"float64": "double", "bool": "uint8_t"}
GIVEN_CLASSES = {cls: name for name, (cls, _) in GIVEN.items()}


def structs() -> Iterator[Struct]:
    """Yield all descriptions, those of parts before those that have them."""
    seen: set[type] = set()

    def found(cls: type) -> Iterator[Struct]:
        if cls in seen:
            return
        seen.add(cls)
        struct = struct_of(cls)
        for member in struct.members:
            if isinstance(member, Part):
                yield from found(member.cls)
        yield struct

    for cls, _ in GIVEN.values():
        yield from found(cls)


def flat(struct: Struct) -> Iterator[tuple[str, Member]]:
    """Yield the members of a C struct with their names; nested structs are members."""
    for member in struct.members:
        if isinstance(member, Part) and not member.prefix.endswith("."):
            for name, inner in flat(struct_of(member.cls)):
                yield member.prefix * isinstance(inner, Array) + name, inner
        else:
            yield member.name, member


def c_type(dtype: str) -> str:
    """Return the C type of an array's entries."""
    return C_TYPES.get(dtype, f"{dtype}_t")


@dataclass(frozen=True)
class Scope:
    """One struct, or a part of it, in a function that is given a pointer to it.

    Parameters
    ----------
    struct : Struct
        What the members are of.
    given : str
        Name in GIVEN of what the function is about.
    own : str
        How members of that are reached: the pointer, with ``->`` or ``.`` after it.
    prefix : str
        Of the members of `struct` there.
    """

    struct: Struct
    given: str
    own: str
    arrow: str
    prefix: str = ""

    def part(self, member: Part) -> "Scope":
        """Return the scope of a part."""
        prefix = self.prefix + member.prefix
        return Scope(struct_of(member.cls), self.given, self.own, self.arrow, prefix)

    def member(self, name: str, *, is_array: bool = True) -> str:
        """Return how a member is reached."""
        flattened = "" if self.prefix.endswith(".") or is_array else self.prefix
        return self.own + self.prefix.removeprefix(flattened) + name

    def _names(self) -> Iterator[tuple[str, str]]:
        for around in reversed(GIVEN[self.given][1]):
            for name, member in flat(struct_of(GIVEN[around][0])):
                if not isinstance(member, Array):
                    yield name, around + self.arrow + name
        for name, member in flat(struct_of(GIVEN[self.given][0])):
            if not isinstance(member, Array):
                yield name, self.own + name
        if self.prefix.endswith("."):
            for member in self.struct.members:
                if not isinstance(member, Array):
                    yield member.name, self.own + self.prefix + member.name

    def expression(self, text: str) -> str:
        """Return an expression with the names of sizes and numbers as they are reached."""
        names = dict(self._names())
        return re.sub(r"[A-Za-z_]\w*", lambda found: names.get(found[0], found[0]), text)


def arounds(struct: Struct, given: str, *, of_ranges: bool) -> list[str]:
    """Return what a function about a struct needs to be given besides it, of GIVEN."""
    texts = list(_expressions(struct, of_ranges=of_ranges))
    scope = Scope(struct, given, "self.", ".")
    written = " ".join(scope.expression(text) for text in texts)
    return [name for name in GIVEN[given][1] if f"{name}." in written]


def _expressions(struct: Struct, *, of_ranges: bool) -> Iterator[str]:
    for member in struct.members:
        if isinstance(member, Array):
            yield from (*member.shape, member.needs)
        within = getattr(member, "within", None) if of_ranges else None
        if isinstance(within, Range):
            yield from (str(within.low), str(within.high))
        if isinstance(within, Rising):
            yield within.end
        if isinstance(member, Part) and member.cls not in GIVEN_CLASSES:
            yield from _expressions(struct_of(member.cls), of_ranges=of_ranges)


def comment(text: str, indent: str = "") -> list[str]:
    """Return a C comment in lines."""
    if not text:
        return []
    if len(indent) + len(text) + 6 <= WIDTH:
        return [f"{indent}/* {text} */"]
    lines = textwrap.wrap(text, WIDTH - len(indent) - 3)
    return [f"{indent}/*", *(f"{indent} * {line}" for line in lines), f"{indent} */"]
