"""The command that holds simulations against measured runs."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated

import typer


def validate_command(
    measurements: Annotated[Path, typer.Argument(help="Directory that `simsched measure` wrote.")],
    machine: Annotated[
        str,
        typer.Option("--machine", "-m", metavar="FILE", help="What `simsched calibrate` wrote."),
    ],
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="DIR", help="Write report, plot and JSON here."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress, no messages.")] = False,
) -> None:
    """Simulate measured runs on a calibrated machine and report the error."""
    from rich.console import Console

    from simsched.hardware.measurements import read_measurements
    from simsched.hardware.validation import validate_measurements
    from simsched.machine import load_machine
    from simsched.report.validation import summary_lines, validation_table, write_report

    measured = read_measurements(measurements)
    found = validate_measurements(measured, load_machine(machine))
    paths = write_report(found, output) if output is not None else []
    if not quiet:
        for warning in found.warnings:
            sys.stderr.write(f"simsched: warning: {warning}\n")
    if as_json:
        sys.stdout.write(json.dumps(found.as_json(), indent=1) + "\n")
        return
    console = Console(soft_wrap=True)
    console.print(validation_table(found))
    console.print("\n".join(summary_lines(found)), highlight=False, markup=False)
    for path in paths:
        console.print(str(path), highlight=False, markup=False)
