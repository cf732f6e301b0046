"""Content hashes: what determines a result, as one key."""

from __future__ import annotations

import dataclasses
import hashlib
import inspect
import json
import math
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from simsched.errors import ConfigurationError
from simsched.policy.base import Policy

#: Rooms whose code determines results; a change to any file in them makes stored rows obsolete.
ROOMS = ("machine", "workload", "policy", "engine", "trace")
NOT_DECISIVE = ("name", "description", "sources")


def content_key(parts: dict[str, Any]) -> str:
    """Return a hash of nested plain data, arrays and dataclasses.

    Parameters
    ----------
    parts : dict
        Everything that determines a result; the order of keys does not matter.

    Returns
    -------
    str
        32 hexadecimal digits.

    Examples
    --------
    >>> content_key({"a": 1, "b": [2.5]}) == content_key({"b": [2.5], "a": 1})
    True
    >>> content_key({"a": 1}) == content_key({"a": 1.0})
    False
    """
    text = json.dumps(canonical(parts), sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def canonical(value: Any) -> Any:
    """Return a value as JSON can hold it, so that different values stay different."""
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return {"float": value.hex() if math.isfinite(value) else repr(value)}
    if isinstance(value, np.ndarray):
        data = hashlib.sha256(np.ascontiguousarray(value).tobytes()).hexdigest()
        return {"array": [str(value.dtype), list(value.shape), data]}
    if isinstance(value, np.generic):
        return canonical(value.item())
    if isinstance(value, dict):
        return {str(key): canonical(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [canonical(item) for item in value]
    if dataclasses.is_dataclass(value):
        fields = [f.name for f in dataclasses.fields(value)]
        return {name: canonical(getattr(value, name)) for name in fields}
    return str(value)


def machine_digest(machine: Any) -> str:
    """Return a hash of a resolved machine without its name and descriptions."""
    fields = [f.name for f in dataclasses.fields(machine) if f.name not in NOT_DECISIVE]
    return content_key({name: getattr(machine, name) for name in fields})


def policy_digest(policy: Policy) -> str:
    """Return a hash of a policy's class, of the files that define it, and of its parameters.

    Where a file outside the package lies does not matter, its content does, and so does the content
    of files that define classes from which the policy derives.
    """
    classes = [cls for cls in type(policy).__mro__ if cls is not object]
    sources = [_source_digest(cls) for cls in classes]
    names = [cls.__qualname__ for cls in classes]
    return content_key({"classes": names, "sources": sources, "parameters": policy.parameters()})


def _source_digest(cls: type) -> str:
    """Return a hash of the file that defines a class; its module's name when there is no file."""
    try:
        return file_digest(Path(inspect.getfile(cls)))
    except (OSError, TypeError, ConfigurationError):
        return cls.__module__


def file_digest(path: Path) -> str:
    """Return a hash of a file's content.

    Raises
    ------
    ConfigurationError
        The file cannot be read.
    """
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise ConfigurationError(f"{path}: cannot be read: {error.strerror}") from error


@lru_cache(maxsize=1)
def code_digest() -> str:
    """Return a hash of the code that determines results: version, rooms and compiled kernel."""
    import simsched

    root = Path(__file__).resolve().parent.parent
    digest = hashlib.sha256(f"{simsched.__version__} {np.__version__}".encode())
    for room in ROOMS:
        for path in sorted((root / room).rglob("*")):
            if path.suffix in {".py", ".so", ".pyd"}:
                digest.update(str(path.relative_to(root)).encode())
                digest.update(path.read_bytes())
    return digest.hexdigest()
