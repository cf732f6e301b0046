"""The command that measures on this host."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from simsched.cli_output import (
    INTERRUPTED,
    JsonOption,
    QuietOption,
    console_on,
    print_json,
    say,
)


def measure_command(
    file: Annotated[str, typer.Argument(help="Measurement: a YAML file or a shipped name.")],
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="DIR", help="By default measurements/NAME."),
    ] = None,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace measurements that are there already.")
    ] = False,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Run programs under policies on this host and keep a trace of each run."""
    from simsched.experiment.progress import ProgressBar
    from simsched.hardware.measure import Interrupted, measure, number_of_runs
    from simsched.hardware.measure_schema import load_matrix
    from simsched.report.measurements import document_of

    matrix = load_matrix(file)
    directory = output or Path("measurements") / matrix.name
    bar = ProgressBar(number_of_runs(matrix), console_on(sys.stderr), verb="measuring")
    try:
        if quiet:
            measured = measure(matrix, directory, overwrite=overwrite)
        else:
            with bar:
                measured = measure(matrix, directory, overwrite=overwrite, progress=bar.advanced)
    except Interrupted as stop:
        if not quiet:
            sys.stderr.write(f"simsched: {stop}\n")
        raise typer.Exit(INTERRUPTED) from None
    for warning in () if quiet else measured.warnings:
        sys.stderr.write(f"simsched: warning: {warning}\n")
    if as_json:
        print_json(document_of(measured))
    else:
        _print(measured, quiet)


def _print(measured: Any, quiet: bool) -> None:
    """Print the cells, the overhead of the trace and where the recordings are."""
    from simsched.experiment.progress import duration
    from simsched.hardware.measurements import INDEX
    from simsched.report.measurements import cells_table, overhead_line

    about = measured.about
    if not quiet and about["description"]:
        say(about["description"].strip())
    say(cells_table(measured))
    sys.stdout.write(overhead_line(about["tracing_overhead"]) + "\n")
    if quiet:
        return
    events = about["processor_events"]
    counted = ", ".join(events["counted"]) or "none"
    reason = f" ({events['error']})" if events["error"] else ""
    sys.stdout.write(f"events counted by the processor: {counted}{reason}\n")
    sys.stdout.write(f"{len(measured.runs)} runs measured in {duration(about['duration_s'])}\n")
    sys.stdout.write(f"  {measured.directory / INDEX}\n")
