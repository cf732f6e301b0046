"""Cells on their way to a worker of a cluster, with the files of the user that they need.

A policy, placement or workload in a file takes along the file and the modules that it imports, as
far as these are the user's own. On the worker the modules of an experiment lie in one directory,
which comes first on ``sys.path``: what they are called decides what is imported there, as it does
here, and not what else the worker finds by that name.
"""

from __future__ import annotations

import hashlib
import inspect
import pickle
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from threading import Condition, Lock
from typing import Any, Generic, TypeVar

from simsched.experiment.batch import Batch, Packer, Unpacker
from simsched.experiment.cells import Cell
from simsched.experiment.inputs import WorkloadSource
from simsched.files.atomic import write_bytes
from simsched.files.errors import ConfigurationError
from simsched.names.imports import user_imports
from simsched.names.loading import USER_MODULE, is_of_user_file
from simsched.names.user_code import (
    forget_modules,
    is_file_spec,
    prefer_modules,
    split_file_spec,
)
from simsched.policy import Policy, make_policy
from simsched.policy.contract.user_file import name_in_module
from simsched.policy.parts.placement import PlacedPolicy

Held = TypeVar("Held")


@dataclass(frozen=True)
class Parcel:
    """Cells without the places of files that only this computer has."""

    #: Without their policy when files belong to that, which they share then.
    cells: Batch
    #: Such a policy: its class, or the name of the file and the class, and the parameters.
    policy: tuple[str, type[Policy] | None, dict[str, Any]] | None
    #: Name of the file of its placement, and behind a colon the placement.
    placement: str | None
    #: Where modules lie that the files import, below one directory.
    modules: tuple[str, ...]
    #: Whether event traces are to come back.
    events: bool


@dataclass(frozen=True)
class Files(Generic[Held]):
    """Paths or contents of the files of a parcel: those that a spec names, and its modules."""

    policy: Held | None
    placement: Held | None
    workload: Held | None
    modules: list[Held]


def modules_of(cells: Sequence[Cell]) -> dict[str, Path]:
    """Return the user's own modules that files of an experiment import, by where they will lie."""
    found: dict[str, Path] = {}
    starts = {(type(cell.policy_model), _placement(cell), _generator(cell)) for cell in cells}
    for file, package in {start for each in starts for start in _starts(*each)}:
        for name, path in user_imports(file, package).files.items():
            if path.suffix != ".py":
                raise ConfigurationError(
                    f"{file}: import of {name!r}: found {path}, accepted on a cluster: modules "
                    "in Python source, and packages that are installed here and on the workers"
                )
            found[_place(name, path)] = path
    for cls in {cls for cls, _, _ in starts}:
        if _is_imported(cls):
            path = Path(inspect.getfile(cls))
            found[_place(cls.__module__, path)] = path
    return found


def _place(name: str, path: Path) -> str:
    """Return where a module is to lie so that it is found by its name."""
    inner = name.replace(".", "/")
    return f"{inner}/__init__.py" if path.name == "__init__.py" else f"{inner}.py"


def _starts(
    cls: type, placement: Path | None, generator: Path | None
) -> Iterator[tuple[Path, str]]:
    """Yield the files whose imports a cell needs, each with its package."""
    yield from ((file, "") for file in (placement, generator) if file is not None)
    if is_of_user_file(sys.modules[cls.__module__]):
        yield Path(inspect.getfile(cls)), sys.modules[cls.__module__].__package__ or ""


def _is_imported(cls: type) -> bool:
    """Return whether a class comes from a module that a user's file imports."""
    of_user = is_of_user_file(sys.modules[cls.__module__])
    return of_user and not cls.__module__.startswith(USER_MODULE)


def _placement(cell: Cell) -> Path | None:
    """Return the file of a cell's placement when its path names it."""
    name = cell.policy_model.placement if isinstance(cell.policy_model, PlacedPolicy) else ""
    return split_file_spec(name)[0] if is_file_spec(name) else None


def _generator(cell: Cell) -> Path | None:
    """Return the Python file of a cell's workload."""
    source = cell.workload_source
    return source.file if isinstance(source, WorkloadSource) and source.path is None else None


def share_parcel(one: Cell, other: Cell) -> bool:
    """Return whether cells can travel together: they have no files, or the same."""
    if _given(one) != _given(other):
        return False
    return one.policy_model is other.policy_model or not (_has_files(one) or _has_files(other))


def _has_files(cell: Cell) -> bool:
    in_file = type(cell.policy_model).__module__.startswith(USER_MODULE)
    return in_file or _placement(cell) is not None


def _given(cell: Cell) -> Path | None:
    """Return the file of a cell's workload."""
    source = cell.workload_source
    return source.file if isinstance(source, WorkloadSource) else None


def _changed(cells: Sequence[Cell], file: Path | None, changes: dict[str, Any]) -> Sequence[Cell]:
    """Return cells whose workload, where it has a file, is in another one; and other changes.

    Those that share a workload go on sharing it.
    """
    if file is None and not changes:
        return cells
    moved: dict[int, Any] = {}
    found = []
    for cell in cells:
        source = cell.workload_source
        if file is not None and isinstance(source, WorkloadSource):
            source = moved.setdefault(id(source), source.moved(file))
        found.append(replace(cell, workload_source=source, **changes))
    return found


def packed(
    cells: Sequence[Cell], modules: dict[str, Path], events: bool
) -> tuple[Parcel, Files[Path]]:
    """Return cells as they are sent, and their files.

    They share a parcel, see :func:`share_parcel`; `modules` are those of :func:`modules_of`.
    """
    cell = cells[0]
    model, given, placement = cell.policy_model, _given(cell), _placement(cell)
    policy: tuple[str, type[Policy] | None, dict[str, Any]] | None = None
    file, cls, parameters = None, type(model), model.parameters()
    if cls.__module__.startswith(USER_MODULE):
        file = Path(inspect.getfile(cls))
        policy = f"{file.name}:{name_in_module(cls)}", None, parameters
    elif placement is not None:
        policy = "", cls, parameters
    changes: dict[str, Any] = {} if policy is None else {"policy_model": None}
    placed = None
    if placement is not None:
        chosen = split_file_spec(parameters.pop("placement"))[1]
        placed = f"{placement.name}:{chosen}" if chosen else placement.name
    moved = None if given is None else Path(given.name)
    batch = Packer().packed(_changed(cells, moved, changes))
    parcel = Parcel(batch, policy, placed, tuple(modules), events)
    return parcel, Files(file, placement, given, list(modules.values()))


@contextmanager
def unpack(parcel: Parcel, contents: Files[bytes], scratch: Path) -> Iterator[Sequence[Cell]]:
    """Return cells as they were before they were packed; inside, their modules can be imported.

    `scratch` is a directory for the files.
    """
    with _importable(scratch, parcel.modules, contents.modules):
        cells = Unpacker().cells(parcel.cells)
        changes: dict[str, Any] = {}
        placement: dict[str, str] = {}
        if parcel.placement is not None and contents.placement is not None:
            name, _, chosen = parcel.placement.partition(":")
            file = str(_placed(scratch, name, contents.placement))
            placement["placement"] = f"{file}:{chosen}" if chosen else file
        if parcel.policy is not None:
            spec, cls, parameters = parcel.policy
            parameters = {**parameters, **placement}
            if contents.policy is not None:
                name, _, chosen = spec.partition(":")
                file = str(_placed(scratch, name, contents.policy))
                changes["policy_model"] = make_policy(f"{file}:{chosen}", parameters)
            else:
                assert cls is not None
                changes["policy_model"] = cls(**parameters)
        given = _given(cells[0])
        moved = None
        if given is not None and contents.workload is not None:
            moved = _placed(scratch, given.name, contents.workload)
        yield _changed(cells, moved, changes)


class _InUse:
    """The directory of modules that cells of this process import from, and how many cells do."""

    folder: Path | None = None
    cells = 0


_in_use = _InUse()
_change = Condition()


@contextmanager
def _importable(scratch: Path, places: Sequence[str], contents: Sequence[bytes]) -> Iterator[None]:
    """Let modules be imported inside.

    A process has one module of a name. Cells that bring other modules wait until those that use the
    present ones have ended; what these have imported is forgotten then.
    """
    if not places:
        yield
        return
    digest = hashlib.sha256(pickle.dumps((tuple(places), tuple(contents)))).hexdigest()
    folder = scratch / f"simsched-modules-{digest}"
    with _change:
        _change.wait_for(lambda: not _in_use.cells or _in_use.folder == folder)
        if _in_use.folder != folder:
            if _in_use.folder is not None:
                forget_modules(_in_use.folder)
                _in_use.folder = None
            for place, content in zip(places, contents, strict=True):
                path = folder / place
                path.parent.mkdir(parents=True, exist_ok=True)
                write_bytes(path, content)
            prefer_modules(folder, list(places))
            _in_use.folder = folder
        _in_use.cells += 1
    try:
        yield
    finally:
        with _change:
            _in_use.cells -= 1
            _change.notify_all()


_placing = Lock()


def _placed(scratch: Path, name: str, content: bytes) -> Path:
    """Return a file with a name and content; it is written once."""
    path = scratch / f"simsched-{hashlib.sha256(content).hexdigest()}" / name
    with _placing:
        if not path.exists():
            path.parent.mkdir(exist_ok=True)
            write_bytes(path, content)
    return path
