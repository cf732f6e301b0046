"""Python files of users, which name a policy, a placement or a workload by their path.

What such a file registers belongs to the file: the path finds it, its name alone does not. The same
holds for modules that it is the first to import. Files can so be copies of each other. Names are
known everywhere that simsched, installed packages, and the modules of a running script or notebook
register; whether those of a module are is decided when it is imported.
"""

from __future__ import annotations

import importlib.util
import sys
import zlib
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

from simsched.files.bounded import unreadable
from simsched.files.errors import ANY_ERROR, ConfigurationError, unknown_name
from simsched.files.limits import POLICY_FILES, policy_files_allowed
from simsched.names.imports import user_imports
from simsched.names.loading import (
    USER_MODULE,
    UserLoader,
    executing,
    imported_files,
    imports_watched,
    module_loading,
)


@dataclass(frozen=True)
class _Loaded:
    """A module, and when the files that it was made from had changed last."""

    module: ModuleType
    changed: dict[Path, int]


_loaded: dict[Path, _Loaded] = {}


def is_file_spec(name: str) -> bool:
    """Return whether a name means something in a file: ``path.py`` or ``path.py:NAME``.

    >>> is_file_spec("my_policy.py:Mine"), is_file_spec("bats")
    (True, False)
    """
    path, _, tail = name.rpartition(":")
    return name.endswith(".py") or (path.endswith(".py") and tail.isidentifier())


def split_file_spec(spec: str) -> tuple[Path, str]:
    """Return path and name of something in a file; the name is empty when none is given.

    >>> split_file_spec("here/two.py:mine")
    (PosixPath('here/two.py'), 'mine')
    """
    path, name = (spec, "") if spec.endswith(".py") else spec.rsplit(":", 1)
    return Path(path).expanduser(), name


def name_in_file(
    spec: str, what: str, offered: Collection[str], accepted: str, *, also: str = ""
) -> str:
    """Return which of the things that a file offers is meant; a ConfigurationError if none is.

    Without a name in `spec`, the file must offer one thing only. `what` and `accepted` are for
    messages, as is `also`: what else a name may stand for, ``" class or preset"``.
    """
    path, name = split_file_spec(spec)
    if not offered:
        raise ConfigurationError(f"{path.resolve()}: found no {what}, accepted {accepted}")
    if not name and len(offered) > 1:
        one = f"{path.name}:NAME with {sorted(offered)}"
        raise ConfigurationError(f"{path.resolve()}: found more than one {what}, accepted {one}")
    if name and name not in offered:
        raise ConfigurationError(f"{path.resolve()}: {unknown_name(what + also, name, offered)}")
    return name or next(iter(offered))


def load_user_file(what: str, spec: str) -> ModuleType:
    """Return the module of a file; it runs again when it or a module beside it has changed.

    Modules beside the file can be imported, also later inside of functions: its directory is added
    at the end of ``sys.path``, so that they hide neither the standard library nor packages.
    ConfigurationError where the file is missing or does not run, or files are forbidden.
    """
    if not policy_files_allowed():
        raise ConfigurationError(
            f"{what} {spec!r}: found a file, accepted the name of a {what} ({POLICY_FILES}=no)"
        )
    path = split_file_spec(spec)[0].resolve()
    if (loading := module_loading(path)) is not None:  # what it registers names the file itself
        return loading
    known = _loaded.get(path)
    if known is not None and _stamps(what, known.changed) == known.changed:
        return known.module
    _stamps(what, [path])  # a missing file leaves no trace in `sys.path`
    folder = str(path.parent)
    if folder not in sys.path:
        sys.path.append(folder)
    importlib.invalidate_caches()
    files = user_imports(path).files
    stamps = _stamps(what, [path, *files.values()])
    if any(imported_files.get(file, stamps[file]) != stamps[file] for file in files.values()):
        for name in files:  # those that have not changed may hold what they took from one that has
            sys.modules.pop(name, None)
    imported_files.update((file, stamps[file]) for file in files.values())
    try:
        module = _executed(what, path)
    except ConfigurationError:
        _check_own(path, files)  # another module of the name of one's own is a likely reason
        raise
    _check_own(path, user_imports(path).files)
    _loaded[path] = _Loaded(module, stamps)
    return module


def prefer_modules(folder: Path, places: list[str]) -> None:
    """Let modules of a directory be imported before all others of their names.

    The directory comes first on ``sys.path``; modules of the names of `places`, files below it,
    that were loaded from elsewhere are forgotten.
    """
    for place in places:
        name = place.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
        sys.modules.pop(name, None)
    sys.path.insert(0, str(folder))
    importlib.invalidate_caches()


def forget_modules(folder: Path) -> None:
    """Forget the modules of a directory, and users' files that have imported them."""
    for path in [path for path, known in _loaded.items() if _below(folder, known.changed)]:
        del _loaded[path]
    for name, module in list(sys.modules.items()):
        if _below(folder, [getattr(module, "__file__", None) or ""]):
            del sys.modules[name]
    sys.path[:] = [place for place in sys.path if place != str(folder)]
    importlib.invalidate_caches()


def _below(folder: Path, files: Iterable[Path | str]) -> bool:
    return any(Path(file).is_relative_to(folder) for file in files)


def _stamps(what: str, files: list[Path] | dict[Path, int]) -> dict[Path, int]:
    """Return when files have changed last."""
    found = {}
    for path in files:
        try:
            found[path] = path.stat().st_mtime_ns
            if path.is_dir():
                raise IsADirectoryError
        except OSError as error:
            raise ConfigurationError(unreadable(path, error, f"a {what} file")) from error
    return found


def _executed(what: str, path: Path) -> ModuleType:
    """Return the module that a file makes."""
    name = f"{USER_MODULE}{path.stem}_{zlib.crc32(str(path).encode()):08x}"
    if path.suffix != ".py":
        raise ConfigurationError(f"{path}: found no Python file, accepted a name ending in .py")
    loader = UserLoader(name, str(path))
    spec = importlib.util.spec_from_loader(name, loader)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses look their module up by name
    try:
        with imports_watched(of_user=True), executing(module):
            loader.exec_module(module)
    except ANY_ERROR as error:
        sys.modules.pop(name, None)
        if isinstance(error, SystemExit):
            raise ConfigurationError(
                f"{path}: found a file that ends the program when it is loaded, "
                f"accepted: a file that defines a {what}"
            ) from error
        raise ConfigurationError(
            f"{_where(path, error)}: {type(error).__name__}: {error}"
        ) from error
    return module


def _check_own(path: Path, files: dict[str, Path]) -> None:
    """Refuse an import that has found another file than the one of that name beside `path`.

    A process has one module of a name. Which of two files it is would depend on what was loaded
    first.
    """
    for name, found in files.items():
        beside = path.parent / f"{name}.py", path.parent / name / "__init__.py"
        own = next((file for file in beside if file.is_file()), found)
        if "." not in name and not own.samefile(found):
            raise ConfigurationError(
                f"{path}: import of {name!r}: found {found}, accepted: {own}; "
                "give one of them another name"
            )


def _where(path: Path, error: BaseException) -> str:
    """Return file and line at which running the file has failed."""
    line = error.lineno if isinstance(error, SyntaxError) else None
    trace = error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == str(path):
            line = trace.tb_lineno
        trace = trace.tb_next
    return f"{path}" if line is None else f"{path}, line {line}"
