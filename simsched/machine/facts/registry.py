"""Formats of files about machines, by name and content.

A format is a function in a module of this package, marked with :func:`fact_format`; modules are
found by walking the package, so that a new format is one new file.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from simsched.files.bounded import is_empty, read_head
from simsched.files.errors import ConfigurationError, ExtensionError
from simsched.machine.facts.contents import Facts
from simsched.names.formats import Format, only_fitting
from simsched.names.registry import Registry

Read = Callable[[Path], Facts]
FactFormat = Format[Read]

_formats: Registry[FactFormat] = Registry("format of facts", __package__, noun="format")


def fact_format(name: str, *, recognises: Callable[[bytes], bool]) -> Callable[[Read], Read]:
    """Register the decorated function as the reader of a format.

    Parameters
    ----------
    name : str
        Name of the format.
    recognises : callable
        Takes the first bytes of a file, decompressed, and says whether it may have this format.

    Returns
    -------
    callable
        Takes the function and returns it.
    """

    def register(read: Read) -> Read:
        _formats.add(FactFormat(name, read, (), recognises))
        return read

    return register


def fact_formats() -> dict[str, FactFormat]:
    """Return every format by name, in alphabetical order.

    Returns
    -------
    dict of str to FactFormat
        What `fact_format` has registered.
    """
    return _formats.all()


def recognised(path: Path) -> str | None:
    """Return the format of a file about a machine, None for files that are about something else.

    Parameters
    ----------
    path : Path
        Of a file.

    Returns
    -------
    str or None
        A key of `fact_formats`; the first that fits.
    """
    head = read_head(path, ConfigurationError)
    return next((name for name, form in fact_formats().items() if form.fits(path, head)), None)


def read_facts(path: Path, format_name: str | None) -> Facts:
    """Return what a file says about a machine; a ConfigurationError names what is wrong with it."""
    if format_name is None:
        head = read_head(path, ConfigurationError)
        if is_empty(head):
            raise ConfigurationError(f"{path}: found an empty file")
        known = fact_formats()
        found = only_fitting(path, head, known.values(), accepted=known, error=ConfigurationError)
    else:
        found = _formats.find(format_name)
    why = "contents" if format_name is None else None
    try:
        facts: Facts = found.read(path, {}, why, (ConfigurationError,), Facts)
    except ExtensionError as error:
        if not found.function.__module__.startswith(f"{__package__}."):
            raise
        kind = type(error.__cause__).__name__
        raise ConfigurationError(
            f"{path}: found a value that no file of {found.name} has: {error.__cause__ or kind}"
        ) from error
    return facts
