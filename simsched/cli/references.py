"""The command that compares simulations with what others give: makespans, memory benchmarks."""

from __future__ import annotations

import csv
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from simsched.cli import names
from simsched.cli.options import (
    OnlyMachines,
    OnlyPolicies,
    OverwriteOption,
    Words,
    at_least_one,
    repeatable,
)
from simsched.cli.output import (
    JsonOption,
    QuietOption,
    check_output,
    parse_options,
    print_json,
    say,
)
from simsched.files.errors import ConfigurationError, unknown_name

if TYPE_CHECKING:
    from simsched.reproduction.curves import Point
    from simsched.reproduction.references import Reference, Row


def references_command(
    file: Annotated[
        Path,
        typer.Argument(
            help="CSV with machine, policy, tiles_per_side and makespan_ms; or with machine, "
            "kernel, placement, threads and gb_per_s or ns."
        ),
    ],
    program: Annotated[
        str,
        typer.Option(
            "--program",
            help="What was run: cholesky, lu or gemm.",
            autocompletion=names.program,
        ),
    ] = "cholesky",
    assignments: Annotated[
        Words, repeatable("--set", "NAME=VALUE", "Parameter of the program")
    ] = None,
    machines: OnlyMachines = None,
    policies: OnlyPolicies = None,
    seeds: Annotated[
        int,
        typer.Option(
            "--seeds",
            metavar="N",
            parser=at_least_one("--seeds"),
            help="Simulations of each row; more than one show their spread.",
        ),
    ] = 1,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="CSV", help="Write the table.")
    ] = None,
    plots: Annotated[
        Path | None,
        typer.Option(
            "--plots", metavar="DIR", help="Draw each curve of a memory benchmark into a file."
        ),
    ] = None,
    overwrite: OverwriteOption = False,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Compare simulated makespans, or memory benchmarks, with those that others give."""
    from simsched.reproduction.curves import is_curve
    from simsched.reproduction.references import compare_references
    from simsched.reproduction.tables import head_of

    check_output(output, ".csv", overwrite=overwrite)
    if is_curve(head_of(file)):
        points = _points(file, machines, plots, overwrite=overwrite)
        _curves(points, output, plots, as_json=as_json, quiet=quiet)
        return
    if plots is not None:
        raise ConfigurationError("--plots: found a table of makespans, accepted memory benchmarks")

    def progress(reference: Reference) -> None:
        if not quiet and sys.stderr.isatty():
            tiles = "-" if reference.tiles is None else reference.tiles
            sys.stderr.write(f"{reference.machine} {reference.policy} {tiles}\n")

    rows = list(
        compare_references(
            _chosen(file, machines, policies),
            program=program,
            parameters=_parameters(assignments or []),
            seeds=seeds,
            progress=progress,
        )
    )
    _report(rows, output, as_json=as_json)


def _chosen(file: Path, machines: Words, policies: Words) -> list[Reference]:
    """Return the rows of a table of makespans that are asked for."""
    from simsched.reproduction.references import read_references

    found = read_references(file)
    _check_names("machine", machines, {reference.machine for reference in found})
    _check_names("policy", policies, {reference.policy for reference in found})
    chosen = [
        reference
        for reference in found
        if (not machines or reference.machine in machines)
        and (not policies or reference.policy in policies)
    ]
    if not chosen:
        raise ConfigurationError(f"{file}: found no row for these machines and policies")
    return chosen


def _points(file: Path, machines: Words, plots: Path | None, *, overwrite: bool) -> list[Point]:
    """Return the measured points that are asked for; refuse plots that are there already."""
    from simsched.files.atomic import refuse_existing
    from simsched.report.curves import curve_file
    from simsched.reproduction.curves import read_curves

    points = read_curves(file)
    _check_names("machine", machines, {point.machine for point in points})
    chosen = [point for point in points if not machines or point.machine in machines]
    if plots is not None:
        files = {curve_file(point.curve, plots): None for point in chosen}
        refuse_existing(files, overwrite=overwrite)
    return chosen


def _curves(
    points: list[Point],
    output: Path | None,
    plots: Path | None,
    *,
    as_json: bool,
    quiet: bool,
) -> None:
    """Compare memory benchmarks; what cannot be simulated ends with an error after all others."""
    from simsched.report.curves import curve_table, draw_curves, machine_table
    from simsched.reproduction.curves import by_machine, compare_curves

    def progress(point: Point) -> None:
        if not quiet and sys.stderr.isatty():
            sys.stderr.write(f"{' '.join(point.curve)} {point.threads}\n")

    rows = list(compare_curves(points, progress=progress))
    problems = [f"{row.point.where}: {row.problem}" for row in rows if row.problem]
    if len(problems) == len(rows):
        raise ConfigurationError(problems[0])
    if output is not None:
        _write(output, [row.document() for row in rows])
    drawn = [] if plots is None else draw_curves(rows, plots)
    if as_json:
        documents = [row.document() for row in rows]
        files = [str(path) for path in drawn]
        print_json({"points": documents, "machines": by_machine(rows), "plots": files})
    else:
        say(curve_table(rows))
        say(machine_table(rows))
        for path in drawn:
            sys.stdout.write(f"{path}\n")
    if problems:
        more = f" (and {len(problems) - 1} more points)" if len(problems) > 1 else ""
        raise ConfigurationError(problems[0] + more)


def _report(rows: list[Row], output: Path | None, *, as_json: bool) -> None:
    """Write and print what could be simulated, then fail if there are problems."""
    from simsched.report.references import policy_table, reference_table
    from simsched.report.tables import cost_notes
    from simsched.reproduction.references import by_policy, policies_of, problems_of

    problems = problems_of(rows)
    if all(row.problem for row in rows):
        raise ConfigurationError(problems)
    if output is not None:
        _write(output, [row.document() for row in rows])
    if as_json:
        print_json({"rows": [row.document() for row in rows], "policies": by_policy(rows)})
    else:
        say(reference_table(rows))
        say(policy_table(rows))
        for note in cost_notes(policies_of(rows)):
            say(note)
    if problems:
        raise ConfigurationError(problems)


def _check_names(what: str, chosen: list[str] | None, known: set[str]) -> None:
    for name in chosen or []:
        if name not in known:
            raise ConfigurationError(f"--{what}: {unknown_name(what, name, known)}")


def _parameters(assignments: list[str]) -> dict[str, object]:
    """Return the parameters of a program; numbers as numbers."""
    found: dict[str, object] = {}
    for name, value in parse_options(assignments).items():
        text = str(value)
        found[name] = int(text) if re.fullmatch(r"-?[0-9]{1,18}", text) else value
    return found


def _write(path: Path, rows: list[dict[str, Any]]) -> None:
    from simsched.files.atomic import write_atomically

    def write(temporary: Path) -> None:
        with temporary.open("w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, list(rows[0]))
            writer.writeheader()
            writer.writerows(rows)

    write_atomically(path, write)
