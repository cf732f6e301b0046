"""Content hashes: what determines a result, as one key."""

from __future__ import annotations

import dataclasses
import hashlib
import inspect
import json
import math
import sys
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any, Generic

import numpy as np

from simsched.experiment.blame import explained
from simsched.files.bounded import unreadable
from simsched.files.errors import ConfigurationError
from simsched.names.imports import user_imports
from simsched.names.parameters import parameters_of
from simsched.names.typed_in import has_file, parts_of
from simsched.names.user_code import is_file_spec, split_file_spec
from simsched.policy.contract.base import Policy, own_name
from simsched.policy.contract.user_file import name_in_module
from simsched.policy.parts.placement import PlacedPolicy
from simsched.policy.parts.shipped import code_of

#: Rooms whose code determines results; a change to any file in them makes stored rows obsolete.
ROOMS = ("machine", "workload", "policy", "engine", "trace", "analysis")
NOT_DECISIVE = ("name", "description", "sources")


def content_key(parts: dict[str, Any]) -> str:
    """Return a hash, 32 hexadecimal digits, of nested plain data, arrays and dataclasses.

    The order of keys does not matter.

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
    """Return a hash of a policy's class, of the files that define it, parameters and inputs.

    Where a file outside the package lies does not matter, its content does, and so does the content
    of files that define classes from which the policy derives, of files that its parameters name,
    and of what these import from the user's own modules.
    """
    classes = [cls for cls in type(policy).__mro__ if cls not in (Generic, object)]
    sources = [source_digest(cls) for cls in classes]
    names = [cls.__qualname__ for cls in classes]
    if any("<locals>" in name for name in names):  # a function makes several of one source
        names.append(policy.name or name_in_module(type(policy)))
    parameters = policy.parameters()
    for name, parameter in parameters_of(type(policy)).items():
        if parameter.is_file and parameters[name]:
            try:
                parameters[name] = file_digest(Path(parameters[name]).expanduser())
            except ConfigurationError as error:
                raise ConfigurationError(f"parameter {name}: {error}") from error
    parts = {"classes": names, "sources": sources, "parameters": parameters}
    if isinstance(policy, PlacedPolicy):
        parts["placement"] = source_digest(policy.chosen_placement())
        if is_file_spec(policy.placement):
            parameters["placement"] = split_file_spec(policy.placement)[1]
    with explained(policy, own_name(type(policy))):
        parts["inputs"] = policy.inputs()
    return content_key(parts)


def is_in_files(policy: Policy) -> bool:
    """Return whether all code of a policy was read from files, not typed in."""
    return all(map(has_file, code_of(policy)))


def typed_digest(thing: Callable[..., Any]) -> str:
    """Return a hash of code that was typed in, and of all that it has bound."""
    parts = [
        source_digest(part) if isinstance(part, type | FunctionType) else canonical(part)
        for part in parts_of(thing)
    ]
    return content_key({"typed": parts})


def source_digest(thing: type | Callable[..., Any]) -> str:
    """Return a hash of the code that defines a class or a function.

    It is the content of the file and of what this imports from the same package or from the user's
    own modules, and the versions of installed packages among its imports. What was typed into a
    notebook has no file; there it is the compiled code.
    """
    try:
        if not has_file(thing):
            raise OSError
        file = Path(inspect.getfile(thing))
        own = file_digest(file)
    except (OSError, TypeError, ConfigurationError):
        return content_key({"module": thing.__module__, "code": _compiled(thing)})
    if thing.__module__.partition(".")[0] == "simsched":
        return content_key({"own": own})
    package = getattr(sys.modules.get(thing.__module__), "__package__", None) or ""
    return _file_and_imports(file, package)


def module_digest(module: ModuleType) -> str:
    """Return a hash of the code of a module, see :func:`source_digest`."""
    return _file_and_imports(Path(module.__file__ or ""), module.__package__ or "")


def _file_and_imports(file: Path, package: str) -> str:
    """Return a hash of a file outside the package and of all that it imports."""
    imports = user_imports(file, package)
    files = {name: file_digest(path) for name, path in imports.files.items()}
    parts = {"imported": files, "versions": imports.versions()}
    return content_key({"own": file_digest(file), **parts})


def _compiled(thing: Any) -> Any:
    """Return what a class or function does, as plain data."""
    if isinstance(thing, FunctionType):
        code = thing.__code__
        return [_plain_code(code), canonical(thing.__defaults__), canonical(thing.__kwdefaults__)]
    if isinstance(thing, type):
        return {name: _compiled(value) for name, value in vars(thing).items()}
    return thing if isinstance(thing, bool | int | float | str | tuple) else None


def _plain_code(code: CodeType) -> Any:
    """Return compiled code without the place that it was compiled from."""
    inner = [_plain_code(c) if isinstance(c, CodeType) else repr(c) for c in code.co_consts]
    return [code.co_code.hex(), inner, list(code.co_names)]


def file_digest(path: Path) -> str:
    """Return a hash of a file's content."""
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise ConfigurationError(unreadable(path, error)) from error


@lru_cache(maxsize=1)
def code_digest() -> str:
    """Return a hash of the code that determines results: version, rooms and compiled kernel."""
    return _digest_of_rooms(Path(__file__).resolve().parent.parent)


def _digest_of_rooms(root: Path) -> str:
    """Return a hash of the code below the directory of a package."""
    import simsched

    digest = hashlib.sha256(f"{simsched.__version__} {np.__version__}".encode())
    for room in ROOMS:
        for path in sorted((root / room).rglob("*")):
            if path.suffix in {".py", ".so", ".pyd"}:
                digest.update(str(path.relative_to(root)).encode())
                digest.update(path.read_bytes())
    return digest.hexdigest()
