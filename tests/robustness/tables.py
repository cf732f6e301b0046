"""Parquet files of events and recordings, and mutations of what they hold."""

from __future__ import annotations

import io
import json
from functools import cache, lru_cache
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

import pyarrow as pa
import pyarrow.parquet as pq

from tests.robustness.mutate import Files, changed, mutated, packed_arrays

EXTREMES = (0, 1, -1, -2, 5, 30, 31, 100, 2**31 - 1, -(2**31), 2**40, 2**62, 2**63 - 1, -(2**63))


@cache
def _small_recording() -> object:
    from simsched.analysis.recordings import recording_of
    from simsched.engine.run import simulate
    from simsched.machine.synthetic import make_machine
    from simsched.policy import make_policy
    from simsched.workload.registry import generate_workload

    workload = generate_workload("fork_join", {"depth": 2})
    machine = make_machine(domains=2, cores_per_domain=1)
    return recording_of(simulate(machine, workload, make_policy("cilk_a"), events=True))


def _written(write: object, *arguments: object) -> bytes:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "file"
        write(path, *arguments)  # type: ignore[operator]
        return path.read_bytes()


@cache
def own_chrome() -> bytes:
    """Return a Chrome trace that simsched has written."""
    return _own("run.json")


@cache
def own_paje() -> bytes:
    """Return a Paje trace that simsched has written."""
    return _own("run.paje")


def _own(name: str) -> bytes:
    """Return a trace that simsched has written, in the format of a name."""
    from simsched.trace.exporters import export_recording

    with TemporaryDirectory() as folder:
        path = Path(folder) / name
        export_recording(_small_recording(), path)  # type: ignore[arg-type]
        return path.read_bytes()


@cache
def event_seeds() -> list[Files]:
    """Return events as a run keeps them."""
    from simsched.trace.parquet import write_events

    return [{"events.parquet": _written(write_events, _small_recording().trace)}]  # type: ignore[attr-defined]


@cache
def recording_seeds() -> list[Files]:
    """Return a recording with its graph, and one without."""
    from dataclasses import replace

    from simsched.trace.recording import write_recording

    found = _small_recording()
    bare = replace(found, workload=None)  # type: ignore[type-var]
    return [{"run.parquet": _written(write_recording, each)} for each in (found, bare)]


@lru_cache(256)
def _parts(data: bytes) -> tuple[pa.Table, dict[bytes, bytes]]:
    table = pq.read_table(io.BytesIO(data))
    return table.replace_schema_metadata(None), dict(table.schema.metadata or {})


def _packed(table: pa.Table, metadata: dict[bytes, bytes], rng: Random) -> bytes:
    """Return a Parquet file."""
    buffer = io.BytesIO()
    compression = rng.choice(("none", "snappy", "zstd", "gzip"))
    pq.write_table(table.replace_schema_metadata(metadata), buffer, compression=compression)
    return buffer.getvalue()


def _changed_table(rng: Random, table: pa.Table) -> pa.Table:
    """Return a table with other columns, types, rows or values."""
    place = rng.randrange(table.num_columns)
    name, column = table.column_names[place], table.column(place)
    how = rng.randrange(8)
    if how == 0:
        return table.drop_columns([name])
    if how == 1:
        names = table.column_names
        return table.rename_columns([*names[:place], "x", *names[place + 1 :]])
    if how == 2:
        kind = rng.choice((pa.int8(), pa.int32(), pa.int64(), pa.float64(), pa.string()))
        try:
            return table.set_column(place, name, column.cast(kind, safe=False))
        except pa.ArrowException:
            return table.slice(0, 0)
    if how == 3:
        rows = list(range(table.num_rows))
        rng.shuffle(rows)
        return table.take(rows[: rng.randrange(table.num_rows + 1)])
    if how == 4:
        return table.append_column(name, column)
    values = column.to_pylist()
    for _ in range(rng.choice((1, 1, 2, 5))):
        if values:
            values[rng.randrange(len(values))] = rng.choice((*EXTREMES, None if how == 5 else 0))
    limit = 2**31 if column.type == pa.int32() else 2**63
    try:
        fitting = [v if v is None or -limit <= v < limit else 0 for v in values]
        return table.set_column(place, name, pa.array(fitting, column.type))
    except (pa.ArrowException, TypeError):
        return table


def varied_events(rng: Random, pool: list[Files]) -> Files:
    """Return an event file made from one of a pool: its bytes or what it holds."""
    if rng.random() < 0.4:
        return mutated(rng, pool)
    ((name, data),) = rng.choice(pool).items()
    try:
        table, metadata = _parts(data)
        for _ in range(rng.choice((1, 1, 2, 3))):
            table = _changed_table(rng, table)
        return {name: _packed(table, metadata, rng)}
    except Exception:  # one of the pool that is no sound table any more
        return mutated(rng, event_seeds())


def varied_recording(rng: Random, pool: list[Files]) -> Files:
    """Return a recording made from one of a pool: its bytes, description, graph or events."""
    if rng.random() < 0.2:
        return mutated(rng, pool)
    ((name, data),) = rng.choice(pool).items()
    try:
        table, known = _parts(data)
        metadata = dict(known)
        how = rng.randrange(4)
        if how == 0:
            metadata[b"graph"] = packed_arrays(rng, metadata[b"graph"])
        elif how < 3:
            tree = json.loads(metadata[b"recording"])
            for _ in range(rng.choice((1, 1, 2, 3))):
                tree = changed(rng, tree)
            metadata[b"recording"] = json.dumps(tree).encode("utf-8", "surrogatepass")
        else:
            table = _changed_table(rng, table)
        return {name: _packed(table, metadata, rng)}
    except Exception:  # as above
        return mutated(rng, recording_seeds())
