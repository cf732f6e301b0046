"""Importers by name, suffix and content.

An importer is a function in a module of this package, marked with :func:`importer`; modules are
found by walking the package, so that a new format is one new file.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from simsched.files.bounded import goes_on, is_empty, is_there, read_head, read_text
from simsched.files.errors import GraphError, SimschedError
from simsched.names.arguments import as_path
from simsched.names.extensions import blamed
from simsched.names.formats import Format, only_fitting
from simsched.names.registry import Registry
from simsched.workload.graph import Workload
from simsched.workload.importers.measured import MeasuredWorkload

Read = Callable[..., Workload | MeasuredWorkload]
F = TypeVar("F", bound=Read)


Importer = Format[Read]

_importers: Registry[Importer] = Registry("importer", __package__, noun="format")


def importer(
    name: str, *, suffixes: tuple[str, ...], recognises: Callable[[bytes], bool] | None = None
) -> Callable[[F], F]:
    """Register the decorated function as the reader of a format.

    It takes the path and the format's options by keyword.

    Parameters
    ----------
    name : str
        Name of the format.
    suffixes : tuple of str
        Endings of file names in lower case, dots included; several formats may share one.
    recognises : callable, optional
        Takes the first bytes of a file, decompressed, and says whether it may have this format;
        consulted when the suffix is not enough. It gets the whole file where no format fits these.

    Returns
    -------
    callable
        Takes the function and returns it.

    Raises
    ------
    ValueError
        The name is taken, or an option has no default or a type that cannot be checked.
    """

    def register(read: F) -> F:
        _importers.add(Format(name, read, suffixes, recognises))
        return read

    return register


def importers() -> dict[str, Importer]:
    """Return every importer by name, in alphabetical order.

    Returns
    -------
    dict of str to Importer
        What `importer` has registered.
    """
    return _importers.all()


def import_workload(
    path: Path | str,
    format: str | None = None,  # noqa: A002 (the word users know)
    **options: object,
) -> Workload:
    """Return the workload that a file describes, validated.

    Parameters
    ----------
    path : Path or str
        The file.
    format : str, optional
        Name of the format; by default it follows from the suffix and, where that is shared, from
        the content.
    **options
        Options of the format, see `Importer.parameters`.

    Returns
    -------
    Workload
        Costs in operations, data in bytes.

    Raises
    ------
    ConfigurationError
        An unknown format or option.
    GraphError
        The file cannot be read, its format cannot be told or its contents are wrong.
    """
    result = _read(as_path("import", path, "the path of a file"), format, options)
    return result.workload if isinstance(result, MeasuredWorkload) else result


def format_of(path: Path) -> str | None:
    """Return the format that a task graph file is taken for.

    Parameters
    ----------
    path : Path
        Of a file.

    Returns
    -------
    str or None
        A key of `importers`; None for a file that is none, or may have several.
    """
    try:
        return _recognise(path)[0].name
    except GraphError:
        return None


def import_measured(
    path: Path | str,
    format: str | None = None,  # noqa: A002 (the word users know)
    **options: object,
) -> MeasuredWorkload:
    """Return the workload of a measured run together with the measurements, validated.

    Parameters
    ----------
    path : Path or str
        The file.
    format : str, optional
        As for :func:`import_workload`.
    **options
        Options of the format.

    Returns
    -------
    MeasuredWorkload
        What can be simulated, and what happened on hardware.

    Raises
    ------
    ConfigurationError
        An unknown format or option.
    GraphError
        As :func:`import_workload`; also for a format that carries no measurements.
    """
    result = _read(Path(path), format, options)
    if not isinstance(result, MeasuredWorkload):
        raise GraphError(f"{path}: found a task graph without measurements of its execution")
    return result


def _read(path: Path, name: str | None, options: dict[str, object]) -> Workload | MeasuredWorkload:
    """Read a file with the importer that fits."""
    chosen, why = _recognise(path) if name is None else (_importers.find(name), None)
    result: Workload | MeasuredWorkload = chosen.read(
        path, options, why, (GraphError,), Workload, MeasuredWorkload
    )
    workload = result.workload if isinstance(result, MeasuredWorkload) else result
    try:
        workload.validate()
    except GraphError as error:
        raise GraphError(f"{path}: {error}") from error
    return result


def _recognise(path: Path) -> tuple[Importer, str | None]:
    """Return the importer that fits the ending, or else the contents, and which of them it was.

    A file that is not there was taken for nothing.
    """
    known = importers()
    by_suffix = [candidate for candidate in known.values() if candidate.has_suffix(path)]
    if len(by_suffix) == 1:
        return by_suffix[0], "ending" if is_there(path) else None
    head = read_head(path, GraphError)
    if is_empty(head):
        raise GraphError(f"{path}: found an empty file")
    candidates = by_suffix or [*known.values()]
    if goes_on(head) and not any(each.fits(path, head) for each in candidates):
        head = read_text(path, GraphError).encode()  # what tells the format may stand far behind
    if by_suffix and not any(each.fits(path, head) for each in by_suffix):
        raise _refusal(path, by_suffix)
    chosen = only_fitting(path, head, candidates, accepted=known, error=GraphError)
    return chosen, "contents"


def _refusal(path: Path, candidates: list[Importer]) -> GraphError:
    """Return what the readers of formats that share an ending say of a file that fits none."""
    said: dict[str, list[str]] = {}
    for each in candidates:
        try:
            with blamed(f"{path}: importer {each.name}", each.function):
                each.function(path)
        except SimschedError as error:
            said.setdefault(str(error), []).append(each.name)
    reasons = "; ".join(f"{why} (taken for {' or '.join(names)})" for why, names in said.items())
    if len(said) == 1:
        return GraphError(reasons)
    return GraphError(
        ": ".join(filter(None, (f"{path}: found contents of no known format", reasons)))
    )
