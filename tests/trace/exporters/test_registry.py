"""Formats by name, GraphML and Parquet, and recordings that contradict themselves."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import networkx as nx
import numpy as np
import pytest

from simsched.analysis.recordings import recording_of
from simsched.files.errors import ConfigurationError
from simsched.trace.exporters import export_recording, exporters, open_recording
from simsched.trace.exporters._bandwidth import node_bandwidth
from simsched.trace.exporters.registry import exporter
from simsched.trace.parquet import write_events
from simsched.trace.schema import EventKind, Trace
from simsched.workload.importers import import_workload

from .runs import small_recording, small_run, task_times


def test_formats_are_found_and_described() -> None:
    assert list(exporters()) == ["chrome", "dot", "graphml", "paje", "parquet"]
    for item in exporters().values():
        assert len(item.summary) > 20
        assert item.suffixes
    assert [*exporters()["graphml"].parameters] == ["iteration"]


def test_a_name_is_registered_once() -> None:
    exporters()
    with pytest.raises(ValueError, match=r"'chrome': registered twice, by simsched\."):
        exporter("chrome", suffixes=(".x",))(lambda recording, path: [])


@pytest.mark.parametrize(
    ("file", "options", "message"),
    [
        ("x.jsn", {}, r"found the suffix '.jsn', accepted: a name that ends in \.json, "),
        ("x.json", {"format": "chrom"}, "unknown format 'chrom'; did you mean 'chrome'"),
        ("x.json", {"bin": 3}, "x.json: format chrome: unknown option 'bin'; did you mean 'bins'"),
        ("none/x.json", {}, "none/x.json: cannot be written"),
    ],
)
def test_wrong_requests(
    file: str, options: dict[str, object], message: str, tmp_path: Path
) -> None:
    with pytest.raises(ConfigurationError, match=message):
        export_recording(small_recording("heat"), tmp_path / file, **options)
    assert list(tmp_path.iterdir()) == []


def test_a_run_without_events_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="found no event trace"):
        recording_of(replace(small_run("heat"), trace=None))


def test_graphml_has_the_graph_and_its_times(tmp_path: Path) -> None:
    recording = small_recording("cholesky")
    export_recording(recording, tmp_path / "x.graphml")
    graph = nx.read_graphml(tmp_path / "x.graphml")
    times = task_times(recording)
    assert recording.workload is not None
    assert recording.workload.init is not None
    assert len(graph) == recording.n_tasks + recording.workload.init.n_tasks
    for node, data in graph.nodes(data=True):
        early = node.startswith("init")
        name, _, worker, start, end = times[0 if early else 1, int(node.removeprefix("init"))]
        assert (data["start_ps"], data["end_ps"]) == (start, end)
        assert data["worker"] == recording.worker_names[worker]
        assert data["task_class"] == name
    assert import_workload(tmp_path / "x.graphml").graph.n_edges == recording.workload.graph.n_edges


def test_graphml_of_another_iteration(tmp_path: Path) -> None:
    recording = small_recording("heat")
    assert recording.workload is not None
    last = recording.workload.iterations
    remarks = export_recording(recording, tmp_path / "x.graphml", iteration=last)
    assert remarks == [f"the times of {last - 1} other iterations are not written"]
    data = nx.read_graphml(tmp_path / "x.graphml").nodes["0"]
    assert data["start_ps"] == task_times(recording)[last, 0][3]
    with pytest.raises(ConfigurationError, match=f"found {last + 1}, accepted: 1, "):
        export_recording(recording, tmp_path / "x.graphml", iteration=last + 1)


def test_graphml_needs_a_graph(tmp_path: Path) -> None:
    recording = replace(small_recording("heat"), workload=None)
    with pytest.raises(ConfigurationError, match="found no task graph"):
        export_recording(recording, tmp_path / "x.graphml")


def test_parquet_comes_back(tmp_path: Path) -> None:
    recording = small_recording("cholesky")
    assert export_recording(recording, tmp_path / "x.parquet") == []
    found = open_recording(tmp_path / "x.parquet")
    assert task_times(found) == task_times(recording)
    assert found.details == recording.details


def test_events_alone_have_plain_names(tmp_path: Path) -> None:
    run = small_run("heat")
    assert run.trace is not None
    write_events(tmp_path / "events.parquet", run.trace)
    found = open_recording(tmp_path / "events.parquet")
    assert found.worker_names[:2] == ("worker 0", "worker 1")
    assert found.class_names == ("task",)
    for suffix in ("json", "paje"):
        export_recording(found, tmp_path / f"x.{suffix}")
        assert '"worker 1"' in (tmp_path / f"x.{suffix}").read_text()


@pytest.mark.parametrize(
    ("column", "row", "value", "accepted"),
    [
        ("time_ps", 3, -5, "0 or more"),
        ("kind", 4, 99, f"0 to {max(EventKind)}"),
        ("worker", 5, 77, "-1 to 5"),
        ("task", 6, 10**6, "a task of the recording"),
        ("task", 7, -2, "a task of the recording"),
    ],
)
def test_rows_that_cannot_be(
    column: str, row: int, value: int, accepted: str, tmp_path: Path
) -> None:
    recording = small_recording("cholesky")
    events = {name: values.copy() for name, values in recording.trace.events.items()}
    events[column][row] = value
    broken = replace(recording, trace=Trace(events))
    message = f"row {row}: {column}: found {value}, accepted {accepted}"
    with pytest.raises(ConfigurationError, match=re.escape(message)):
        export_recording(broken, tmp_path / "x.json")
    export_only = tmp_path / "x.parquet"
    from simsched.trace.recording import write_recording

    write_recording(export_only, broken)
    with pytest.raises(ConfigurationError, match=re.escape(f"{export_only}: {message}")):
        open_recording(export_only)


@pytest.mark.parametrize(("source", "node"), [(0, 2**31), (0, 1), (-1, 0), (1, 0), (2**20, 0)])
@pytest.mark.parametrize("names", [["dram"], None])
def test_copies_between_nodes_that_cannot_be(
    source: int, node: int, names: list[str] | None, tmp_path: Path
) -> None:
    recording = small_recording("cholesky")
    events = {
        name: np.append(values, values[-1:]) for name, values in recording.trace.events.items()
    }
    for name, value in (("kind", EventKind.MIGRATE_START), ("worker", -1), ("task", -1)):
        events[name][-1] = value
    events["arg1"][-1] = 2**32 * source + node
    details = {key: value for key, value in recording.details.items() if key != "memory_nodes"}
    if names is not None:
        details["memory_nodes"] = names
    copying = replace(recording, trace=Trace(events), details=details)
    if names is None and max(source, node) == 1:
        export_recording(copying, tmp_path / "x.json")
        return
    last = 0 if names else 255
    message = f"arg1: found {source or node}, accepted 0 to {last} (a memory node)"
    for suffix in ("json", "paje"):
        with pytest.raises(ConfigurationError, match=re.escape(message)):
            export_recording(copying, tmp_path / f"x.{suffix}")


def test_the_last_moment_that_a_trace_can_hold(tmp_path: Path) -> None:
    recording = small_recording("cholesky")
    events = {name: values.copy() for name, values in recording.trace.events.items()}
    events["time_ps"][-1] = 2**63 - 1
    late = replace(recording, trace=Trace(events))
    edges, _ = node_bandwidth(late, 10)
    assert (np.diff(edges) > 0).all()
    assert edges[-1] > 2**63 - 2**20


def test_an_empty_trace_is_an_error(tmp_path: Path) -> None:
    recording = small_recording("heat")
    empty = Trace({name: values[:0] for name, values in recording.trace.events.items()})
    with pytest.raises(ConfigurationError, match="found no events"):
        export_recording(replace(recording, trace=empty), tmp_path / "x.json")
    write_events(tmp_path / "e.parquet", empty)
    with pytest.raises(ConfigurationError, match=r"e\.parquet: found no events"):
        open_recording(tmp_path / "e.parquet")


def test_rows_in_the_wrong_order_are_said(tmp_path: Path) -> None:
    recording = small_recording("heat")
    order = np.arange(len(recording.trace))[::-1]
    order = order[np.argsort(recording.trace.events["time_ps"][order] // 10**7, kind="stable")]
    mixed = Trace({name: values[order] for name, values in recording.trace.events.items()})
    remarks = export_recording(replace(recording, trace=mixed), tmp_path / "x.json")
    assert re.fullmatch(r"\d+ rows earlier than the row before \(sorted\)", remarks[0])
