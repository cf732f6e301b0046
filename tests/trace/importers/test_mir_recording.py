"""Task statistics of MIR as recordings."""

from __future__ import annotations

import random

import pytest

from simsched.files.errors import ConfigurationError, GraphError, TraceError
from simsched.trace.importers import import_recording, placed_tasks, worker_busy_ps

HEADER = (
    "task,parent,child_number,num_children,cpu_id,exec_cycles,work_cycles,overhead_cycles,"
    "creation_cycles,create_instant,exec_end_instant,outline_function\n"
)
#: A root that spawns two leaves, on cores 6 and 4; core 6 runs the root and the first leaf.
ROWS = [
    "1,0,1,2,6,700,100,600,0,0,1900,fib\n",
    "2,1,1,0,6,1000,1000,0,50,90,1300,fib\n",
    "3,1,2,0,4,500,500,0,50,150,1700,fib\n",
]


def test_leaves_are_placed_and_inner_tasks_counted(write, events_of):
    path = write("stats.csv", HEADER + "".join(ROWS))
    recording = import_recording(path, clock="2 GHz")
    # Core 6 was active for 1,000 + 700 cycles up to 1,900, so the run began by 200; the first leaf
    # started at 300.
    assert recording.details["origin_cycles"] == 200
    assert events_of(recording) == [
        ("ITERATION_START", 0, -1, -1),
        ("TASK_START", 50_000, 1, 1),
        ("TASK_START", 500_000, 0, 2),
        ("TASK_END", 550_000, 1, 1),
        ("TASK_END", 750_000, 0, 2),
        ("ITERATION_END", 850_000, -1, -1),
    ]
    assert recording.worker_names == ("core 4", "core 6")
    assert recording.worker_core.tolist() == [4, 6]
    assert recording.workload.graph.child.tolist() == [1, 2]
    assert recording.details["core_busy_s"] == [2.5e-7, 6e-7], (
        "core 4: a leaf of 500 cycles; core 6: 100 + 1000 of work and twice 50 of creation"
    )
    ((reason, count),) = recording.details["set_aside"].items()
    assert reason.startswith("inner tasks")
    assert count == 1
    # Operations are cycles, so whoever replays the graph takes the clock as their speed.
    assert recording.workload.parameters["reference_speed"] == 2e9


def test_the_order_of_rows_does_not_matter(write, content):
    rows = list(ROWS)
    expected = content(import_recording(write("a.csv", HEADER + "".join(rows)), clock="1 GHz"))
    for seed in range(5):
        random.Random(seed).shuffle(rows)
        path = write("b.csv.gz", HEADER + "".join(rows))
        assert content(import_recording(path, clock="1 GHz")) == expected


def test_overlapping_leaves_are_set_aside(write):
    after = ROWS[2].replace(",4,500,500,", ",6,500,500,").replace(",1700,", ",1800,")
    path = write("a.csv", HEADER + ROWS[0] + ROWS[1] + after)
    assert placed_tasks(import_recording(path, clock="1 GHz").trace) == 2
    path = write("b.csv", HEADER + ROWS[0] + ROWS[1] + after.replace(",1800,", ",1799,"))
    found = import_recording(path, clock="1 GHz")
    assert placed_tasks(found.trace) == 1
    assert any("start before an earlier one" in reason for reason in found.details["set_aside"])


def test_cycles_without_a_clock_are_refused(write):
    path = write("stats.csv", HEADER + "".join(ROWS))
    with pytest.raises(ConfigurationError, match=r"stats\.csv: found times in cycles"):
        import_recording(path)
    with pytest.raises(ConfigurationError, match=r"stats\.csv: clock: found '2 GB'"):
        import_recording(path, clock="2 GB")


def test_wrong_rows_are_refused(write):
    bad = ROWS[2].replace(",500,500,", ",501,500,")
    path = write("a.csv", HEADER + ROWS[0] + ROWS[1] + bad)
    with pytest.raises(GraphError, match=r"a\.csv:4: .*'exec_cycles'"):
        import_recording(path, clock="1 GHz")
    with pytest.raises(GraphError, match="found no tasks"):
        import_recording(write("b.csv", HEADER), clock="1 GHz")
    with pytest.raises(TraceError, match="contents of no known format"):
        import_recording(write("c.csv", "task,parent\n1,0\n"))


def test_numbers_that_a_recording_cannot_hold_are_refused(write):
    path = write("slow.csv", HEADER + "".join(ROWS))
    with pytest.raises(TraceError, match=r"slow\.csv: found a run of 1\.7e\+09 s at this clock"):
        import_recording(path, clock="0.000001 Hz")
    bad = ROWS[2].replace(",0,4,", ",0,4294967296,")
    path = write("core.csv", HEADER + ROWS[0] + ROWS[1] + bad)
    with pytest.raises(GraphError, match=r"core\.csv:4: .*'cpu_id': found 4294967296, accepted"):
        import_recording(path, clock="1 GHz")


@pytest.mark.validation
def test_the_published_run(measured_data):
    path = measured_data / "mir_fib_opteron48" / "task-stats.csv.gz"
    recording = import_recording(path, clock="1 GHz")
    assert (recording.n_tasks, recording.n_workers) == (8192, 48)
    assert placed_tasks(recording.trace) == 4096
    assert list(recording.details["set_aside"].values()) == [4096]
    starts = recording.trace.events["time_ps"][recording.trace.events["kind"] == 5]
    # From the first leaf's start to the last end: 863.6 M cycles.
    span = int(recording.trace.events["time_ps"].max()) - int(starts.min())
    assert span / 1e9 == pytest.approx(863.6, abs=0.1)
    assert sum(recording.details["core_busy_s"]) == pytest.approx(26.369 + 14.670, abs=0.01)
    assert worker_busy_ps(recording.trace, 48).sum() / 1e12 == pytest.approx(25.22, abs=0.01)
