"""Quantities with units: ``96 GB/s``, ``145 ns``, ``4 GiB``, ``1.3 GHz``.

Text becomes plain numbers here and nowhere else: bytes per second, picoseconds, bytes, hertz.
Decimal prefixes are powers of 1000 and binary ones (``KiB``, ``MiB``, ``GiB``, ``TiB``) powers of
1024; ``KB``, which may mean either, is refused. A bare number is refused too: it has no unit.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from decimal import Decimal, DecimalException

from quantiphy import Quantity

from simsched.files.errors import nearest

PS_PER_S = 10**12
PER_PS = 1e-12  #: converts a rate per second into a rate per picosecond, picoseconds into seconds
MAX_BYTES = 2**61  #: sums of a few sizes fit in 64 bits
HALF = Decimal("0.5")
_NUMBER_UNIT = re.compile(r"([+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)\s*(\S.*)?")
_BITS = re.compile(r"([kMGT]?)(?:i?bit|b)(/s|ps)?")
_BITS_PER_BYTE = 8
_SIZE_UNITS = ("B", "kB", "MB", "GB", "TB", "KiB", "MiB", "GiB", "TiB")


class _Rate(Quantity):
    """Rates and frequencies: no prefixes below one."""


class _Time(Quantity):
    """Times: no prefixes above one."""


_Rate.set_prefs(output_sf="TGMk")
_Time.set_prefs(output_sf="munp")


@dataclass(frozen=True)
class Dimension:
    """A physical dimension: its name in messages, its units and an example."""

    name: str
    units: tuple[str, ...]
    example: str
    zero_allowed: bool = False

    @property
    def accepted(self) -> str:
        """What a message says is accepted."""
        sign = "" if self.zero_allowed else " above zero"
        return f"a {self.name}{sign} such as '{self.example}' (units: {', '.join(self.units)})"


BANDWIDTH = Dimension("bandwidth", tuple(f"{unit}/s" for unit in _SIZE_UNITS), "96 GB/s")
SIZE = Dimension("size", _SIZE_UNITS, "4 GiB", zero_allowed=True)
TIME = Dimension("time", ("ps", "ns", "us", "µs", "ms", "s"), "145 ns", zero_allowed=True)
FREQUENCY = Dimension("frequency", ("Hz", "kHz", "MHz", "GHz", "THz"), "1.3 GHz")
SPEED = Dimension(
    "speed", (*FREQUENCY.units, "ops/s", "kops/s", "Mops/s", "Gops/s", "Tops/s"), "2.9 GHz"
)


def parse_bandwidth(text: object) -> float:
    """Return a bandwidth such as ``"96 GB/s"`` in bytes per second.

    No machine comes near 1 B/s, the least that is accepted; clocks can still count with it.
    """
    found = float(_parse(text, BANDWIDTH))
    if found < 1.0:
        raise ValueError(f"found {text!r}, accepted: {BANDWIDTH.accepted}, at least 1 B/s")
    return found


def parse_size(text: object) -> int:
    """Return a size such as ``"4 GiB"`` in whole bytes."""
    limits = "at least 1 B, less than 2097152 TiB"
    return _whole(_parse(text, SIZE), text, limits, MAX_BYTES)


def parse_time(text: object) -> int:
    """Return a time such as ``"145 ns"`` in whole picoseconds."""
    return _whole(_parse(text, TIME) * PS_PER_S, text, "at least 1 ps, less than 106 days", 2**63)


def seconds_to_ps(seconds: float) -> int:
    """Return the whole picoseconds nearest to a time, of two equally near ones the later.

    Exact: the number is taken as what it is in binary, and nothing is rounded before the end.

    Parameters
    ----------
    seconds : float
        Finite.

    Returns
    -------
    int
        Picoseconds.
    """
    whole, parts = float(seconds).as_integer_ratio()
    return (2 * PS_PER_S * whole + parts) // (2 * parts)


def parse_seconds(text: object) -> float:
    """Return a time such as ``"0.3127 ns"`` in seconds, not rounded."""
    return float(_parse(text, TIME))


def parse_frequency(text: object) -> float:
    """Return a frequency such as ``"1.3 GHz"`` in hertz."""
    return float(_parse(text, FREQUENCY))


def parse_speed(text: object) -> float:
    """Return a speed such as ``"2.9 Gops/s"`` in operations per second; in hertz one a cycle."""
    return float(_parse(text, SPEED))


def format_bandwidth(bytes_per_s: float) -> str:
    """Return a bandwidth as text, ``"unbounded"`` when it is infinite."""
    return _render(_Rate(bytes_per_s, "B/s")) if math.isfinite(bytes_per_s) else "unbounded"


def format_size(size_bytes: int) -> str:
    """Return a size as text such as ``"4 GiB"``, with binary prefixes."""
    return str(Quantity(size_bytes, "B").binary(prec=5, strip_zeros=True))


def format_time(time_ps: int) -> str:
    """Return a time as text such as ``"1.5 us"``."""
    return _render(_Time(time_ps / PS_PER_S, "s"))


def format_frequency(hz: float) -> str:
    """Return a frequency as text such as ``"1.3 GHz"``."""
    return _render(_Rate(hz, "Hz"))


def _parse(text: object, dimension: Dimension) -> Decimal:
    """Return the exact number in base units; the unit must be one of the dimension's.

    The library converts the unit alone: given an exponent, it takes no prefix into account.
    """
    refused = f"found {text!r}, accepted: {dimension.accepted}"
    if not isinstance(text, str):
        raise ValueError(refused)
    match = _NUMBER_UNIT.fullmatch(text.strip())
    if match is None:
        raise ValueError(refused)
    number, unit = match.groups()
    if unit not in dimension.units:
        if unit and (bits := _BITS.fullmatch(unit)) and dimension.units[0].startswith("B"):
            per_s = "/s" if bits[2] else ""
            in_bytes = f"{float(number) / _BITS_PER_BYTE:g} {bits[1]}B{per_s}"
            raise ValueError(f"{refused}; {number} {unit} counts bits: {in_bytes!r}")
        close = nearest(unit, dimension.units) if unit else None
        if close and close[0].casefold() != unit[0].casefold():
            close = None  # another prefix is another quantity
        raise ValueError(f"{refused}; did you mean {f'{number} {close}'!r}?" if close else refused)
    scale = Decimal(repr(float(Quantity(f"1 {unit}", binary=True))))
    try:
        value = Decimal(number) * scale
    except DecimalException:
        raise ValueError(refused) from None
    too_small = value < 0 or (float(value) == 0 and not dimension.zero_allowed)
    if too_small or not math.isfinite(float(value)):
        raise ValueError(refused)
    return value


def _whole(value: Decimal, text: object, limits: str, end: int) -> int:
    """Return the value rounded to an integer that is below an end and has not vanished."""
    if value >= end or 0 < value < HALF:
        raise ValueError(f"found {text!r}, accepted: {limits}")
    return round(value)


def _render(quantity: Quantity) -> str:
    """Return a quantity with a decimal prefix and at most six significant digits."""
    return str(quantity.render(prec=5, strip_zeros=True))


def plural(count: int, one: str, many: str = "") -> str:
    """Return a count with its noun.

    >>> plural(1, "run"), plural(1200, "run"), plural(0, "policy", "policies")
    ('1 run', '1,200 runs', '0 policies')
    """
    return f"{count:,} {one if count == 1 else many or one + 's'}"
