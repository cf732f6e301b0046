"""What commands print, and options that mean the same everywhere.

Results go to standard output, everything else to standard error. Escape sequences go to terminals
only, and neither to dumb ones (``TERM=dumb``) nor where ``NO_COLOR`` is set.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn, TextIO

import typer

from simsched.files.errors import ConfigurationError

if TYPE_CHECKING:
    from rich.console import Console

JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON document.")]
QuietOption = Annotated[
    bool, typer.Option("--quiet", "-q", help="Results and errors only: no progress, no warnings.")
]
#: Endings of pictures, which say their formats.
FIGURES = (".png", ".pdf", ".svg")
#: Exit codes.
WRONG_INPUT = 2


def examples(*commands: str) -> str:
    """Return the end of a help text: commands as they are typed."""
    lines = "\n".join(f"  simsched {command}" for command in commands)
    # After this mark Click keeps lines as they are up to the next empty one.
    return f"\b\nExamples:\n{lines}"


def say(*things: Any) -> None:
    """Print to standard output."""
    console_on(sys.stdout).print(*things, highlight=False)


def warn(warnings: Sequence[str], *, quiet: bool) -> None:
    """Print warnings to standard error."""
    for warning in [] if quiet else warnings:
        sys.stderr.write(f"simsched: warning: {warning}\n")


def say_files(files: list[Path], *, as_json: bool) -> None:
    """Print the names of files that were written, one per line."""
    if as_json:
        print_json({"files": [str(path) for path in files]})
    else:
        sys.stdout.write("".join(f"{path}\n" for path in files))


def is_plain(stream: TextIO) -> bool:
    """Return whether nothing but text may be written to standard output or standard error."""
    dumb = os.environ.get("TERM", "").lower() in ("dumb", "unknown")
    return dumb or bool(os.environ.get("NO_COLOR")) or not stream.isatty()


def console_on(stream: TextIO) -> Console:
    """Return a console; nothing is broken into lines where the output is not a terminal.

    Text is printed as it is: ``[red]`` is no style, ``:x:`` no symbol.
    """
    from rich.console import Console

    from simsched.report.terminal import UNBROKEN

    class ClosingConsole(Console):
        """A console that leaves it to the program what a closed pipe means."""

        def on_broken_pipe(self) -> NoReturn:
            """Pass the error on."""
            raise BrokenPipeError

    width = None if stream.isatty() or "COLUMNS" in os.environ else UNBROKEN
    plain: dict[str, Any] = {"force_terminal": False, "color_system": None}
    style = plain if is_plain(stream) else {}
    return ClosingConsole(
        file=stream, width=width, soft_wrap=False, markup=False, emoji=False, **style
    )


def print_json(document: Any, default: Callable[[Any], Any] | None = None) -> None:
    """Print a document as JSON; `default` returns what stands for values that JSON has not."""
    sys.stdout.write(json.dumps(document, indent=1, allow_nan=False, default=default) + "\n")


def check_output(
    path: Path | None, *suffixes: str, overwrite: bool, option: str = "--output"
) -> None:
    """Refuse a file in advance: of another suffix, there already, or that cannot be written."""
    from simsched.files.atomic import check_writable, refuse_existing

    if path is None:
        return
    if suffixes and path.suffix not in suffixes:
        accepted = f"a name that ends in {' or '.join(suffixes)}"
        raise ConfigurationError(f"{option}: found {str(path)!r}, accepted: {accepted}")
    refuse_existing([path], overwrite=overwrite)
    check_writable(path)


def parse_options(assignments: list[str], *, whole: bool = False) -> dict[str, object]:
    """Return options given as ``NAME=VALUE``, where asked for as `whole` numbers."""
    found: dict[str, object] = {}
    for text in assignments:
        name, equals, value = text.partition("=")
        if not name or not equals or (whole and not value.removeprefix("-").isdecimal()):
            accepted = "NAME=NUMBER" if whole else "NAME=VALUE"
            raise ConfigurationError(f"--set: found {text!r}, accepted {accepted}")
        if name in found:
            raise ConfigurationError(f"--set: found {name} a second time")
        found[name] = int(value) if whole else value
    return found
