"""Event files that grow during a run: all of the trace, bounded memory, complete or absent."""

from __future__ import annotations

import _thread
import signal
import subprocess
import sys
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

from simsched.engine.run import BACKENDS, simulate
from simsched.files.errors import ConfigurationError
from simsched.machine.synthetic import make_machine
from simsched.policy import make_policy
from simsched.trace.parquet import event_file, read_events, write_events
from simsched.trace.run import Run
from simsched.trace.schema import EVENT_COLUMNS, Trace
from simsched.workload.registry import make_small_workload

# A run of many iterations whose events go to a file: prints the peak resident size in bytes and the
# number of events.
LONG_RUN = """
import sys
from pathlib import Path
from simsched.engine.run import simulate
from simsched.experiment.measure import peak_rss_bytes, reset_peak_rss
from simsched.machine.synthetic import make_machine
from simsched.policy import make_policy
from simsched.trace.parquet import event_file
from simsched.workload.registry import generate_workload

workload = generate_workload("fork_join", {"depth": 10, "iterations": int(sys.argv[2])})
reset_peak_rss()
with event_file(Path(sys.argv[1]), capacity=2**14) as events:
    run = simulate(make_machine(), workload, make_policy("cilk_a"), events=events)
print(peak_rss_bytes(), run.summary.n_events)
"""
# The command line on a disk that takes files of 16 KiB at most.
SMALL_DISK = """
import resource, sys
from simsched.cli.app import main
resource.setrlimit(resource.RLIMIT_FSIZE, (2**14, 2**14))
sys.exit(main(sys.argv[1:]))
"""
LONG_EXPERIMENT = """\
name: long
machines: [{name: amd_4x_opteron8380, workers: 4}]
workloads: [{name: fork_join, depth: 8, iterations: 50}]
policies: [cilk_a]
backend: native
"""


def run(
    events: Any, backend: str = "native", policy: str = "bats", iterations: int = 3, **options: Any
) -> Run:
    machine = make_machine(hbm_per_domain=True, caches=[("L2", 2**20, 20e9, 100, 2)])
    workload = replace(make_small_workload("heat"), iterations=iterations)
    return simulate(
        machine, workload, make_policy(policy), backend=backend, events=events, **options
    )


@pytest.mark.parametrize("capacity", [100, 10**6])
@pytest.mark.parametrize("policy", ["bats", "cilk_a", "work_sharing"])
@pytest.mark.parametrize("backend", BACKENDS)
def test_the_file_is_the_trace(tmp_path: Path, backend: str, policy: str, capacity: int) -> None:
    path = tmp_path / "events.parquet"
    with event_file(path, {"run": "one"}, capacity) as events:
        assert not path.exists()
        streamed = run(events, backend, policy)
    whole = run(True, backend, policy)
    assert whole.trace is not None
    assert streamed.summary.n_events == len(whole.trace)
    trace = read_events(path)
    for name, kind in EVENT_COLUMNS.items():
        assert trace.events[name].dtype == kind
        assert np.array_equal(trace.events[name], whole.trace.events[name]), name
    file = pq.ParquetFile(path)
    groups = [file.metadata.row_group(i).num_rows for i in range(file.num_row_groups)]
    assert set(groups[:-1]) <= {capacity}
    assert len(groups) == -(-len(trace) // capacity)
    assert file.schema_arrow.metadata[b"run"] == b"one"
    assert b"18=SPAWN" in file.schema_arrow.metadata[b"event_kinds"]
    assert list(tmp_path.iterdir()) == [path]


def test_a_file_says_what_its_events_are_about(tmp_path: Path) -> None:
    path = tmp_path / "events.parquet"
    with event_file(
        path, {"run": "one"}, about=lambda w, t: {"of": f"{w.name} {len(t)}"}
    ) as events:
        n_events = run(events).summary.n_events
    metadata = pq.ParquetFile(path).schema_arrow.metadata
    assert (metadata[b"run"], metadata[b"of"]) == (b"one", b"heat 4")
    assert len(read_events(path)) == n_events


def test_an_event_takes_few_bytes(tmp_path: Path) -> None:
    path = tmp_path / "events.parquet"
    with event_file(path) as events:
        n_events = run(events, iterations=200).summary.n_events
    assert path.stat().st_size < 12 * n_events  # of 40 in memory
    assert not any(field.nullable for field in pq.ParquetFile(path).schema_arrow)


def test_no_events_are_an_empty_table(tmp_path: Path) -> None:
    nothing = Trace({name: np.empty(0, kind) for name, kind in EVENT_COLUMNS.items()})
    write_events(tmp_path / "written.parquet", nothing)
    with event_file(tmp_path / "opened.parquet"):
        pass
    for path in tmp_path.iterdir():
        trace = read_events(path)
        assert len(trace) == 0
        assert {name: str(column.dtype) for name, column in trace.events.items()} == EVENT_COLUMNS


def test_a_trace_in_memory_is_written_in_row_groups(tmp_path: Path) -> None:
    path = tmp_path / "events.parquet"
    n = 2**17 + 5
    long = Trace({name: np.arange(n, dtype=kind) for name, kind in EVENT_COLUMNS.items()})
    strided = {name: np.repeat(column, 2)[::2] for name, column in long.events.items()}
    write_events(path, Trace(strided))
    assert pq.ParquetFile(path).num_row_groups == 2
    trace = read_events(path)
    for name in EVENT_COLUMNS:
        assert np.array_equal(trace.events[name], long.events[name])


def test_memory_does_not_grow_with_the_run(tmp_path: Path) -> None:
    peaks, counts = [], []
    for iterations in (10, 160):
        command = [sys.executable, "-c", LONG_RUN, tmp_path / "x.parquet", str(iterations)]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        peak, count = map(int, done.stdout.split())
        peaks.append(peak)
        counts.append(count)
    assert 40 * (counts[1] - counts[0]) > 60e6
    assert peaks[1] - peaks[0] < 20e6


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_run_that_fails_leaves_no_file(tmp_path: Path, backend: str) -> None:
    path = tmp_path / "events.parquet"
    path.write_text("of an earlier run")

    def fail(done: int, total: int) -> None:
        if done == 2:
            assert len(list(tmp_path.iterdir())) == 2
            raise RuntimeError(f"{done} of {total}")

    failed = pytest.raises(RuntimeError, match="2 of 4")
    with failed as caught, event_file(path, capacity=64) as events:
        run(events, backend, progress=fail)
    assert caught.tb is not None  # the run is not forgotten yet
    assert not [name for name in open_files() if str(tmp_path) in name]
    assert list(tmp_path.iterdir()) == [path]
    assert path.read_text() == "of an earlier run"


def open_files() -> list[str]:
    """Return what the files of this process are, where the system tells."""
    links = Path("/proc/self/fd").glob("*")
    return [str(link.readlink()) for link in links if link.is_symlink()]


def test_an_interrupted_run_leaves_no_file(tmp_path: Path) -> None:
    long = replace(make_small_workload("heat"), iterations=10**6)
    timer = threading.Timer(0.5, _thread.interrupt_main, (signal.SIGINT,))
    timer.start()
    try:
        with pytest.raises(KeyboardInterrupt), event_file(tmp_path / "x", capacity=1000) as events:
            simulate(make_machine(), long, make_policy("cilk_a"), events=events)
    finally:
        timer.cancel()
    assert list(tmp_path.iterdir()) == []


def test_other_errors_of_the_system_are_not_the_file(tmp_path: Path) -> None:
    def fail(done: int, total: int) -> None:
        raise FileNotFoundError(2, "mine")

    with pytest.raises(FileNotFoundError, match="mine"), event_file(tmp_path / "x") as events:
        run(events, progress=fail)
    assert list(tmp_path.iterdir()) == []


def test_a_place_that_takes_no_file_is_noticed_before_the_run(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    path = tmp_path / "file" / "x.parquet"
    with (
        pytest.raises(ConfigurationError, match=r"x\.parquet: cannot be written"),
        event_file(path),
    ):
        pytest.fail("the block has been entered")
    assert [item.name for item in tmp_path.iterdir()] == ["file"]


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_a_full_disk_is_one_error_and_no_file(tmp_path: Path, jobs: str) -> None:
    (tmp_path / "long.yaml").write_text(LONG_EXPERIMENT)
    words = ["run", "long.yaml", "--events", "-q", "-j", jobs]
    done = subprocess.run(
        [sys.executable, "-c", SMALL_DISK, *words], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == 2, done.stderr
    assert done.stdout == ""
    assert done.stderr.count("\n") == 1, done.stderr
    assert done.stderr.startswith("simsched: error: ")
    assert ".parquet: cannot be written: " in done.stderr
    assert not list(tmp_path.rglob("*.parquet"))
    assert not list(tmp_path.rglob("*.tmp"))
