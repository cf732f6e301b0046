"""Exporters by name and suffix.

An exporter is a function in a module of this package, marked with :func:`exporter`; modules are
found by walking the package, so that a new format is one new file.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from simsched.files.errors import ConfigurationError
from simsched.names.formats import Format
from simsched.names.registry import Registry
from simsched.trace.exporters._source import check_recording
from simsched.trace.recording import Recording

Write = Callable[..., list[str]]
F = TypeVar("F", bound=Write)


Exporter = Format[Write]

_exporters: Registry[Exporter] = Registry("exporter", __package__, noun="format")


def exporter(name: str, *, suffixes: tuple[str, ...]) -> Callable[[F], F]:
    """Register the decorated function as the writer of a format.

    It takes the recording, the path and the format's options by keyword; it returns remarks about
    what the file does not hold, one sentence each.

    Parameters
    ----------
    name : str
        Name of the format.
    suffixes : tuple of str
        Endings of file names in lower case, dots included.

    Returns
    -------
    callable
        Takes the function and returns it.

    Raises
    ------
    ValueError
        The name is taken.
    """

    def register(write: F) -> F:
        _exporters.add(Format(name, write, suffixes))
        return write

    return register


def exporters() -> dict[str, Exporter]:
    """Return every exporter by name, in alphabetical order.

    Returns
    -------
    dict of str to Exporter
        What `exporter` has registered.
    """
    return _exporters.all()


def export_recording(
    recording: Recording,
    path: Path | str,
    format: str | None = None,  # noqa: A002 (the word users know)
    **options: object,
) -> list[str]:
    """Write a run in the format of another program, completely or not at all.

    Parameters
    ----------
    recording : Recording
        The run; of a simulated one from :func:`~simsched.analysis.recordings.recording_of`.
    path : Path or str
        Where to; an existing file is replaced.
    format : str, optional
        Name of the format; by default it follows from the suffix.
    **options
        Options of the format, see `Exporter.parameters`.

    Returns
    -------
    list of str
        What the file does not hold, one sentence each; empty when nothing was left out.

    Raises
    ------
    ConfigurationError
        An unknown format or option, a recording that contradicts itself, or a file that cannot be
        written.
    """
    path = Path(path)
    chosen = _exporters.find(format) if format is not None else _by_suffix(path)
    given = chosen.checked(path, options)
    check_recording(recording)
    return chosen.function(recording, path, **given)


def _by_suffix(path: Path) -> Exporter:
    """Return the exporter whose suffix a file name has."""
    known = exporters().values()
    for item in known:
        if item.has_suffix(path):
            return item
    accepted = ", ".join(suffix for item in known for suffix in item.suffixes)
    raise ConfigurationError(
        f"{path}: found the suffix {path.suffix!r}, accepted: a name that ends in {accepted}, "
        "or an explicit format"
    )
