"""The command that searches for a program and a machine on which a policy does badly."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

from simsched.cli import names
from simsched.cli.options import OverwriteOption, at_least_one
from simsched.cli.output import JsonOption, QuietOption, print_json, say, say_files

REPORT_EVERY_S = 10.0


def duel_command(
    first: Annotated[
        str,
        typer.Argument(metavar="A", help="Policy that takes longer.", autocompletion=names.policy),
    ],
    second: Annotated[
        str,
        typer.Argument(metavar="B", help="Policy that does better.", autocompletion=names.policy),
    ],
    factor: Annotated[
        str,
        typer.Option("--factor", metavar="F", help="How many times as long A takes, at least."),
    ] = "2",
    seed: Annotated[str, typer.Option("--seed", metavar="N", help="Seed of the search.")] = "0",
    seconds: Annotated[
        str, typer.Option("--seconds", metavar="S", help="How long the search goes on.")
    ] = "60",
    tries: Annotated[
        int | None,
        typer.Option(
            "--tries",
            metavar="N",
            parser=at_least_one("--tries"),
            help="Instead: so many candidates; the same are found on any computer.",
        ),
    ] = None,
    output: Annotated[
        Path,
        typer.Option("--output", "-o", help="Directory for program, machine and experiment."),
    ] = Path("duel"),
    overwrite: OverwriteOption = False,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Find a small program and machine on which policy A takes far longer than policy B.

    What is found is made as simple as possible, and both engines agree on it. Exit code 1 says that
    nothing was found.
    """
    from simsched.experiment.duel import Budget, find_duel
    from simsched.files.units import plural
    from simsched.names.parameters import Bounds, Parameter

    given_s = Parameter("seconds", float, 60.0, Bounds(0.0, 1e6)).read(seconds, "--seconds")
    found = find_duel(
        (first, second),
        factor=Parameter("factor", float, 2.0, Bounds(1.01, 1e6)).read(factor, "--factor"),
        seed=Parameter("seed", int, 0, Bounds(0)).read(seed, "--seed"),
        budget=Budget(given_s, tries),
        output=output,
        overwrite=overwrite,
        progress=None if quiet else _reports(),
    )
    if as_json:
        print_json(
            {
                "first": first,
                "second": second,
                "ratio": found.ratio,
                "least_ratio": found.least_ratio,
                "makespan_s": list(found.makespan_s),
                "tasks": found.tasks,
                "tries": found.tries,
                "remarks": found.remarks,
                "files": [str(path) for path in found.files],
            }
        )
    elif not found.files:
        say(
            f"{first} takes at most {found.ratio:.3g} times as long as {second} "
            f"on {found.tries:,} candidates"
        )
    else:
        say(
            f"{first} takes {found.ratio:.4g} times as long as {second} "
            f"({found.least_ratio:.4g} at least), with {plural(found.tasks, 'task')}"
        )
        for sentence in found.remarks:
            say(sentence)
        if not quiet:
            say_files(found.files, as_json=False)
    if not found.files:
        raise typer.Exit(1)


def _reports() -> Callable[[int, float], None]:
    """Return what says now and then how far a search is."""
    last = time.monotonic()

    def report(tries: int, best: float) -> None:
        nonlocal last
        if time.monotonic() - last >= REPORT_EVERY_S:
            last = time.monotonic()
            sys.stderr.write(f"simsched: {tries:,} candidates, largest ratio {best:.3g}\n")

    return report
