"""Cutting spawn trees and other graphs into subgraphs."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simsched.policy.parts.subgraphs import UPPER, group_tasks, preorder, subtree_sizes
from simsched.workload.builder import adjacency, build_graph
from simsched.workload.graph import TaskGraph
from simsched.workload.spawn_tree import equal_parts, grow


def tree(parents: list[int], edges: list[tuple[int, int]] = ()) -> TaskGraph:
    children = [task for task, parent in enumerate(parents) if parent >= 0]
    n = len(parents)
    return build_graph(
        np.ones(n),
        children=adjacency([parents[task] for task in children], children, n),
        successors=adjacency([a for a, _ in edges], [b for _, b in edges], n),
    )


#          0
#      1        2
#    3   4    5   6     with 7, 8 below 3 and 9 below 6
SMALL = tree([-1, 0, 0, 1, 1, 2, 2, 3, 3, 6])


def test_sizes_and_preorder_of_a_small_tree() -> None:
    assert subtree_sizes(SMALL).tolist() == [10, 5, 4, 3, 1, 1, 2, 1, 1, 1]
    assert preorder(SMALL).tolist() == [0, 1, 6, 2, 5, 7, 8, 3, 4, 9]


def test_preorder_ignores_how_tasks_are_numbered() -> None:
    # The root is task 3; its children, in spawn order, are 2 and 0; task 1 is below 2.
    graph = build_graph(np.ones(4), children=adjacency([3, 3, 2], [2, 0, 1], 4))
    assert preorder(graph).tolist() == [3, 2, 1, 0]


@given(st.lists(st.integers(0, 10**6), max_size=60))
def test_preorder_is_that_of_a_recursive_walk(choices: list[int]) -> None:
    parents = [-1] + [c % (i + 2) - 1 for i, c in enumerate(choices)]
    graph = tree(parents)
    walk: list[int] = []

    def visit(task: int) -> None:
        walk.append(task)
        for child in graph.child[graph.child_ptr[task] : graph.child_ptr[task + 1]]:
            visit(int(child))

    for task in np.flatnonzero(graph.parent < 0):
        visit(int(task))
    position = np.empty(len(walk), int)
    position[walk] = np.arange(len(walk))
    assert preorder(graph).tolist() == position.tolist()


def test_smallest_subtrees_that_are_big_enough() -> None:
    found = group_tasks(SMALL, 4)
    # 1 (5 tasks) and 2 (4 tasks) are the smallest; 0 is above.
    assert found.of_task.tolist() == [UPPER, 0, 1, 0, 0, 1, 1, 0, 0, 1]
    assert np.flatnonzero(found.is_root).tolist() == [1, 2]
    assert found.separable


def test_a_small_sibling_is_a_subgraph_of_its_own() -> None:
    found = group_tasks(SMALL, 3)
    # 3 has 3 tasks; its sibling 4 has one; 2 has 4 tasks and no child with 3.
    assert np.flatnonzero(found.is_root).tolist() == [2, 3, 4]
    assert found.of_task.tolist() == [UPPER, UPPER, 2, 0, 1, 2, 2, 0, 0, 2]


def test_a_tree_that_is_too_small_is_one_subgraph() -> None:
    found = group_tasks(SMALL, 11)
    assert found.n_subgraphs == 1
    assert np.all(found.of_task == 0)
    assert np.flatnonzero(found.is_root).tolist() == [0]


def test_tasks_without_parents_are_packed_in_order() -> None:
    found = group_tasks(tree([-1] * 10), 4)
    assert found.of_task.tolist() == [0, 0, 0, 0, 1, 1, 1, 1, 2, 2]
    assert found.is_root.all()
    assert not found.separable


def test_edges_into_the_middle_of_a_subgraph_make_it_inseparable() -> None:
    parents = SMALL.parent.tolist()
    assert group_tasks(tree(parents, [(7, 8), (1, 2)]), 4).separable
    assert not group_tasks(tree(parents, [(7, 9)]), 4).separable


def test_heat_as_published_has_2048_subgraphs_of_223_tasks() -> None:
    # 224K rows, one per leaf, halved: 16 cores per socket want at least 160 tasks.
    children = grow(224 * 1024, equal_parts(2, 2)).children
    n = len(children.ptr) - 1
    found = group_tasks(build_graph(np.ones(n), children=children), 160)
    assert n == 2 * 224 * 1024 - 1
    assert found.n_subgraphs == 2048
    assert np.all(np.bincount(found.of_task[found.of_task >= 0]) == 223)
    assert int((found.of_task == UPPER).sum()) == 2047


def test_sixty_four_virtual_cores_would_make_512_of_them() -> None:
    children = grow(224 * 1024, equal_parts(2, 2)).children
    graph = build_graph(np.ones(len(children.ptr) - 1), children=children)
    assert group_tasks(graph, 640).n_subgraphs == 512


@given(
    st.lists(st.integers(0, 10**6), max_size=60),
    st.integers(1, 20),
)
def test_every_task_is_above_or_in_one_connected_subgraph(choices: list[int], least: int) -> None:
    graph = tree([-1] + [c % (i + 2) - 1 for i, c in enumerate(choices)])
    found = group_tasks(graph, least)
    size = subtree_sizes(graph)
    for task in range(graph.n_tasks):
        parent = int(graph.parent[task])
        if found.of_task[task] == UPPER:
            assert not found.is_root[task]
            assert size[task] >= least
            assert parent < 0 or found.of_task[parent] == UPPER
        elif not found.is_root[task]:
            assert found.of_task[task] == found.of_task[parent]
        else:
            assert parent < 0 or found.of_task[parent] == UPPER
    used = found.of_task[found.of_task >= 0]
    assert sorted(set(used.tolist())) == list(range(found.n_subgraphs))


@pytest.mark.parametrize("least", [1, 2, 100])
def test_a_single_task(least: int) -> None:
    assert group_tasks(tree([-1]), least).of_task.tolist() == [0]
