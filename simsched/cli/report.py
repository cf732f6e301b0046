"""The command that writes the report of an experiment."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from simsched.cli.output import check_output, print_json
from simsched.cli.run import ExperimentOptions, run_file, with_shared_options


@with_shared_options
def report_command(
    asked: ExperimentOptions,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="HTML",
            help="The file; by default report.html in the directory of the results.",
        ),
    ] = None,
) -> None:
    """Write the report of an experiment: one HTML file with all of it.

    Runs that are stored already are not repeated.
    """
    from simsched.report.result_report import write_report

    check_output(output, ".html")
    result = run_file(asked)
    assert result.outcome.output is not None
    path = output or result.outcome.output / "report.html"
    write_report(result, path, ["simsched", "report", *asked.words()])
    if asked.as_json:
        print_json({"report": str(path), "runs": len(result.rows)})
    else:
        sys.stdout.write(f"{path}\n")
