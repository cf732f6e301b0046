"""Named things: what registers under a name, where it is looked for, and whose the name is.

A registry finds what the modules of its package register (every module is looked at; there is no
list to extend) and what installed packages offer in its entry-point group. What a user's Python
file registers belongs to the file, see :mod:`simsched.names.user_code`.
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from threading import get_ident
from types import ModuleType
from typing import Any, Generic, Self, TypeVar

from simsched.files.errors import ConfigurationError, unknown_name
from simsched.names.imports import user_imports
from simsched.names.loading import home_of, imports_watched, is_of_user_file, module_named
from simsched.names.parameters import Parameter, parameters_of
from simsched.names.user_code import load_user_file, name_in_file

Function = TypeVar("Function", bound=Callable[..., Any])


@dataclass(frozen=True)
class Entry(Generic[Function]):
    """A function or class that is registered under a name.

    Parameters
    ----------
    name : str
        What users call it.
    function : callable
        What it does; the first line of its docstring is its summary.
    home : module
        The module that registers it; by default the one that does so now.
    """

    name: str
    function: Function
    home: ModuleType = field(default=ModuleType(""), kw_only=True, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not self.home.__name__:
            object.__setattr__(self, "home", home_of(self.function))

    @property
    def summary(self) -> str:
        """First line of the function's docstring."""
        return summary_of(self.function)

    @cached_property
    def parameters(self) -> dict[str, Parameter]:
        """What can be set, by name."""
        return parameters_of(self.function)

    @property
    def place(self) -> str:
        """Where it is defined, for messages."""
        return place_of(self.function)

    def replaces(self, known: Self) -> bool:
        """Return whether it is what has its name already, from a module that runs again."""
        return self.place == known.place


AnyEntry = TypeVar("AnyEntry", bound=Entry[Any])


class Registry(Generic[AnyEntry]):
    """Entries by name.

    Parameters
    ----------
    what : str
        What is registered, for messages.
    package : str, optional
        Its modules, also those of packages in it, register entries; they are imported when somebody
        asks for one. Those whose names begin with an underscore register none.
    noun : str, optional
        What users call an entry; as `what` by default.
    group : str, optional
        Entry-point group of installed packages that offer entries.
    offered : callable, optional
        Registers what an entry point leads to, if its module does not; takes name and object.
    error : type
        What is raised for a name that is taken.
    """

    def __init__(
        self,
        what: str,
        package: str = "",
        *,
        noun: str = "",
        group: str = "",
        offered: Callable[[str, Any], None] | None = None,
        error: type[Exception] = ValueError,
    ) -> None:
        self._what, self._package, self._noun = what, package, noun or what
        self._group, self._offered, self._error = group, offered, error
        self._entries: dict[str, AnyEntry] = {}
        self._own = f"__simsched_{what}_names__"  # where modules of users' files have theirs
        self._is_complete = not (package or group)
        self._completing: set[int] = set()  # threads that import what registers entries

    def add(self, entry: AnyEntry) -> None:
        """Register an entry; the same one comes again when its module is executed again.

        Another one of the name is an `error`, a parameter that cannot be checked a ValueError.
        """
        _ = entry.parameters  # is what raises
        names = self._names_of(entry.home)
        known = names.get(entry.name)
        if known is not None and not entry.replaces(known):
            places = f"by {known.place} and by {entry.place}"
            raise self._error(f"{self._what} {entry.name!r}: registered twice, {places}")
        names[entry.name] = entry

    def all(self) -> dict[str, AnyEntry]:
        """Return every entry that is known everywhere by name, in alphabetical order."""
        self._complete()
        return dict(sorted(self._entries.items()))

    def find(self, name: str) -> AnyEntry:
        """Return the entry of a name; the error for others lists the accepted ones."""
        self._complete()
        return self._found(name, self._entries)

    def find_for(self, code: str, name: str) -> AnyEntry:
        """Return the entry that the code of the module `code` means by a name.

        That is one that is known everywhere or, where the module is of a user's file, one that it
        registers itself or that a module registers which it imports; the nearest comes first.
        """
        self._complete()
        known, module = dict(self._entries), module_named(code)
        if module is not None and is_of_user_file(module):
            file, package = Path(module.__file__ or ""), module.__package__ or ""
            imported = map(module_named, user_imports(file, package).files)
            nearest = [module, *(other for other in imported if other is not None)]
            for other in reversed(nearest):
                known |= self.of_file(other)
        return self._found(name, known)

    def find_in_file(self, spec: str, accepted: str) -> AnyEntry:
        """Return the entry of a user's file: ``path.py`` or ``path.py:NAME``."""
        self._complete()
        found = self.of_file(load_user_file(self._what, spec))
        return found[name_in_file(spec, self._what, found, accepted)]

    def of_file(self, module: ModuleType) -> Mapping[str, AnyEntry]:
        """Return what a module of a user's file has registered; it is known nowhere else."""
        names: Mapping[str, AnyEntry] = vars(module).get(self._own, {})
        return names

    def known_to(self, module: ModuleType | None) -> Mapping[str, AnyEntry]:
        """Return the entries among which those of a module are."""
        self._complete()
        return self._entries if module is None else self._names_of(module)

    def summaries(self) -> dict[str, str]:
        """Return the summary of every entry by name, in alphabetical order."""
        return {name: entry.summary for name, entry in self.all().items()}

    def _names_of(self, home: ModuleType) -> dict[str, AnyEntry]:
        """Return where a module registers: in names of its own when it is of a user's file."""
        if not is_of_user_file(home):
            return self._entries
        own: dict[str, AnyEntry] = vars(home).setdefault(self._own, {})
        return own

    def _found(self, name: str, known: Mapping[str, AnyEntry]) -> AnyEntry:
        if name not in known:
            raise ConfigurationError(unknown_name(self._noun, name, known))
        return known[name]

    def _complete(self) -> None:
        """Import everything that may register entries, once; threads wait for each other's."""
        if self._is_complete or get_ident() in self._completing:
            return
        self._completing.add(get_ident())
        try:
            if self._package:
                import_modules(self._package)
            for point in entry_points(group=self._group) if self._group else ():
                self._load(point)
        finally:
            self._completing.discard(get_ident())
        self._is_complete = True

    def _load(self, point: EntryPoint) -> None:
        """Register what an entry point offers; a broken one is reported and left out."""
        try:
            with imports_watched():
                found = point.load()
            if self._offered is not None and point.name not in self._entries:
                self._offered(point.name, found)
        except Exception as error:
            warnings.warn(
                f"{self._what} {point.name!r} of entry point {point.value!r} is left out: {error}",
                stacklevel=2,
            )


def import_modules(package: str) -> None:
    """Import the modules of a package, those of packages in it too; if it is a module, only it.

    Modules whose names begin with an underscore are left out.
    """
    with imports_watched():
        inside = getattr(importlib.import_module(package), "__path__", [])
        for module in pkgutil.walk_packages(inside, f"{package}."):
            if not module.name.rpartition(".")[2].startswith("_"):
                importlib.import_module(module.name)


def place_of(function: Callable[..., Any]) -> str:
    """Return where a function or class is defined."""
    return f"{function.__module__}.{function.__qualname__}"


def summary_of(function: Callable[..., Any]) -> str:
    """Return the first line of a function's docstring."""
    return (inspect.getdoc(function) or "").partition("\n")[0]
