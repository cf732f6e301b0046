"""Descriptions as JSON documents."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from typing import Any

from simsched.report.description import Description

#: What most of large documents is.
_AS_IT_IS = frozenset({str, int, bool, type(None)})


def document(described: Description) -> Any:
    """Return what programs read of a description."""
    return finite(described.data)


def finite(value: Any) -> Any:
    """Return plain data with None in place of NaN and infinities, which JSON does not have."""
    if type(value) in _AS_IT_IS:
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if type(value) is list:
        kinds = {*map(type, value)}
        if kinds <= _AS_IT_IS or (kinds == {float} and all(map(math.isfinite, value))):
            return value.copy()
    if isinstance(value, Mapping):
        return {str(key): finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [finite(item) for item in value]
    return value


def pieces(plain: Mapping[str, Any]) -> Iterator[str]:
    """Yield the text of a JSON document, items of its lists one by one: these may be very many."""
    between = "{"
    for key, value in plain.items():
        yield f"{between}{json.dumps(key)}: "
        between = ", "
        if not isinstance(value, list):
            yield _text(value)
            continue
        yield "["
        for position, item in enumerate(value):
            yield f"{', ' if position else ''}{_text(item)}"
        yield "]"
    yield "}" if plain else "{}"


def _text(value: Any) -> str:
    """Return plain data as JSON, copied only where they have NaN or infinities."""
    try:
        return json.dumps(value, allow_nan=False)
    except ValueError:
        return json.dumps(finite(value), allow_nan=False)
