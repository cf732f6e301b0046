"""Quantities with units."""

import math
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simsched.files.units import (
    format_bandwidth,
    format_frequency,
    format_size,
    format_time,
    parse_bandwidth,
    parse_frequency,
    parse_size,
    parse_time,
)

Parser = Callable[[object], float]
PARSERS: list[Parser] = [parse_bandwidth, parse_frequency, parse_size, parse_time]


@pytest.mark.parametrize(
    ("parse", "text", "expected"),
    [
        (parse_bandwidth, "96 GB/s", 96e9),
        (parse_bandwidth, "22.5GB/s", 22.5e9),
        (parse_bandwidth, "1 GiB/s", 2.0**30),
        (parse_bandwidth, "7 B/s", 7.0),
        (parse_time, "145 ns", 145_000),
        (parse_time, "1.5 us", 1_500_000),
        (parse_time, "1.5 µs", 1_500_000),
        (parse_time, "3.08 ns", 3080),
        (parse_time, "0 s", 0),
        (parse_time, "2 ms", 2 * 10**9),
        (parse_size, "4 GiB", 2**32),
        (parse_size, "4 GB", 4 * 10**9),
        (parse_size, "1e3 KiB", 1_024_000),
        (parse_time, "1.5E2 us", 150_000_000),
        (parse_bandwidth, "5e-1 GB/s", 0.5e9),
        (parse_size, "32 kB", 32_000),
        (parse_size, "32 KiB", 32_768),
        (parse_frequency, "1.3 GHz", 1.3e9),
        (parse_frequency, "800 MHz", 0.8e9),
    ],
)
def test_known_quantities(parse: Parser, text: str, expected: float) -> None:
    assert parse(text) == expected


@pytest.mark.parametrize("parse", PARSERS)
@pytest.mark.parametrize(
    "text",
    [
        "",
        "96",
        96,
        96.0,
        None,
        True,
        [],
        "GB/s",
        "nan s",
        "inf GB/s",
        "1e999 s",
        "1e9999999999999999999 B",
        "-1 B",
        "1 B B",
    ],
)
def test_what_is_not_a_quantity_is_refused_with_an_example(parse: Parser, text: object) -> None:
    with pytest.raises(ValueError, match=r"found .*, accepted: ") as caught:
        parse(text)
    assert repr(text) in str(caught.value)
    assert "units: " in str(caught.value)


@pytest.mark.parametrize(
    ("parse", "text", "hint"),
    [
        (parse_bandwidth, "96 GB", "'96 GB/s'"),
        (parse_bandwidth, "96 GBs", "'96 GB/s'"),
        (parse_size, "32 KB", "'32 KiB'"),
        (parse_time, "145 nS", "'145 ns'"),
        (parse_frequency, "1.3 Ghz", "'1.3 GHz'"),
    ],
)
def test_wrong_unit_names_the_nearest(parse: Parser, text: str, hint: str) -> None:
    with pytest.raises(ValueError, match="did you mean") as caught:
        parse(text)
    assert str(caught.value).endswith(f"did you mean {hint}?")


@pytest.mark.parametrize(
    ("parse", "text"),
    [
        (parse_size, "8 EiB"),
        (parse_size, "1 PB"),
        (parse_bandwidth, "1 PB/s"),
        (parse_frequency, "1 mHz"),
    ],
)
def test_another_prefix_is_no_hint(parse: Parser, text: str) -> None:
    """8 TiB was suggested in place of 8 EiB."""
    with pytest.raises(ValueError, match="units: ") as caught:
        parse(text)
    assert "did you mean" not in str(caught.value)


@pytest.mark.parametrize(
    ("parse", "zero"), [(parse_bandwidth, "0 GB/s"), (parse_frequency, "0 Hz")]
)
def test_rates_are_above_zero(parse: Parser, zero: str) -> None:
    with pytest.raises(ValueError, match="above zero"):
        parse(zero)


@pytest.mark.parametrize("slow", ["0.9 B/s", "1e-320 B/s"])
def test_bandwidths_below_a_byte_per_second_are_refused(slow: str) -> None:
    with pytest.raises(ValueError, match="at least 1 B/s"):
        parse_bandwidth(slow)
    assert parse_bandwidth("1 B/s") == 1.0


def test_times_below_a_picosecond_and_beyond_64_bits_are_refused() -> None:
    with pytest.raises(ValueError, match="at least 1 ps"):
        parse_time("0.1 ps")
    with pytest.raises(ValueError, match="less than 106 days"):
        parse_time("1e7 s")
    with pytest.raises(ValueError, match="less than 2097152 TiB"):
        parse_size("9e9 GiB")


@given(st.integers(0, 2**53))
def test_whole_bytes_and_picoseconds_are_exact(number: int) -> None:
    assert parse_size(f"{number} B") == number
    assert parse_time(f"{number % 10**15} ps") == number % 10**15


@given(
    st.floats(1e-3, 1e6),
    st.sampled_from([("kB", 1e3), ("MB", 1e6), ("GB", 1e9), ("MiB", 2.0**20), ("GiB", 2.0**30)]),
)
def test_prefixes_multiply(number: float, unit: tuple[str, float]) -> None:
    name, factor = unit
    text = f"{number!r} {name}/s"
    assert math.isclose(parse_bandwidth(text), number * factor, rel_tol=1e-15)


@given(st.floats(1, 1e14))
def test_formatted_rates_parse_to_the_same_value(value: float) -> None:
    assert math.isclose(parse_bandwidth(format_bandwidth(value)), value, rel_tol=1e-5)
    rate = min(value, 1e12)
    assert math.isclose(parse_frequency(format_frequency(rate)), rate, rel_tol=1e-5)


@given(st.integers(0, 2**49))
def test_formatted_sizes_and_times_parse_to_the_same_value(value: int) -> None:
    assert math.isclose(parse_size(format_size(value)), value, rel_tol=1e-5)
    assert math.isclose(parse_time(format_time(value)), value, rel_tol=1e-5)


@given(st.text(max_size=20))
def test_any_text_is_a_value_or_a_value_error(text: str) -> None:
    for parse in PARSERS:
        try:
            outcome = str(parse(text))
        except ValueError as error:
            outcome = str(error)
        assert outcome[0].isdigit() or "accepted: " in outcome


def test_unbounded_bandwidth_has_a_word() -> None:
    assert format_bandwidth(math.inf) == "unbounded"


@pytest.mark.parametrize(
    ("text", "hint"),
    [("42 Gb/s", "'5.25 GB/s'"), ("8 Mbit/s", "'1 MB/s'"), ("100 Gbps", "'12.5 GB/s'")],
)
def test_rates_in_bits_are_told_in_bytes(text: str, hint: str) -> None:
    with pytest.raises(ValueError, match="counts bits") as caught:
        parse_bandwidth(text)
    assert str(caught.value).endswith(f"counts bits: {hint}")


def test_sizes_in_bits_are_told_in_bytes() -> None:
    with pytest.raises(ValueError, match="16 Gb counts bits: '2 GB'"):
        parse_size("16 Gb")
