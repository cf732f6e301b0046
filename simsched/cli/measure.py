"""The command that measures on this host."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from simsched.cli import names
from simsched.cli.options import OverwriteOption
from simsched.cli.output import (
    JsonOption,
    QuietOption,
    console_on,
    print_json,
    say,
    warn,
)
from simsched.files.errors import ConfigurationError


def measure_command(
    files: Annotated[
        list[str],
        typer.Argument(
            help="Measurements: YAML files or shipped names.",
            metavar="FILE",
            autocompletion=names.measurement,
        ),
    ],
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="DIR",
            help="By default measurements/NAME; of several files: DIR/NAME.",
        ),
    ] = None,
    overwrite: OverwriteOption = False,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Run programs under policies on this host and keep a trace of each run.

    Several measurements are made together, the rounds of each spread over the whole.
    """
    from simsched.experiment.progress import ProgressBar
    from simsched.hardware.measure import Interrupted, measure_alternately, number_of_runs
    from simsched.hardware.measure_schema import load_matrix
    from simsched.report.measurements import document_of

    matrices = [load_matrix(file) for file in files]
    first: dict[str, str] = {}
    for file, matrix in zip(files, matrices, strict=True):
        if matrix.name in first:
            accepted = f"another name than in {first[matrix.name]}"
            raise ConfigurationError(f"{file}: name: found {matrix.name!r}, accepted: {accepted}")
        first[matrix.name] = file
    folder = output or Path("measurements")
    single = output is not None and len(matrices) == 1
    jobs = [(matrix, folder if single else folder / matrix.name) for matrix in matrices]
    total = sum(number_of_runs(matrix) for matrix in matrices)
    bar = ProgressBar(total, console_on(sys.stderr), verb="measuring")
    try:
        if quiet:
            sets = measure_alternately(jobs, overwrite=overwrite)
        else:
            with bar:
                sets = measure_alternately(jobs, overwrite=overwrite, progress=bar.advanced)
    except Interrupted as stop:
        if not quiet:
            sys.stderr.write(f"simsched: {stop}\n")
        raise typer.Abort from None
    warnings = list(dict.fromkeys(text for measured in sets for text in measured.warnings))
    warn(warnings, quiet=quiet)
    if as_json:
        documents = [document_of(measured) for measured in sets]
        print_json(documents[0] if len(documents) == 1 else {"measurements": documents})
        return
    for measured in sets:
        _print(measured, quiet)


def _print(measured: Any, quiet: bool) -> None:
    """Print the cells, the overhead of the trace and where the recordings are."""
    from simsched.experiment.progress import duration
    from simsched.files.units import plural
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
    runs = plural(len(measured.runs), "run")
    sys.stdout.write(f"{runs} measured in {duration(about['duration_s'])}\n")
    sys.stdout.write(f"  {measured.directory / INDEX}\n")
