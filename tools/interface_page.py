"""The page about the interface of engines."""

import math
from collections.abc import Iterator

from interface_names import structs  # type: ignore[import-not-found]  # beside this file

from simsched.docstrings import summary
from simsched.engine.interface.contents import CODES
from simsched.engine.interface.table import (
    Array,
    Bound,
    Member,
    OfC,
    Part,
    Range,
    Rising,
    struct_of,
)
from simsched.report.markdown import table


def page() -> Iterator[str]:
    """Yield the lines of the page."""
    yield from ("", "# What engines are given", "")
    yield "Either engine gets the same objects. Here is what every array and number of them means,"
    yield "and what the native engine turns away; sizes are named as in its C structs. Arrays that"
    yield "may be missing are `optional`."
    for struct in structs():
        yield from ("", f"## {struct.cls.__name__}", "", summary(struct.cls), "")
        members = [member for member in struct.members if not isinstance(member, OfC)]
        yield from table(["name", "shape", "range", "meaning"], [row(one) for one in members])
    yield from ("", "## Codes")
    for codes in CODES:
        yield from ("", f"{codes.gloss}", "")
        words = [[f"`{word}`", str(number)] for word, number in codes.words.items()]
        head = ["word", "number"]
        if codes.glosses:
            head = [*head, "meaning"]
            words = [
                [*line, codes.glosses[word]] for line, word in zip(words, codes.words, strict=True)
            ]
        yield from table(head, words)


def row(member: Member) -> list[str]:
    """Return the cells of a member."""
    shape = ""
    if isinstance(member, Array):
        shape = f"{member.dtype} [{', '.join(member.shape)}]" + " optional" * member.optional
    if isinstance(member, Part):
        shape = struct_of(member.cls).cls.__name__
    return [f"`{member.name}`", shape, limits(getattr(member, "within", None)), member.gloss]


def limits(within: Range | Rising | None) -> str:
    """Return a range in words."""
    if within is None:
        return ""
    if isinstance(within, Rising):
        return f"0, ascending, to {within.end}"
    return f"{bound(within.low)} to {bound(within.high)}"


def bound(value: Bound) -> str:
    """Return a bound as it is read."""
    if isinstance(value, int) and value >= 2**16:
        power = value.bit_length() - (value.bit_count() == 1)
        return f"2**{power}" + " - 1" * (value.bit_count() > 1)
    return "infinity" if value == math.inf else str(value)
