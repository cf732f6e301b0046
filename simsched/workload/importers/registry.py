"""Importers by name, suffix and content.

An importer is a function in a module of this package, marked with :func:`importer`; modules are
found by walking the package, so that a new format is one new file.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from simsched.errors import ConfigurationError, GraphError, unknown_name
from simsched.formats import (
    blamed,
    check_name,
    check_options,
    check_returned,
    import_modules,
    options_of,
    summary_of,
)
from simsched.workload.graph import Workload
from simsched.workload.importers._source import is_empty, read_head
from simsched.workload.importers.measured import MeasuredWorkload

Read = Callable[..., Workload | MeasuredWorkload]
F = TypeVar("F", bound=Read)


@dataclass(frozen=True)
class Importer:
    """A format that can be read.

    Parameters
    ----------
    name : str
        Name of the format.
    suffixes : tuple of str
        Endings of file names in lower case, dots included.
    read : callable
        Takes the path and the format's options by keyword.
    recognises : callable, optional
        Says from the first bytes of a file whether it may have this format; consulted when the
        suffix is not enough.
    """

    name: str
    suffixes: tuple[str, ...]
    read: Read
    recognises: Callable[[bytes], bool] | None = None

    @property
    def summary(self) -> str:
        """First line of the reader's docstring."""
        return summary_of(self.read)

    @property
    def options(self) -> tuple[str, ...]:
        """Names of the options that the format accepts."""
        return options_of(self.read)


_importers: dict[str, Importer] = {}


def importer(
    name: str, *, suffixes: tuple[str, ...], recognises: Callable[[bytes], bool] | None = None
) -> Callable[[F], F]:
    """Register the decorated function as the reader of a format.

    Parameters
    ----------
    name : str
        Name of the format.
    suffixes : tuple of str
        Endings of file names in lower case, dots included; several formats may share one.
    recognises : callable, optional
        Takes the first bytes of a file, decompressed, and says whether it may have this format.

    Returns
    -------
    callable
        Takes the function and returns it.

    Raises
    ------
    ValueError
        The name is taken.
    """

    def register(read: F) -> F:
        known = _importers.get(name)
        check_name(f"importer {name!r}", known.read if known else None, read)
        _importers[name] = Importer(name, suffixes, read, recognises)
        return read

    return register


def importers() -> dict[str, Importer]:
    """Return every importer by name, in alphabetical order.

    Returns
    -------
    dict of str to Importer
        What `importer` has registered.
    """
    import_modules(__package__)
    return dict(sorted(_importers.items()))


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
        Options of the format, see `Importer.options`.

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
    result = _read(Path(path), format, options)
    return result.workload if isinstance(result, MeasuredWorkload) else result


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
    known = importers()
    if name is not None and name not in known:
        raise ConfigurationError(unknown_name("format", name, known))
    chosen = _recognise(path, known) if name is None else known[name]
    check_options(options, chosen.name, chosen.options)
    with blamed(f"{path}: importer {chosen.name}", chosen.read):
        result = chosen.read(path, **options)
    workload = result.workload if isinstance(result, MeasuredWorkload) else result
    check_returned(f"{path}: importer {chosen.name}", chosen.read, workload, Workload)
    try:
        workload.validate()
    except GraphError as error:
        raise GraphError(f"{path}: {error}") from error
    return result


def _fits(importer: Importer, path: Path, head: bytes) -> bool:
    """Return whether an importer says that the beginning of a file may have its format."""
    if importer.recognises is None:
        return False
    with blamed(f"{path}: importer {importer.name}", importer.recognises):
        return importer.recognises(head)


def _recognise(path: Path, known: dict[str, Importer]) -> Importer:
    """Return the importer that fits the suffix, or the content where the suffix does not decide."""
    by_suffix = [i for i in known.values() if path.name.lower().endswith(i.suffixes)]
    if len(by_suffix) == 1:
        return by_suffix[0]
    head = read_head(path)
    if is_empty(head):
        raise GraphError(f"{path}: found an empty file")
    candidates = by_suffix or known.values()
    fitting = [i for i in candidates if _fits(i, path, head)]
    if len(fitting) == 1:
        return fitting[0]
    names = ", ".join(i.name for i in fitting)
    found = f"contents that fit {names}" if fitting else "contents of no known format"
    raise GraphError(f"{path}: found {found}; accepted with an explicit format: {', '.join(known)}")
