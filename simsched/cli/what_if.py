"""The command that simulates a run again with everything about it better, one by one."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from simsched.cli import names
from simsched.cli.compare import selected_cells
from simsched.cli.options import AssignmentsOption, BackendOption, ExperimentOption, at_least_one
from simsched.cli.output import JsonOption, QuietOption, console_on, print_json, say


def what_if_command(
    run: Annotated[
        str,
        typer.Argument(
            metavar="RUN",
            help="Run: [EXPERIMENT:]POLICY or key=value,...",
            autocompletion=names.policy,
        ),
    ],
    experiment: ExperimentOption = None,
    seeds: Annotated[
        str | None,
        typer.Option("--seeds", metavar="N", help="Number of seeds, or the seeds: 3 or [0, 7, 9]."),
    ] = None,
    iterations: Annotated[
        int | None,
        typer.Option(
            "--iterations",
            metavar="N",
            parser=at_least_one("--iterations"),
            help="Simulate the first ones only; by default as many as take a few seconds.",
        ),
    ] = None,
    assignments: AssignmentsOption = None,
    backend: BackendOption = None,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Rank what a run would gain from faster resources, cheaper runtime and shorter tasks.

    It is simulated again with each change by itself: memory, links, caches and cores twice as
    fast, runtime costs and tasks of a class halved or free, more workers, all memory near.
    """
    from simsched.experiment.overrides import Change, Origin, parse_assignment
    from simsched.experiment.progress import ProgressBar
    from simsched.experiment.what_if import what_if
    from simsched.report.what_if import what_if_notes, what_if_table

    changes = []
    if seeds is not None:
        value = parse_assignment(f"seeds={seeds}")[1]
        changes.append(Change("seeds", value, Origin("--seeds", with_key=False)))
    if backend is not None:
        changes.append(Change("backend", backend, Origin("--backend", with_key=False)))
    cells = selected_cells(run, experiment, assignments or [], changes)
    console = console_on(sys.stderr)
    found = what_if(cells, None if quiet else lambda total: ProgressBar(total, console), iterations)
    if as_json:
        print_json(found.document())
    else:
        for shown in (what_if_table(found), *what_if_notes(found)):
            say(shown)
