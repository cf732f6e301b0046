"""Spawn trees rewritten as flat loops."""

import networkx as nx
import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from simsched.policy.parts.loop import dependence_levels, flatten
from simsched.workload.builder import accesses, adjacency, build_graph
from simsched.workload.graph import TaskGraph


def edges(graph: TaskGraph) -> list[tuple[int, int]]:
    source = np.repeat(np.arange(graph.n_tasks), np.diff(graph.succ_ptr))
    return list(zip(source.tolist(), graph.succ.tolist(), strict=True))


def test_only_leaves_are_left_in_the_order_of_the_data() -> None:
    # 0 -> (1, 2), 1 -> (4, 3): the leaves in the order of the tree are 4, 3, 2.
    graph = build_graph(
        [1.0, 1.0, 20.0, 30.0, 40.0],
        children=adjacency([0, 0, 1, 1], [1, 2, 4, 3], 5),
        accessed=accesses([2, 3, 4], [2, 3, 4], 10, 20, 5),
        block_bytes=np.full(5, 100),
    )
    loop = flatten(graph)
    loop.validate()
    assert loop.ops.tolist() == [[40.0, 30.0, 20.0]]
    assert loop.access_block.tolist() == [4, 3, 2]
    assert len(loop.child) == 0
    assert edges(loop) == []


def test_a_graph_without_a_tree_is_returned_as_it_is() -> None:
    graph = build_graph([1.0, 2.0], successors=adjacency([0], [1], 2))
    assert flatten(graph) is graph


def test_a_merge_waits_for_what_it_merges() -> None:
    # Sorting: 0 splits into 1 and 2, each into two leaves; joins read what was sorted.
    graph = build_graph(
        np.ones(7),
        join_ops=[8.0, 4.0, 4.0, 0, 0, 0, 0],
        children=adjacency([0, 0, 1, 1, 2, 2], [1, 2, 3, 4, 5, 6], 7),
        accessed=accesses(
            [3, 4, 5, 6, 1, 2, 0], np.zeros(7, int), 10, 10, 7, in_join=[0, 0, 0, 0, 1, 1, 1]
        ),
        block_bytes=[100],
    )
    loop = flatten(graph)
    loop.validate()
    # leaf leaf join leaf leaf join join
    assert loop.ops.tolist() == [[1, 1, 4, 1, 1, 4, 8]]
    assert edges(loop) == [(0, 2), (1, 2), (2, 6), (3, 5), (4, 5), (5, 6)]


def test_without_any_access_operations_are_work() -> None:
    graph = build_graph(
        [5.0, 1.0, 1.0], join_ops=[2.0, 0, 0], children=adjacency([0, 0], [1, 2], 3)
    )
    loop = flatten(graph)
    assert loop.ops.tolist() == [[5, 1, 1, 2]]
    assert edges(loop) == [(0, 1), (0, 2), (0, 3), (1, 3), (2, 3)]


def order(graph: TaskGraph) -> nx.DiGraph:
    """Return what must end (1) before what may start (0), task by task."""
    found = nx.DiGraph()
    for task in range(graph.n_tasks):
        found.add_edge((task, 0), (task, 1))
        if graph.parent[task] >= 0:
            found.add_edge((int(graph.parent[task]), 0), (task, 0))
            found.add_edge((task, 1), (int(graph.parent[task]), 1))
    found.add_edges_from(((a, 1), (b, 0)) for a, b in edges(graph))
    return found


@given(
    st.lists(st.tuples(st.integers(0, 99), st.booleans(), st.booleans()), max_size=14),
    st.lists(st.tuples(st.integers(0, 14), st.integers(0, 14)), max_size=4),
)
def test_the_loop_keeps_all_work_and_all_order(
    nodes: list[tuple[int, bool, bool]], wanted: list[tuple[int, int]]
) -> None:
    parents = [-1] + [c % (i + 2) - 1 for i, (c, _, _) in enumerate(nodes)]
    n = len(parents)
    inner = set(parents)
    body = [t for t, (_, has, _) in enumerate(nodes, 1) if has]
    join = [t for t, (_, _, has) in enumerate(nodes, 1) if has and t in inner]
    accessed = [t for t in body + join if t < n]
    children = [t for t in range(n) if parents[t] >= 0]

    def build(pairs: list[tuple[int, int]]) -> TaskGraph:
        return build_graph(
            np.arange(1.0, n + 1),
            join_ops=[101.0 + t if t in inner else 0.0 for t in range(n)],
            children=adjacency([parents[t] for t in children], children, n),
            successors=adjacency([a for a, _ in pairs], [b for _, b in pairs], n),
            accessed=accesses(
                accessed,
                np.zeros(len(accessed), int),
                1,
                0,
                n,
                in_join=[False] * len(body) + [True] * len(join),
            ),
            block_bytes=[8],
        )

    pairs: list[tuple[int, int]] = []
    for pair in wanted:
        if max(pair) < n and nx.is_directed_acyclic_graph(order(build([*pairs, pair]))):
            pairs.append(pair)
    graph = build(pairs)
    loop = flatten(graph)
    loop.validate()
    assert len(loop.child) == 0
    assert loop.access_bytes == graph.access_bytes
    if loop is graph:
        return
    # Operations tell parts apart: below 100 the body of a task, above its join.
    parts = [(int(x - 101), 1) if x > 100 else (int(x - 1), 0) for x in loop.ops[0]]
    leaves = set(graph.leaves.tolist())
    assert {(t, 0) for t in leaves} <= set(parts)
    reach = nx.transitive_closure(nx.DiGraph(edges(loop)))
    full = nx.transitive_closure(order(graph))
    for i, (task, which) in enumerate(parts):
        end = (task, 1 if task in leaves else which)
        for j, start in enumerate(parts):
            assert i == j or full.has_edge(end, start) == reach.has_edge(i, j)


def test_levels_of_dependences() -> None:
    graph = build_graph(np.ones(6), successors=adjacency([0, 0, 2, 4, 4], [1, 2, 1, 0, 3], 6))
    assert dependence_levels(graph).tolist() == [1, 3, 2, 1, 0, 0]
