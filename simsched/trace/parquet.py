"""Events and result rows as Parquet files, each written completely or not at all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from simsched.atomic import write_atomically
from simsched.errors import ConfigurationError
from simsched.trace.schema import EVENT_COLUMNS, EventKind, Trace


def write_events(
    path: Path, trace: Trace, metadata: Mapping[str, str | bytes] | None = None
) -> None:
    """Write the event trace of one run.

    Parameters
    ----------
    path : Path
        The file.
    trace : Trace
        Events; columns and order are kept, `kind` stays a number (see the file's metadata).
    metadata : mapping of str to str or bytes, optional
        Stored with the file, beside ``event_kinds``.

    Raises
    ------
    ConfigurationError
        The file cannot be written.
    """
    kinds = ",".join(f"{kind.value}={kind.name}" for kind in EventKind)
    table = pa.table({name: trace.events[name] for name in EVENT_COLUMNS})
    table = table.replace_schema_metadata({"event_kinds": kinds, **(metadata or {})})
    write_table(path, table)


def read_events(path: Path) -> Trace:
    """Return the event trace in a file that :func:`write_events` has written.

    Raises
    ------
    ConfigurationError
        The file cannot be read or has other columns.
    """
    table = read_table(path)
    for name, kind in EVENT_COLUMNS.items():
        if name not in table.column_names or str(table.schema.field(name).type) != kind:
            raise ConfigurationError(f"{path}: column {name}: accepted {kind} values")
    return Trace({name: table.column(name).to_numpy() for name in EVENT_COLUMNS})


def write_rows(path: Path, rows: Sequence[Mapping[str, Any]]) -> None:
    """Write result rows; a column that a row lacks is null there.

    Parameters
    ----------
    path : Path
        The file.
    rows : sequence of mapping
        One per run; values are numbers, text or lists of numbers.

    Raises
    ------
    ConfigurationError
        The file cannot be written.
    """
    columns = dict.fromkeys(name for row in rows for name in row)
    write_table(
        path, pa.table({name: _column([row.get(name) for row in rows]) for name in columns})
    )


def _column(values: list[Any]) -> pa.Array:
    """Return values as a column; as text where they have several types."""
    try:
        return pa.array(values)
    except (pa.ArrowInvalid, pa.ArrowTypeError):
        return pa.array([None if value is None else str(value) for value in values])


def write_table(path: Path, table: pa.Table) -> None:
    """Write a table completely or not at all."""

    def fill(temporary: Path) -> None:
        pq.write_table(table, temporary, compression="zstd")

    write_atomically(path, fill)


def read_table(path: Path) -> pa.Table:
    """Return the table in a Parquet file.

    Raises
    ------
    ConfigurationError
        The file cannot be read.
    """
    try:
        return pq.read_table(path)
    except (OSError, pa.ArrowException) as error:
        raise ConfigurationError(f"{path}: not a readable Parquet file: {error}") from error
