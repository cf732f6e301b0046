"""Declarations of the kernel's structs for its binding, and how the binding fills them."""

from collections.abc import Iterator

from interface_c import is_flattened  # type: ignore[import-not-found]  # beside this file
from interface_names import (  # type: ignore[import-not-found]
    GIVEN_CLASSES,
    Scope,
    arounds,
    c_type,
    flat,
    structs,
)

from simsched.engine.interface.contents import GIVEN
from simsched.engine.interface.table import (
    KNOWN,
    MAX_INT32,
    MAX_INT64,
    Array,
    Bound,
    Count,
    Member,
    Number,
    OfC,
    Part,
    Stream,
    Values,
    struct_of,
)


def declarations() -> Iterator[str]:
    """Yield the declarations of all structs."""
    yield 'cdef extern from "ssk.h" nogil:'
    for number, struct in enumerate(one for one in structs() if not is_flattened(one)):
        yield from [""] * bool(number)
        yield f"    ctypedef struct {struct.c_type}:"
        for name, member in flat(struct):
            yield from (f"        {line}" for line in declared(name, member))


def declared(name: str, member: Member) -> Iterator[str]:
    """Yield the declarations of a member."""
    match member:
        case Array():
            yield f"const {c_type(member.dtype)} *{name}"
        case Number() | OfC():
            yield f"{member.c_type} {name}"
        case Values():
            yield from (f"const int64_t *{name}", f"int32_t {member.size}")
        case Stream():
            yield f"ssk_random_t {name}"
        case Part():
            yield f"{struct_of(member.cls).c_type} {name}"


def fills() -> Iterator[str]:
    """Yield the functions that take over objects of Python."""
    for name, (cls, _) in GIVEN.items():
        yield from fill(Scope(struct_of(cls), name, "c.", "."), name)


def fill(scope: Scope, owner: str) -> Iterator[str]:
    """Yield the functions that take over an object and its parts."""
    struct = scope.struct
    parts = [member for member in struct.members if isinstance(member, Part)]
    for part in parts:
        if part.cls not in GIVEN_CLASSES:
            yield from fill(scope.part(part), part.name)
    yield from ("", "")
    yield f"cdef int _fill_{owner}({', '.join(parameters(scope, owner))}) except -1:"
    yield f'    """Take over a {struct.cls.__name__}."""'
    for kind in (Number, Part, Array, Values, Stream):
        for member in struct.members:
            if isinstance(member, kind):
                yield from (f"    {line}" for line in filled(scope, owner, member))
    yield "    return 0"


def parameters(scope: Scope, owner: str) -> list[str]:
    """Return the parameters of a function that takes over an object."""
    others = arounds(scope.struct, scope.given, of_ranges=False)
    pointers = [f"const {struct_of(GIVEN[name][0]).c_type} *{name}" for name in others]
    own = struct_of(GIVEN[scope.given][0]).c_type
    return [f"{own} *c", f"object {owner}", *pointers, "list kept"]


def filled(scope: Scope, owner: str, member: Member) -> Iterator[str]:
    """Yield the statements that take over a member."""
    value = f"{owner}.{member.name}"
    match member:
        case Number():
            place = scope.member(member.name, is_array=False)
            yield f"{place} = {taken(scope, member, value)}"
        case Part():
            yield from part_filled(scope, member, value)
        case Array():
            place, indent = scope.member(member.name), ""
            if member.optional:
                yield f"if {value} is not None:"
                indent = "    "
            elif member.needs:
                yield f"if {scope.expression(member.needs)}:"
                indent = "    "
            shape = "".join(f"{exact(scope, size)}, " for size in member.shape).strip()
            shape = shape if len(member.shape) == 1 else shape.removesuffix(",")
            dtype = "bool_" if member.dtype == "bool" else member.dtype
            data = f'_array(kept, {owner}, "{member.name}", np.{dtype}, ({shape}))'
            line = f"{indent}{place} = <const {c_type(member.dtype)} *>{data}"
            if len(line) <= 114:
                yield line
            else:
                head, tail = line.split("_array(", 1)
                yield from (f"{head}_array(", f"{indent}    {tail[:-1]}", f"{indent})")
        case Values():
            name, number = what(scope, member.name), scope.member(member.size)
            yield f'{scope.member(member.name)} = _values(kept, {value}, "{name}", &{number})'
        case Stream():
            yield f"{scope.member(member.name)} = _random(kept, {value})"


def part_filled(scope: Scope, member: Part, value: str) -> Iterator[str]:
    """Yield the statements that take over a part."""
    inner = scope.part(member)
    own = f"&c.{member.prefix[:-1]}" if member.cls in GIVEN_CLASSES else "c"
    given = GIVEN_CLASSES.get(member.cls, scope.given)
    others = arounds(inner.struct, given, of_ranges=False)
    called = f"_fill_{member.name}({', '.join([own, value, *others, 'kept'])})"
    if member.optional:
        yield f"if {value} is not None:"
        yield f"    {called}"
    else:
        yield called


def taken(scope: Scope, member: Number, value: str) -> str:
    """Return the expression for a number."""
    if member.c_type == "double":
        return value
    least, most = (
        (-MAX_INT32 - 1, MAX_INT32) if member.c_type == "int32_t" else (-MAX_INT64 - 1, MAX_INT64)
    )
    within = member.within
    low = least if within is None else known(within.low, least)
    high = most if within is None else known(within.high, most)
    if isinstance(member, Count):
        owner, at = value.rpartition(".")[0], f', "{member.of}"'
        axis = "" if member.axis is None else f", {member.axis}"
        name = "_largest" if member.axis is None else "_length"
        plus = f" {'+' if member.plus > 0 else '-'} {abs(member.plus)}" if member.plus else ""
        value = f"{name}({owner}{at}{axis}){plus}"
    return f'_whole({value}, "{what(scope, member.name)}", {limit(low)}, {limit(high)})'


def limit(value: int) -> str:
    """Return a bound of C integers."""
    if abs(value) < 2**20:
        return str(value)
    names = {MAX_INT32: "MAX_INT32", MAX_INT64: "MAX_INT64"}
    power = value.bit_length() - (value.bit_count() == 1)
    return names.get(value, f"2**{power}" + " - 1" * (value.bit_count() > 1))


def known(bound: Bound, otherwise: int) -> int:
    """Return a bound that does not depend on anything, or the C type's."""
    if isinstance(bound, str):
        return KNOWN.get(bound, otherwise)
    return int(bound)


def what(scope: Scope, name: str) -> str:
    """Return how messages call a member."""
    return f"{scope.struct.cls.__name__}.{name}"


def exact(scope: Scope, size: str) -> str:
    """Return a size in 64 bits."""
    text = scope.expression(size)
    return text if size.isidentifier() else f"<int64_t>{text}"
