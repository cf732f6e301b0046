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
