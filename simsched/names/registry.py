"""What registries of file formats, and of other things that are one module each, have in common."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import traceback
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Generic, TypeVar

from simsched.files.errors import ConfigurationError, ExtensionError, SimschedError, unknown_name

Function = TypeVar("Function", bound=Callable[..., Any])


@dataclass(frozen=True)
class Entry(Generic[Function]):
    """A function that is registered under a name.

    Parameters
    ----------
    name : str
        What users call it.
    function : callable
        What it does; the first line of its docstring is its summary.
    """

    name: str
    function: Function

    @property
    def summary(self) -> str:
        """First line of the function's docstring."""
        return summary_of(self.function)


@dataclass(frozen=True)
class Format(Entry[Function]):
    """A file format, by the function that reads or writes it.

    Parameters
    ----------
    name : str
        What users call it.
    function : callable
        Reads or writes it; its keyword-only parameters are the options of the format.
    suffixes : tuple of str
        Endings of file names in lower case, dots included; several formats may share one.
    recognises : callable, optional
        Says from what the registry's reader looks at whether it may have this format.
    """

    suffixes: tuple[str, ...] = ()
    recognises: Callable[[Any], bool] | None = None

    @property
    def options(self) -> tuple[str, ...]:
        """Names of the options that the format accepts."""
        parameters = inspect.signature(self.function).parameters.values()
        return tuple(p.name for p in parameters if p.kind is p.KEYWORD_ONLY)

    def check_options(self, options: Iterable[str]) -> None:
        """Check the options that somebody gives.

        Raises
        ------
        ConfigurationError
            The format does not accept one of them.
        """
        for option in options:
            if option not in self.options:
                what = f"option of format {self.name}"
                raise ConfigurationError(unknown_name(what, option, self.options))

    def has_suffix(self, path: Path) -> bool:
        """Return whether a file is called like one of this format."""
        return path.name.lower().endswith(self.suffixes)

    def fits(self, path: Path, seen: object) -> bool:
        """Return whether what was seen of a file may have this format.

        Raises
        ------
        ExtensionError
            What recognises the format has raised another exception than simsched's own.
        """
        if self.recognises is None:
            return False
        with blamed(f"{path}: importer {self.name}", self.recognises):
            return self.recognises(seen)


AnyFormat = TypeVar("AnyFormat", bound=Format[Any])
AnyEntry = TypeVar("AnyEntry", bound=Entry[Any])


class Registry(Generic[AnyEntry]):
    """Entries by name.

    Parameters
    ----------
    what : str
        What registers them, for messages to developers.
    package : str, optional
        Its modules register the entries; they are imported when somebody asks for one.
    noun : str, optional
        What users call an entry; as `what` by default.
    """

    def __init__(self, what: str, package: str | None = None, noun: str | None = None) -> None:
        self._what, self._package, self._noun = what, package, noun or what
        self._entries: dict[str, AnyEntry] = {}

    def add(self, entry: AnyEntry) -> None:
        """Register an entry; the same one comes again when its module is executed again.

        Raises
        ------
        ValueError
            Another function has the name; the message says where both are.
        """
        known = self._entries.get(entry.name)
        check_name(
            f"{self._what} {entry.name!r}", known.function if known else None, entry.function
        )
        self._entries[entry.name] = entry

    def all(self) -> dict[str, AnyEntry]:
        """Return every entry by name, in alphabetical order."""
        if self._package is not None:
            import_modules(self._package)
        return dict(sorted(self._entries.items()))

    def find(self, name: str) -> AnyEntry:
        """Return the entry of a name.

        Raises
        ------
        ConfigurationError
            Unknown, the message lists the accepted names and the nearest.
        """
        known = self.all()
        if name not in known:
            raise ConfigurationError(unknown_name(self._noun, name, known))
        return known[name]

    def summaries(self) -> dict[str, str]:
        """Return the summary of every entry by name, in alphabetical order."""
        return {name: entry.summary for name, entry in self.all().items()}


def only_fitting(
    path: Path,
    seen: object,
    candidates: Iterable[AnyFormat],
    *,
    accepted: Iterable[str],
    error: type[SimschedError],
) -> AnyFormat:
    """Return the format that fits what was seen of a file.

    Parameters
    ----------
    path : Path
        The file or directory, for messages.
    seen : object
        What `recognises` of the candidates takes.
    candidates : iterable of Format
        Those that come into question.
    accepted : iterable of str
        Formats that can be given explicitly, for the message.
    error : type
        What to raise.

    Raises
    ------
    SimschedError
        Of type `error`: none fits, or several do.
    """
    fitting = [candidate for candidate in candidates if candidate.fits(path, seen)]
    if len(fitting) == 1:
        return fitting[0]
    names = ", ".join(candidate.name for candidate in fitting)
    found = f"contents that fit {names}" if fitting else "contents of no known format"
    raise error(f"{path}: found {found}; accepted with an explicit format: {', '.join(accepted)}")


@cache
def import_modules(package: str) -> None:
    """Import the modules of a package, whose names do not begin with an underscore."""
    for module in pkgutil.iter_modules(importlib.import_module(package).__path__):
        if not module.name.startswith("_"):
            importlib.import_module(f"{package}.{module.name}")


def check_name(what: str, known: Callable[..., Any] | None, new: Callable[..., Any]) -> None:
    """Check that a function may have a name which another one may have already.

    The same function comes a second time when its module is executed again.

    Parameters
    ----------
    what : str
        Kind and name, for the message.
    known : callable, optional
        The function that has the name so far.
    new : callable
        The function that is to have it.

    Raises
    ------
    ValueError
        They are different ones; the message says where both are.
    """
    if known is not None and place_of(known) != place_of(new):
        raise ValueError(f"{what}: registered twice, by {place_of(known)} and by {place_of(new)}")


def place_of(function: Callable[..., Any]) -> str:
    """Return where a function is defined."""
    return f"{function.__module__}.{function.__qualname__}"


def summary_of(function: Callable[..., Any]) -> str:
    """Return the first line of a function's docstring."""
    return (inspect.getdoc(function) or "").partition("\n")[0]


@contextmanager
def blamed(what: str, function: Callable[..., Any]) -> Iterator[None]:
    """Turn what a generator, an importer or the constructor of a policy raises into one message.

    Parameters
    ----------
    what : str
        Kind and name, for the message.
    function : callable
        What is called inside, a function or a class. The message names the last line of its file
        that was executed.

    Raises
    ------
    ExtensionError
        An exception that is neither simsched's own nor a lack of memory.
    """
    try:
        yield
    except (SimschedError, MemoryError):
        raise
    except (Exception, SystemExit) as error:
        file = _file_of(function)
        frames = traceback.extract_tb(error.__traceback__)
        own = [frame for frame in frames if frame.filename == file]
        last = (own or frames)[-1]
        kind = f"{type(error).__name__}: {' '.join(str(error).split())}".rstrip(": ")
        place = f"{last.filename}:{last.lineno}: {last.name}"
        if isinstance(function, type) and not own:  # arguments that a made __init__ does not take
            place = f"{file}: {function.__name__}"
        raise ExtensionError(f"{what}: {place}: {kind}") from error


def _file_of(function: Callable[..., Any]) -> str | None:
    """Return the file of a function or a class, None when there is none."""
    try:
        return inspect.getfile(inspect.unwrap(function))
    except (OSError, TypeError):
        return None


def check_returned(what: str, function: Callable[..., Any], found: object, kind: type) -> None:
    """Check that a generator or an importer has returned what it has to.

    Raises
    ------
    ExtensionError
        Something else; the message says where the function is.
    """
    if not isinstance(found, kind):
        code = inspect.unwrap(function).__code__
        place = f"{code.co_filename}:{code.co_firstlineno}: {function.__name__}"
        returned = "nothing" if found is None else f"a {type(found).__name__}"
        raise ExtensionError(f"{what}: {place}: found {returned}, accepted a {kind.__name__}")
