"""The command that measures this host and writes it as a machine."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from simsched.errors import ConfigurationError

if TYPE_CHECKING:
    from simsched.hardware.calibrate import Calibration

SUFFIXES = (".yaml", ".yml")


def calibrate_command(
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FILE", help="Machine file to write (.yaml)."),
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Fewer rounds, smaller buffers: less accurate.")
    ] = False,
    cores: Annotated[
        str | None,
        typer.Option("--cores", metavar="LIST", help="Hardware threads, such as 0-3,8."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress, no messages.")] = False,
) -> None:
    """Measure this host (caches, memory, scheduling) and write it as a machine."""
    from simsched.atomic import write_text
    from simsched.hardware.calibrate import calibrate_machine
    from simsched.hardware.calibrate_document import machine_document, machine_yaml
    from simsched.hardware.calibrate_report import calibration_document

    if output is not None:
        _check_output(output)
    chosen = None if cores is None else _cores(cores)

    def progress(what: str) -> None:
        if not quiet and sys.stderr.isatty():
            sys.stderr.write(f"measuring {what}\n")

    found = calibrate_machine(chosen, quick=quick, progress=progress)
    if output is not None:
        write_text(output, machine_yaml(machine_document(found)))
    if as_json:
        file = None if output is None else str(output)
        document = {**calibration_document(found), "file": file}
        sys.stdout.write(json.dumps(document, indent=1, allow_nan=False) + "\n")
        return
    if not quiet:
        for warning in found.warnings:
            sys.stderr.write(f"simsched: warning: {warning}\n")
    _print(found)
    if output is not None:
        sys.stdout.write(f"{output}\n")


def _check_output(output: Path) -> None:
    """Refuse a file that could not be written after the measurements, which take a while."""
    from simsched.atomic import HOST, discard, naming

    if output.suffix not in SUFFIXES:
        accepted = f"a name that ends in {' or '.join(SUFFIXES)}"
        raise ConfigurationError(f"--output: found {str(output)!r}, accepted: {accepted}")
    if output.is_dir():
        raise ConfigurationError(f"{output}: cannot be written: it is a directory")
    probe = output.with_name(f".{output.name}.{HOST}.{os.getpid()}.tmp")
    with naming(output):
        probe.touch()
    discard(probe)


def _cores(text: str) -> list[int]:
    """Return the hardware threads of a list."""
    from simsched.hardware.topology import parse_list

    try:
        return parse_list(text)
    except ValueError:
        raise ConfigurationError(
            f"--cores: found {text!r}, accepted: numbers and ranges such as 0-3,8"
        ) from None


def _print(found: Calibration) -> None:
    """Print what was measured, how repeatable it was and how long it took."""
    from rich.console import Console

    from simsched.report.calibration import calibration_table, check_table

    stream = sys.stdout
    width = None if stream.isatty() or "COLUMNS" in os.environ else 160
    console = Console(file=stream, width=width, soft_wrap=False)
    console.print(calibration_table(found), markup=False, highlight=False)
    console.print(check_table(found), markup=False, highlight=False)
    stream.write(
        f"took {found.duration_s:.1f} s; spread: how much longer the middle round took than the "
        "best one\n"
    )
