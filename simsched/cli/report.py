"""The command that writes the report of an experiment."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from simsched.cli import names
from simsched.cli.options import OverwriteOption, WidthOption, Words, repeatable
from simsched.cli.output import check_output, print_json
from simsched.cli.run import ExperimentOptions, run_file, with_shared_options
from simsched.files.errors import ConfigurationError

if TYPE_CHECKING:
    from simsched.experiment.study import Study


@with_shared_options
def report_command(
    asked: ExperimentOptions,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="The report, in .html, or its figures alone, one per page, in .pdf; by default "
            "report.html in the directory of the results.",
        ),
    ] = None,
    runs: Annotated[
        Path | None,
        typer.Option(
            "--runs",
            metavar="DIR",
            help="Where `simsched run --output` has stored the runs; found without it if DIR is "
            "here or one level below.",
        ),
    ] = None,
    figures: Annotated[
        Words,
        repeatable(
            "--figure",
            "NAME",
            "Only makespan, matrix, waterfall, bandwidth or bandwidth_over_time",
            names.figure,
        ),
    ] = None,
    width: WidthOption = None,
    overwrite: OverwriteOption = False,
) -> None:
    """Write the report of an experiment: one HTML file with all of it, or a PDF of its figures.

    Runs that are stored already are not repeated. With a PDF, the sentences are printed, and
    what its marks mean.
    """
    from simsched.experiment.query import RUNS, directory_with
    from simsched.files.bounded import neighbour
    from simsched.report.result_report import SUFFIXES, check_figures, write_report
    from simsched.report.tables import fit_notes

    check_output(output, *SUFFIXES, overwrite=overwrite)
    chosen = figures or ()
    check_figures(output or Path("report.html"), chosen, width)
    if runs is not None and not (runs / RUNS).is_file():
        accepted = f"a directory that simsched run --output has filled{neighbour(runs)}"
        raise ConfigurationError(f"--runs: {runs}: found no {RUNS}, accepted: {accepted}")

    def place(study: Study) -> Path | None:
        if runs is not None or study.directory is None:
            return runs
        return directory_with([cell.key for cell in study.cells], study.directory)

    result = run_file(asked, place)
    assert result.outcome.output is not None
    where = [] if runs is None else ["--runs", str(runs)]
    path = output or result.outcome.output / "report.html"
    words = ["simsched", "report", *asked.words(), *where]
    sentences = write_report(result, path, words, figures=chosen, width=width)
    if asked.as_json:
        print_json({"report": str(path), "runs": len(result.rows), "remarks": sentences})
    else:
        # A PDF has figures only.
        said = [*sentences, *fit_notes(result.lines)] if path.suffix == ".pdf" else []
        sys.stdout.write("\n".join([str(path), *said]) + "\n")
