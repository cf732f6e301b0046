"""Arguments that a program or a notebook passes to a public function."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any

from simsched.files.errors import expect


def as_path(where: str, value: object, accepted: str) -> Path:
    """Return a path that is given as such or as text."""
    expect(where, value, (str, PathLike), accepted)
    return Path(value)  # type: ignore[arg-type]


def plain(value: Any) -> Any:
    """Return what Python's own types say of a value of NumPy or pandas, also inside of others.

    >>> import numpy as np
    >>> plain((np.int64(2), {"sizes": np.arange(3)}, range(2)))
    [2, {'sizes': [0, 1, 2]}, [0, 1]]
    """
    if hasattr(value, "tolist"):
        return value.tolist()
    if isinstance(value, Mapping):
        return {key: plain(each) for key, each in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str | bytes):
        return [plain(each) for each in value]
    return value
