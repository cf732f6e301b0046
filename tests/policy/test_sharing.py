"""Sharing graphs, groups that fit a cache, orders that follow the sharing."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from simsched.policy.parts.sharing import (
    between_groups,
    bisect,
    fitting_groups,
    maximum_spanning_order,
    sharing_graph,
    touched_bytes,
    working_set_bytes,
)
from simsched.workload.builder import accesses, build_graph
from simsched.workload.graph import TaskGraph

SIZE = 1000


def stencil(n: int, halo: int = 100) -> TaskGraph:
    """Tasks that touch a block each and `halo` bytes of the blocks beside it."""
    own = np.arange(n)
    task = np.concatenate([own, own[1:], own[:-1]])
    block = np.concatenate([own, own[:-1], own[1:]])
    read = np.concatenate([np.full(n, SIZE), np.full(2 * (n - 1), halo)])
    return build_graph(
        np.ones(n), accessed=accesses(task, block, read, 0, n), block_bytes=np.full(n, SIZE)
    )


def test_a_halo_is_shared_with_the_owner() -> None:
    shared = sharing_graph(stencil(3)).toarray()
    # 100 bytes of the left task's block and 100 of the right one's; two halos of the middle block
    # overlap in a tenth of a tenth of it.
    assert shared.tolist() == [[0, 200, 10], [200, 0, 200], [10, 200, 0]]


def test_of_a_block_of_everybody_only_neighbours_share() -> None:
    graph = build_graph(
        np.ones(5), accessed=accesses(np.arange(5), 0, SIZE, 0, 5), block_bytes=[SIZE]
    )
    assert sharing_graph(graph).nnz == 20
    few = sharing_graph(graph, most_sharers=4)
    assert few.toarray().tolist() == (SIZE * (np.eye(5, k=1) + np.eye(5, k=-1))).tolist()


def test_working_sets_count_blocks_once() -> None:
    graph = stencil(4)
    touched = touched_bytes(graph)
    assert working_set_bytes(touched, graph.block_bytes, np.array([1])) == 1200
    assert working_set_bytes(touched, graph.block_bytes, np.array([1, 2])) == 2200
    assert working_set_bytes(touched, graph.block_bytes, np.arange(4)) == 4000


def test_a_chain_is_cut_in_the_middle_of_its_work() -> None:
    shared = sharing_graph(stencil(8))
    first, second = bisect(shared, np.ones(8))
    assert sorted([first.tolist(), second.tolist()]) == [[0, 1, 2, 3], [4, 5, 6, 7]]
    first, second = bisect(shared, np.array([3.0, 3, 1, 1, 1, 1, 1, 1]))
    assert sorted([first.tolist(), second.tolist()]) == [[0, 1], [2, 3, 4, 5, 6, 7]]


def test_a_shuffled_chain_is_cut_in_the_same_place() -> None:
    shuffled = np.random.default_rng(1).permutation(20)
    shared = sharing_graph(stencil(20)).toarray()[np.ix_(shuffled, shuffled)]
    halves = bisect(csr_array(shared), np.ones(20))
    assert {frozenset(shuffled[half].tolist()) for half in halves} == {
        frozenset(range(10)),
        frozenset(range(10, 20)),
    }


def test_what_shares_nothing_is_divided_by_work_alone() -> None:
    nothing = csr_array((4, 4))
    first, second = bisect(nothing, np.array([1.0, 1.0, 1.0, 3.0]))
    assert (first.tolist(), second.tolist()) == ([0, 1, 2], [3])


@pytest.mark.parametrize("capacity", [1500, 2500, 4500, 10_000])
def test_groups_fit_and_cover_everything(capacity: int) -> None:
    graph = stencil(16)
    shared, touched = sharing_graph(graph), touched_bytes(graph)
    groups = fitting_groups(graph, shared, touched, np.arange(16), np.ones(16), capacity, 1)
    assert sorted(np.concatenate(groups).tolist()) == list(range(16))
    for group in groups:
        assert working_set_bytes(touched, graph.block_bytes, group) <= capacity
        assert np.all(np.diff(group) == 1)


def test_there_are_enough_groups_for_all_caches() -> None:
    graph = stencil(16)
    shared, touched = sharing_graph(graph), touched_bytes(graph)
    groups = fitting_groups(graph, shared, touched, np.arange(16), np.ones(16), 1e9, 3)
    assert sorted(len(group) for group in groups) == [4, 4, 8]
    alone = fitting_groups(graph, shared, touched, np.arange(2), np.ones(16), 1e9, 5)
    assert sorted(len(group) for group in alone) == [1, 1]


def test_prims_order_follows_the_largest_weights() -> None:
    # 0 - 3 - 1 is the heaviest path; 2 hangs on 1.
    assert spanning_order((0, 3, 9), (3, 1, 8), (1, 2, 5), (0, 2, 1)) == [0, 3, 1, 2]
    # The tree has the edges 0 - 1, then 0 - 2 (4), then 2 - 3. Vertex 3 shares 3 + 3 with 0 and 1.
    assert spanning_order((0, 1, 5), (0, 2, 4), (0, 3, 3), (1, 3, 3), (2, 3, 3)) == [0, 1, 2, 3]


def spanning_order(*edges: tuple[int, int, int]) -> list[int]:
    weights = np.zeros((4, 4))
    for a, b, weight in edges:
        weights[a, b] = weights[b, a] = weight
    return maximum_spanning_order(csr_array(weights))


def test_sharing_between_groups_adds_up() -> None:
    shared = sharing_graph(stencil(4, halo=100))
    groups = [np.array([0, 1]), np.array([2, 3])]
    # 1-2 share 200, 0-2 and 1-3 share 10 each.
    assert between_groups(shared, groups).toarray().tolist() == [[0, 220], [220, 0]]
