"""Measured times on processors of another speed: what is imported, exported and run."""

from __future__ import annotations

import json

import pytest

import simsched as api
from simsched.files.errors import SimschedError
from simsched.trace.exporters import export_recording
from simsched.trace.importers import import_recording
from simsched.workload.graph_files import graph_file_spec, read_graph_file
from simsched.workload.importers import from_networkx, to_networkx

SPEED = 2.9e9
MEASURED_S = 3e-3


@pytest.fixture
def measured(tmp_path):
    """Two tasks of 1 and 2 ms, one after the other, in a Chrome trace that was exported."""
    arrow = {"cat": "flow", "name": "a", "id": 1, "pid": 1, "tid": 1}
    events = [
        {"ph": "X", "name": "first", "pid": 1, "tid": 1, "ts": 0, "dur": 1000},
        {"ph": "s", "ts": 500, **arrow},
        {"ph": "X", "name": "second", "pid": 1, "tid": 1, "ts": 1500, "dur": 2000},
        {"ph": "f", "bp": "e", "ts": 2000, **arrow},
    ]
    trace = tmp_path / "trace.json"
    trace.write_text(json.dumps({"traceEvents": events}))
    graph = tmp_path / "trace.graphml"
    export_recording(import_recording(trace), graph)
    return graph


def read(text):
    spec = graph_file_spec(str(text))
    return read_graph_file(spec.name, spec.params)


@pytest.mark.parametrize("given", ["2.9 GHz", "2.9 Gops/s", "2900 MHz", "2.9e9"])
def test_an_imported_trace_takes_its_times_on_a_machine_of_another_speed(given, measured):
    workload = read(f"{measured}[reference_speed={given}]")
    assert workload.graph.ops.sum() == pytest.approx(MEASURED_S * SPEED)
    assert workload.parameters["reference_speed"] == SPEED
    assert read(measured).graph.ops.sum() == pytest.approx(MEASURED_S * 1e9)


def test_it_runs_as_long_as_it_was_measured(measured):
    machine = api.load_machine("opteron48")
    speed = machine.core_groups[0].ops_per_s
    assert speed != 1e9
    result = api.run(machine, f"{measured}[reference_speed={speed:g}]", "cilk", jobs=1)
    assert result.runs["makespan_s"].item() == pytest.approx(MEASURED_S, rel=1e-2)


def test_kinds_of_processors_have_speeds_of_their_own():
    import networkx as nx

    graph = nx.DiGraph(simsched_format=1, parameters='{"reference_speed": 1e9}')
    graph.add_node(0, ops_cpu=4.0, ops_gpu=2.0, creation_ops=1.0)
    found = from_networkx(graph, reference_speed={"gpu": "3 GHz"})
    assert found.graph.ops.tolist() == [[4.0], [6.0]]
    assert found.graph.creation_ops.tolist() == [1.0]
    again = from_networkx(to_networkx(from_networkx(graph, reference_speed=2e9)))
    assert again.graph.ops.tolist() == [[8.0], [4.0]]
    assert again.graph.creation_ops.tolist() == [2.0]
    with pytest.raises(SimschedError, match=r"reference_speed\.gup: .*did you mean 'gpu'"):
        from_networkx(graph, reference_speed={"gup": 1e9})


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("2.9", r"found 2\.9, accepted a finite number, 1000000 or more, or text with a unit"),
        ("0", "found 0"),
        ("nan", "found nan"),
        ("2.9 Ghz", ".*did you mean '2.9 GHz'"),
        ("2.9 GB/s", r"found '2\.9 GB/s', accepted: a speed above zero such as '2\.9 GHz'"),
        ("-1 GHz", ".*accepted: a speed above zero"),
    ],
)
def test_other_speeds_are_refused(given, message, measured):
    with pytest.raises(SimschedError, match=f"reference_speed: {message}"):
        read(f"{measured}[reference_speed={given}]")


def test_operations_that_nobody_measured_have_no_speed(tmp_path):
    path = tmp_path / "own.graphml"
    from simsched.workload.importers import write_graphml
    from simsched.workload.presets import make_workload

    write_graphml(make_workload("heat_small"), path)
    with pytest.raises(SimschedError, match="reference_speed: found with operations"):
        read(f"{path}[reference_speed=2.9 GHz]")
    with pytest.raises(SimschedError, match="option cost, accepted none but reference_speed"):
        read(f"{path}[cost=ops_cpu]")


def test_who_exports_measured_times_hears_for_which_speed_they_hold(measured):
    trace = measured.with_name("trace.json")
    (said,) = export_recording(import_recording(trace), measured)
    assert "processors of 1 Gops/s" in said
    assert "trace.graphml[reference_speed=2.9 GHz]" in said
