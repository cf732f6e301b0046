"""Which code was read from files and which was typed into a notebook or at a prompt.

Keys of results cover files and what these import. Of what was typed in nobody knows which other
cells it uses, and other processes do not have it.
"""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path
from types import FunctionType, MethodType, ModuleType
from typing import Any

#: What a function or class was typed into, or the program that Python was started with.
MAIN = "__main__"


def parts_of(thing: Any) -> list[Any]:
    """Return what something that can be called is made of: itself, then what it has bound.

    A function has bound what it wraps, its defaults and what it uses of the function around it; a
    partial one its arguments.

    >>> [getattr(part, "__name__", part) for part in parts_of(partial(parts_of, 3))]
    ['parts_of', 3]
    """
    found: list[Any] = []
    waiting, seen = [thing], set()
    while waiting:
        part = waiting.pop()
        if id(part) in seen:
            continue
        seen.add(id(part))
        if isinstance(part, partial):
            inner = [part.func, *part.args, *part.keywords.values()]
        elif isinstance(part, MethodType):
            inner = [part.__func__, part.__self__]
        elif isinstance(part, list | tuple):
            inner = list(part)
        elif isinstance(part, dict):
            inner = list(part.values())
        else:
            found.append(part)
            inner = _bound(part) if isinstance(part, FunctionType) else []
        waiting += reversed(inner)
    return found


def _bound(function: FunctionType) -> list[Any]:
    bound = [*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()]
    for cell in function.__closure__ or ():
        try:
            bound.append(cell.cell_contents)
        except ValueError:  # nothing has been assigned yet
            continue
    wrapped = getattr(function, "__wrapped__", None)
    return bound if wrapped is None else [wrapped, *bound]


def has_file(part: Any) -> bool:
    """Return whether a class or function was read from a file; anything else is no code.

    What was typed into a notebook or at a prompt was not, although shells may have a file of their
    own, or keep a copy of every cell.
    """
    if isinstance(part, FunctionType):
        return was_read(part.__globals__.get("__name__", ""), part.__code__.co_filename)
    if not isinstance(part, type):
        return True
    # Dataclasses make special methods from text.
    own = [f for f in vars(part).values() if isinstance(f, FunctionType)]
    own = [f for f in own if not f.__name__.startswith("__")]
    typed = [f for f in own if f.__globals__.get("__name__") == MAIN and not has_file(f)]
    module = sys.modules.get(part.__module__)
    if part.__module__ == MAIN:
        return _main_file() is not None and not typed
    return not typed and (module is None or module.__spec__ is not None)


def was_read(module: str, file: str) -> bool:
    """Return whether code of a module, by name, was compiled from a file of that module."""
    if module == MAIN:
        main = _main_file()
        return main is not None and Path(file).resolve() == main
    known = sys.modules.get(module)
    return getattr(known, "__spec__", None) is not None or Path(file).is_file()


def is_read(module: ModuleType) -> bool:
    """Return whether a module comes from a file, or from a package that finds its modules."""
    if module.__name__ == MAIN:
        return _main_file() is not None
    return module.__spec__ is not None or Path(getattr(module, "__file__", None) or "").is_file()


def _main_file() -> Path | None:
    """Return the file of the program that Python was started with, None when there is none."""
    file = getattr(sys.modules[MAIN], "__file__", None)
    path = None if file is None else Path(file)
    return path.resolve() if path is not None and path.is_file() else None
