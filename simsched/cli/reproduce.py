"""The command ``simsched reproduce``: published claims beside simulated values."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from simsched.cli import names as cli_names
from simsched.cli.options import JobsOption, OverwriteOption, RecomputeOption, Words, repeatable
from simsched.cli.output import JsonOption, QuietOption, console_on, print_json, say, warn
from simsched.cli.run import interruptible


def reproduce_command(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[FAMILY]...",
            help="Claims: shipped names or YAML files; all shipped ones by default.",
            autocompletion=cli_names.family,
        ),
    ] = None,
    ids: Annotated[Words, repeatable("--claim", "ID", "Only this claim", cli_names.claim)] = None,
    listing: Annotated[bool, typer.Option("--list", help="List the claims; run nothing.")] = False,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
    jobs: JobsOption = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="Directory for the results, one below per experiment."),
    ] = None,
    pages: Annotated[
        Path | None,
        typer.Option("--pages", metavar="DIR", help="Write the counts and a page per source too."),
    ] = None,
    overwrite: OverwriteOption = False,
    recompute: RecomputeOption = False,
) -> None:
    """Check published claims: run the experiments that they need, print the verdicts."""
    from simsched.experiment.progress import ProgressBar
    from simsched.experiment.runner import RunOptions
    from simsched.report.claims import claims_document
    from simsched.report.claims_pages import check_pages, write_pages
    from simsched.reproduction.claims import load_families, reproduce

    families = load_families(names or [], ids or [])
    if listing:
        _list(families, as_json)
        return
    if pages is not None:
        sources = {planned.source: None for family in families for planned in family.claims}
        check_pages(pages, sources, overwrite=overwrite)
    console = console_on(sys.stderr)

    def progress(experiment: str, total: int) -> ProgressBar:
        return ProgressBar(total, console, experiment)

    with interruptible(quiet=quiet):
        options = RunOptions(jobs, output=output, recompute=recompute)
        found = reproduce(families, options, None if quiet else progress)
    if pages is not None:
        write_pages(pages, found)
    if as_json:
        print_json(claims_document(found))
    else:
        _print(found, quiet, pages)


def _list(families: Any, as_json: bool) -> None:
    """Print the claims without evaluating them."""
    from simsched.report.claims import about
    from simsched.report.terminal import plain_table

    rows = [
        {
            "family": family.name,
            **about(planned.claim),
            "not_evaluable": planned.claim.not_evaluable,
            "experiments": planned.experiments(),
        }
        for family in families
        for planned in family.claims
    ]
    if as_json:
        print_json(rows)
        return
    columns = ("family", "id", "source", "kind", "published")
    shown = ([str(row[name]) for name in columns] for row in rows)
    say(plain_table(columns, shown, left=columns, fold=columns))


def _print(found: Any, quiet: bool, pages: Path | None) -> None:
    """Print the verdicts, how many claims hold, and which cannot be evaluated."""
    from simsched.report.claims import claim_tables, left_out_table, runs_text, summary_table
    from simsched.reproduction.claims import summary

    for table in claim_tables(found.all):
        say(table)
    left = left_out_table(found)
    if left is not None:
        say(left)
    say(summary_table(found))
    if quiet:
        return
    say(runs_text(summary(found)["runs"]))
    if pages is not None:
        sys.stdout.write(f"  {pages}\n")
    holding = [verdict.claim for verdict in found.all if verdict.holds]
    warn(
        [f"{claim.id} holds but has a diagnosis" for claim in holding if claim.diagnosis],
        quiet=False,
    )
