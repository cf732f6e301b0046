"""Values in machine files: quantities with their source, ``[value, source]``."""

from __future__ import annotations

from typing import Annotated, Any, Generic, TypeVar, get_args

import numpy as np
from pydantic import AfterValidator, BeforeValidator, Field, GetCoreSchemaHandler
from pydantic_core import CoreSchema, PydanticCustomError, core_schema

from simsched.files.units import (
    parse_bandwidth,
    parse_frequency,
    parse_seconds,
    parse_size,
    parse_time,
)
from simsched.files.yaml_reader import FieldError
from simsched.names.yaml_fields import as_list

Value = TypeVar("Value", covariant=True)
Other = TypeVar("Other")


class Sourced(Generic[Value]):
    """A value and where it comes from, written ``[value, source]``."""

    def __init__(self, value: Value, source: str) -> None:
        self.value = value
        self.source = source

    @classmethod
    def __get_pydantic_core_schema__(
        cls, source_type: Any, handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        """Return the schema that checks the pair, then its parts, then builds the object."""
        (value_type,) = get_args(source_type)
        pair = core_schema.tuple_positional_schema(
            [handler.generate_schema(value_type), core_schema.str_schema(min_length=1)],
            strict=False,
        )
        return core_schema.chain_schema(
            [
                core_schema.no_info_plain_validator_function(_check_pair),
                pair,
                core_schema.no_info_plain_validator_function(lambda parts: cls(*parts)),
            ]
        )


def value_or(given: Sourced[Value] | None, other: Other) -> Value | Other:
    """Return a value of a file, or another one where the file has none."""
    return other if given is None else given.value


def expanded(given: Sourced[list[tuple[int, float]]] | None) -> tuple[float, ...]:
    """Return a curve with 1, 2, ... flows up to the last number that is given, empty for none."""
    if given is None:
        return ()
    counts, rates = zip(*given.value, strict=True)
    return tuple(np.interp(np.arange(1, counts[-1] + 1), counts, rates).tolist())


def _check_pair(data: object) -> object:
    if isinstance(data, list) and len(data) == 2 and isinstance(data[1], str) and data[1].strip():
        return data
    raise PydanticCustomError(
        "sourced", "Input should be [value, source]: every value has a source"
    )


def _positive(value: int) -> int:
    if value <= 0:
        raise ValueError("found zero, accepted: more than zero")
    return value


def _within_limits(hertz: float) -> float:
    """Check a clock: simulated times have to stay within what engines can count."""
    if not 1.0 <= hertz <= 1e15:
        raise ValueError(f"found {hertz:g} Hz, accepted: 1 Hz to 1000 THz")
    return hertz


Bandwidth = Annotated[float, BeforeValidator(parse_bandwidth)]
Frequency = Annotated[float, BeforeValidator(parse_frequency), AfterValidator(_within_limits)]
Time = Annotated[int, BeforeValidator(parse_time)]
OperationTime = Annotated[float, BeforeValidator(parse_seconds)]


def by_size(data: object) -> object:
    """Return a time, or a mapping of sizes to times, as pairs of them by size."""
    if not isinstance(data, dict):
        return [(1, data)]
    if not data:
        raise ValueError("found no size, accepted: a time, or a mapping of sizes to times")
    times: dict[int, object] = {}
    for text, time in data.items():
        size = _positive(parse_size(text))
        if size in times:
            raise ValueError(f"found {text!r} twice, accepted: each size once")
        times[size] = time
    return sorted(times.items())


OperationTimes = Annotated[list[tuple[int, OperationTime]], BeforeValidator(by_size)]


def positive_size(text: object) -> int:
    """Return a size above zero in bytes."""
    return _positive(parse_size(text))


Size = Annotated[int, BeforeValidator(positive_size)]


def size_or_none(text: object) -> int:
    """Return a size in bytes; 0 stands for nothing."""
    return parse_size(text)


SizeOrNone = Annotated[int, BeforeValidator(size_or_none)]


def sizes_in_bytes(data: object) -> object:
    """Return a mapping whose keys are sizes as one whose keys are bytes."""
    if not isinstance(data, dict):
        return data
    found: dict[int, object] = {}
    for text, value in data.items():
        try:
            size = _positive(parse_size(text))
        except ValueError as error:
            raise FieldError((text,), str(error)) from error
        if size in found:
            raise FieldError((text,), f"found {size} bytes twice, accepted: each size once")
        found[size] = value
    return found


def by_flows(data: object) -> object:
    """Return bandwidths by number of flows, as pairs by number: a list from 1 on, or a mapping."""
    if not isinstance(data, dict):
        return list(enumerate(data, 1)) if isinstance(data, list) else data
    if not data:
        raise ValueError("found no number of flows, accepted: at least one")
    for count in data:
        if isinstance(count, bool) or not isinstance(count, int) or not 1 <= count <= MOST_FLOWS:
            raise FieldError((str(count),), f"accepted: numbers of flows from 1 to {MOST_FLOWS}")
    return sorted(data.items())


MOST_FLOWS = 65536
#: Bandwidth by the number of flows at the same time; between two numbers it is linear.
#: Slope and bend of a latency under load.
Growth = Annotated[
    tuple[
        Annotated[float, Field(ge=0.0, le=100.0)],
        Annotated[float, Field(ge=0.0, le=0.99)],
    ],
    BeforeValidator(lambda data: tuple(data) if isinstance(data, list) else data),
]
Curve = Annotated[list[tuple[int, Bandwidth]], BeforeValidator(by_flows), Field(min_length=1)]
Durations = Annotated[list[OperationTime], Field(min_length=2, max_length=2)]
Count = Annotated[int, Field(ge=1, le=65536)]
Index = Annotated[int, Field(ge=0)]
Factor = Annotated[float, Field(gt=0)]
Weight = Annotated[float, Field(ge=1)]
Share = Annotated[float, Field(ge=0, le=1)]
EffectiveCapacities = Annotated[list[Size], Field(min_length=1, max_length=64)]
Name = Annotated[str, Field(pattern=r"^[A-Za-z][A-Za-z0-9_.-]*$", max_length=64)]


Bandwidths = Annotated[list[Bandwidth], BeforeValidator(as_list), Field(min_length=1)]
Times = Annotated[list[Time], BeforeValidator(as_list), Field(min_length=1)]
Indices = Annotated[list[Index], BeforeValidator(as_list), Field(min_length=1)]
