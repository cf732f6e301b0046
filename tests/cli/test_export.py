"""Runs and task graphs in the formats of other programs."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest

from simsched.trace.exporters import open_recording
from simsched.workload.registry import generate_workload

from .conftest import Command


@pytest.fixture
def events(simsched: Command, experiment: Path, tmp_path: Path) -> Path:
    """Events of one run as the command ``run`` keeps them."""
    words = ("--set", "seeds=1", "--set", "policies=[cilk_a]", "--events", "-q", "-o", "out")
    assert simsched("run", experiment, *words)[0] == 0
    (file,) = (tmp_path / "out" / "events").glob("*.parquet")
    return file


def test_events_become_every_format_of_runs(
    simsched: Command, events: Path, tmp_path: Path
) -> None:
    for words in (("--to", "chrome", "-o", "a.json"), ("-o", "a.json.gz"), ("a.paje",)):
        code, output, _ = simsched("export", events, *words)
        assert code == 0
        assert output.strip() == words[-1]
    document = json.loads((tmp_path / "a.json").read_text())
    names = {e["args"]["name"] for e in document["traceEvents"] if e["name"] == "thread_name"}
    assert names == {*(f"core {core}, thread 0" for core in (0, 4, 8, 12)), "iterations"}
    assert (tmp_path / "a.paje").read_text().startswith("%EventDef")


def test_kept_events_know_classes_graph_and_run(
    simsched: Command, events: Path, tmp_path: Path
) -> None:
    graph = generate_workload("fork_join", {"depth": 3}).graph
    simsched("export", events, "a.json")
    document = json.loads((tmp_path / "a.json").read_text())
    stretches = [e["args"] for e in document["traceEvents"] if "class" in e.get("args", {})]
    assert {(s["task"], s["class"]) for s in stretches} == {
        (task, graph.class_names[number]) for task, number in enumerate(graph.task_class)
    }
    assert simsched("export", events, "a.graphml")[0] == 0
    found = open_recording(events)
    assert found.workload is not None
    assert np.array_equal(found.workload.graph.child, graph.child)
    assert found.details["policy"] == "cilk_a"
    assert found.details["worker_domain"] == [0, 1, 2, 3]


def test_a_chrome_trace_becomes_a_recording_and_paje(
    simsched: Command, events: Path, tmp_path: Path
) -> None:
    simsched("export", events, "run.json")
    assert simsched("export", "run.json", "again.parquet")[0] == 0
    assert simsched("export", "run.json", "--to", "paje", "--output", "x.trace")[0] == 0
    assert simsched("import", "run.json", "--output", "imported.parquet")[0] == 0
    again, first = open_recording(tmp_path / "again.parquet"), open_recording(events)
    assert again.worker_names == first.worker_names
    assert again.n_tasks == first.n_tasks


def test_what_is_left_out_is_a_warning(simsched: Command, events: Path) -> None:
    simsched("export", events, "run.json")
    cut = Path("run.json").read_text()
    Path("cut.json").write_text(cut[: len(cut) * 9 // 10])
    code, _, messages = simsched("export", "cut.json", "x.paje")
    assert code == 0
    assert re.search(r"simsched: warning: .*cut\.json: the file is cut off", messages)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("RUN",), "found neither of FILE and --output"),
        (("RUN", "a.json", "-o", "b.json"), "found both of FILE and --output"),
        (("RUN", "-o", "a.xyz"), r"a\.xyz: found the suffix '\.xyz', accepted: a name that ends"),
        (("RUN", "--to", "crome", "-o", "a"), r"--to: unknown format.*'crome'; did you mean 'chro"),
        (("RUN", "-o", "a.json", "--set", "bins=x"), "--set: found 'bins=x', accepted NAME=NUMBER"),
        (
            ("RUN", "-o", "a.json", "--set", "bin=1"),
            "a.json: format chrome: unknown option 'bin'; ",
        ),
        (
            ("RUN", "-o", "a.json", "--set", "bins=0"),
            "bins: found 0, accepted a whole number, 1 to",
        ),
        (("none.parquet", "-o", "a.json"), r"none\.parquet: no such file"),
        (("none.json", "-o", "a.paje"), r"none\.json: no such file"),
        (("heat_small", "-o", "a.dot", "--set", "bins=1"), "--set: found with a task graph"),
        (("heat_small", "-o", "a.xyz"), r"found the suffix '\.xyz', accepted"),
    ],
)
def test_wrong_words(
    words: tuple[str, ...], message: str, simsched: Command, events: Path, tmp_path: Path
) -> None:
    before = sorted(tmp_path.iterdir())
    replaced = [events if word == "RUN" else word for word in words]
    code, _, messages = simsched("export", *replaced)
    assert code == 2
    assert re.search(message, messages), messages
    assert sorted(tmp_path.iterdir()) == before


def test_a_graph_by_name_of_its_format(simsched: Command, tmp_path: Path) -> None:
    assert simsched("export", "cholesky_small", "--to", "graphml", "-o", "g.xml")[0] == 0
    assert "<graphml" in (tmp_path / "g.xml").read_text()


def test_the_format_that_is_read_is_given_by_name(simsched: Command, tmp_path: Path) -> None:
    event = {"ph": "X", "name": "a", "pid": 1, "tid": 1, "ts": 0, "dur": 5}
    (tmp_path / "trace.txt").write_text(json.dumps({"x": "x" * 99, "traceEvents": [event]}))
    assert simsched("export", "trace.txt", "t.paje", "--format", "chrome")[0] == 0
    assert "PajeSetState" in (tmp_path / "t.paje").read_text()
    (tmp_path / "graph.txt").write_text("digraph { a [w=3] }")
    words = ("graph.txt[cost=w, cost_unit=ops]", "g.graphml")
    assert simsched("export", *words, "-f", "dot")[0] == 0
    assert "ops_cpu" in (tmp_path / "g.graphml").read_text()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("t.json", "t.paje", "-f", "chrom"), "unknown format 'chrom'; did you mean 'chrome'"),
        (("t.json", "t.dot", "-f", "chrome"), "found no slices that are tasks"),
        (("t.json", "t.paje", "-f", "wfformat"), "t.json: top level: found no key 'schemaVersion'"),
        (("heat", "t.dot", "-f", "dot"), "--format: found with the workload heat, accepted: with"),
        (("t.json[format=dot]", "t.dot", "-f", "dot"), "--format: found beside the option format"),
        (("t.json", "t.dot"), "found no slices that are tasks"),
    ],
)
def test_formats_that_do_not_fit_are_refused(
    words: tuple[str, ...], message: str, simsched: Command, tmp_path: Path
) -> None:
    (tmp_path / "t.json").write_text('{"traceEvents": [], "workflow": 3}')
    code, output, errors = simsched("export", *words)
    assert (code, output) == (2, "")
    assert message in errors
    assert errors.count("\n") == 1
    assert [path.name for path in tmp_path.iterdir()] == ["t.json"]


def test_a_recording_has_its_format(simsched: Command, events: Path) -> None:
    code, _, errors = simsched("export", events, "t.json", "--format", "chrome")
    assert (code, errors.count("--format: found with a recording")) == (2, 1)
    code, _, errors = simsched("validate", events, "--format", "chrome")
    assert (code, errors.count("--format: found with a recording")) == (2, 1)


SEEDS = Path(__file__).parents[1] / "robustness" / "seeds"


@pytest.mark.parametrize("suffix", ["graphml", "dot"])
@pytest.mark.parametrize(
    ("source", "edges"),
    [
        ("chrome/arrows.json", 3),
        ("paje/links.paje[unit=us]", 1),
        ("starvz/b", 2),
        ("tasks_rec/a/tasks.rec", 1),
    ],
)
def test_a_trace_becomes_its_task_graph(
    source: str, edges: int, suffix: str, simsched: Command, tmp_path: Path
) -> None:
    assert simsched("export", SEEDS / source, f"g.{suffix}", "-q")[0] == 0
    text = (tmp_path / f"g.{suffix}").read_text()
    assert text.count("<edge" if suffix == "graphml" else " -> ") == edges
    assert "end_ps" in text


@pytest.mark.parametrize("source", ["chrome/array.json", "otf2/two_threads", "paje/jobs.paje"])
def test_a_trace_without_a_graph_is_refused(source: str, simsched: Command) -> None:
    for words in (("g.graphml",), ("g.dot",)):
        code, _, errors = simsched("export", SEEDS / source, *words)
        assert (code, errors.count("found no task graph, accepted: one of a run whose")) == (2, 1)
