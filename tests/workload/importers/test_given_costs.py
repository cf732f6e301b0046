"""Graphs that lack costs or bytes: what the user gives, what is zero, what is refused."""

from __future__ import annotations

import os
from pathlib import Path

import networkx as nx
import pytest

import simsched
from simsched.files.errors import SimschedError
from simsched.machine import load_machine
from simsched.workload.graph_files import graph_file_spec, read_graph_file
from simsched.workload.importers import from_networkx, import_workload
from simsched.workload.importers.remarks import facts

#: As Taskflow dumps it: names and no costs.
DUMP = """digraph Taskflow { subgraph cluster_p0 { label="Taskflow: demo";
p1[label="A" ]; p1 -> p2; p1 -> p3; p2[label="B" ]; p2 -> p4; p3[label="B" ]; p3 -> p4;
p4[label="D" ]; } }"""
#: As SimGrid takes it: root and end need no cost, -1 and nothing are no bytes.
SIMGRID = """digraph G { end [size="2e9"]; 0 [size="1e9"]; 1 [size="1e9"];
root -> 0 [size="100"]; 0 -> 1 [size="-1"]; 1 -> end; }"""
SIZES = {"cost": "size", "cost_unit": "ops", "edge_bytes": "size"}


def written(tmp_path: Path, text: str, name: str = "g.dot") -> Path:
    path = tmp_path / name
    path.write_text(text)
    return path


def read(text: str) -> simsched.Workload:
    path, options = graph_file_spec(text)
    return read_graph_file(Path(path), options)


def test_one_cost_for_all_tasks(tmp_path: Path) -> None:
    path = written(tmp_path, DUMP)
    workload = read(f"{path}[task_cost=1 ms]")
    assert workload.graph.ops.tolist() == [[1e6] * 4]
    assert facts(workload)[0] == "cost of 4 of 4 tasks: 1 ms (task_cost)"
    assert read(f"{path}[task_cost=1ms, reference_speed=2e9]").graph.ops.tolist() == [[2e6] * 4]
    assert read(f"{path}[task_cost=2e3 ops]").graph.ops.tolist() == [[2e3] * 4]
    result = simsched.run("toy_1fast_3slow", workload, ["heft"], jobs=1)
    # The other cores are half as fast: A, both B one after the other or beside each other, D.
    assert result.runs.makespan_s.tolist() == pytest.approx([4e-3], rel=0.01)


def test_one_cost_for_each_class(tmp_path: Path) -> None:
    costs = "task_cost.A=1 us, task_cost.B=7 ops, task_cost.D=0 s"
    workload = read(f"{written(tmp_path, DUMP)}[task_class=label, {costs}]")
    assert workload.graph.ops.tolist() == [[1e3, 7.0, 7.0, 0.0]]
    assert facts(workload)[0] == "cost of 4 of 4 tasks: A 1 us, B 7 ops, D 0 s (task_cost)"


def test_in_an_experiment_the_costs_stand_beside_the_file(tmp_path: Path) -> None:
    written(tmp_path, DUMP, "dump.dot")
    study = written(
        tmp_path,
        "name: given\nmachines: [toy_1fast_3slow]\npolicies: [heft]\nworkloads:\n"
        "  - {file: dump.dot, task_class: label, task_cost: {A: 5 ms, B: 1 ms, D: 1 ms}}\n",
        "study.yaml",
    )
    result = simsched.run(study, jobs=1)
    assert result.runs.makespan_s.tolist() == pytest.approx([8e-3], rel=0.01)


def test_a_given_cost_fills_gaps_only() -> None:
    graph = nx.DiGraph([("a", "b"), ("b", "c")])
    graph.nodes["a"]["ms"] = 3
    graph.nodes["b"]["ms"] = ""
    workload = from_networkx(graph, cost="ms", cost_unit="ms", task_cost="9 ops")
    assert workload.graph.ops.tolist() == [[3e6, 9.0, 9.0]]
    assert workload.parameters["tasks_of_task_cost"] == 2
    kinds = from_networkx(
        graph,
        cost={"cpu": "ms", "gpu": "ms"},
        cost_unit="ms",
        task_cost="1 ms",
        reference_speed={"gpu": 1e10},
    )
    assert kinds.graph.ops.tolist() == [[3e6, 1e6, 1e6], [3e7, 1e7, 1e7]]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("task_cost=1", "option task_cost: found 1, accepted a cost with its unit, such as '1 ms'"),
        ("task_cost=fast", "option task_cost: found 'fast', accepted a cost with its unit"),
        ("task_cost=-1 ms", "option task_cost: found '-1 ms', accepted a cost"),
        ("task_cost=-1 ops", "option task_cost: found '-1', accepted a finite number of at least"),
        ("task_cost=inf ops", "option task_cost: found 'inf', accepted a finite number"),
        ("task_cost=1 ms, cost_unit=ms", "option cost_unit: found 'ms' without the option cost"),
        ("task_cost.A=1 ms, task_class=label", "task_cost.B: missing, .* without a cost: A, B, D"),
        (
            "task_class=label, task_cost.A=1 ms, task_cost.b=1 ms",
            r"option task_cost\.b: unknown class of tasks 'b'; accepted: A, B, D",
        ),
        ("cost=ms", "option cost: found 'ms', which no node has; accepted: label"),
        ("", r"found a graph of another program.*FILE\[task_cost=1 ms\]"),
    ],
)
def test_wrong_costs_are_refused(options: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(SimschedError, match=message):
        read(f"{written(tmp_path, DUMP)}[{options}]")


def test_simgrids_conventions(tmp_path: Path) -> None:
    graph = import_workload(written(tmp_path, SIMGRID), **SIZES).graph
    assert graph.task_names == ("end", "0", "1", "root")
    assert graph.ops.tolist() == [[2e9, 1e9, 1e9, 0.0]]
    assert graph.block_bytes.tolist() == [100]
    assert graph.n_edges == 3
    nodes = nx.DiGraph([("a", "end", {"size": -1.0}), ("root", "a", {"size": "-1"})])
    nodes.nodes["a"]["size"] = 5
    assert from_networkx(nodes, **SIZES).graph.block_bytes.tolist() == []


@pytest.mark.parametrize("edge", ["root -> 0; 0 -> end", "0 -> root; end -> 0"])
def test_root_and_end_are_free_only_where_they_are(edge: str, tmp_path: Path) -> None:
    path = written(tmp_path, f'digraph {{ 0 [size="1e9"]; {edge} }}')
    options = {"cost": "size", "cost_unit": "ops"}
    if edge.startswith("root"):
        assert import_workload(path, **options).graph.ops.tolist() == [[1e9, 0.0, 0.0]]
    else:
        with pytest.raises(SimschedError, match=r"node '(root|end)': found no attributes"):
            import_workload(path, **options)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        *(("2.000000e+09", 2_000_000_000), ("1e2", 100), ("100.0", 100), ("1.000000e-12", 0)),
        *(("12.5e0", 12), ("9007199254740993", 2**53 + 1), (7.6, 8), (1e3, 1000)),
    ],
)
def test_bytes_in_any_notation(text: object, found: int) -> None:
    """Programs print them with %e; fractions are rounded."""
    graph = nx.DiGraph([("a", "b", {"size": text})])
    nx.set_node_attributes(graph, "1.0e+00", "size")
    assert from_networkx(graph, **SIZES).graph.block_bytes.sum() == found


@pytest.mark.parametrize("text", ["-2", "-0.5", "1e19", "1e999999999", "nan", "inf", "x", True])
def test_what_is_no_number_of_bytes_is_refused(text: object) -> None:
    graph = nx.DiGraph([("a", "b", {"size": text})])
    nx.set_node_attributes(graph, 1, "size")
    with pytest.raises(SimschedError, match=r"edge 'a' -> 'b': attribute 'size': found .*, accept"):
        from_networkx(graph, **SIZES)


def test_sizes_beyond_64_bits_are_told(tmp_path: Path) -> None:
    """Their sum wrapped around and fitted; a larger one was a fault of the kernel's binding."""
    edges = " ".join(f'{n} -> {n + 1} [size="2e18"]' for n in range(9))
    text = f"digraph {{ node [size=1] {edges} }}"
    workload = import_workload(written(tmp_path, text), **SIZES)
    with pytest.raises(SimschedError, match="found 18000000000000000000 bytes of data, accepted"):
        simsched.run("toy_1fast_3slow", workload, ["heft"], jobs=1)
    workload = import_workload(written(tmp_path, text.replace("2e18", "5e15")), **SIZES)
    machine = load_machine("toy_1fast_3slow", {"storage": "1 GB/s"})
    with pytest.raises(SimschedError, match="found a block of 5000000000000000 bytes, accepted"):
        simsched.run(machine, workload, ["heft"], jobs=1)
    path = written(tmp_path, text.replace("2e18", "5e18"))
    with pytest.raises(SimschedError, match="access 1: read_bytes: found 5000000000000000000, acc"):
        import_workload(path, **SIZES)


@pytest.mark.parametrize(
    ("name", "options", "tasks", "edges", "ops", "blocks"),
    [
        ("dot_node_list/list.dot", "cost=ms, cost_unit=ms", 6, 6, 6e6, []),
        ("dot_bytes_in_e_notation/whole.dot", "", 2, 1, 6e9, [2 * 10**9]),
        ("dot_bytes_in_e_notation/daggen.dot", "", 3, 2, 6e9, [2 * 10**9]),
        ("simgrid_dag_dot/dag.dot", "", 4, 3, 4e9, [100]),
        ("graph_without_costs/taskflow.dot", "task_cost=1 ms", 4, 4, 4e6, []),
    ],
)
def test_files_of_users(
    name: str, options: str, tasks: int, edges: int, ops: float, blocks: list[int], cases: Path
) -> None:
    options = options or "cost=size, cost_unit=ops, edge_bytes=size"
    graph = read(f"{os.fspath(cases / name)}[{options}]").graph
    assert (graph.n_tasks, graph.n_edges, graph.ops.sum()) == (tasks, edges, ops)
    assert graph.block_bytes.tolist() == blocks
