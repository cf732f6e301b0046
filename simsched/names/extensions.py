"""Faults in code of users and other packages, as messages that say where it is."""

from __future__ import annotations

import inspect
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from simsched.files.errors import ExtensionError, SimschedError


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
