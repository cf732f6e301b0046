"""Which modules a thread is loading, and which of them are of users' files.

Names that a module registers while it is loaded are its own. Of functions and classes their module
is known; a preset of another module's class, or a variant of another module's function, is
registered by the innermost module that the thread is loading. Imports tell which that is, while
they are watched.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from importlib.metadata import entry_points
from pathlib import Path
from threading import local
from types import CodeType, FunctionType, ModuleType
from typing import Any

USER_MODULE = "simsched_user_"  #: how names of modules begin that are made from such files
#: Where installed packages say what they offer.
ENTRY_POINT_GROUPS = ("simsched.policies", "simsched.workloads")


class _Thread(local):
    """What a thread is loading."""

    def __init__(self) -> None:
        self.modules: list[ModuleType] = []  # from the outermost to the innermost
        #: for each reason to watch imports, whether it is that a user's file has them
        self.watching: list[bool] = []


_thread = _Thread()
#: Modules beside users' files that these import, and when they had changed last.
imported_files: dict[Path, int] = {}


class UserLoader(SourceFileLoader):
    """Compiles a user's file anew, which may change twice in the second that bytecode is dated by.

    Nothing is written beside the file either.
    """

    is_of_user = True

    def get_code(self, fullname: str) -> CodeType | None:
        """Return what the file says now."""
        if not self.is_of_user:
            return super().get_code(fullname)
        path = self.get_filename(fullname)
        return self.source_to_code(self.get_data(path), path)


class _Loader(UserLoader):
    """Executes a module, which is among those that its thread is loading meanwhile."""

    is_of_user = False

    def exec_module(self, module: ModuleType) -> None:
        with executing(module):
            super().exec_module(module)


class _Finder(MetaPathFinder):
    """Finds modules in Python source as Python does, while imports are watched."""

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return how a module is loaded, None to leave it to others."""
        if not (_thread.watching or imported_files):
            return None
        spec = PathFinder.find_spec(name, path, target)
        if spec is None or type(spec.loader) is not SourceFileLoader:
            return None
        file = spec.loader.path
        of_user = _thread.watching[-1] if _thread.watching else Path(file) in imported_files
        if not (_thread.watching or of_user):
            return None
        spec.loader = loader = _Loader(name, file)
        loader.is_of_user = of_user
        return spec


@contextmanager
def imports_watched(of_user: bool = False) -> Iterator[None]:
    """Let modules imported inside be known to be loaded; a user file's keep their names."""
    if not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Finder())
    _thread.watching.append(of_user)
    try:
        yield
    finally:
        _thread.watching.pop()


@contextmanager
def executing(module: ModuleType) -> Iterator[None]:
    """Let a module be the innermost that this thread is loading."""
    _thread.modules.append(module)
    try:
        yield
    finally:
        _thread.modules.pop()


def module_named(name: str) -> ModuleType | None:
    """Return a module by name, that which this thread is loading where there are several."""
    loading = (module for module in reversed(_thread.modules) if module.__name__ == name)
    return next(loading, None) or sys.modules.get(name)


def module_loading(file: Path) -> ModuleType | None:
    """Return the module that this thread is making from a user's file."""
    found = (module for module in _thread.modules if module.__name__.startswith(USER_MODULE))
    return next((module for module in found if module.__file__ == str(file)), None)


def home_of(thing: Any) -> ModuleType:
    """Return the module that is registering a function or class.

    It is the innermost that this thread is loading, as far as imports are watched. Otherwise it is
    the one that defines the thing, unless that has it already: a decorator comes before the name.
    What is registered later is of the program that Python was started with.
    """
    if _thread.modules:
        return _thread.modules[-1]
    is_function = isinstance(thing, FunctionType)
    name = thing.__globals__.get("__name__", "") if is_function else thing.__module__
    own = sys.modules.get(name)
    if own is not None and getattr(own, thing.__name__, None) is thing and not is_of_user_file(own):
        own = None
    return sys.modules["__main__"] if own is None else own


def is_of_user_file(module: ModuleType) -> bool:
    """Return whether a module was made from a user's file, or was first imported by one."""
    if module.__name__.startswith(USER_MODULE):
        return True
    loader = getattr(module, "__loader__", None)
    return isinstance(loader, _Loader) and loader.is_of_user and not _is_offered(module.__name__)


@cache  # looking for them takes milliseconds, and what is installed is looked for only once, too
def offering_packages() -> frozenset[str]:
    """Return the outermost names of installed packages that offer policies or workloads."""
    points = [point for group in ENTRY_POINT_GROUPS for point in entry_points(group=group)]
    return frozenset(point.module.partition(".")[0] for point in points)


def _is_offered(module: str) -> bool:
    """Return whether a module is of simsched or of a package that offers something."""
    outermost = module.partition(".")[0]
    return outermost == "simsched" or outermost in offering_packages()
