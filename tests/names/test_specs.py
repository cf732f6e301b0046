"""Specs such as ``bats[sample_pages=8]``: what they mean, and at which character they go wrong."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from simsched.files.errors import ConfigurationError
from simsched.names.specs import format_spec, parse_spec, split_outside

NAMES = st.from_regex(r"[a-z][a-z0-9_]*", fullmatch=True)
VALUES = st.one_of(
    st.booleans(), st.none(), st.integers(), st.floats(allow_nan=False), st.text(max_size=12)
)


@pytest.mark.parametrize(
    ("text", "name", "params"),
    [
        ("heat", "heat", {}),
        ("heat[]", "heat", {}),
        (" heat [ rows = 8 , ] ", "heat", {"rows": 8}),
        ("a[x=TRUE,y=False,z=null]", "a", {"x": True, "y": False, "z": None}),
        ("a[x=-1,y=.5,z=1e3,w=inf]", "a", {"x": -1, "y": 0.5, "z": 1000.0, "w": math.inf}),
        ("a[x=2 MiB,y=1_000,z=none]", "a", {"x": "2 MiB", "y": "1_000", "z": "none"}),
        ("a[x='8',y=\"a, [b]\",z='it''s']", "a", {"x": "8", "y": "a, [b]", "z": "it's"}),
        ("a[x='']", "a", {"x": ""}),
        ("a[x=b=c]", "a", {"x": "b=c"}),
        ("d/my.py:Mine[n=3]", "d/my.py:Mine", {"n": 3}),
    ],
)
def test_what_a_spec_means(text: str, name: str, params: dict[str, Any]) -> None:
    found = parse_spec("thing", text)
    assert found == (name, params)
    assert [type(value) for value in found.params.values()] == [type(v) for v in params.values()]


@pytest.mark.parametrize(
    ("text", "character", "found", "accepted"),
    [
        ("", 1, "the end", "the name of a thing"),
        ("[x=1]", 1, "'[x=1]'", "the name of a thing"),
        ("a]", 2, "']'", "'['"),
        ("a[", 3, "the end", "PARAMETER=VALUE or ']'"),
        ("a[3=1]", 3, "'3=1]'", "PARAMETER=VALUE"),
        ("a[x]", 4, "']'", "'=' and a value"),
        ("a[x=]", 5, "']'", "a value"),
        ("a[x=1", 6, "the end", "',' or ']'"),
        ("a[x=1[2]]", 6, "'[2]]'", "',' or ']'"),
        ("a[x=1,,y=2]", 7, "','", "PARAMETER=VALUE"),
        ("a[x=1, x=2]", 8, "'x' a second time", "each parameter once"),
        ("a[x='1]", 5, "a quote", "another ' that ends it"),
        ("a[x='1'2]", 8, "'2]'", "',' or ']'"),
        ("a[x=1]b", 7, "'b'", "the end"),
    ],
)
def test_errors_point_at_the_character(
    text: str, character: int, found: str, accepted: str
) -> None:
    with pytest.raises(ConfigurationError) as caught:
        parse_spec("thing", text)
    message = str(caught.value)
    assert message.startswith(f"thing {text!r}: character {character}: found {found}, accepted ")
    assert accepted in message


def test_a_long_text_is_shortened_in_messages() -> None:
    with pytest.raises(ConfigurationError) as caught:
        parse_spec("thing", "a[" + "x" * 10_000)
    assert len(str(caught.value)) < 200
    assert "character 10003" in str(caught.value)


@settings(max_examples=50, suppress_health_check=[HealthCheck.too_slow])
@given(NAMES, st.dictionaries(NAMES, VALUES, max_size=4))
def test_what_is_written_is_read_again(name: str, params: dict[str, Any]) -> None:
    assert parse_spec("thing", format_spec(name, params)) == (name, params)


@settings(max_examples=50, suppress_health_check=[HealthCheck.too_slow])
@given(st.text(alphabet="ab=[],' \"1\n"))
def test_any_text_is_a_spec_or_refused(text: str) -> None:
    try:
        found = parse_spec("thing", text)
    except ConfigurationError:
        return
    assert parse_spec("thing", format_spec(*found)) == found


def test_splitting_outside_brackets() -> None:
    assert split_outside("a[x=1,y=2],b", ",") == ["a[x=1,y=2]", "b"]
    assert split_outside("a[x=1]=b=c", "=", 1) == ["a[x=1]", "b=c"]
    assert split_outside("a]=[b]", "=") == ["a]", "[b]"]
    assert split_outside("", ",") == [""]
