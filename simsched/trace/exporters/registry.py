"""Exporters by name and suffix.

An exporter is a function in a module of this package, marked with :func:`exporter`; modules are
found by walking the package, so that a new format is one new file.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from simsched.errors import ConfigurationError, unknown_name
from simsched.formats import check_name, check_options, import_modules, options_of, summary_of
from simsched.trace.exporters._source import check_recording
from simsched.trace.recording import Recording

Write = Callable[..., list[str]]
F = TypeVar("F", bound=Write)


@dataclass(frozen=True)
class Exporter:
    """A format that can be written.

    Parameters
    ----------
    name : str
        Name of the format.
    suffixes : tuple of str
        Endings of file names in lower case, dots included.
    write : callable
        Takes the recording, the path and the format's options by keyword; returns remarks about
        what the file does not hold, one sentence each.
    """

    name: str
    suffixes: tuple[str, ...]
    write: Write

    @property
    def summary(self) -> str:
        """First line of the writer's docstring."""
        return summary_of(self.write)

    @property
    def options(self) -> tuple[str, ...]:
        """Names of the options that the format accepts."""
        return options_of(self.write)


_exporters: dict[str, Exporter] = {}


def exporter(name: str, *, suffixes: tuple[str, ...]) -> Callable[[F], F]:
    """Register the decorated function as the writer of a format.

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
        known = _exporters.get(name)
        check_name(f"exporter {name!r}", known.write if known else None, write)
        _exporters[name] = Exporter(name, suffixes, write)
        return write

    return register


def exporters() -> dict[str, Exporter]:
    """Return every exporter by name, in alphabetical order.

    Returns
    -------
    dict of str to Exporter
        What `exporter` has registered.
    """
    import_modules(__package__)
    return dict(sorted(_exporters.items()))


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
        The run; of a simulated one from :func:`~simsched.trace.exporters.recording_of`.
    path : Path or str
        Where to; an existing file is replaced.
    format : str, optional
        Name of the format; by default it follows from the suffix.
    **options
        Options of the format, see `Exporter.options`.

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
    path, known = Path(path), exporters()
    if format is not None and format not in known:
        raise ConfigurationError(unknown_name("format", format, known))
    chosen = known[format] if format is not None else _by_suffix(path, known)
    check_options(options, chosen.name, chosen.options)
    check_recording(recording)
    return chosen.write(recording, path, **options)


def _by_suffix(path: Path, known: dict[str, Exporter]) -> Exporter:
    """Return the exporter whose suffix a file name has."""
    for item in known.values():
        if path.name.lower().endswith(item.suffixes):
            return item
    accepted = ", ".join(suffix for item in known.values() for suffix in item.suffixes)
    raise ConfigurationError(
        f"{path}: found the suffix {path.suffix!r}, accepted: a name that ends in {accepted}, "
        "or an explicit format"
    )
