"""Files given to a command for another kind of file: what they are, and what takes them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

MACHINE = "extends: opteron48\n"
TRACE = json.dumps(
    {"traceEvents": [{"ph": "X", "name": "a", "pid": 1, "tid": 1, "ts": 0, "dur": 9}]}
)
FILES = {"server.yaml": MACHINE, "sw.dot": "digraph { a -> b }", "trace.json": TRACE}


@pytest.fixture(autouse=True)
def files(simsched):  # in its directory
    for name, text in FILES.items():
        Path(name).write_text(text)


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ("run server.yaml", "a machine: simsched run EXPERIMENT -m server.yaml; accepted: an exp"),
        ("run sw.dot", "a task graph (dot): simsched run EXPERIMENT -w sw.dot; accepted: an exp"),
        ("run trace.json", "a trace (chrome): simsched import trace.json"),
        ("check trace.json", "simsched export trace.json FILE.graphml"),
        ("show workload trace.json", "a trace (chrome): simsched import trace.json"),
        ("show machine sw.dot", "a task graph (dot): simsched run EXPERIMENT -w sw.dot"),
        ("show workload server.yaml", "a machine: simsched run EXPERIMENT -m server.yaml"),
        ("show policy server.yaml", "a machine: simsched run EXPERIMENT -m server.yaml"),
    ],
)
def test_a_file_of_another_kind_is_named_with_its_use(words, found, simsched):
    code, output, messages = simsched(*words.split())
    assert (code, output) == (2, "")
    assert f"{words.split()[-1]}: found " in messages
    assert found in messages
    assert len(messages.splitlines()) == 1


def test_a_recording_is_exported(simsched):
    assert simsched("import", "trace.json", "-o", "x.parquet")[0] == 0
    for words in ("check x.parquet", "show workload x.parquet", "run x.parquet"):
        code, _, messages = simsched(*words.split())
        assert code == 2
        assert "recording of a run: simsched export x.parquet FILE.graphml" in messages


def test_what_is_wrong_with_a_file_of_the_right_kind_stays(simsched):
    for words in ("check sw.dot", "show workload sw.dot"):
        assert "name the node attribute that is the cost" in simsched(*words.split())[2]
    Path("server.yaml").write_text("extends: opteron48\nmemory: 3\n")
    assert "server.yaml:2: memory" in simsched("check", "server.yaml")[2]
    Path("mine.yaml").write_text("policies: [cilk]\nmachines: [opteron48]\nmemory: 3\n")
    assert "found a machine" not in simsched("run", "mine.yaml")[2]
