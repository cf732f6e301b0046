"""Task graph files with options, named wherever a workload is named."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

DOT = "digraph d { a [size=2000000]; b [size=5000000]; a -> b [bytes=700] }"
SPEC = "d.dot[cost=size, cost_unit=ops, edge_bytes=bytes]"
EXPERIMENT = """\
name: e
machines: [toy_1fast_3slow]
workloads: [WORKLOAD]
policies: [single_thread]
metrics: [makespan_s]
"""


@pytest.fixture(autouse=True)
def _graph(tmp_path):
    (tmp_path / "d.dot").write_text(DOT)


def makespans(simsched, *words):
    code, output, messages = simsched("run", "e.yaml", "--jobs", "1", "--json", *words)
    assert (code, messages) == (0, "")
    return {row["workload"]: row["makespan_s"] for row in json.loads(output)["runs"]}


def test_run_takes_files_with_options(simsched):
    """2 + 5 million operations on one core that does 10**9 a second: 7 ms, twice 14 ms."""
    Path("e.yaml").write_text(EXPERIMENT.replace("WORKLOAD", "heat_small"))
    twice = "d.dot[cost=size,cost_unit=ops,iterations=2,format=dot]"
    found = makespans(simsched, "-w", "d.dot[cost=size, cost_unit=ops]", "-w", twice)
    named = {"d[cost=size,cost_unit=ops]": 0.007, "d[cost=size,cost_unit=ops,iterations=2]": 0.014}
    assert found == pytest.approx(named, rel=1e-3)
    assert makespans(simsched, "-w", "d.dot[cost=size,cost_unit=ops]") == pytest.approx(
        {"d[cost=size,cost_unit=ops]": 0.007}, rel=1e-3
    )


@pytest.mark.parametrize(
    ("workload", "label"),
    [
        ('"d.dot[cost=size, cost_unit=ops]"', "d[cost=size,cost_unit=ops]"),
        ("{name: d.dot, cost: size, cost_unit: ops}", "d"),
        ("{name: 'd.dot[cost=size]', cost_unit: ops, label: x}", "x"),
    ],
)
def test_experiments_name_files_as_they_name_generators(simsched, workload, label):
    Path("e.yaml").write_text(EXPERIMENT.replace("WORKLOAD", workload))
    assert makespans(simsched) == pytest.approx({label: 0.007}, rel=1e-3)
    swept = "--set", "sweep.product.workloads.0.cost_unit=[ns]"  # 10**9 operations a second
    assert makespans(simsched, *swept) == pytest.approx({label: 0.007}, rel=1e-3)


def test_show_check_and_export_take_files_with_options(simsched):
    code, output, _ = simsched("show", "workload", SPEC)
    assert code == 0
    assert "2 tasks" in output
    assert "1 block, 700 bytes of data" in output
    document = json.loads(simsched("show", "workload", SPEC, "--json")[1])
    assert document["iteration"]["edges"] == 1
    assert {"name": "cost_unit", "value": "ops"} in document["parameters"]
    assert simsched("check", SPEC)[1].startswith("d.dot: task graph, 2 tasks, 1 edge: correct\n")
    assert simsched("export", SPEC, "o.graphml")[0] == 0
    code, output, _ = simsched("show", "workload", "o.graphml")
    assert (code, "1 block, 700 bytes of data" in output) == (0, True)


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("d.dot", "with the option cost, FILE[cost=NAME, cost_unit=UNIT]; accepted: size"),
        (
            "d.dot[cost=size, cost_unt=ops]",
            "d.dot: format dot: unknown option 'cost_unt'; ",
        ),
        ("none.dot[cost=size, cost_unit=s]", "none.dot: no such file"),
        ("d.dot[cost=size, cost_unit=ops, iterations=0]", "iterations: found 0, accepted a whole"),
    ],
)
def test_what_is_wrong_with_a_file_is_said(simsched, spec, message):
    Path("e.yaml").write_text(EXPERIMENT.replace("WORKLOAD", "heat_small"))
    for words in (("show", "workload", spec), ("run", "e.yaml", "-w", spec), ("check", spec)):
        code, output, messages = simsched(*words)
        assert (code, output) == (2, "")
        assert message in messages


def test_check_says_what_was_made_of_costs_and_data(simsched):
    code, output, messages = simsched("check", "d.dot[cost=size, cost_unit=us]")
    assert (code, output.splitlines()[1:]) == (
        0,
        ["cost of a task: attribute 'size', 1 us is 1000 operations", "edges without data: 1 of 1"],
    )
    assert messages == (
        "simsched: warning: d.dot: no edge carries data (edge_bytes is not given)\n"
    )
    code, output, messages = simsched("check", SPEC)
    assert (code, messages) == (0, "")
    assert output.splitlines()[1:] == [
        "cost of a task: attribute 'size', operations",
        "edges without data: 0 of 1",
    ]


def test_brackets_in_paths_are_no_options(simsched):
    """Every command read the first bracket as the begin of the options."""
    Path("my[1]").mkdir()
    Path("my[1]/x[2].dot").write_text(DOT)
    spec = "my[1]/x[2].dot[cost=size,cost_unit=ops]"
    Path("e.yaml").write_text(EXPERIMENT.replace("WORKLOAD", f'"{spec}"'))
    label = "x[2][cost=size,cost_unit=ops]"
    assert makespans(simsched) == pytest.approx({label: 0.007}, rel=1e-3)
    assert makespans(simsched, "-w", spec) == pytest.approx({label: 0.007}, rel=1e-3)
    twice = makespans(simsched, "--set", "workloads.0.iterations=2")
    assert list(twice.values()) == pytest.approx([0.014], rel=1e-3)
    assert simsched("show", "workload", spec)[0] == 0
    assert simsched("check", spec)[1].startswith("my[1]/x[2].dot: task graph, 2 tasks, 1 edge:")
    assert simsched("export", spec, "o.graphml")[0] == 0


def test_conformance_takes_files_as_run_does(simsched):
    """Files were unknown workloads to it; their mistakes are those that every command tells."""
    words = "conformance", "-p", "single_thread", "-m", "toy_1fast_3slow", "--quiet", "--json"
    code, output, messages = simsched(*words, "-w", SPEC, "-w", "d.dot[cost=size, cost_unit=us]")
    assert (code, messages) == (0, "")
    found = json.loads(output)
    assert (found["cases"], found["refused"], found["differing"]) == (2, 0, 0)
    assert found["events"] > 0
    for spec, message in (
        ("d.dot", "with the option cost, FILE[cost=NAME, cost_unit=UNIT]; accepted: size"),
        ("none.dot[cost=size, cost_unit=s]", "none.dot: no such file"),
    ):
        code, output, messages = simsched(*words, "-w", spec)
        assert (code, output) == (2, "")
        assert message in messages
