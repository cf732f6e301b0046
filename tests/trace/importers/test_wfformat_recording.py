"""Executions of WfFormat instances as recordings."""

from __future__ import annotations

import json

import pytest

from simsched.files.errors import ConfigurationError, GraphError, TraceError
from simsched.trace.importers import import_recording, placed_tasks


def instance(runs, machines=("n1", "n2")):
    """An instance in which each task depends on the one before; `runs` are the executions."""
    ids = [run["id"] for run in runs]
    tasks = [
        {"name": i, "id": i, "parents": ids[n - 1 : n] if n else [], "children": []}
        for n, i in enumerate(ids)
    ]
    execution = {
        "makespanInSeconds": 99,
        "executedAt": "2024-01-01T00:00:00Z",
        "tasks": runs,
        "machines": [{"nodeName": m, "cpu": {"coreCount": 1}} for m in machines],
    }
    specification = {"tasks": tasks, "files": []}
    return json.dumps(
        {
            "name": "w",
            "schemaVersion": "1.5",
            "workflow": {"specification": specification, "execution": execution},
        }
    )


def run(name, start, seconds=2.0, **more):
    at = {} if start is None else {"executedAt": start}
    return {"id": name, "runtimeInSeconds": seconds, "machines": ["n1"], **at, **more}


def test_starts_machines_and_workers(write, events_of):
    runs = [
        run("a", "2024-01-01T10:00:00+01:00"),
        run("b", "2024-01-01T09:00:01Z", 3.5),
        run("c", "2024-01-01T09:00:02.500Z", machines=["n2"]),
        run("d", "20240101T090002Z"),
    ]
    recording = import_recording(write("w.json", instance(runs)))
    assert recording.worker_names == ("n1/0", "n1/1", "n2/0")
    second = 10**12
    assert [e for e in events_of(recording) if e[0] == "TASK_START"] == [
        ("TASK_START", 0, 0, 0),
        ("TASK_START", second, 1, 1),
        ("TASK_START", 2 * second, 0, 3),
        ("TASK_START", 5 * second // 2, 2, 2),
    ]
    assert ("TASK_END", 2 * second, 0, 0) in events_of(recording)
    assert recording.details["stated_makespan_s"] == 99
    assert any(
        "n1 ran 2 tasks at once but states 1 cores" in w for w in recording.details["warnings"]
    )


def test_tasks_without_start_or_machine_are_set_aside(write):
    runs = [
        run("a", "2024-01-01T09:00:00Z"),
        run("b", None),
        run("c", "yesterday"),
        run("d", "2024-01-01T09:00:00Z", machines=["n1", "n2"]),
    ]
    recording = import_recording(write("w.json", instance(runs)))
    assert recording.n_tasks == 4
    assert placed_tasks(recording.trace) == 1
    assert recording.details["set_aside"] == {
        "tasks that name no machine or several": 1,
        "tasks without executedAt": 1,
        "tasks whose executedAt is no ISO 8601 time": 1,
    }
    assert sum("set aside" in text for text in recording.details["warnings"]) == 3


def test_the_only_machine_is_meant_when_none_is_named(write):
    runs = [run("a", "2024-01-01T09:00:00Z", machines=[])]
    recording = import_recording(write("w.json", instance(runs, machines=("n7",))))
    assert recording.worker_names == ("n7/0",)


def test_a_machine_that_the_file_does_not_list_is_told(write):
    """It became a worker of the run without a word."""
    runs = [run(name, "2024-01-01T09:00:00Z", machines=[name]) for name in ("n1", "zz")]
    recording = import_recording(write("w.json", instance(runs)))
    assert recording.worker_names == ("n1/0", "zz/0")
    (told,) = [text for text in recording.details["warnings"] if "ran on" in text]
    assert "tasks ran on zz, which the file does not list among its machines (n1, n2)" in told
    # Where it lists none there is nothing to miss.
    recording = import_recording(write("w.json", instance(runs, machines=())))
    assert not [text for text in recording.details["warnings"] if "ran on" in text]


def test_starts_are_inferred_only_when_asked_for(write, events_of):
    path = write("w.json", instance([run("a", None), run("b", None, 1.0)]))
    with pytest.raises(TraceError, match=r"w\.json: found no task with a start.*starts=earliest"):
        import_recording(path)
    recording = import_recording(path, starts="earliest")
    assert [e[1] for e in events_of(recording) if e[0] == "TASK_START"] == [0, 2 * 10**12]
    assert recording.details["starts"] == "inferred (earliest)"
    assert any("inferred" in warning for warning in recording.details["warnings"])
    with pytest.raises(ConfigurationError, match="unknown starts 'early'; did you mean 'earliest'"):
        import_recording(path, starts="early")


def test_times_with_and_without_zone_are_refused(write):
    runs = [run("a", "2024-01-01T09:00:00Z"), run("b", "2024-01-01T09:00:00")]
    path = write("w.json", instance(runs))
    with pytest.raises(TraceError, match=r"workflow\.execution\.tasks\[1\].*found no time zone"):
        import_recording(path)


def test_damaged_files_are_refused(write):
    text = instance([run("a", "2024-01-01T09:00:00Z")])
    with pytest.raises(GraphError, match=r"w\.json:1: .*not JSON"):
        import_recording(write("w.json", text[:-40]))
    with pytest.raises(GraphError, match="found no tasks"):
        import_recording(write("e.json", instance([])))


@pytest.mark.validation
def test_published_instances_state_no_starts(measured_data):
    path = measured_data / "wfinstances" / "bwa-chameleon-small-001.json"
    with pytest.raises(TraceError, match="found no task with a start"):
        import_recording(path)
    recording = import_recording(path, starts="earliest")
    assert placed_tasks(recording.trace) == recording.n_tasks == 104
    # Without waiting for anything but predecessors, a run is shorter than it was.
    span_s = int(recording.trace.events["time_ps"].max()) / 1e12
    assert span_s == pytest.approx(91.37, abs=0.01)
    assert span_s < recording.details["stated_makespan_s"]


def test_times_that_a_trace_cannot_hold_are_refused(write):
    early, late = "2024-01-01T00:00:00Z", "2024-06-01T00:00:00Z"
    path = write("far.json", instance([run("a", early), run("b", late)]))
    with pytest.raises(TraceError, match=r"tasks\[1\]: executedAt: found a start 152 days, "):
        import_recording(path)
    path = write("long.json", instance([run("a", early, 1e7)]))
    with pytest.raises(TraceError, match=r"tasks\[0\]: found a run time of 1e\+07 s"):
        import_recording(path)
    chain = [run(f"t{i}", None, 1e6) for i in range(5)]
    with pytest.raises(TraceError, match=r"chain\.json: found run times of \d+ s one after"):
        import_recording(write("chain.json", instance(chain)), starts="earliest")
