"""Parquet files: complete or absent, and what is read is what was written."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from simsched.files.errors import ConfigurationError
from simsched.trace.parquet import read_events, read_metadata, write_events, write_rows
from simsched.trace.schema import EVENT_COLUMNS, Trace


def some_trace(n: int = 5) -> Trace:
    return Trace({name: np.arange(n, dtype=kind) for name, kind in EVENT_COLUMNS.items()})


def test_events_come_back(tmp_path: Path) -> None:
    write_events(tmp_path / "events.parquet", some_trace(), {"run": "one"})
    trace = read_events(tmp_path / "events.parquet")
    for name in EVENT_COLUMNS:
        assert np.array_equal(trace.events[name], some_trace().events[name])
    metadata = read_metadata(tmp_path / "events.parquet")
    assert metadata[b"run"] == b"one"
    assert b"3=ACQUIRE" in metadata[b"event_kinds"]


def test_rows_with_different_columns_become_one_table(tmp_path: Path) -> None:
    rows = [{"a": 1, "list": [1.0, 2.0]}, {"a": 2, "mixed": "x"}, {"a": 3, "mixed": 4}]
    write_rows(tmp_path / "rows.parquet", rows)
    assert pq.read_table(tmp_path / "rows.parquet").to_pydict() == {
        "a": [1, 2, 3],
        "list": [[1.0, 2.0], None, None],
        "mixed": [None, "x", "4"],
    }


def test_a_failed_write_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigurationError, match="cannot be written"):
        write_rows(tmp_path / "file" / "rows.parquet", [{"a": 1}])
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


@pytest.mark.parametrize("content", [b"", b"PAR1 nonsense PAR1"])
def test_a_damaged_file_is_an_error_with_its_name(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "x.parquet"
    path.write_bytes(content)
    with pytest.raises(ConfigurationError, match=r"x\.parquet"):
        read_events(path)


def test_wrong_columns_are_named(tmp_path: Path) -> None:
    write_rows(tmp_path / "x.parquet", [{"time_ps": 1}])
    with pytest.raises(ConfigurationError, match="column kind"):
        read_events(tmp_path / "x.parquet")
