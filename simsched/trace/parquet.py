"""Events and result rows as Parquet files, each written completely or not at all."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from simsched.files.atomic import atomically, naming, write_atomically
from simsched.files.bounded import unreadable
from simsched.files.errors import ConfigurationError
from simsched.files.limits import TABLE_BYTES
from simsched.trace.schema import EVENT_COLUMNS, EventKind, Trace
from simsched.trace.sink import Events, EventSink

if TYPE_CHECKING:
    from simsched.workload.graph import Workload

Metadata = Mapping[str, str | bytes]
About = Callable[
    ["Workload", NDArray[np.int32]], Metadata
]  #: arguments: as for `InformedSink.begin`

ROW_GROUP = 2**17  #: events
ROW_BYTES = sum(np.dtype(kind).itemsize for kind in EVENT_COLUMNS.values())
#: Encoding and compression of each column.
ENCODING = dict.fromkeys(EVENT_COLUMNS, "DELTA_BINARY_PACKED") | {
    "iteration": "PLAIN",
    "arg1": "PLAIN",
}
COMPRESSION = dict.fromkeys(EVENT_COLUMNS, "none") | {"iteration": "snappy", "arg1": "snappy"}


def write_events(path: Path, trace: Trace, metadata: Metadata | None = None) -> None:
    """Write the event trace of one run with metadata; `kind` stays a number."""
    with event_file(path, metadata) as file:
        for begin in range(0, len(trace), file.capacity):
            batch = slice(begin, begin + file.capacity)
            file.append({name: column[batch] for name, column in trace.events.items()})


@contextmanager
def event_file(
    path: Path,
    metadata: Metadata | None = None,
    capacity: int = ROW_GROUP,
    about: About | None = None,
) -> Iterator[EventSink]:
    """Open a file for the events of a run; it appears when the block has ended without an error.

    It yields what :func:`simsched.engine.run.simulate` takes as `events`; a row group has
    `capacity` events. `about` returns more metadata for the tasks and workers of the run.
    """
    with atomically(path) as temporary:
        with naming(path):
            file = _EventFile(path, temporary, metadata or {}, capacity, about)
        try:
            yield file
        except BaseException:
            file.abandon()
            raise
        file.close()


class _EventFile:
    """A Parquet file that grows by one row group per batch.

    Encodings are chosen for the time that they take, see docs/decisions/traces-and-files.md. All of
    them are part of the Parquet format since its second version, and readers give back the columns
    of the schema.
    """

    def __init__(
        self,
        path: Path,
        temporary: Path,
        metadata: Metadata,
        capacity: int,
        about: About | None,
    ) -> None:
        self.capacity = capacity
        self._path, self._temporary = path, temporary
        self._metadata, self._about = metadata, about
        self._open()

    def _open(self) -> None:
        """Open the file; its metadata come first."""
        kinds = ",".join(f"{kind.value}={kind.name}" for kind in EventKind)
        fields = [pa.field(name, kind, nullable=False) for name, kind in EVENT_COLUMNS.items()]
        self._schema = pa.schema(fields, metadata={"event_kinds": kinds, **self._metadata})
        self._writer = pq.ParquetWriter(
            self._temporary,
            self._schema,
            use_dictionary=False,
            column_encoding=ENCODING,
            compression=COMPRESSION,
            write_statistics=["time_ps"],
        )

    def begin(self, workload: Workload, worker_thread: NDArray[np.int32]) -> None:
        """Begin anew with what is to be known; see `simsched.trace.sink.InformedSink`."""
        if self._about is None:
            return
        self._metadata = {**self._metadata, **self._about(workload, worker_thread)}
        with naming(self._path):
            self._writer.close()
            self._open()

    def append(self, events: Events) -> None:
        """Write a row group; see :meth:`simsched.trace.sink.EventSink.append`."""
        arrays = [pa.array(events[field.name], field.type) for field in self._schema]
        table = pa.Table.from_arrays(arrays, schema=self._schema)
        with naming(self._path):
            self._writer.write_table(table, row_group_size=self.capacity)

    def close(self) -> None:
        """Write what Parquet has at the end of a file."""
        with naming(self._path):
            self._writer.close()

    def abandon(self) -> None:
        """Let go of the file."""
        with suppress(OSError):
            self._writer.close()


def read_events(path: Path) -> Trace:
    """Return the event trace in a file that :func:`write_events` has written."""
    with _reading(path), pq.ParquetFile(path) as file:
        schema = file.schema_arrow
        for name, kind in EVENT_COLUMNS.items():
            if schema.names.count(name) != 1 or str(schema.field(name).type) != kind:
                raise ConfigurationError(f"{path}: column {name}: accepted {kind} values")
        # What rows take does not follow from the length of the file: a million may take a byte.
        TABLE_BYTES.check(file.metadata.num_rows * ROW_BYTES, path)
        table = file.read(list(EVENT_COLUMNS))
        table.validate(full=True)
    for name in EVENT_COLUMNS:
        if table.column(name).null_count:
            raise ConfigurationError(f"{path}: column {name}: found rows without a value")
    return Trace({name: table.column(name).to_numpy() for name in EVENT_COLUMNS})


def read_metadata(path: Path) -> dict[bytes, bytes]:
    """Return what is stored with a Parquet file beside its columns."""
    with _reading(path):
        return dict(pq.read_schema(path).metadata or {})


def write_rows(path: Path, rows: Sequence[Mapping[str, Any]]) -> None:
    """Write result rows, one per run; a column that a row lacks is null there."""
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


@contextmanager
def _reading(path: Path) -> Iterator[None]:
    """Turn errors of the file and of its format into ours."""
    try:
        yield
    except (OSError, ValueError, MemoryError, pa.ArrowException) as error:
        if not path.is_file():
            missing = IsADirectoryError() if path.is_dir() else FileNotFoundError()
            raise ConfigurationError(unreadable(path, missing)) from error
        reason = " ".join(str(error).split()) or type(error).__name__
        raise ConfigurationError(f"{path}: not a readable Parquet file: {reason}") from error
