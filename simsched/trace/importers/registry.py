"""Importers of recordings by name and content.

An importer is a function in a module of this package, marked with :func:`trace_importer`; modules
are found by walking the package, so that a new format is one new file.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from simsched.files.bounded import is_there
from simsched.files.errors import ConfigurationError, TraceError
from simsched.names.registry import Format, Registry, blamed, check_returned, only_fitting
from simsched.trace.recording import Recording
from simsched.workload.importers._source import is_empty, read_head
from simsched.workload.registry import Parameter, parameters_of

Read = Callable[..., Recording]
F = TypeVar("F", bound=Read)


@dataclass(frozen=True)
class TraceImporter(Format[Read]):
    """A format of traces that can be read.

    Parameters
    ----------
    name : str
        Name of the format.
    function : callable
        Takes the path and the format's options by keyword, returns a recording.
    suffixes : tuple of str
        None: names tell nothing about the format of a trace.
    recognises : callable, optional
        Takes the path of a file or directory and says whether it may have this format.
    parameters : dict of str to Parameter
        Its options: the reader's keyword-only parameters, as their annotations describe them.
    """

    parameters: dict[str, Parameter] = field(default_factory=dict)

    def checked(self, options: Mapping[str, object]) -> dict[str, object]:
        """Return options as the reader takes them; text stands for what its annotation says.

        Parameters
        ----------
        options : mapping of str to object
            Values by name.

        Returns
        -------
        dict of str to object
            The same with values of the types that the reader's annotations say.

        Raises
        ------
        ConfigurationError
            An option that the format does not have, or a value that it does not accept.
        """
        self.check_options(options)
        found = {}
        for key, value in options.items():
            option = self.parameters[key]
            try:
                found[key] = option.read(value) if isinstance(value, str) else option.check(value)
            except ValueError as error:
                raise ConfigurationError(f"format {self.name}: option {key}: {error}") from error
        return found


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
        parameters = parameters_of(read)
        _importers.add(TraceImporter(name, read, (), recognises, parameters))
        return read

    return register


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
    chosen = _importers.find(recognise(source) if format is None else format)
    given, what = chosen.checked(options), f"{source}: importer {chosen.name}"
    with blamed(what, chosen.function):
        recording = chosen.function(source, **given)
    check_returned(what, chosen.function, recording, Recording)
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
    accepted = sorted([*known, *others])
    return only_fitting(path, path, known.values(), accepted=accepted, error=TraceError).name


def _check_there(path: Path) -> None:
    if not is_there(path):
        raise TraceError(f"{path}: found no such file or directory")
