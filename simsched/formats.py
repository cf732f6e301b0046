"""What registries of file formats, and of other things that are one module each, have in common."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Callable, Iterable
from functools import cache
from typing import Any

from simsched.errors import ConfigurationError, unknown_name


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
