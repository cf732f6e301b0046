"""The C header and the checks of ranges."""

import math
from collections.abc import Iterator

from interface_names import (  # type: ignore[import-not-found]  # beside this file
    GIVEN_CLASSES,
    Scope,
    arounds,
    c_type,
    comment,
    flat,
    structs,
)

from simsched.docstrings import summary
from simsched.engine.interface.contents import CODES, GIVEN
from simsched.engine.interface.table import (
    MAX_INT32,
    MAX_INT64,
    Array,
    Bound,
    Member,
    Number,
    OfC,
    Part,
    Range,
    Rising,
    Stream,
    Struct,
    Values,
    struct_of,
)


def header() -> Iterator[str]:
    """Yield the lines of the header that ssk.h includes."""
    yield from ("#ifndef SSK_INTERFACE_H", "#define SSK_INTERFACE_H")
    for codes in CODES:
        yield from ("", *comment(codes.gloss), "enum {")
        for word, number in codes.words.items():
            gloss = "".join(f" {line}" for line in comment(codes.glosses.get(word, "")))
            yield f"    {codes.prefix}{word.upper()} = {number},{gloss}"
        if codes.number:
            yield f"    {codes.number} = {len(codes.words)},"
        yield "};"
    for struct in structs():
        if not is_flattened(struct):
            yield from ("", *comment(summary(struct.cls)), "typedef struct {")
            for name, member in flat(struct):
                yield from declaration(name, member)
            yield f"}} {struct.c_type};"
    yield from ("", "#endif")


def is_flattened(struct: Struct) -> bool:
    """Tell whether a struct is only a part of others, without a C type of its own."""
    found = [
        member.prefix
        for other in structs()
        for member in other.members
        if isinstance(member, Part) and member.cls is struct.cls
    ]
    return bool(found) and not any(prefix.endswith(".") for prefix in found)


def declaration(name: str, member: Member) -> Iterator[str]:
    """Yield the lines of a member of a struct."""
    gloss = member.gloss
    match member:
        case Array():
            line = f"const {c_type(member.dtype)} *{name};"
            shape = " x ".join(member.shape)
            absent = "; may be NULL" * member.optional
            unused = f"; unused where {member.needs} is 0" * bool(member.needs)
            gloss = f"{shape}{absent}{unused}" + (f": {gloss}" if gloss else "")
        case Number():
            line = f"{member.c_type} {name};"
        case Values():
            yield f"    const int64_t *{name};"
            line = f"int32_t {member.size};"
            gloss = f"entries of {name}, the last of which holds beyond them: {gloss}"
        case Stream():
            line = f"ssk_random_t {name};"
        case OfC():
            line = f"{member.c_type} {name};"
        case Part():
            line = f"{struct_of(member.cls).c_type} {name};"
    beside = comment(gloss)
    if len(beside) == 1 and len(line) + len(beside[0]) <= 110:
        yield f"    {line} {beside[0]}"
    else:
        yield from (*comment(gloss, "    "), f"    {line}")


def ranges() -> Iterator[str]:
    """Yield the lines of the file that checks all ranges."""
    yield from ("#include <math.h>", "", '#include "ranges.h"')
    for name, (cls, _) in GIVEN.items():
        yield from checks(Scope(struct_of(cls), name, f"{name}->", "->"), is_given=True)
    graph, _ = GIVEN["graph"]
    members = [name for name, one in flat(struct_of(graph)) if isinstance(one, Array | Number)]
    yield from ("", "bool ssk_is_same_graph(const ssk_graph_t *a, const ssk_graph_t *b)", "{")
    yield (
        "    return " + " &&\n           ".join(f"a->{name} == b->{name}" for name in members) + ";"
    )
    yield "}"


def checks(scope: Scope, *, is_given: bool) -> Iterator[str]:
    """Yield the functions that check a struct and its parts."""
    struct = scope.struct
    parts = [
        member
        for member in struct.members
        if isinstance(member, Part) and member.cls not in GIVEN_CLASSES
    ]
    for part in parts:
        yield from checks(scope.part(part), is_given=False)
    yield from ("", f"{'int' if is_given else 'static int'} {signature(scope, is_given)}", "{")
    for member in struct.members:
        if isinstance(member, Number):
            yield from number_check(scope, member)
    for part in parts:
        called = call(scope.part(part))
        size = next(m.name for m in struct_of(part.cls).members if isinstance(m, Number))
        if part.optional:
            yield f"    if ({scope.part(part).member(size)} != 0)"
            yield f"        CHECK_PART({called});"
        else:
            yield f"    CHECK_PART({called});"
    for member in struct.members:
        if isinstance(member, Array):
            yield from array_check(scope, member)
        if isinstance(member, Values):
            count = scope.member(member.size)
            yield f"    CHECK_NUMBER({count}, 1, INT32_MAX);"
            yield range_check(scope, scope.member(member.name), count, member.within)
    yield from ("    return SSK_OK;", "}")


def signature(scope: Scope, is_given: bool) -> str:
    """Return the head of a function that checks."""
    given = [scope.given, *arounds(scope.struct, scope.given, of_ranges=True)]
    if is_given:
        given = [scope.given, *GIVEN[scope.given][1]]
    types = {name: struct_of(GIVEN[name][0]).c_type for name in given}
    arguments = ", ".join(f"const {types[name]} *{name}" for name in given)
    return f"{function(scope)}({arguments}, ssk_flaw_t *flaw)"


def function(scope: Scope) -> str:
    """Return the name of a function that checks."""
    name = scope.struct.c_type.removesuffix("_t")
    return (
        f"{name}_ranges"
        if scope.struct.cls in GIVEN_CLASSES
        else f"{name.removeprefix('ssk_')}_ranges"
    )


def call(scope: Scope) -> str:
    """Return the call of a function that checks a part."""
    given = [scope.given, *arounds(scope.struct, scope.given, of_ranges=True)]
    return f"{function(scope)}({', '.join(given)}, flaw)"


def number_check(scope: Scope, member: Number) -> Iterator[str]:
    """Yield the check of a number."""
    if member.within is not None:
        place = scope.member(member.name, is_array=False)
        low, high = bounds(scope, member.within)
        yield f"    CHECK_NUMBER({place}, {low}, {high});"


def array_check(scope: Scope, member: Array) -> Iterator[str]:
    """Yield the check of an array."""
    place, within = scope.member(member.name), member.within
    if within is None:
        return
    if isinstance(within, Rising):
        rows = member.shape[0].removesuffix(" + 1")
        count = "(int64_t)" * (" " in rows) + scope.expression(rows)
        check = f"    CHECK_RISING({place}, {count}, {scope.expression(within.end)});"
    else:
        sizes = [scope.expression(size) for size in member.shape]
        count = "(int64_t)" * (len(sizes) > 1) + " * ".join(sizes)
        check = range_check(scope, place, count, within)
    condition = f"{place} != NULL" if member.optional else ""
    if member.needs:
        condition = f"{scope.expression(member.needs)} != 0"
    if condition:
        yield f"    if ({condition})"
    yield "    " * bool(condition) + check


def range_check(scope: Scope, place: str, count: str, within: Range) -> str:
    """Return the check of entries."""
    low, high = bounds(scope, within)
    return f"    CHECK_RANGE({place}, {count}, {low}, {high});"


def bounds(scope: Scope, within: Range) -> tuple[str, str]:
    """Return the two bounds in C."""
    return written(scope, within.low), written(scope, within.high)


def written(scope: Scope, bound: Bound) -> str:
    """Return a bound in C."""
    if isinstance(bound, str):
        return str(scope.expression(bound))
    if bound == math.inf:
        return "INFINITY"
    if isinstance(bound, int) and bound > MAX_INT32:
        return "INT64_MAX" if bound == MAX_INT64 else f"(int64_t)1 << {bound.bit_length() - 1}"
    if isinstance(bound, int) and bound >= 2**16:
        return "INT32_MAX" if bound == MAX_INT32 else f"1 << {bound.bit_length() - 1}"
    return repr(bound)
