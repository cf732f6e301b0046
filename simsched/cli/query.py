"""The command that asks the results of many experiments with SQL."""

from __future__ import annotations

import csv
import sys
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any

import typer

from simsched.cli.output import JsonOption, QuietOption, print_json, say
from simsched.files.errors import ConfigurationError

#: Rows that are printed as a table.
MAX_SHOWN = 200
Batches = Iterator[list[tuple[Any, ...]]]


def query_command(
    sql: Annotated[
        str | None,
        typer.Argument(help="One SELECT over runs, events and event_kinds; none lists columns."),
    ] = None,
    places: Annotated[
        list[Path] | None,
        typer.Option(
            "--store",
            metavar="DIRECTORY",
            help="Where results are, at any depth; may be repeated; by default results.",
        ),
    ] = None,
    as_json: JsonOption = False,
    as_csv: Annotated[bool, typer.Option("--csv", help="Print CSV.")] = False,
    quiet: QuietOption = False,
) -> None:
    """Ask the results of all experiments with SQL (DuckDB). Nothing is written.

    The table runs has one row per run; its first column, experiment, is the directory of the
    experiment below the store. The table events has the event traces that were kept.
    """
    from simsched.experiment.query import STORE, connection, execute, fetched
    from simsched.report.json_document import finite

    if as_json and as_csv:
        raise ConfigurationError("--csv: found together with --json, accepted: one of them")
    with connection(places or STORE) as database:
        found = execute(database, sql or _COLUMNS)
        names = _different([column[0] for column in found.description])
        batches = fetched(found, MAX_SHOWN)
        if as_csv:
            _print_csv(batches, names)
        elif as_json:
            rows = [dict(zip(names, row, strict=True)) for batch in batches for row in batch]
            print_json(finite(rows), default=_plain)
        else:
            more = _print_table(batches, names)
            if more and not quiet:
                sys.stderr.write(f"simsched: {more} more rows; --csv and --json print all\n")


_COLUMNS = """SELECT table_name AS "table", column_name AS "column", data_type AS "type"
FROM information_schema.columns ORDER BY table_name, ordinal_position"""


def _different(names: list[str]) -> list[str]:
    """Return the names of columns, numbered where there are several of one name."""
    found: list[str] = []
    for name in names:
        number = 2
        unique = name
        while unique in found:
            unique, number = f"{name}_{number}", number + 1
        found.append(unique)
    return found


def _print_csv(batches: Batches, names: list[str]) -> None:
    writer = csv.writer(sys.stdout, lineterminator="\n")
    rows = next(batches, [])  # before anything is printed: a file may be damaged
    writer.writerow(names)
    writer.writerows(rows)
    for rows in batches:
        writer.writerows(rows)


def _print_table(batches: Batches, names: list[str]) -> int:
    """Print the first rows as a table; return how many there are besides."""
    from simsched.report.terminal import plain_table

    rows = next(batches, [])
    words = [
        name
        for position, name in enumerate(names)
        if not all(isinstance(row[position], int | float | None) for row in rows)
    ]
    say(plain_table(names, (map(_shown, row) for row in rows), left=words, fold=names))
    return sum(map(len, batches))


def _shown(value: Any) -> str:
    """Return a value as a cell of a table."""
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:.6g}"
    return str(value)


def _plain(value: Any) -> Any:
    """Return a value of a type that JSON does not have."""
    return float(value) if isinstance(value, Decimal) else str(value)
