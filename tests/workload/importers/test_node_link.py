"""Node-link JSON of NetworkX and D3; values are worked out by hand."""

import json
import warnings

import networkx as nx
import pytest

from simsched.files.errors import GraphError
from simsched.workload.importers import import_workload, to_networkx

OPTIONS = {"cost": "ms", "cost_unit": "ms", "edge_bytes": "size", "task_class": "kind"}


def document(edges_key="edges", **more):
    """a of 2 ms sends 1000 bytes to b of 3 ms and 500 to c of 4 ms."""
    return {
        "directed": True,
        "multigraph": False,
        "graph": {"name": "three"},
        "nodes": [
            {"ms": 2, "kind": "load", "id": "a"},
            {"ms": 3, "kind": "work", "id": "b"},
            {"ms": "4", "kind": "work", "id": "c"},
        ],
        edges_key: [
            {"size": 1000, "source": "a", "target": "b"},
            {"size": 500, "source": "a", "target": "c"},
        ],
        **more,
    }


@pytest.fixture
def load(tmp_path):
    """Function that writes a document and imports it."""

    def run(found, **options):
        (tmp_path / "g.json").write_text(json.dumps(found))
        return import_workload(tmp_path / "g.json", **options)

    return run


def written_by_networkx(graph, edges="edges"):
    """Document of a graph whose list of edges is called so, whatever this version calls it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # of versions about to change the name
        found = nx.node_link_data(graph)
    return {edges if key in ("links", "edges") else key: value for key, value in found.items()}


@pytest.mark.parametrize("edges", ["links", "edges"])
def test_both_names_of_the_list_of_edges(edges, load):
    workload = load(document(edges), **OPTIONS)
    graph = workload.graph
    assert graph.ops.tolist() == [[2e6, 3e6, 4e6]]
    assert graph.succ_ptr.tolist() == [0, 2, 2, 2]
    assert graph.succ.tolist() == [1, 2]
    assert graph.block_bytes.tolist() == [1000, 500]
    assert graph.read_bytes.sum() == graph.written_bytes.sum() == 1500
    assert [graph.class_names[c] for c in graph.task_class] == ["load", "work", "work"]
    assert (workload.name, graph.task_names) == ("three", ("a", "b", "c"))


@pytest.mark.parametrize("edges", ["links", "edges"])
def test_what_networkx_writes(edges, load):
    graph = nx.MultiDiGraph(name="x")
    graph.add_node((0, 1), ms=1.5)
    graph.add_node(7, ms=2.5)
    graph.add_edge((0, 1), 7, size=10)
    graph.add_edge((0, 1), 7, size=20)
    options = {"cost": "ms", "cost_unit": "us", "edge_bytes": "size"}
    found = load(written_by_networkx(graph, edges), **options).graph
    assert found.ops.tolist() == [[1500.0, 2500.0]]
    assert found.succ.tolist() == [1, 1]
    assert found.block_bytes.tolist() == [10, 20]
    assert found.task_names == ("(0, 1)", "7")


def test_our_own_graphs_come_back(generate_workload, assert_same, load):
    for number in range(4):
        workload = generate_workload(number)
        assert_same(workload, load(written_by_networkx(to_networkx(workload))))


def test_a_file_of_d3_calls_nodes_by_their_place_and_states_no_direction(load):
    found = {
        "nodes": [{"name": "x", "w": 1}, {"name": "y", "w": 2}],
        "links": [{"source": 1, "target": 0}],
    }
    graph = load(found, cost="w", cost_unit="ops").graph
    assert graph.ops.tolist() == [[1, 2]]
    assert (graph.succ_ptr.tolist(), graph.succ.tolist()) == ([0, 0, 1], [0])


@pytest.mark.parametrize(
    ("stated", "sizes"),
    [({}, [5, 7]), ({"multigraph": True}, [5, 7]), ({"multigraph": False}, [7])],
)
def test_edges_between_the_same_nodes_count_unless_the_file_denies_it(stated, sizes, load):
    found = {
        "nodes": [{"id": 1, "w": 1}, {"id": 2, "w": 2}],
        "links": [{"source": 1, "target": 2, "b": 5}, {"source": 1, "target": 2, "b": 7}],
        **stated,
    }
    graph = load(found, cost="w", cost_unit="ops", edge_bytes="b").graph
    assert graph.block_bytes.tolist() == sizes


def test_a_graph_without_costs_takes_given_ones(load):
    graph = load(document(), task_cost={"load": "1 ms", "work": "5 ops"}, task_class="kind").graph
    assert graph.ops.tolist() == [[1e6, 5, 5]]


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"directed": False}, "directed: found false, accepted true"),
        ({"directed": 1}, "directed: found 1, accepted true or false"),
        ({"links": []}, "found both 'links' and 'edges'"),
        (
            {"edges": [{"source": "a", "target": "z"}]},
            r"edges\[0\].target: found 'z', accepted the",
        ),
        ({"edges": [{"source": "a"}]}, r"edges\[0\]: found no key 'target'"),
        ({"edges": 5}, "edges: found 5, accepted a list"),
        ({"nodes": []}, r"edges\[0\].source: found 'a'"),
        ({"nodes": [{"id": "a"}, {"id": "a"}]}, r"nodes\[1\]: found node 'a' a second time"),
        ({"nodes": [{"id": "a"}, {}]}, r"nodes\[1\]: found no key 'id'"),
        ({"nodes": [{"id": {}}]}, r"nodes\[0\].id: found an object, accepted text, a number"),
        ({"nodes": [7]}, r"nodes\[0\]: found 7, accepted an object"),
        ({"graph": 3}, "graph: found 3, accepted an object"),
    ],
)
def test_what_is_wrong_is_said_with_its_place(more, message, load):
    with pytest.raises(GraphError, match=message):
        load(document(**more), **OPTIONS)


@pytest.mark.parametrize("several", [False, True])
def test_edges_may_stand_before_nodes_and_what_they_are(several, load):
    """Nodes and edges are read one by one: what an edge names, and what its key means, is later."""
    whole = document(multigraph=several)
    whole["edges"][0]["key"] = 9
    backwards = dict(reversed(whole.items()))
    graph = load(backwards, **OPTIONS).graph
    assert (graph.succ_ptr.tolist(), graph.succ.tolist()) == ([0, 2, 2, 2], [1, 2])
    assert graph.task_names == ("a", "b", "c")
    backwards["edges"][1]["target"] = "z"
    with pytest.raises(
        GraphError, match=r"edges\[1\].target: found 'z', accepted the id of a node"
    ):
        load(backwards, **OPTIONS)


@pytest.mark.parametrize("several", [False, True])
def test_the_key_of_an_edge_is_no_attribute_in_a_multigraph(several, load):
    whole = document(multigraph=several)
    for edge in whole["edges"]:
        edge["key"] = 9
    options = {**OPTIONS, "edge_bytes": "key"}
    if several:
        with pytest.raises(GraphError, match="edge_bytes: found 'key', which no edge has"):
            load(whole, **options)
    else:
        assert load(whole, **options).graph.block_bytes.tolist() == [9, 9]


def test_what_is_no_json_is_said_first(load, tmp_path):
    """The node before has a mistake too, but a file that was cut off is best known as such."""
    (tmp_path / "g.json").write_text('{"directed": true, "nodes": [7], "links": [')
    with pytest.raises(GraphError, match=r"g.json:1: column 44: not JSON: .*truncated"):
        import_workload(tmp_path / "g.json")


def test_other_json_is_not_taken_for_it(load):
    with pytest.raises(GraphError, match=r"no known format: .*for node_link.*for wfformat"):
        load({"nodes": 3, "things": []})
