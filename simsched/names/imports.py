"""What a user's Python file imports: the files that decide, besides itself, what its code does.

Imports are found in the syntax tree, not among the values of the loaded module. A constant that
was imported by name does not tell where it comes from, and an import inside a function has not
happened yet when the module is looked at.
"""

from __future__ import annotations

import ast
import sys
import sysconfig
from collections.abc import Iterator
from dataclasses import dataclass, field
from importlib.machinery import ModuleSpec
from importlib.metadata import PackageNotFoundError, packages_distributions, version
from importlib.util import resolve_name
from pathlib import Path

_STANDARD = Path(sysconfig.get_path("stdlib"))
_INSTALLED = {"site-packages", "dist-packages"}


@dataclass(frozen=True)
class Imports:
    """What a file imports, directly or through other files of the user."""

    #: files of the user's own modules, by the name that they are imported by
    files: dict[str, Path] = field(default_factory=dict)
    #: outermost names of installed packages
    installed: set[str] = field(default_factory=set)

    def versions(self) -> dict[str, list[str]]:
        """Return the versions of the distributions that hold the installed packages, by name."""
        return {name: _versions(name) for name in sorted(self.installed)}


def user_imports(file: Path, package: str = "") -> Imports:
    """Return what a file imports, wherever in the file, without simsched and the standard library.

    Relative imports start from `package`, of which the file is a module; its other modules count as
    the user's own even where the package is installed. ``import_module`` and ``__import__`` count
    when the name is written out. Names that are made while the program runs cannot be followed.
    """
    found, own = Imports(), _outermost(package)
    waiting, seen = [(file, package)], {file.resolve()}
    while waiting:
        source, inside = waiting.pop()
        for name in _modules(source, inside):
            if _outermost(name) == "simsched":
                continue
            path = _file_of(name)
            if path is None or (path.is_relative_to(_STANDARD) and not _is_installed(path)):
                continue
            if _is_installed(path) and _outermost(name) != own:
                found.installed.add(_outermost(name))
                continue
            found.files[name] = path
            if path.resolve() not in seen:
                seen.add(path.resolve())
                is_package = path.stem == "__init__"
                waiting.append((path, name if is_package else name.rpartition(".")[0]))
    return found


def _modules(file: Path, package: str) -> Iterator[str]:
    """Yield the names of what a file may import, packages before their modules."""
    for name in _names(file, package):
        parts = name.split(".")
        yield from (".".join(parts[:count]) for count in range(1, len(parts) + 1))


def _names(file: Path, package: str) -> Iterator[str]:
    """Yield the dotted names in a file's imports; some may be names of values, not of modules."""
    for node in _nodes(file):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = _absolute("." * node.level + (node.module or ""), package)
            names = [alias.name for alias in node.names] if base else []
            for name in _offered(base) if names == ["*"] else names:
                yield f"{base}.{name}" if name else base
        elif isinstance(node, ast.Call) and _called(node) in ("import_module", "__import__"):
            named = [word.value for word in node.keywords if word.arg == "name"]
            first = next(iter([*node.args[:1], *named]), None)
            if isinstance(first, ast.Constant) and isinstance(first.value, str):
                yield _absolute(first.value, package)


def _nodes(file: Path) -> Iterator[ast.AST]:
    """Yield all parts of a Python source; none of a file from which nothing can be imported."""
    if file.suffix != ".py":
        return
    try:
        tree = ast.parse(file.read_bytes())
    except (OSError, SyntaxError, ValueError):
        return
    yield from ast.walk(tree)


def _offered(package: str) -> Iterator[str]:
    """Yield the package, as an empty name, and what ``from package import *`` imports from it.

    Modules that its ``__all__`` names are imported then, and by nothing else. Where that is not
    written out as plain text, every module of the package counts.
    """
    yield ""
    file = _file_of(package)
    if file is None or file.name != "__init__.py":
        return
    for value in _given_to_all(file):
        try:
            names = ast.literal_eval(value)
        except ValueError:
            yield from sorted(path.stem for path in file.parent.glob("*.py"))
            yield from sorted(path.parent.name for path in file.parent.glob("*/__init__.py"))
            continue
        names = names if isinstance(names, list | tuple) else [names]
        yield from (name for name in names if isinstance(name, str))


def _given_to_all(file: Path) -> Iterator[ast.expr]:
    """Yield what a file assigns to ``__all__``, or adds to it."""
    for node in _nodes(file):
        if isinstance(node, ast.Assign | ast.AnnAssign | ast.AugAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            if node.value is not None and any(_is_all(target) for target in targets):
                yield node.value
        elif isinstance(node, ast.Call) and _is_all(getattr(node.func, "value", None)):
            yield from node.args


def _is_all(node: ast.AST | None) -> bool:
    return isinstance(node, ast.Name) and node.id == "__all__"


def _absolute(name: str, package: str) -> str:
    """Return a name without leading dots; nothing when they lead out of the package."""
    try:
        return resolve_name(name, package)
    except ImportError:
        return ""


def _called(node: ast.Call) -> str:
    """Return the last part of the name of what is called."""
    function = node.func
    return getattr(function, "attr", "") or getattr(function, "id", "")


def _file_of(name: str) -> Path | None:
    """Return the file of a module, None when there is none. Nothing is executed."""
    module = sys.modules.get(name)
    origin = getattr(module, "__file__", None)
    if module is None:
        spec = _spec(name)
        origin = spec.origin if spec is not None and spec.has_location else None
    path = Path(origin) if origin else None
    return path if path is not None and path.is_file() else None


def _spec(name: str) -> ModuleSpec | None:
    """Return how a module would be found, like `importlib` but without importing its package."""
    parent = name.rpartition(".")[0]
    locations: list[str] | None = None
    if parent:
        module = sys.modules.get(parent)
        spec = _spec(parent) if module is None else None
        places = getattr(module, "__path__", None) if spec is None else None
        places = places if spec is None else spec.submodule_search_locations
        if places is None:
            return None
        locations = list(places)
    for finder in sys.meta_path:
        spec = finder.find_spec(name, locations)
        if spec is not None:
            return spec
    return None


def _outermost(name: str) -> str:
    return name.partition(".")[0]


def _is_installed(path: Path) -> bool:
    return bool(_INSTALLED & set(path.parts))


def _versions(package: str) -> list[str]:
    """Return the versions of the distributions of a package, which may have another name."""
    try:
        return [version(package)]
    except PackageNotFoundError:
        names = sorted(set(packages_distributions().get(package, ())))
        return [f"{name} {version(name)}" for name in names]
