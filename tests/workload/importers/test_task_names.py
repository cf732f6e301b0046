"""What other programs call their tasks, from their files to results, exports and messages."""

from __future__ import annotations

import io
import json
import zipfile
from dataclasses import replace

import networkx as nx
import numpy as np
import pytest

import simsched
from simsched.analysis.recordings import recording_of
from simsched.engine.processors import check_processors
from simsched.engine.run import simulate
from simsched.files.errors import GraphError, ModelError, StalledError
from simsched.machine import load_machine
from simsched.machine.synthetic import make_machine
from simsched.policy import make_policy
from simsched.trace.exporters import export_recording
from simsched.trace.recording import read_recording, recording_metadata
from simsched.workload.builder import adjacency, build_graph
from simsched.workload.graph import Workload
from simsched.workload.importers import (
    from_networkx,
    import_workload,
    to_networkx,
    write_dot,
    write_graphml,
)
from simsched.workload.registry import generate_workload

DOT = 'digraph { read [w=1]; "left half" [w=2]; 7 [w=3]; read -> "left half" -> 7 }'
NAMES = ("read", "left half", "7")
OPTIONS = {"cost": "w", "cost_unit": "ms"}


@pytest.fixture
def named(tmp_path):
    """A chain of three tasks with names."""
    (tmp_path / "g.dot").write_text(DOT)
    return import_workload(tmp_path / "g.dot", **OPTIONS)


@pytest.fixture
def run(named):
    machine = make_machine(domains=1, cores_per_domain=1, ops_per_s=1e9)
    return simulate(machine, named, make_policy("work_sharing"), events=True)


def test_names_of_dot_graphml_and_networkx_are_kept(named, tmp_path):
    assert named.graph.task_names == NAMES
    graph = nx.DiGraph()
    for name, weight in (("a b", 1.0), ("c", 2.0)):
        graph.add_node(name, w=weight)
    assert from_networkx(graph, **OPTIONS).graph.task_names == ("a b", "c")
    nx.write_graphml(graph, tmp_path / "g.graphml")
    assert import_workload(tmp_path / "g.graphml", **OPTIONS).graph.task_names == ("a b", "c")
    numbered = nx.relabel_nodes(graph, {"a b": 5})
    assert from_networkx(numbered, **OPTIONS).graph.task_names == ("5", "c")


@pytest.mark.parametrize(
    ("names", "expected"),
    [(("first", "second"), ("first", "second")), (("same", "same"), ("x", "y"))],
)
def test_names_of_wfformat_or_ids_where_names_are_not_unique(names, expected, tmp_path):
    tasks = [
        {"name": name, "id": key, "runtime": 1, "parents": [], "files": []}
        for name, key in zip(names, "xy", strict=True)
    ]
    document = {"schemaVersion": "1.3", "workflow": {"tasks": tasks, "machines": []}}
    (tmp_path / "w.json").write_text(json.dumps(document))
    assert import_workload(tmp_path / "w.json").graph.task_names == expected


@pytest.mark.parametrize("write", [write_graphml, write_dot])
@pytest.mark.parametrize("names", [NAMES, ("", 'quo"te \\', "grün\n2"), ("", "", "x")])
def test_names_survive_the_way_there_and_back(write, names, named, tmp_path):
    path = tmp_path / f"own.{write.__name__.removeprefix('write_')}"
    write(replace(named, graph=replace(named.graph, task_names=names)), path)
    again = import_workload(path)
    assert again.graph.task_names == names
    nodes = to_networkx(again)
    nodes.remove_node(0)
    assert from_networkx(nodes).graph.task_names == names[1:]


def test_generated_graphs_have_no_names_and_pay_nothing():
    workload = generate_workload("fork_join")
    assert workload.graph.task_names is None
    assert all("task_name" not in data for _, data in to_networkx(workload).nodes(data=True))


def test_results_have_a_column_of_names(named, tmp_path):
    machine = make_machine(domains=1, cores_per_domain=1, ops_per_s=1e9)
    tasks = simsched.run(machine, named, "work_sharing", jobs=1).tasks()
    assert tasks[["task", "task_name"]].to_numpy().tolist() == [[i, n] for i, n in enumerate(NAMES)]
    plain = simsched.run(machine, Workload("p", build_graph([1e6])), "work_sharing", jobs=1)
    assert "task_name" not in plain.tasks().columns


def test_the_initialisation_has_names_of_its_own(named):
    """Task 1 of the initialisation has none, and is not called as task 1 of the iteration."""
    machine = make_machine(domains=1, cores_per_domain=1, ops_per_s=1e9)
    init = build_graph([1e6, 1e6], task_names=("early", ""))
    result = simsched.run(machine, replace(named, init=init), "work_sharing", jobs=1)
    found = result.tasks().set_index(["iteration", "task"])["task_name"].to_dict()
    assert found == {(0, 0): "early", (0, 1): "", **{(1, i): n for i, n in enumerate(NAMES)}}


def test_recordings_and_exports_have_names(run, tmp_path):
    recording = recording_of(run)
    for ending in ("parquet", "json", "paje", "graphml"):
        export_recording(recording, tmp_path / f"r.{ending}")
    assert read_recording(tmp_path / "r.parquet").workload.graph.task_names == NAMES
    events = json.loads((tmp_path / "r.json").read_text())["traceEvents"]
    tasks = [event["args"] for event in events if event.get("cat") == "task"]
    assert [(args["task"], args["task_name"]) for args in tasks] == list(enumerate(NAMES))
    states = [line.split(maxsplit=7) for line in (tmp_path / "r.paje").read_text().splitlines()]
    bodies = [words for words in states if len(words) == 8 and words[4:5] == ["C0"]]
    assert [words[7] for words in bodies] == ['"read"', '"left half"', '"7"']
    graph = nx.read_graphml(tmp_path / "r.graphml")
    assert [graph.nodes[node]["task_name"] for node in "012"] == list(NAMES)


def test_long_names_take_no_more_room_in_recordings_than_they_need(run, tmp_path):
    """An array of text gives each name the length of the longest, in four bytes a character."""
    names = ("x" * 10**6, *NAMES[1:])
    graph = replace(run.workload.graph, task_names=names)
    recording = recording_of(replace(run, workload=replace(run.workload, graph=graph)))
    export_recording(recording, tmp_path / "r.parquet")
    assert read_recording(tmp_path / "r.parquet").workload.graph.task_names == names
    with zipfile.ZipFile(io.BytesIO(recording_metadata(recording)["graph"])) as packed:
        assert packed.getinfo("task_names.npy").file_size < 1.1e6


def test_messages_say_names(named):
    infinite = build_graph(
        [[np.inf, 1.0], [1.0, 1.0]], kinds=("cpu", "gpu"), task_names=("solve", "x")
    )
    machine = load_machine("amd_4x_opteron8380")
    with pytest.raises(ModelError, match=r"found costs for gpu \(task 0 \(solve\)\)"):
        check_processors(machine, Workload("w", infinite), machine.place_workers())
    assert named.graph.called(1) == "task 1 (left half)"
    assert build_graph([1.0]).called(0) == "task 0"
    assert build_graph([1.0], task_names=["a\n" + "b" * 100]).called(0) == (
        "task 0 (a " + "b" * 55 + "...)"
    )


def test_a_run_that_is_given_up_names_tasks():
    """10 s without the end of a task: `slow` is executed, `after` waits for it."""
    graph = build_graph(
        [1.0, 1e12, 1.0],
        successors=adjacency([0, 1], [1, 2], 3),
        task_names=("first", "slow", "after"),
    )
    machine = make_machine(domains=1, cores_per_domain=1, ops_per_s=1e9)
    for backend in ("native", "simpy"):
        with pytest.raises(StalledError) as caught:
            simulate(
                machine,
                Workload("w", graph),
                make_policy("work_sharing"),
                backend=backend,
                progress_limit_s=10.0,
            )
        assert "worker 0 executes task 1 (slow) since" in str(caught.value)
        assert "task 2 (after) waits for predecessor 1 (slow)" in str(caught.value)


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (("a",), "task_names: found 1, accepted one for each of the 2 tasks"),
        (("a", 2), "task 1: task_names: found 2, accepted text"),
    ],
)
def test_wrong_names_are_refused(names, message):
    with pytest.raises(GraphError, match=message):
        build_graph([1.0, 1.0], task_names=names).validate()
