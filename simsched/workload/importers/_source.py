"""Reading text files and numbers with errors that name the file and the place."""

from __future__ import annotations

import math
from decimal import Decimal, InvalidOperation

from simsched.files.errors import GraphError, shown


def number(value: object, where: str, *, infinite: bool = False) -> float:
    """Return a number from 0 on, given as such or as text; `where` is file and key."""
    accepted = f"accepted a {'' if infinite else 'finite '}number of at least 0"
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        raise GraphError(f"{where}: found {shown(value)}, {accepted}")
    try:
        result = float(value)
    except (ValueError, OverflowError) as error:
        raise GraphError(f"{where}: found {shown(value)}, {accepted}") from error
    if math.isnan(result) or result < 0 or (math.isinf(result) and not infinite):
        raise GraphError(f"{where}: found {shown(value)}, {accepted}")
    return result


def whole(value: object, where: str, *, least: int = 0, most: int = 2**63 - 1) -> int:
    """Return an integer given as such, as a float or as text; `where` is file and key."""
    result = _whole(value)
    if result is None or not least <= result <= most:
        raise GraphError(
            f"{where}: found {shown(value)}, accepted an integer from {least} to {most}"
        )
    return result


def _whole(value: object) -> int | None:
    """Return the integer that a value is or that a text spells, None where it is none."""
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        return None
    if isinstance(value, int):
        return value
    try:
        found = Decimal(value)
    except InvalidOperation:
        return None
    # 2e9 is whole; 1e999999999 has more digits than there is memory for
    is_whole = found.is_finite() and found.adjusted() < 40 and found == found.to_integral_value()
    return int(found) if is_whole else None


def size(value: object, where: str, *, most: int = 2**63 - 1) -> int:
    """Return whole bytes of what may have fractions; `where` is file and key."""
    found = number(value, where)
    if found >= most:  # before it is rounded: it may be infinite
        raise GraphError(f"{where}: found {shown(value)}, accepted at most {most} bytes")
    exact = _whole(value)
    return round(found) if exact is None else exact
