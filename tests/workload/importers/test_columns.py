"""Graphs column by column: as NetworkX has them, and not larger than what they hold."""

import networkx as nx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simsched.workload.importers._columns import NamedGraph, named_graph, numbers, sizes, wholes
from simsched.workload.importers._source import number, size, whole

EDGES = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4), st.integers(0, 9)), max_size=20)


@pytest.mark.parametrize("several", [True, False])
@given(edges=EDGES)
def test_edges_are_in_the_order_of_networkx(several, edges):
    mine = NamedGraph(several=several)
    theirs = nx.MultiDiGraph() if several else nx.DiGraph()
    for u, v, weight in edges:
        mine.edge(mine.node(u), mine.node(v), {"w": weight, f"only {weight}": u})
        theirs.add_edges_from([(u, v, {"w": weight, f"only {weight}": u})])
    names, (sources, targets) = mine.names(), mine.ends()
    rows = [mine.of_edges.row(edge) for edge in range(len(sources))]
    found = [(names[u], names[v], row) for u, v, row in zip(sources, targets, rows, strict=True)]
    assert found == list(theirs.edges(data=True))
    again = named_graph(theirs)
    assert [ends.tolist() for ends in again.ends()] == [sources.tolist(), targets.tolist()]


def test_attributes_of_few_things_take_no_room_for_all():
    graph = NamedGraph()
    for node in range(2000):
        graph.node(node, {f"key {node}": node})
    assert sum(len(values) for _, values in graph.of_nodes.entries.values()) == 2000
    assert graph.of_nodes.row(7) == {"key 7": 7}


TEXTS = ("7", " 8 ", "2e3", "0.5", "1e400", "1_0", "x", "", "9007199254740993", "1" * 20)
NUMBERS = (0, 5, -1, 2.5, 3.5, 1e300, 2**53 + 1, 2**63, float("inf"), float("nan"))
VALUES = st.sampled_from([*TEXTS, *NUMBERS, None, True])


@pytest.mark.parametrize(("of_all", "of_one"), [(numbers, number), (sizes, size), (wholes, whole)])
@given(values=st.lists(VALUES, max_size=4))
def test_a_column_is_read_like_its_values(of_all, of_one, values):
    def read(function):
        try:
            return function()
        except Exception as error:
            return type(error), str(error)

    expected = read(lambda: [of_one(value, f"place {i}") for i, value in enumerate(values)])
    assert read(lambda: of_all(values, lambda i: f"place {i}").tolist()) == expected
