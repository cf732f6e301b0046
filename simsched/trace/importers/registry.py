"""Importers of recordings by name and content.

An importer is a function in a module of this package, marked with :func:`trace_importer`; modules
are found by walking the package, so that a new format is one new file.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from simsched.bounded import is_there
from simsched.errors import ConfigurationError, TraceError, unknown_name
from simsched.formats import check_name, check_options, import_modules, options_of, summary_of
from simsched.trace.recording import Recording
from simsched.workload.importers._source import is_empty, read_head

Read = Callable[..., Recording]
F = TypeVar("F", bound=Read)


@dataclass(frozen=True)
class TraceImporter:
    """A format of traces that can be read.

    Parameters
    ----------
    name : str
        Name of the format.
    read : callable
        Takes the path and the format's options by keyword, returns a recording.
    recognises : callable
        Takes the path of a file or directory and says whether it may have this format.
    """

    name: str
    read: Read
    recognises: Callable[[Path], bool]

    @property
    def summary(self) -> str:
        """First line of the reader's docstring."""
        return summary_of(self.read)

    @property
    def options(self) -> tuple[str, ...]:
        """Names of the options that the format accepts."""
        return options_of(self.read)


_importers: dict[str, TraceImporter] = {}


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
        The name is taken.
    """

    def register(read: F) -> F:
        known = _importers.get(name)
        check_name(f"trace importer {name!r}", known.read if known else None, read)
        _importers[name] = TraceImporter(name, read, recognises)
        return read

    return register


def trace_importers() -> dict[str, TraceImporter]:
    """Return every importer by name, in alphabetical order.

    Returns
    -------
    dict of str to TraceImporter
        What `trace_importer` has registered.
    """
    import_modules(__package__)
    return dict(sorted(_importers.items()))


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
        Options of the format, see `TraceImporter.options`.

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
    """
    source = Path(path)
    _check_there(source)
    known = trace_importers()
    if format is not None and format not in known:
        raise ConfigurationError(unknown_name("format", format, known))
    chosen = known[recognise(source) if format is None else format]
    check_options(options, chosen.name, chosen.options)
    recording = chosen.read(source, **options)
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
    if path.is_file() and is_empty(read_head(path)):
        raise TraceError(f"{path}: found an empty file")
    known = trace_importers()
    fitting = [name for name, importer in known.items() if importer.recognises(path)]
    if len(fitting) == 1:
        return fitting[0]
    found = f"contents that fit {', '.join(fitting)}" if fitting else "contents of no known format"
    accepted = ", ".join(sorted([*known, *others]))
    raise TraceError(f"{path}: found {found}; accepted with an explicit format: {accepted}")


def _check_there(path: Path) -> None:
    """Refuse a path that leads nowhere."""
    if not is_there(path):
        raise TraceError(f"{path}: found no such file or directory")
