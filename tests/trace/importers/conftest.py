"""Small traces in the formats of others, and where real ones may lie."""

from __future__ import annotations

import gzip
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from simsched.trace.recording import Recording
from simsched.trace.schema import EventKind

MEASURED = Path(__file__).resolve().parents[4] / "shared" / "data"
Row = dict[str, str]

HEADER = (
    "Control,JobId,SubmitOrder,SubmitTime,Handles,MPIRank,Name,Model,Priority,Tag,WorkerId,"
    "MemoryNode,StartTime,EndTime,Footprint,Parameters,Modes,Sizes,DependsOn,DepLabels,Iteration"
)
COLUMNS = tuple(HEADER.split(","))


@pytest.fixture(scope="session")
def measured_data() -> Path:
    if not MEASURED.is_dir():
        pytest.skip(f"no measured data in {MEASURED}")
    return MEASURED


def _task(job: str, worker: int, start: float, end: float, **more: str) -> Row:
    row = {
        "JobId": job,
        "SubmitOrder": job.rpartition("_")[2],
        "SubmitTime": "0.500000",
        "MPIRank": "0",
        "Name": "gemm",
        "Model": "gemm",
        "WorkerId": str(worker),
        "MemoryNode": "0",
        "StartTime": f"{start:.6f}",
        "EndTime": f"{end:.6f}",
        "Footprint": "beef",
    }
    return row | more


@pytest.fixture(scope="session")
def task() -> Callable[..., Row]:
    return _task


@pytest.fixture(scope="session")
def trace_rows() -> list[Row]:
    """A task that writes, StarPU's own task that waits for it, two more, a control record."""
    return [
        _task("0_1", 0, 1.0, 3.0, Name="init", Handles="aa", Modes="W", Sizes="800"),
        {"JobId": "0_2", "Name": "_starpu_sync_task", "SubmitTime": "0.6", "DependsOn": "0_1"},
        {"Control": "WontUse", "JobId": "0_9", "Handles": "aa", "SubmitTime": "0.7"},
        _task("0_3", 0, 3.0, 4.5, Handles="aa bb", Modes="R RW", Sizes="800 200", DependsOn="0_2"),
        _task("0_10", 1, 3.25, 7.0, Handles="aa", Modes="S", Sizes="800", DependsOn="0_2 0_1"),
    ]


def csv_text(rows: Iterable[Row], columns: Sequence[str] = COLUMNS) -> str:
    lines = [",".join(columns)]
    lines += [",".join(row.get(name, "") for name in columns) for row in rows]
    return "\n".join(lines) + "\n"


def rec_text(rows: Iterable[Row]) -> str:
    return "".join("".join(f"{k}: {v}\n" for k, v in row.items() if v) + "\n" for row in rows)


@pytest.fixture(scope="session")
def as_csv() -> Callable[..., str]:
    return csv_text


@pytest.fixture(scope="session")
def as_rec() -> Callable[..., str]:
    return rec_text


@pytest.fixture
def write(tmp_path: Path) -> Callable[[str, str], Path]:
    """Write a file, compressed if its name says so; return its path."""

    def put(name: str, text: str) -> Path:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        data = text.encode()
        path.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
        return path

    return put


def _events(recording: Recording) -> list[tuple[str, int, int, int]]:
    events = recording.trace.events
    columns = [events[name].tolist() for name in ("kind", "time_ps", "worker", "task")]
    return [(EventKind(k).name, t, w, i) for k, t, w, i in zip(*columns, strict=True)]


@pytest.fixture(scope="session")
def events_of() -> Callable[[Recording], list[tuple[str, int, int, int]]]:
    """Kind, time, worker and task of every event."""
    return _events


def _content(recording: Recording) -> dict[str, Any]:
    found: dict[str, Any] = {k: v.tolist() for k, v in recording.trace.events.items()}
    found["workers"] = recording.worker_names
    found["core"] = recording.worker_core.tolist()
    found["set aside"] = recording.details["set_aside"]
    assert recording.workload is not None
    for name, value in vars(recording.workload.graph).items():
        found[name] = value.tolist() if isinstance(value, np.ndarray) else value
    return found


@pytest.fixture(scope="session")
def content() -> Callable[[Recording], dict[str, Any]]:
    """Everything in a recording that must not depend on the order of rows."""
    return _content
