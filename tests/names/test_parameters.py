"""Numbers that may be text with a unit: the name of a parameter says which units these are."""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal

import pytest

from simsched.files.errors import ConfigurationError
from simsched.names.parameters import Bounds, OpsPerS, Parameter, of_hint, parameters_of


@pytest.mark.parametrize(
    ("parameter", "text", "value"),
    [
        (Parameter("page_bytes", int, 4096), "2 MiB", 2097152),
        (Parameter("bytes", int, 1), "1.5 kB", 1500),
        (Parameter("top_speed", float, 1.0), "2.9 GHz", 2.9e9),
        (of_hint("reference_speed", OpsPerS | None), "3 Mops/s", 3e6),
    ],
)
def test_a_text_with_a_unit(parameter: Parameter, text: str, value: float) -> None:
    assert parameter.checked(text, "here") == value
    assert type(parameter.checked(text, "here")) is parameter.type


@pytest.mark.parametrize(
    ("parameter", "wrong", "accepted"),
    [
        (
            Parameter("page_bytes", int, 4096, Bounds(1)),
            0,
            "a whole number, 1 or more, or text with a unit such as '4 GiB'",
        ),
        (
            Parameter("top_speed", float, 1.0, Bounds(5)),
            0,
            "a finite number, 5 or more, or text with a unit such as '2.9 GHz'",
        ),
        (Parameter("speedup", float, 1.0), "2 GHz", "a finite number"),
        (Parameter("bytes_read", int, 1), "2 MiB", "a whole number"),
    ],
)
def test_what_else_is_accepted_is_said_alike(
    parameter: Parameter, wrong: Any, accepted: str
) -> None:
    with pytest.raises(ConfigurationError, match=re.escape(f", accepted {accepted}") + "$"):
        parameter.checked(wrong, "here")


def test_text_beside_a_number_needs_a_unit() -> None:
    with pytest.raises(ValueError, match=r"parameter tasks: type float \| str is not supported"):
        of_hint("tasks", float | str)


def test_functions_with_wrong_limits_or_defaults_are_refused() -> None:
    def few(*, tasks: Annotated[int, Bounds(1)] = 0) -> None: ...

    def other(*, order: Literal["up", "down"] = "left") -> None: ...  # type: ignore[assignment]

    def turned(*, tasks: Annotated[int, Bounds(4, 2)] = 3) -> None: ...

    for function, message in (
        (few, "few: parameter tasks: default: found 0, accepted a whole number, 1 or more"),
        (other, "other: parameter order: default: unknown value 'left'; accepted: down, up"),
        (turned, "turned: parameter tasks: low: found 4, accepted at most high, 2"),
    ):
        with pytest.raises(ValueError, match=re.escape(message)):
            parameters_of(function)
