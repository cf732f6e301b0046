"""Importers of recordings by name and content.

An importer is a function in a module of this package, marked with :func:`trace_importer`; modules
are found by walking the package, so that a new format is one new file.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

from simsched.files.bounded import is_empty, read_head, unreadable
from simsched.files.errors import GraphError, TraceError
from simsched.names.formats import Format, only_fitting
from simsched.names.registry import Registry
from simsched.trace.recording import Recording

Read = Callable[..., Recording]
F = TypeVar("F", bound=Read)


TraceImporter = Format[Read]

_importers: Registry[TraceImporter] = Registry("trace importer", __package__, noun="format")


def trace_importer(name: str, *, recognises: Callable[[Path], bool]) -> Callable[[F], F]:
    """Register the decorated function as the reader of a format of traces.

    Parameters
    ----------
    name : str
        Name of the format.
    recognises : callable
        Takes the path of a file or directory that exists and says whether it may have this format.
        It looks at names in a directory and at the beginning of a file, no further.

    Returns
    -------
    callable
        Takes the function and returns it.

    Raises
    ------
    ValueError
        The name is taken, or a keyword-only parameter has no default or a type other than
        ``str``, ``int``, ``float``, ``bool`` and ``Literal``, each possibly ``| None``.
    """

    def register(read: F) -> F:
        _importers.add(TraceImporter(name, read, (), recognises))
        return read

    return register


def by_head(recognises: Callable[[bytes], bool]) -> Callable[[Path], bool]:
    """Return what recognises a file by its first bytes, decompressed, and no directory."""
    return lambda path: not path.is_dir() and recognises(read_head(path, TraceError))


def trace_importers() -> dict[str, TraceImporter]:
    """Return every importer by name, in alphabetical order.

    Returns
    -------
    dict of str to TraceImporter
        What `trace_importer` has registered.
    """
    return _importers.all()


def import_recording(
    path: Path | str,
    format: str | None = None,  # noqa: A002 (the word users know)
    **options: object,
) -> Recording:
    """Return the run that a trace describes, its graph validated where it has one.

    Parameters
    ----------
    path : Path or str
        A file or a directory, as the format has it.
    format : str, optional
        Name of the format; by default it follows from the content.
    **options
        Options of the format, see `TraceImporter.parameters`; also as text, as on the command line.

    Returns
    -------
    Recording
        Its `details` hold ``format``, ``set_aside`` (rows left out, by reason) and ``warnings``
        (what a reader of the recording should know, one sentence each).

    Raises
    ------
    ConfigurationError
        An unknown format or option.
    TraceError, GraphError
        The trace cannot be read, its format cannot be told or its contents are wrong.
    ExtensionError
        The importer has raised another exception.
    """
    source = Path(path)
    _check_there(source)
    why = "contents" if format is None else None
    chosen = _importers.find(recognise(source) if format is None else format)
    recording: Recording = chosen.read(source, options, why, (TraceError, GraphError), Recording)
    recording.details.setdefault("format", chosen.name)
    recording.details.setdefault("set_aside", {})
    recording.details.setdefault("warnings", [])
    if recording.workload is not None:
        recording.workload.validate()
    return recording


def recognise(path: Path, others: Sequence[str] = ()) -> str:
    """Return the name of the format that fits the content.

    Parameters
    ----------
    path : Path
        A file or a directory.
    others : sequence of str
        Formats that the caller accepts besides and has not recognised; the message names them, too.

    Returns
    -------
    str
        A key of `trace_importers`.

    Raises
    ------
    TraceError
        There is no such path, the file is empty, or not exactly one format fits.
    """
    _check_there(path)
    if path.is_file() and is_empty(read_head(path, TraceError)):
        raise TraceError(f"{path}: found an empty file")
    known = trace_importers()
    accepted = sorted([*known, *others])
    return only_fitting(path, path, known.values(), accepted=accepted, error=TraceError).name


def _check_there(path: Path) -> None:
    try:
        path.stat()
    except (OSError, ValueError) as error:
        raise TraceError(unreadable(path, error)) from error
