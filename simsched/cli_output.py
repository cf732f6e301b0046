"""What the commands share: how they print, and options that mean the same everywhere."""

from __future__ import annotations

import json
import os
import sys
from typing import TYPE_CHECKING, Annotated, Any, TextIO

import typer

from simsched.errors import ConfigurationError

if TYPE_CHECKING:
    from rich.console import Console

JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON document.")]
QuietOption = Annotated[bool, typer.Option("--quiet", "-q", help="No progress, no messages.")]
#: Exit code after Ctrl-C.
INTERRUPTED = 130


def say(*things: Any) -> None:
    """Print to standard output."""
    console_on(sys.stdout).print(*things, markup=False, highlight=False)


def console_on(stream: TextIO) -> Console:
    """Return a console; wide enough for tables when the output is not a terminal.

    Parameters
    ----------
    stream : file
        Standard output or standard error.
    """
    from rich.console import Console

    width = None if stream.isatty() or "COLUMNS" in os.environ else 160
    return Console(file=stream, width=width, soft_wrap=False)


def print_json(document: Any) -> None:
    """Print a document as JSON."""
    sys.stdout.write(json.dumps(document, indent=1, allow_nan=False) + "\n")


def parse_options(assignments: list[str]) -> dict[str, object]:
    """Return options given as ``NAME=VALUE``."""
    found: dict[str, object] = {}
    for text in assignments:
        name, equals, value = text.partition("=")
        if not name or not equals:
            raise ConfigurationError(f"--set: found {text!r}, accepted NAME=VALUE")
        if name in found:
            raise ConfigurationError(f"--set: found {name} a second time")
        found[name] = value
    return found
