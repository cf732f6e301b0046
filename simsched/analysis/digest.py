"""A hash of all that makes a program, so that what follows from it is reckoned once.

Experiments run one program under many policies, each in arrays of its own or in the same ones;
whether two programs are the same is a question about their content, and a hash of it takes a small
part of the time that the bounds of a program take.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
from typing import Any

import numpy as np

#: Values whose text tells all of them.
_PLAIN = (type(None), bool, int, float, str, bytes, np.generic)


def content_digest(*parts: object) -> bytes | None:
    """Return a hash that is equal for parts of equal content, None for parts without one.

    Arrays, plain values, and dataclasses, mappings, tuples and lists of these have content.
    Mappings are equal whose keys come in the same order.
    """
    digest = hashlib.blake2b(digest_size=32)
    try:
        _add(digest, parts)
    except TypeError:
        return None
    return digest.digest()


def _add(digest: Any, value: object) -> None:
    """Add a value, marked so that no two values read alike."""
    if isinstance(value, np.ndarray) and value.dtype != object:
        digest.update(f"array {value.dtype} {value.shape};".encode())
        digest.update(np.ascontiguousarray(value).data)
    elif isinstance(value, _PLAIN):
        text = f"{type(value).__name__} {value!r}".encode("utf-8", "surrogatepass")
        digest.update(f"{len(text)} ".encode() + text)
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        kind = type(value)
        _add(digest, f"{kind.__module__}.{kind.__qualname__}")
        for field in dataclasses.fields(value):
            _add(digest, getattr(value, field.name))
    elif isinstance(value, dict):
        _add(digest, len(value))
        for pair in value.items():
            _add(digest, pair)
    elif isinstance(value, tuple | list):
        digest.update(f"{type(value).__name__} {len(value)};".encode())
        is_text = all(type(item) is str for item in value)  # names of tasks: there may be many
        for item in [json.dumps(value)] if value and is_text else value:
            _add(digest, item)
    else:
        raise TypeError(f"found {type(value).__name__}, accepted arrays and plain values")
