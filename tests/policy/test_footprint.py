"""Footprints of subtrees and the tiers that they give."""

import numpy as np
import pytest

from simsched.machine import load_machine
from simsched.machine.synthetic import make_machine
from simsched.policy.parts.footprint import (
    INNER,
    ROOT,
    UPPER,
    cut_by_footprint,
    cut_by_level,
    estimated_footprint,
    exact_footprint,
    input_bytes,
    shared_cache_bytes,
    task_bytes,
)
from simsched.policy.parts.subgraphs import subtree_sums
from simsched.workload.builder import accesses, adjacency, build_graph
from simsched.workload.graph import TaskGraph
from simsched.workload.registry import generate_workload

MIB = 2**20
CACHE = 6 * MIB


def heat(rows: int, columns: int = 512, **parameters: object) -> TaskGraph:
    """Two copies of doubles; blocks are leaves."""
    return generate_workload("heat", {"rows": rows, "columns": columns, **parameters}).graph


def sized(parents: list[int], sizes: list[int], edges: list[tuple[int, int]] = ()) -> TaskGraph:
    """A tree whose tasks each read a block of their own."""
    children = [task for task, parent in enumerate(parents) if parent >= 0]
    n = len(parents)
    return build_graph(
        np.ones(n),
        children=adjacency([parents[task] for task in children], children, n),
        successors=adjacency([a for a, _ in edges], [b for _, b in edges], n),
        accessed=accesses(np.arange(n), np.arange(n), sizes, 0, n),
        block_bytes=sizes,
    )


def test_what_subtrees_share_counts_once_and_no_block_more_than_its_size() -> None:
    # Two children read block 0 whole and 60 of the 100 bytes of block 1 each; one writes back.
    graph = build_graph(
        np.ones(3),
        children=adjacency([0, 0], [1, 2], 3),
        accessed=accesses([1, 2, 1, 2], [0, 0, 1, 1], [40, 40, 60, 60], [0, 40, 0, 0], 3),
        block_bytes=[40, 100],
    )
    assert task_bytes(graph).tolist() == [0, 100, 100]
    assert exact_footprint(graph).tolist() == [140, 100, 100]
    # Summed up as counters see it, shared data count twice.
    assert subtree_sums(graph, task_bytes(graph)).tolist() == [200, 100, 100]


def test_sums_go_up_the_tree() -> None:
    graph = sized([-1, 0, 0, 1, 1], [1, 2, 4, 8, 16])
    assert exact_footprint(graph).tolist() == [31, 26, 4, 8, 16]
    assert subtree_sums(graph, np.array([1, 2, 4, 8, 16])).tolist() == [31, 26, 4, 8, 16]


def test_estimates_divide_the_input_evenly_among_siblings() -> None:
    graph = sized([-1, 0, 0, 1, 1, 1], [1] * 6)
    assert estimated_footprint(graph, 60.0).tolist() == [60, 30, 30, 10, 10, 10]


def test_the_estimate_of_heat_is_its_footprint_without_halo() -> None:
    graph = heat(1024, cutoff_rows=9, block_bytes=64 * 1024)
    estimate = estimated_footprint(graph, input_bytes(graph))
    halo = exact_footprint(graph) - estimate
    assert estimate[0] == input_bytes(graph) == 8 * MIB
    # A piece touches one row of one copy beyond each end that is inside the matrix.
    assert halo[0] == 0
    assert set(halo[1:].tolist()) == {4096.0, 8192.0}


@pytest.mark.parametrize(
    ("rows", "regular", "irregular"),
    [
        (1024, {4: 2}, {4: 2}),
        (2048, {4: 4}, {2: 4, 4: 2}),
        (4096, {4: 8}, {2: 4, 4: 6}),
        (8192, {4: 16}, {2: 8, 4: 12}),
    ],
)
def test_subtrees_of_heat_that_fit_six_megabytes(
    rows: int, regular: dict[int, int], irregular: dict[int, int]
) -> None:
    for expected, parameters in (
        (regular, {"cutoff_rows": 9, "block_bytes": 64 * 1024}),
        (irregular, {"cutoff_rows": 8, "block_bytes": 56 * 1024, "irregular": True}),
    ):
        graph = heat(rows, **parameters)
        tiers = cut_by_footprint(graph, exact_footprint(graph), CACHE)
        sizes = estimated_footprint(graph, input_bytes(graph))[tiers.roots]
        mib, counts = np.unique(np.round(sizes / MIB).astype(int), return_counts=True)
        assert dict(zip(mib.tolist(), counts.tolist(), strict=True)) == expected
        assert tiers.separable


def test_equality_fits_unless_it_is_said_to_be_strict() -> None:
    graph = sized([-1, 0, 0], [0, 6, 6])
    fitting = cut_by_footprint(graph, exact_footprint(graph), 6)
    assert fitting.of_task.tolist() == [UPPER, ROOT, ROOT]
    small = sized([-1, 0, 0], [0, 3, 3])
    assert cut_by_footprint(small, exact_footprint(small), 6).of_task.tolist() == [
        ROOT,
        INNER,
        INNER,
    ]


def test_leaves_that_do_not_fit_are_subtrees_of_their_own() -> None:
    graph = sized([-1, 0, 0, 1, 1], [0, 0, 9, 3, 3])
    tiers = cut_by_footprint(graph, exact_footprint(graph), 6)
    assert tiers.of_task.tolist() == [UPPER, ROOT, ROOT, INNER, INNER]
    assert tiers.root_of.tolist() == [-1, 1, 2, 1, 1]


@pytest.mark.parametrize(("level", "root_level", "roots"), [(2, 1, 2), (3, 1, 4), (2, 0, 4)])
def test_a_level_of_a_full_binary_tree(level: int, root_level: int, roots: int) -> None:
    graph = heat(64, cutoff_rows=9)
    tiers = cut_by_level(graph, level, root_level=root_level)
    assert len(tiers.roots) == roots
    assert np.count_nonzero(tiers.of_task == UPPER) == roots - 1


def test_dependences_into_a_subtree_are_noticed() -> None:
    parents = [-1, 0, 0, 1, 2]
    for edges, separable in (([], True), ([(1, 2)], True), ([(3, 4)], False)):
        assert cut_by_level(sized(parents, [1] * 5, edges), 2).separable is separable


def test_the_cache_of_a_socket() -> None:
    opteron = load_machine("amd_4x_opteron8380")
    assert shared_cache_bytes(opteron, np.arange(4)) == CACHE
    # Two instances of the outermost level in each domain.
    pairs = make_machine(domains=2, cores_per_domain=4, caches=[("L2", 1000, 1e9, 1, 2)])
    assert shared_cache_bytes(pairs, np.arange(2)) == 2000
    assert shared_cache_bytes(make_machine(domains=2), np.arange(2)) == 0


def test_shared_caches_of_a_domain_are_those_that_it_has() -> None:
    # 2 MiB of the large cores and 512 KiB of the small ones, says the board's data sheet.
    machine = load_machine("odroid_xu3")
    assert shared_cache_bytes(machine, np.array([0])) == 2621440
