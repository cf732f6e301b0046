import networkx as nx
import numpy as np
import pytest

from simsched.files.errors import GraphError, SimschedError
from simsched.workload.importers import (
    from_networkx,
    import_workload,
    to_networkx,
    write_dot,
    write_graphml,
)

SEEDS = range(40)


@pytest.mark.parametrize("seed", SEEDS)
def test_round_trip_through_networkx_is_lossless(seed, generate_workload, assert_same):
    workload = generate_workload(seed)
    graph = to_networkx(workload)
    assert not graph.is_multigraph()
    assert_same(workload, from_networkx(graph))


@pytest.mark.parametrize(("write", "suffix"), [(write_graphml, ".graphml"), (write_dot, ".dot")])
@pytest.mark.parametrize("seed", SEEDS)
def test_round_trip_through_files_is_lossless(
    seed, write, suffix, generate_workload, assert_same, tmp_path
):
    workload = generate_workload(seed)
    path = tmp_path / f"graph{suffix}"
    write(workload, path)
    assert_same(workload, import_workload(path))
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize(("write", "suffix"), [(write_graphml, ".graphml"), (write_dot, ".gv")])
def test_parallel_edges_survive(write, suffix, generate_workload, assert_same, tmp_path):
    workload = generate_workload(2, n_tasks=12, parallel_edges=True)
    assert to_networkx(workload).is_multigraph()
    write(workload, tmp_path / f"g{suffix}")
    assert_same(workload, import_workload(tmp_path / f"g{suffix}"))


def test_single_graph_becomes_a_workload_run_once(generate_workload):
    graph = generate_workload(3).graph
    workload = from_networkx(to_networkx(graph))
    assert workload.iterations == 1
    assert workload.init is None
    assert np.array_equal(workload.graph.ops, graph.ops)


def test_relabelled_and_reordered_nodes_give_the_same_workload(generate_workload, assert_same):
    workload = generate_workload(5)
    graph = to_networkx(workload)
    names = list(graph)
    other = nx.DiGraph(**graph.graph)
    other.add_nodes_from((f"x{n}", graph.nodes[n]) for n in reversed(names))
    edges = sorted(graph.edges(data=True), key=lambda edge: str(edge[:2]), reverse=True)
    other.add_edges_from((f"x{u}", f"x{v}", data) for u, v, data in edges)
    assert_same(workload, from_networkx(other))


def test_removed_task_leaves_the_others_in_order():
    graph = to_networkx(_diamond_workload())
    graph.remove_node(1)
    smaller = from_networkx(graph).graph
    assert smaller.ops.tolist() == [[1.0, 3.0, 4.0]]
    assert smaller.succ.tolist() == [1, 2]


def test_attributes_are_flat():
    graph = to_networkx(_diamond_workload())
    values = [*graph.graph.values()]
    values += [value for _, data in graph.nodes(data=True) for value in data.values()]
    values += [value for *_, data in graph.edges(data=True) for value in data.values()]
    assert {type(value) for value in values} <= {int, float, str}


def _diamond():
    graph = nx.DiGraph()
    for node, weight in (("a", 1), ("b", 2.5), ("c", "3"), ("d", 4)):
        graph.add_node(node, weight=weight, size=7, kind="x" if node in "ad" else "y")
    graph.add_edge("a", "b", data=100)
    graph.add_edge("a", "c", data=0)
    graph.add_edge("b", "d", data="50")
    graph.add_edge("c", "d", data=25.0)
    return graph


def _diamond_workload():
    return from_networkx(_diamond(), cost="weight", cost_unit="ops")


def test_foreign_graph_with_mapping():
    workload = from_networkx(
        _diamond(),
        cost="weight",
        cost_unit="ms",
        reference_speed=2e9,
        edge_bytes="data",
        task_class="kind",
    )
    graph = workload.graph
    assert graph.ops.tolist() == [[2e6, 5e6, 6e6, 8e6]]
    assert graph.class_names == ("x", "y")
    assert graph.task_class.tolist() == [0, 1, 1, 0]
    assert graph.succ.tolist() == [1, 2, 3, 3]
    assert graph.block_bytes.tolist() == [100, 50, 25]
    assert graph.read_bytes.sum() == graph.written_bytes.sum() == 175
    d = slice(graph.access_ptr[3], graph.access_ptr[4])
    assert graph.read_bytes[d].tolist() == [50, 25]
    b = slice(graph.access_ptr[1], graph.access_ptr[2])
    assert graph.read_bytes[b].tolist() == [100, 0], "a task reads before it writes"
    assert graph.written_bytes[b].tolist() == [0, 50]
    assert workload.parameters["edges_without_bytes"] == 1
    assert workload.parameters["ops_per_cost_unit"] == 2e6


def test_times_use_the_documented_default_speed():
    graph = from_networkx(_diamond(), cost="weight", cost_unit="s").graph
    assert graph.ops.tolist() == [[1e9, 2.5e9, 3e9, 4e9]]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "name the node attribute that is the cost.*weight, size, kind"),
        ({"cost": "flops", "cost_unit": "ops"}, "'flops', which no node has.*weight"),
        ({"cost": "weight"}, "option cost_unit: missing, accepted: ops, s, ms, us, ns"),
        ({"cost": "weight", "cost_unit": "sec"}, "option cost_unit: unknown unit 'sec'"),
        ({"cost": "weight", "cost_unit": "ops", "reference_speed": 1e9}, "reference_speed"),
        ({"cost": "weight", "cost_unit": "s", "reference_speed": -1.0}, "reference_speed.*-1"),
        ({"cost": "kind", "cost_unit": "ops"}, "node 'a': attribute 'kind': found 'x'"),
        (
            {"cost": "weight", "cost_unit": "ops", "edge_bytes": "volume"},
            "option edge_bytes: found 'volume', which no edge has; accepted: data",
        ),
        (
            {"cost": "weight", "cost_unit": "ops", "task_class": "colour"},
            "node 'a': attribute 'colour': found nothing",
        ),
    ],
)
def test_incomplete_mapping_is_refused(options, message):
    with pytest.raises(GraphError, match=message):
        from_networkx(_diamond(), **options)


@pytest.mark.parametrize("value", [float("nan"), -1, float("inf"), None, "", "x", True, [1], 1j])
def test_bad_cost_names_the_node(value):
    graph = _diamond()
    graph.nodes["c"]["weight"] = value
    with pytest.raises(GraphError, match=r"node 'c': attribute 'weight': found .*, accepted"):
        from_networkx(graph, cost="weight", cost_unit="ops")


def test_cycle_is_named():
    graph = _diamond()
    graph.add_edge("d", "a", data=1)
    with pytest.raises(GraphError, match=r"my graph: found a cycle of 3 tasks: .*a -> .*d"):
        from_networkx(graph, cost="weight", cost_unit="ops", source="my graph")


def test_self_loop_is_named():
    graph = _diamond()
    graph.add_edge("b", "b")
    with pytest.raises(GraphError, match="found a cycle of 1 task: b -> b"):
        from_networkx(graph, cost="weight", cost_unit="ops")


@pytest.mark.parametrize(
    ("graph", "message"), [(nx.Graph([(1, 2)]), "undirected"), (nx.DiGraph(), "no nodes")]
)
def test_other_graphs_are_refused(graph, message):
    with pytest.raises(GraphError, match=message):
        from_networkx(graph, cost="weight", cost_unit="ops")


def test_mapping_is_refused_for_our_own_graphs():
    with pytest.raises(GraphError, match="option cost, accepted none"):
        from_networkx(to_networkx(_diamond_workload()), cost="ops_cpu")


def _break(graph, where, key, value):
    target = {"graph": graph.graph, "node": graph.nodes[1], "edge": graph.edges[0, 1]}[where]
    if value is None:
        del target[key]
    else:
        target[key] = value


@pytest.mark.parametrize(
    ("where", "key", "value", "message"),
    [
        ("graph", "simsched_format", 2, "graph: attribute 'simsched_format': found 2, accepted 1"),
        ("graph", "kinds", "[1]", "accepted a JSON list of strings"),
        ("graph", "kinds", "[", "accepted a JSON list of strings"),
        ("graph", "kinds", "[]", "one or more different strings"),
        ("graph", "block_bytes", "[1, -1]", r"attribute 'block_bytes'\[1\]: found -1"),
        ("graph", "iterations", 0, "attribute 'iterations': found 0, accepted an integer from 1"),
        ("graph", "parameters", "3", "accepted a JSON object"),
        ("node", "task", 0, "attribute 'task': found 0, accepted a number that no other node"),
        ("node", "stage", "intro", "node '1': unknown stage 'intro'"),
        (
            "node",
            "ops_cpu",
            None,
            "node '1': found no ops_cpu, accepted a node with ops_cpu, one for each of the graph's "
            r"kinds; all else has defaults \(task, stage, task_class, creation_ops, arrival_ps, ",
        ),
        ("node", "ops_cpu", "nan", "node '1': attribute 'ops_cpu': found 'nan'"),
        ("node", "ops_cpu", -0.5, "attribute 'ops_cpu': found -0.5"),
        ("node", "task_class", "tusk", "unknown task_class 'tusk'; did you mean 'task'"),
        ("node", "accesses", "0:1", "access '0:1': accepted block:read:written"),
        ("node", "accesses", "0:1:2", "attribute 'accesses': access '0:1:2': found '0'"),
        ("edge", "relation", "child", "edge '0' -> '1': unknown relation 'child'"),
        ("edge", "order", -1, "edge '0' -> '1': attribute 'order': found -1"),
    ],
)
def test_broken_own_graph_names_the_place(where, key, value, message):
    graph = to_networkx(_diamond_workload())
    _break(graph, where, key, value)
    with pytest.raises(GraphError, match=message):
        from_networkx(graph)


def test_what_is_rarely_used_has_defaults():
    graph = nx.DiGraph(simsched_format=1, block_bytes="[100]")
    graph.add_node("b", ops_gpu=3.0, ops_cpu=2.0, task_class="late")
    graph.add_node("a", ops_cpu=1.0, ops_gpu=float("inf"), accesses="0:0:100")
    graph.add_edge("a", "b")
    graph.add_edge("b", "c", relation="spawn")
    graph.add_node("c", ops_cpu=5, ops_gpu=6)
    workload = from_networkx(graph)
    found = workload.graph
    # Nodes keep their order: b, a, c.
    assert (workload.name, workload.iterations, found.kinds) == ("graph", 1, ("gpu", "cpu"))
    assert found.ops.tolist() == [[3.0, float("inf"), 6.0], [2.0, 1.0, 5.0]]
    assert [found.class_names[c] for c in found.task_class] == ["late", "task", "task"]
    assert found.succ_ptr.tolist() == [0, 0, 1, 1]
    assert (found.succ.tolist(), found.child.tolist()) == ([0], [2])
    assert found.written_bytes.tolist() == [100]
    assert found.join_ops.sum() == found.creation_ops.sum() == found.arrival_ps.sum() == 0


def test_all_kinds_that_a_node_lacks_are_told_at_once():
    graph = nx.DiGraph(simsched_format=1, kinds='["cpu", "gpu"]')
    graph.add_node("a", task_class="x")
    with pytest.raises(GraphError, match="node 'a': found no ops_cpu and no ops_gpu, accepted a"):
        from_networkx(graph)


def test_two_parents_are_refused():
    graph = to_networkx(_diamond_workload())
    for edge in ((1, 3), (2, 3)):
        graph.edges[edge]["relation"] = "spawn"
    with pytest.raises(SimschedError, match="parents"):
        from_networkx(graph)


def test_quotation_marks_of_pydot_are_removed_from_foreign_graphs():
    graph = nx.MultiDiGraph(graph={"rankdir": "LR"}, name="g")
    graph.add_node("a", size='"3"', kind='"say \\"x\\""')
    workload = from_networkx(graph, cost="size", cost_unit="ops", task_class="kind")
    assert workload.graph.ops.tolist() == [[3.0]]
    assert workload.graph.class_names == ('say "x"',)
    assert graph.nodes["a"]["size"] == '"3"', "the caller's graph is not changed"


def test_what_is_no_graph_is_refused():
    with pytest.raises(SimschedError, match="from_networkx: found 3, accepted"):
        from_networkx(3)
