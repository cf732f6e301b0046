"""Reading text files and numbers with errors that name the file and the place."""

from __future__ import annotations

import math

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
    result: int | None = None
    try:
        if (isinstance(value, str) and len(value) < 32) or (
            isinstance(value, float) and value.is_integer()
        ):
            result = int(value)
        elif isinstance(value, int) and not isinstance(value, bool):
            result = value
    except ValueError:
        result = None
    if result is None or not least <= result <= most:
        raise GraphError(
            f"{where}: found {shown(value)}, accepted an integer from {least} to {most}"
        )
    return result
