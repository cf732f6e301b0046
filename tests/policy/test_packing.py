"""Cache-friendly subtrees and the search for their best size."""

import numpy as np
import pytest

from simsched.policy.parts.allocation import allocate
from simsched.policy.parts.footprint import task_bytes
from simsched.policy.parts.packing import Phase, Tuner, initial_roots, inside, larger, smaller
from simsched.policy.parts.subgraphs import levels, subtree_sizes, subtree_sums
from simsched.workload import generate_workload
from simsched.workload.builder import adjacency, build_graph
from simsched.workload.graph import TaskGraph
from simsched.workload.spawn_tree import equal_parts, grow

MIB = 2**20


def binary(leaves: int) -> TaskGraph:
    tree = grow(leaves, equal_parts(2, 2))
    return build_graph(np.ones(tree.n_tasks), children=tree.children)


def depth_of(graph: TaskGraph, roots: np.ndarray) -> set[int]:
    return {d for d, tasks in enumerate(levels(graph)) if roots[tasks].any()}


def leaves_below(graph: TaskGraph) -> np.ndarray:
    return subtree_sums(graph, np.diff(graph.child_ptr) == 0)


def test_initial_roots_of_heat_on_the_opteron() -> None:
    # 8096 x 1024 doubles in two copies, leaves of at most 8 rows, 6 MiB of shared cache: subtrees
    # of 253 rows with 32 leaves, at depth 5, that need 4.45 MiB each, 32 of them.
    graph = generate_workload(
        "heat",
        {"rows": 8096, "columns": 1024, "cutoff_rows": 9, "block_bytes": 8 * 1024 * 16},
    ).graph
    needed = subtree_sums(graph, task_bytes(graph))
    roots = initial_roots(graph, allocate(graph, 4), needed, 6 * MIB)
    assert int(roots.sum()) == 32
    assert depth_of(graph, roots) == {5}
    assert set(leaves_below(graph)[roots].tolist()) == {32}
    assert np.median(needed[roots]) / MIB == pytest.approx(4.45, abs=0.01)


def test_capacity_itself_fits_and_oversize_leaves_are_roots() -> None:
    graph = binary(8)
    one_socket, needed = allocate(graph, 1), leaves_below(graph)
    assert depth_of(graph, initial_roots(graph, one_socket, needed, 4)) == {1}
    assert depth_of(graph, initial_roots(graph, one_socket, needed, 3.9)) == {2}
    assert depth_of(graph, initial_roots(graph, one_socket, needed, 0.5)) == {3}
    assert depth_of(graph, initial_roots(graph, one_socket, needed, 8)) == {0}


def test_a_task_of_several_sockets_is_never_a_root() -> None:
    graph = binary(8)
    roots = initial_roots(graph, allocate(graph, 4), leaves_below(graph), 100)
    assert depth_of(graph, roots) == {2}
    assert int(roots.sum()) == 4


def test_roots_cover_each_leaf_once() -> None:
    graph = binary(37)
    roots = initial_roots(graph, allocate(graph, 3), leaves_below(graph), 5)
    below = inside(graph, roots)
    assert not np.any(roots & below)
    assert np.all((roots | below)[graph.leaves])
    assert int(subtree_sizes(graph)[roots].sum()) == int((roots | below).sum())


def test_smaller_and_larger_move_by_one_level() -> None:
    graph = binary(16)
    part = allocate(graph, 2)
    roots = initial_roots(graph, part, leaves_below(graph), 4)
    assert depth_of(graph, roots) == {2}
    assert depth_of(graph, smaller(graph, roots)) == {3}
    assert depth_of(graph, larger(graph, part, roots)) == {1}
    top = larger(graph, part, roots)
    assert np.array_equal(larger(graph, part, top), top)  # the root belongs to both sockets


def test_leaf_roots_stay_and_upper_roots_swallow_lower_ones() -> None:
    # 0 -> 1, 2; 1 -> 3, 4; 3 -> 5, 6. Roots at different depths: 2, 4, 5, 6.
    graph = build_graph(
        np.ones(7), children=adjacency(np.array([0, 0, 1, 1, 3, 3]), np.arange(1, 7), 7)
    )
    roots = np.isin(np.arange(7), [2, 4, 5, 6])
    assert np.array_equal(smaller(graph, roots), roots)
    assert np.flatnonzero(larger(graph, np.zeros(7, np.int32), roots)).tolist() == [0]
    some = np.isin(np.arange(7), [2, 3, 4])
    assert np.flatnonzero(smaller(graph, some)).tolist() == [2, 4, 5, 6]


def tuned(times: dict[int, float], *, start: int, sockets: int = 1) -> tuple[list[int], int]:
    """Return the depths tried, one per iteration, and the depth kept."""
    graph = binary(16)
    part = allocate(graph, sockets)
    roots = initial_roots(graph, part, leaves_below(graph), 16 >> start)
    tuner = Tuner(graph, part, roots)
    tried = []
    while not tuner.is_done:
        (depth,) = depth_of(graph, tuner.roots)
        tried.append(depth)
        tuner.record(times[depth])
    (kept,) = depth_of(graph, tuner.roots)
    return tried, kept


def test_downwards_while_it_gets_better() -> None:
    assert tuned({1: 9, 2: 8, 3: 7, 4: 7.5}, start=1) == ([1, 2, 3, 4], 3)


def test_down_to_the_leaves() -> None:
    assert tuned({1: 9, 2: 8, 3: 7, 4: 6}, start=1) == ([1, 2, 3, 4], 4)


def test_upwards_only_if_the_first_smaller_packing_is_not_better() -> None:
    assert tuned({0: 4, 1: 5, 2: 6, 3: 7}, start=2) == ([2, 3, 1, 0], 0)
    assert tuned({1: 5, 2: 6, 3: 5.5, 4: 8}, start=2) == ([2, 3, 4], 3)


def test_at_least_one_trial_in_each_direction() -> None:
    assert tuned({1: 7, 2: 6, 3: 7}, start=2) == ([2, 3, 1], 2)


def test_a_tie_on_the_way_up_is_accepted() -> None:
    times = {0: 6.0, 1: 6.0, 2: 6.0, 3: 7.0}
    assert tuned(times, start=2) == ([2, 3, 1, 0], 0)


def test_a_tie_on_the_way_down_ends_it() -> None:
    assert tuned({1: 7, 2: 6, 3: 6, 4: 1}, start=2) == ([2, 3, 1], 2)


def test_upwards_ends_below_tasks_of_several_sockets() -> None:
    assert tuned({0: 1, 1: 5, 2: 6, 3: 7}, start=2, sockets=2) == ([2, 3, 1], 1)


def test_without_an_alternative_the_search_ends_at_once() -> None:
    graph = build_graph([1.0])
    tuner = Tuner(graph, allocate(graph, 1), np.array([True]))
    tuner.record(1.0)
    assert tuner.phase is Phase.DONE
    assert tuner.roots.tolist() == [True]
