"""The command that finds the smallest granularity of tasks at which a policy is efficient."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from simsched.cli.options import OverwriteOption, at_least_one
from simsched.cli.output import print_json, say, say_files, warn
from simsched.cli.run import StudyOptions, with_shared_options
from simsched.files.errors import ConfigurationError


@with_shared_options
def metg_command(
    asked: StudyOptions,
    workers: Annotated[
        list[int] | None,
        typer.Option(
            "--workers",
            metavar="N",
            parser=at_least_one("--workers"),
            help="Number of workers; may be repeated; by default those of the experiment.",
        ),
    ] = None,
    efficiency: Annotated[
        str,
        typer.Option(
            "--efficiency", metavar="E", help="Efficiency that is asked for, between 0 and 1."
        ),
    ] = "0.5",
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="Directory for tables (Parquet) and a figure (PNG)."),
    ] = None,
    overwrite: OverwriteOption = False,
) -> None:
    """Find the smallest granularity of tasks at which policies keep half of the peak rate.

    Tasks of the experiment's programs are made longer and shorter until the efficiency of a policy
    is the one asked for: METG(50 %), the minimum effective task granularity.
    """
    from simsched.experiment.metg import find_metg, with_workers
    from simsched.experiment.rehearsal import check_runs, refuse, said
    from simsched.experiment.runner import directories
    from simsched.files.atomic import refuse_existing
    from simsched.report.metg import FILES, metg_table, write_metg

    if output is not None:
        refuse_existing([output / name for name in FILES], overwrite=overwrite)
    target = _between_0_and_1(efficiency)
    study = asked.study()
    cells = with_workers(study.cells, workers or ())
    misfits = check_runs(study, complete=asked.strict)
    if asked.strict:
        refuse(misfits)
    warn(said(misfits), quiet=asked.quiet)
    found = []
    with directories(output):
        for number, cell in enumerate(cells):
            found.append(find_metg(cell, target))
            if not asked.quiet:
                last = found[-1]
                sys.stderr.write(
                    f"simsched: {number + 1} of {len(cells)}: {cell.label}, "
                    f"{last.workers} workers: {len(last.trials)} runs\n"
                )
        files = [] if output is None else write_metg(found, output)
    if asked.as_json:
        print_json({"metg": [each.row() for each in found], "files": [str(at) for at in files]})
        return
    say(metg_table(found))
    if not asked.quiet:
        say_files(files, as_json=False)


def _between_0_and_1(text: str) -> float:
    """Return the efficiency that is asked for."""
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0.0 < value < 1.0:
        raise ConfigurationError(
            f"--efficiency: found {text!r}, accepted: a number between 0 and 1, such as 0.5"
        )
    return value
