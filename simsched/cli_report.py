"""The command that writes the report of an experiment."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from simsched.cli_options import (
    AssignmentsOption,
    BackendOption,
    ExperimentArgument,
    JobsOption,
    OtherMachines,
    OtherPolicies,
    OtherWorkloads,
)
from simsched.cli_output import JsonOption, QuietOption, print_json
from simsched.cli_run import run_file
from simsched.errors import ConfigurationError


def report_command(
    file: ExperimentArgument,
    machines: OtherMachines = None,
    workloads: OtherWorkloads = None,
    policies: OtherPolicies = None,
    assignments: AssignmentsOption = None,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
    backend: BackendOption = None,
    jobs: JobsOption = None,
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
    from simsched.atomic import check_writable
    from simsched.result_report import write_report

    if output is not None:
        if output.suffix != ".html":
            raise ConfigurationError(f"--output: found {str(output)!r}, accepted: a name in .html")
        check_writable(output)
    result = run_file(
        file, (machines, workloads, policies), assignments, backend=backend, jobs=jobs, quiet=quiet
    )
    assert result.outcome.output is not None
    path = output or result.outcome.output / "report.html"
    words = ["simsched", "report", file]
    for option, values in (
        ("--machine", machines),
        ("--workload", workloads),
        ("--policy", policies),
        ("--set", assignments),
        ("--backend", backend and [backend]),
    ):
        words += [word for value in values or () for word in (option, value)]
    write_report(result, path, words)
    if as_json:
        print_json({"report": str(path), "runs": len(result.rows)})
    else:
        sys.stdout.write(f"{path}\n")
