"""Chrome traces: their structure, what they conserve, and the way there and back."""

from __future__ import annotations

import gzip
import json
from collections import defaultdict
from dataclasses import fields, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simsched.analysis.recordings import recording_of
from simsched.files.errors import ConfigurationError, TraceError
from simsched.trace.exporters import export_recording
from simsched.trace.exporters.chrome import _microseconds
from simsched.trace.importers.chrome import read_chrome
from simsched.trace.recording import Recording

from .runs import busy_s, hides_a_cost, random_run, small_recording, small_run, task_times

SEEDS = st.integers(0, 10**6)
NS = 1e-9
ENDING_PARTS = ("whole", "last")
#: What each phase must have, beside "ph", "pid" and "tid".
REQUIRED = {
    "M": {"name": str, "args": dict},
    "X": {"name": str, "cat": str, "ts": float, "dur": float, "args": dict},
    "s": {"name": str, "cat": str, "ts": float, "id": int},
    "f": {"name": str, "cat": str, "ts": float, "id": int, "bp": str},
    "i": {"name": str, "cat": str, "ts": float, "s": str, "args": dict},
    "C": {"name": str, "ts": float, "args": dict},
    "b": {"name": str, "cat": str, "ts": float, "id": str, "args": dict},
    "e": {"name": str, "cat": str, "ts": float, "id": str, "args": dict},
}


def exported(recording: Recording, path: Path, **options: object) -> dict[str, Any]:
    export_recording(recording, path, "chrome", **options)
    document: dict[str, Any] = json.loads(path.read_text())
    return document


def violations(document: dict[str, Any]) -> list[str]:
    """What is wrong with the structure of a document."""
    events = document["traceEvents"]
    found = []
    if document["displayTimeUnit"] != "ms":
        found.append("unit")
    for number, event in enumerate(events):
        required = REQUIRED.get(event["ph"])
        if required is None:
            found.append(f"{number}: phase {event['ph']}")
            continue
        found += [
            f"{number}: {key}" for key, kind in required.items() if type(event.get(key)) is not kind
        ]
        found += [f"{number}: {key}" for key in ("pid", "tid") if type(event[key]) is not int]
    found += [f"scope of {e['name']}" for e in events if e["ph"] == "i" and e["s"] not in "tpg"]
    timed = [e for e in events if "ts" in e]
    found += [f"{a['ts']} before {b['ts']}" for a, b in pairwise(timed) if a["ts"] > b["ts"]]
    found += nesting_violations([e for e in events if e["ph"] == "X"])
    return found + flow_violations(events)


def ns(us: float) -> int:
    """A time as readers that cut off see it; those that round see the same."""
    assert int(us * 1000.0) == round(us * 1000.0)
    return int(us * 1000.0)


def nesting_violations(slices: list[dict[str, Any]]) -> list[str]:
    """Slices of a thread that overlap without being nested, as a reader meets them."""
    open_until: dict[tuple[int, int], list[int]] = defaultdict(list)
    found = []
    for event in slices:
        stack = open_until[event["pid"], event["tid"]]
        start, end = ns(event["ts"]), ns(event["ts"]) + ns(event["dur"])
        while stack and stack[-1] <= start:
            stack.pop()
        if stack and end > stack[-1]:
            found.append(f"overlap at {start}")
        stack.append(end)
    return found


def flow_violations(events: list[dict[str, Any]]) -> list[str]:
    """Arrows without a second end, that go back, or whose end lies in no slice."""
    slices = defaultdict(list)
    for event in events:
        if event["ph"] == "X":
            start = ns(event["ts"])
            slices[event["pid"], event["tid"]].append((start, start + ns(event["dur"])))
    ends: dict[Any, list[dict[str, Any]]] = defaultdict(list)
    found = []
    for event in events:
        if event["ph"] in "sf":
            ends[event["cat"], event["name"], event["id"]].append(event)
            moment = ns(event["ts"])
            inside = [a <= moment < b for a, b in slices[event["pid"], event["tid"]]]
            if not any(inside):
                found.append(f"flow {event['id']} ends in no slice")
    for key, pair in ends.items():
        if [event["ph"] for event in pair] != ["s", "f"] or pair[1]["bp"] != "e":
            found.append(f"flow {key}: {pair}")
    if len({key[2] for key in ends}) < len(ends):
        found.append("flows share an id")
    return found


def task_self_s(document: dict[str, Any], n_workers: int) -> np.ndarray:
    """Time in slices of tasks without the runtime's costs inside them, per worker."""
    result = np.zeros(n_workers, np.int64)
    slices = [e for e in document["traceEvents"] if e["ph"] == "X" and e["cat"] != "iteration"]
    spans: dict[int, tuple[int, int]] = {}
    for event in slices:
        worker, start, length = event["tid"] - 1, ns(event["ts"]), ns(event["dur"])
        if event["cat"] == "task":
            result[worker] += length
            spans[worker] = start, start + length
        elif worker in spans and spans[worker][0] <= start < start + length <= spans[worker][1]:
            result[worker] -= length
    return result * NS


@settings(max_examples=40)
@given(seed=SEEDS, backend=st.sampled_from(["native", "simpy"]))
def test_random_runs_are_well_formed_and_come_back(
    seed: int, backend: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    run = random_run(seed, backend)
    if run is None:
        return
    recording = recording_of(run)
    path = tmp_path_factory.mktemp("random") / "x.json"
    document = exported(recording, path)
    assert violations(document) == []
    if not hides_a_cost(run):
        n = len(run.worker_thread)
        slices = sum(e["ph"] == "X" for e in document["traceEvents"])
        assert np.abs(task_self_s(document, n) - busy_s(run)).max() <= (slices + 1) * NS
    same_tasks(recording, read_chrome(path))


def same_tasks(recording: Recording, found: Recording) -> None:
    """The same tasks, classes, workers, starts and ends; to half a nanosecond."""
    expected, got = task_times(recording), task_times(found)
    assert got.keys() == expected.keys()
    for key, (name, w0, w1, start, end) in expected.items():
        assert got[key][:3] == (name, w0, w1)
        assert abs(got[key][3] - start) <= 500
        assert abs(got[key][4] - end) <= 500
    assert recording.workload is not None
    assert found.workload is not None
    assert found.workload.iterations == recording.workload.iterations
    for was, now in (
        (recording.workload.graph, found.workload.graph),
        (recording.workload.init, found.workload.init),
    ):
        assert (was is None) == (now is None)
        for each in () if was is None or now is None else fields(was):
            assert np.array_equal(getattr(was, each.name), getattr(now, each.name)), each.name
    assert found.worker_names == recording.worker_names
    assert found.worker_core.tolist() == recording.worker_core.tolist()
    assert found.details["set_aside"] == {}
    assert found.details["warnings"] == []


def test_a_recording_without_a_graph_comes_back_without(tmp_path: Path) -> None:
    recording = small_recording("heat")
    bare = replace(recording, workload=None)
    export_recording(bare, tmp_path / "x.json")
    found = read_chrome(tmp_path / "x.json")
    assert found.workload is None
    assert found.class_names == bare.class_names
    assert sorted(times[3] for times in task_times(found).values()) == pytest.approx(
        sorted(times[3] for times in task_times(bare).values()), abs=500
    )


def test_an_embedded_program_of_another_recording_is_refused(tmp_path: Path) -> None:
    document = exported(small_recording("cholesky"), tmp_path / "x.json")
    other = exported(small_recording("fork_join"), tmp_path / "y.json")
    about = document["otherData"]["simsched"]
    for embedded, message in (
        (other["otherData"]["simsched"]["embedded"], "found another recording than the one"),
        ({**about["embedded"], "graph": "AAAA"}, "graph of the recording: "),
        ({**about["embedded"], "graph": "A"}, "otherData: simsched: embedded: not base 64"),
        ({"graph": about["embedded"]["graph"]}, "not a recording"),
    ):
        about["embedded"] = embedded
        (tmp_path / "x.json").write_text(json.dumps(document))
        with pytest.raises(TraceError, match=message):
            read_chrome(tmp_path / "x.json")


@pytest.mark.parametrize("backend", ["native", "simpy"])
@pytest.mark.parametrize("name", ["heat", "cholesky", "fork_join", "stencil2d"])
def test_workloads_of_both_backends(name: str, backend: str, tmp_path: Path) -> None:
    recording = recording_of(small_run(name, backend=backend))
    document = exported(recording, tmp_path / "x.json")
    assert violations(document) == []
    same_tasks(recording, read_chrome(tmp_path / "x.json"))


def test_a_run_is_drawn_with_names_arrows_and_bandwidth(tmp_path: Path) -> None:
    run = small_run("cholesky")
    recording = recording_of(run)
    document = exported(recording, tmp_path / "x.json", bins=20)
    events = document["traceEvents"]
    names = {e["args"]["name"] for e in events if e["name"] == "thread_name"}
    assert names == {"iterations", *recording.worker_names}
    assert "core 0, thread 0" in names
    processes = {e["args"]["name"] for e in events if e["name"] == "process_name"}
    assert processes == {recording.name, "domain 0", "domain 1"}
    tasks = [e for e in events if e.get("cat") == "task"]
    assert {e["name"] for e in tasks} == {"initialise", *run.workload.graph.class_names}
    assert set(tasks[0]["args"]) == {"task", "class", "iteration", "bytes", "part"}
    assert sum(e["args"]["bytes"] for e in tasks) == run.summary.node_bytes.sum()
    assert sum(e["ph"] == "s" and e["cat"] == "dependence" for e in events) == (
        run.workload.graph.n_edges * run.workload.iterations
    )
    assert sum(e["ph"] == "s" and e["cat"] == "steal" for e in events) > 0
    assert {e["name"] for e in events if e.get("cat") == "runtime"} >= {"pop", "steal"}
    counters = [e for e in events if e["ph"] == "C"]
    assert {e["name"] for e in counters} == {f"bandwidth {n.name}" for n in run.machine.nodes}
    for index, node in enumerate(run.machine.nodes):
        own = [e for e in counters if e["name"] == f"bandwidth {node.name}"]
        moved = run.summary.node_bytes[:, :, index].sum()
        assert carried(own, run.makespan_s) == pytest.approx(moved, 1e-6)
        assert own[-1]["args"] == {"bytes_per_s": 0}
    ends = {
        (e["tid"], ns(e["ts"]) + ns(e["dur"])) for e in tasks if e["args"]["part"] in ENDING_PARTS
    }
    starts = {(e["tid"], ns(e["ts"])) for e in tasks}
    for event in events:
        if event.get("cat") == "dependence":
            moment = event["tid"], ns(event["ts"]) + (event["ph"] == "s")
            assert moment in (ends if event["ph"] == "s" else starts)


def carried(counters: list[dict[str, Any]], end_s: float) -> float:
    """Bytes under the curves of all counters."""
    total = 0.0
    for name in {e["name"] for e in counters}:
        steps = [(e["ts"] * 1e-6, e["args"]["bytes_per_s"]) for e in counters if e["name"] == name]
        ends = [*(t for t, _ in steps[1:]), end_s]
        total += sum(rate * (t1 - t0) for (t0, rate), t1 in zip(steps, ends, strict=True))
    return total


def test_dependences_are_limited_and_the_file_says_so(tmp_path: Path) -> None:
    recording = small_recording("cholesky")
    assert recording.workload is not None
    total = recording.workload.graph.n_edges * recording.workload.iterations
    remarks = export_recording(recording, tmp_path / "x.json", dependences=7)
    sentence = f"the first 7 of {total} dependences are drawn"
    assert sentence in remarks
    document = json.loads((tmp_path / "x.json").read_text())
    assert sentence in document["otherData"]["simsched"]["remarks"]
    flows = [e for e in document["traceEvents"] if e["ph"] == "s" and e["cat"] == "dependence"]
    assert len(flows) == 7


def test_gzip_by_name_and_the_same_bytes_every_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recording = small_recording("heat")
    for year, name in enumerate(("a.json", "a.json.gz", "b.json.gz")):
        monkeypatch.setattr("time.time", lambda year=year: 1e9 + year * 3e7)
        export_recording(recording, tmp_path / name)
    packed = (tmp_path / "a.json.gz").read_bytes()
    assert gzip.decompress(packed) == (tmp_path / "a.json").read_bytes()
    assert packed == (tmp_path / "b.json.gz").read_bytes()
    same_tasks(recording, read_chrome(tmp_path / "a.json.gz"))


@pytest.mark.parametrize("origin", [0, 10**9, 10**13, 86_400 * 10**9])
def test_microseconds_give_back_nanoseconds(origin: int) -> None:
    times = origin + np.arange(50_000, dtype=np.int64) * 7
    values = _microseconds(times)
    assert [int(v * 1000.0) for v in values] == times.tolist()
    assert [round(v * 1000.0) for v in values] == times.tolist()


@pytest.mark.parametrize(("option", "value"), [("dependences", -1), ("bins", 0)])
def test_wrong_options(option: str, value: int, tmp_path: Path) -> None:
    with pytest.raises(
        ConfigurationError, match=f"format chrome: option {option}: found {value}, accepted"
    ):
        export_recording(small_recording("heat"), tmp_path / "x.json", **{option: value})
    assert list(tmp_path.iterdir()) == []
