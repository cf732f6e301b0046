"""Results of many experiments as one table, and SQL over them.

What is looked at are the Parquet files that experiments leave behind: ``runs.parquet``, and
``events/KEY.parquet`` where event traces were kept. They are scanned when a query asks for them,
column by column. The SQL engine itself may not touch any file.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.fs
import pyarrow.parquet as pq

from simsched.experiment.frames import arranged, with_units
from simsched.files.bounded import neighbour
from simsched.files.errors import ConfigurationError, expect
from simsched.names.arguments import as_path
from simsched.trace.schema import EventKind

if TYPE_CHECKING:
    import duckdb
    import pandas as pd

STORE = "results"  #: where experiments are stored by default
RUNS = "runs.parquet"
Places = str | PathLike[str] | Sequence[str | PathLike[str]]


@dataclass(frozen=True)
class StoredExperiment:
    """An experiment that has been run completely."""

    #: Its directory, below the store that it was found in.
    name: str
    #: File with one row per run.
    runs: Path
    #: Event traces, each named by the key of its run.
    events: tuple[Path, ...]


def stored_experiments(places: Places = STORE) -> list[StoredExperiment]:
    """Return the experiments somewhere below directories, or those of files ``runs.parquet``."""
    given = places if isinstance(places, list | tuple) else [places]
    accepted = f"directories, or files {RUNS}"
    found: dict[Path, StoredExperiment] = {}
    for place in [as_path("results: places", each, accepted) for each in given]:
        files = [place] if place.is_file() else sorted(place.rglob(RUNS))
        if not files:
            raise ConfigurationError(
                f"{place}: found no results, accepted a directory with {RUNS} in it or below; "
                f"simsched run EXPERIMENT makes one{neighbour(place)}"
            )
        for file in files:
            root = place if place.is_dir() and file.parent != place else file.parent.parent
            name = file.parent.relative_to(root).as_posix()
            events = tuple(sorted((file.parent / "events").glob("*.parquet")))
            found.setdefault(file.resolve(), StoredExperiment(name, file, events))
    return list(found.values())


def directory_with(keys: Collection[str], own: Path) -> Path:
    """Return the directory with the results of exactly these runs.

    That is their experiment's `own`, or one below the working directory, at most two levels deep,
    as ``simsched run --output`` has filled it. Where there is none it is their own.
    """
    here = Path()
    others = [*sorted(here.glob(f"*/{RUNS}")), *sorted(here.glob(f"*/*/{RUNS}"))]
    wanted = set(keys)
    fitting = (file.parent for file in [own / RUNS, *others] if _keys(file) == wanted)
    return next(fitting, own)


def _keys(file: Path) -> set[str]:
    """Return the keys of stored runs; of a file that cannot be read, there are none."""
    try:
        return set(pq.read_table(file, columns=["key"]).column("key").to_pylist())
    except (OSError, KeyError, pa.ArrowException):
        return set()


def results(places: Places = STORE) -> pd.DataFrame:
    """Return the runs of many experiments as one tidy frame.

    Parameters
    ----------
    places : str, Path, or sequence of these
        Directories with results of experiments somewhere below, or files ``runs.parquet``; by
        default all below ``results``. Experiments that were interrupted are not there yet.

    Returns
    -------
    DataFrame
        One row per run: `experiment`, `machine`, `workload`, `policy`, `seed`, what is swept, the
        policy parameters that differ (``policy.NAME``), then metrics with units in their names
        (also in ``attrs["units"]``). What an experiment does not have is missing there.

    Raises
    ------
    ConfigurationError
        There are no results, or a file cannot be read.

    Examples
    --------
    >>> import simsched
    >>> frame = simsched.results("results")  # doctest: +SKIP
    >>> frame.groupby(["experiment", "policy"]).makespan_s.mean()  # doctest: +SKIP
    """
    experiments = stored_experiments(places)
    data = _runs(experiments)
    names = [field.name for field in data.schema if not pa.types.is_list(field.type)]
    with _reading([experiment.runs for experiment in experiments]):
        table = data.to_table(columns=names)
    frame = arranged(table.to_pandas(integer_object_nulls=True))
    # Whole numbers stay whole where some experiments do not have them.
    whole = [f.name for f in table.schema if pa.types.is_integer(f.type) and f.name in frame]
    missing = [name for name in whole if table.column(name).null_count]
    return with_units(frame.astype(dict.fromkeys(missing, "Int64")))


def query(sql: str, places: Places = STORE) -> pd.DataFrame:
    """Return what an SQL query finds in the results of many experiments.

    Parameters
    ----------
    sql : str
        One query of DuckDB's SQL over the tables `runs` (one row per run, `experiment` first),
        `events` (the event traces that were kept, with `experiment` and `key` of the run) and
        `event_kinds` (`kind`, `name`). Nothing else can be read, and nothing can be written.
    places : str, Path, or sequence of these
        See :func:`results`.

    Returns
    -------
    DataFrame
        What the query selects, in its order; units are in the names of the columns, as in the
        tables.

    Raises
    ------
    ConfigurationError
        There are no results, or the query is wrong; the message is DuckDB's.

    Examples
    --------
    >>> import simsched
    >>> simsched.query("SELECT policy, avg(makespan_s) FROM runs GROUP BY ALL")  # doctest: +SKIP
    """
    expect("query: sql", sql, str, "text in SQL")
    with connection(places) as database, complaining():
        return with_units(execute(database, sql).df())


@contextmanager
def connection(places: Places = STORE) -> Iterator[duckdb.DuckDBPyConnection]:
    """Open a database in memory that sees the results and no file."""
    import duckdb

    experiments = stored_experiments(places)
    tables: dict[str, Any] = {"runs": _runs(experiments), "event_kinds": _event_kinds()}
    if any(experiment.events for experiment in experiments):
        tables["events"] = _events(experiments)
    offline: dict[str, Any] = {
        "autoinstall_known_extensions": "false",
        "autoload_known_extensions": "false",
    }
    with duckdb.connect(":memory:", config=offline) as database:
        for name, table in tables.items():
            database.register(name, table)
        database.execute("SET temp_directory = ''")
        database.execute("SET enable_external_access = false")
        database.execute("SET lock_configuration = true")
        try:
            yield database
        except ConfigurationError as error:
            if "reading the stream" in str(error):  # while files were scanned
                _refuse_damaged([e.runs for e in experiments])
                _refuse_damaged([file for e in experiments for file in e.events])
            raise


def execute(database: duckdb.DuckDBPyConnection, sql: str) -> duckdb.DuckDBPyConnection:
    """Run one query and return the connection, which holds what it finds."""
    import duckdb

    accepted = {
        duckdb.StatementType.SELECT,
        duckdb.StatementType.EXPLAIN,
        duckdb.StatementType.MULTI,  # PIVOT
    }
    with complaining():
        statements = database.extract_statements(sql)
        if len(statements) != 1 or statements[0].type not in accepted:
            kinds = ", ".join(statement.type.name for statement in statements) or "nothing"
            raise ConfigurationError(f"query: found {kinds}, accepted one SELECT")
        return database.execute(statements[0])


def fetched(found: duckdb.DuckDBPyConnection, n_rows: int) -> Iterator[list[tuple[Any, ...]]]:
    """Yield what a query finds, `n_rows` at a time."""
    while True:
        with complaining():
            rows = found.fetchmany(n_rows)
        if not rows:
            return
        yield rows


@contextmanager
def complaining() -> Iterator[None]:
    """Turn errors of the SQL engine, which may come as late as rows are fetched, into the user's.

    What DuckDB makes of Ctrl-C is a KeyboardInterrupt again.
    """
    import duckdb

    try:
        yield
    except (duckdb.Error, OSError, pa.ArrowException) as error:
        raise ConfigurationError(f"query: {one_line(str(error))}") from error
    except RuntimeError as error:
        if str(error) != "Query interrupted":
            raise
        raise KeyboardInterrupt from error


def one_line(message: str) -> str:
    r"""Return a message of DuckDB without the picture of the place.

    >>> one_line("Binder Error: no column!\nCandidate bindings: \"a\"\n\nLINE 1: select b\n    ^")
    'Binder Error: no column! Candidate bindings: "a"'
    """
    return " ".join(message.partition("\nLINE ")[0].split())


def _runs(experiments: Sequence[StoredExperiment]) -> ds.Dataset:
    names = [ds.field("experiment") == experiment.name for experiment in experiments]
    return _dataset([e.runs for e in experiments], ("experiment",), names)


def _events(experiments: Sequence[StoredExperiment]) -> ds.Dataset:
    files = [(e.name, file) for e in experiments for file in e.events]
    marks = [(ds.field("experiment") == n) & (ds.field("key") == f.stem) for n, f in files]
    return _dataset([file for _, file in files], ("experiment", "key"), marks)


def _event_kinds() -> pa.Table:
    kinds = list(EventKind)
    return pa.table({"kind": [int(k) for k in kinds], "name": [k.name.lower() for k in kinds]})


def _dataset(files: list[Path], extra: tuple[str, ...], marks: list[Any]) -> ds.Dataset:
    """Return files as one table with all their columns, and columns that say which file it was."""
    with _reading(files):
        schemas = [pq.read_schema(file) for file in files]
        fields = {name: pa.field(name, pa.string()) for name in extra}
        for schema in schemas:
            for field in schema:
                old = fields.get(field.name)
                fields[field.name] = field if old is None else _common(old, field)
        return ds.FileSystemDataset.from_paths(
            [str(file) for file in files],
            schema=pa.schema(list(fields.values())),
            format=ds.ParquetFileFormat(),
            filesystem=pyarrow.fs.LocalFileSystem(),
            partitions=marks,
        )


def _common(first: pa.Field, second: pa.Field) -> pa.Field:
    """Return a column that holds what two columns of one name hold; text if nothing else does."""
    try:
        return pa.unify_schemas(
            [pa.schema([first]), pa.schema([second])], promote_options="permissive"
        ).field(0)
    except (pa.ArrowTypeError, pa.ArrowInvalid):
        return pa.field(first.name, pa.string())


@contextmanager
def _reading(files: Sequence[Path]) -> Iterator[None]:
    """Turn errors of Parquet files into the user's, who has to know which file it is."""
    try:
        yield
    except (OSError, pa.ArrowException) as error:
        _refuse_damaged(files)
        raise ConfigurationError(f"results: not readable: {one_line(str(error))}") from error


def _refuse_damaged(files: Sequence[Path]) -> None:
    """Raise ConfigurationError for the first file that cannot be read from beginning to end."""
    for path in files:
        if path.is_dir():
            raise ConfigurationError(f"{path}: found a directory, accepted: a Parquet file")
        try:
            with pq.ParquetFile(path) as file:
                for _ in file.iter_batches():
                    pass
        except (OSError, pa.ArrowException) as error:
            what = f"found no complete Parquet file ({one_line(str(error))})"
            accepted = "a file that simsched run has written; it writes a missing one anew"
            raise ConfigurationError(f"{path}: {what}, accepted: {accepted}") from error
