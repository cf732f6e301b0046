"""What registries of file formats, and of other things that are one module each, have in common."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import traceback
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

from simsched.errors import ConfigurationError, ExtensionError, SimschedError, unknown_name


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


def options_of(function: Callable[..., Any]) -> tuple[str, ...]:
    """Return the names of the parameters that a function takes by keyword only."""
    parameters = inspect.signature(function).parameters.values()
    return tuple(p.name for p in parameters if p.kind is p.KEYWORD_ONLY)


def check_options(options: Iterable[str], name: str, accepted: tuple[str, ...]) -> None:
    """Check the options that somebody gives for a format.

    Raises
    ------
    ConfigurationError
        The format does not accept one of them.
    """
    for option in options:
        if option not in accepted:
            raise ConfigurationError(unknown_name(f"option of format {name}", option, accepted))


@contextmanager
def blamed(what: str, function: Callable[..., Any]) -> Iterator[None]:
    """Turn what the code of a generator or an importer raises into one message.

    Parameters
    ----------
    what : str
        Kind and name, for the message.
    function : callable
        What is called inside. The message names the last line of its file that was executed.

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
        code = getattr(inspect.unwrap(function), "__code__", None)
        frames = traceback.extract_tb(error.__traceback__)
        own = [frame for frame in frames if code and frame.filename == code.co_filename]
        last = (own or frames)[-1]
        kind = f"{type(error).__name__}: {' '.join(str(error).split())}".rstrip(": ")
        place = f"{last.filename}:{last.lineno}: {last.name}"
        raise ExtensionError(f"{what}: {place}: {kind}") from error


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
