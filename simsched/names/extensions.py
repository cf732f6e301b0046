"""Faults in code of users and other packages, as messages that say where it is."""

from __future__ import annotations

import inspect
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from simsched.files.errors import ANY_ERROR, ExtensionError, SimschedError, with_article


@contextmanager
def blamed(what: str, function: Callable[..., Any]) -> Iterator[None]:
    """Turn what code of users raises inside into an ExtensionError; simsched's own errors pass.

    So does a lack of memory. `what` is kind and name, for the message, which names the last line of
    the file of `function` that was executed.
    """
    try:
        yield
    except (SimschedError, MemoryError):
        raise
    except ANY_ERROR as error:
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
    try:
        return inspect.getfile(inspect.unwrap(function))
    except (OSError, TypeError):
        return None


def check_returned(what: str, function: Callable[..., Any], found: object, *kinds: type) -> None:
    """Raise an ExtensionError that says where the function is if it returned none of `kinds`."""
    if not isinstance(found, kinds):
        code = inspect.unwrap(function).__code__
        place = f"{code.co_filename}:{code.co_firstlineno}: {function.__name__}"
        returned = "nothing" if found is None else with_article(type(found))
        raise ExtensionError(
            f"{what}: {place}: found {returned}, accepted {with_article(kinds[0])}"
        )
