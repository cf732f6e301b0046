"""Policies from a file outside the package."""

from __future__ import annotations

import copyreg
import importlib.util
import sys
import zlib
from dataclasses import fields
from pathlib import Path
from types import ModuleType
from typing import Any

from simsched.errors import ConfigurationError, unknown_name
from simsched.limits import POLICY_FILES, policy_files_allowed
from simsched.policy.base import Policy

_loaded: dict[Path, tuple[int, ModuleType]] = {}


def is_file_spec(name: str) -> bool:
    """Return whether a policy name means a file: ``path.py`` or ``path.py:ClassName``.

    Examples
    --------
    >>> is_file_spec("my_policy.py:Mine"), is_file_spec("bats")
    (True, False)
    """
    path, _, tail = name.rpartition(":")
    return name.endswith(".py") or (path.endswith(".py") and tail.isidentifier())


def load_policy_class(spec: str) -> type[Policy]:
    """Return the policy class that a file defines.

    Instances can be pickled: another process loads the file again, from the same place.

    Parameters
    ----------
    spec : str
        ``path.py`` when the file defines one policy class, otherwise ``path.py:ClassName``.

    Raises
    ------
    ConfigurationError
        When the file is missing or does not run, the class is not in it, or files are forbidden.
    """
    if not policy_files_allowed():
        raise ConfigurationError(
            f"policy {spec!r}: found a file, accepted the name of a policy ({POLICY_FILES}=no)"
        )
    path_text, class_name = (spec, "") if spec.endswith(".py") else spec.rsplit(":", 1)
    path = Path(path_text).expanduser().resolve()
    module = _load(path)
    found = {
        value.__name__: value
        for value in vars(module).values()
        if isinstance(value, type)
        and issubclass(value, Policy)
        and value.__module__ == module.__name__
    }
    if not found:
        raise ConfigurationError(
            f"{path}: found no policy, accepted a class derived from simsched.policy.Policy"
        )
    if not class_name and len(found) > 1:
        raise ConfigurationError(
            f"{path}: found several policies, accepted {path.name}:NAME with {sorted(found)}"
        )
    if class_name and class_name not in found:
        raise ConfigurationError(f"{path}: {unknown_name('policy class', class_name, found)}")
    cls = found[class_name or next(iter(found))]
    copyreg.pickle(cls, _reduce)
    return cls


def _load(path: Path) -> ModuleType:
    """Return the module of a file; it runs again when the file has changed."""
    try:
        changed = path.stat().st_mtime_ns
    except OSError as error:
        raise ConfigurationError(f"{path}: policy file cannot be read: {error.strerror}") from error
    if path in _loaded and _loaded[path][0] == changed:
        return _loaded[path][1]
    name = f"simsched_user_{path.stem}_{zlib.crc32(str(path).encode()):08x}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ConfigurationError(f"{path}: found no Python file, accepted a name ending in .py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses look their module up by name
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        sys.modules.pop(name, None)
        raise ConfigurationError(
            f"{_where(path, error)}: {type(error).__name__}: {error}"
        ) from error
    _loaded[path] = (changed, module)
    return module


def _where(path: Path, error: Exception) -> str:
    """Return file and line at which running the file has failed."""
    line = error.lineno if isinstance(error, SyntaxError) else None
    trace = error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == str(path):
            line = trace.tb_lineno
        trace = trace.tb_next
    return f"{path}" if line is None else f"{path}, line {line}"


def _reduce(policy: Policy) -> tuple[Any, ...]:
    """Return how to make an equal policy in another process."""
    cls = type(policy)
    module = sys.modules[cls.__module__]
    values = {f.name: getattr(policy, f.name) for f in fields(policy)}
    return _rebuild, (f"{module.__file__}:{cls.__name__}", values)


def _rebuild(spec: str, values: dict[str, Any]) -> Policy:
    """Return the policy that :func:`_reduce` has described."""
    return load_policy_class(spec)(**values)
