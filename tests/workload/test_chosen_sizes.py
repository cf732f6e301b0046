"""Presets of programs whose sizes are not published have the tasks, edges and bytes of theirs."""

from __future__ import annotations

import numpy as np
import pytest

from simsched.workload import TaskGraph
from simsched.workload.mapreduce_job import MAP, REDUCE, JobTasks
from simsched.workload.presets import list_presets, load_preset, make_workload

CHOSEN = "the size is chosen here"
MIB = 2**20
#: Preset: tasks, tasks without children, edges, bytes of all blocks, from the size in its name.
COUNTS = {
    # 2^16 points are divided by 16 and again by 16; a stage has 256 leaves, dividing calls, 17 of
    # them, wait 16 times.
    "fft_65536": (2 * 512 + 256, 3 * 256, 16 * 17, 16 * 65536),
    # A leaf for each row, a pixel has 4 bytes.
    "mandelbrot_256x256": (511, 256, 0, 4 * 256 * 256),
    # 32 groups of 8 on each of 16 islands, a genome has 256 bytes.
    "ga_16x256": (1 + 16 * 63, 16 * 32, 0, 256 * 16 * 256),
    # Ten decisions, none of which fills or exceeds the capacity, which is half of all weights.
    "knapsack_32": (2**11 - 1, 2**10, 0, 0),
    # 20 getrf, 190 trsm of each kind and a gemm for each of sum(k^2, k = 1 .. 19); edges to panels,
    # to gemm and from the last writer of the tile.
    "lu_19200_starpu": (2870, 2870, 20 * 19 + 2 * 2470 + 2470, 4 * 19200**2),
    # A tile of the product each, from 20 panels of either factor.
    "gemm_19200_starpu": (400, 400, 0, 4 * (19200**2 + 2 * 19200 * 960)),
    "block_copies_64": (64, 64, 0, 2 * 64 * 128 * MIB),
}


@pytest.mark.parametrize(("name", "counts"), COUNTS.items())
def test_counts_follow_from_the_size(name: str, counts: tuple[int, int, int, int]) -> None:
    graph = make_workload(name).graph
    sizes = graph.n_tasks, len(graph.leaves), graph.n_edges, graph.block_bytes.sum()
    assert sizes == counts
    assert CHOSEN in load_preset(name).description


def test_the_source_of_a_chosen_size_says_what_is_missing() -> None:
    """Descriptions that call a size chosen go with sources that say what is missing."""
    for name in list_presets():
        preset = load_preset(name)
        if CHOSEN in preset.description:
            assert "not published" in preset.source or "without a workload" in preset.source, name


def test_islands_breed_for_50_generations() -> None:
    assert make_workload("ga_16x256").iterations == 50


def test_points_of_the_mandelbrot_set_take_all_steps() -> None:
    """The set has an area of 1.5066, the image one of 9; its points need 500 steps, others few."""
    steps = make_workload("mandelbrot_256x256").graph.ops.sum() / 10
    assert steps == pytest.approx(256 * 256 * 1.5066 / 9 * 500, rel=0.1)


@pytest.mark.parametrize("name", ["lu_19200_starpu", "gemm_19200_starpu"])
def test_costs_of_starpu_are_those_of_its_codelets_in_single_precision(name: str) -> None:
    codelets = make_workload(name).graph.codelets
    assert codelets is not None
    assert all(codelet.startswith("starpu_s") for codelet in codelets)


def test_operations_of_the_transform_and_the_factorisation() -> None:
    """5 N log2 N for N points; n^3 / 3 and 2 n^3 / 3, up to terms of the order of a tile row."""
    assert make_workload("fft_65536").graph.ops.sum() == 5 * 65536 * 16
    assert make_workload("gemm_19200_starpu").graph.ops.sum() == 2 * 19200**2 * 960
    quadtree = make_workload("cholesky_quadtree_512").graph
    assert quadtree.ops.sum() == pytest.approx(512**3 / 3, rel=0.15)
    lu = make_workload("lu_19200_starpu").graph
    assert lu.ops.sum() == pytest.approx(2 * 19200**3 / 3, rel=0.01)


def test_factorisation_by_quadrants_has_the_tiles_of_a_triangle() -> None:
    graph = make_workload("cholesky_quadtree_512").graph
    tiles = 512 // 32
    assert len(graph.leaves) == tiles * (tiles + 1) * (tiles + 2) // 6 == 816
    assert graph.block_bytes.tolist() == [32 * 32 * 8] * (tiles * (tiles + 1) // 2)
    assert CHOSEN in load_preset("cholesky_quadtree_512").description


def depths(graph: TaskGraph) -> np.ndarray:
    """Return the number of ancestors of every task of a spawn tree."""
    depth = np.zeros(graph.n_tasks, dtype=np.int64)
    for task in range(1, graph.n_tasks):
        depth[task] = depth[graph.parent[task]] + 1
    return depth


def test_ck_is_a_game_of_about_three_moves() -> None:
    """Six plies are tasks, all twelve are searched; 3 moves on average, 1 to 5 of them."""
    graph = make_workload("ck").graph
    moves, depth = np.diff(graph.child_ptr), depths(graph)
    assert set(moves[depth < 6].tolist()) == set(range(1, 6))
    assert moves[depth < 6].mean() == pytest.approx(3, rel=0.1)
    assert (depth[graph.leaves] == 6).all()
    below = graph.ops[0, graph.leaves] / 500 - 1  # positions, those of the leaves left out
    expected = sum(3**ply for ply in range(1, 7))
    assert below.mean() == pytest.approx(expected, rel=0.1)
    assert CHOSEN in load_preset("ck").description


def test_a_knapsack_has_32_items() -> None:
    """A search that cuts visits fewer nodes than all choices of 32 items have, here one in 1000."""
    workload = make_workload("knapsack_32")
    assert workload.parameters["items"] == 32
    nodes = workload.graph.ops.sum() / 50
    assert workload.graph.n_tasks < nodes < 2**33 / 1000


def test_a_mix_has_jobs_of_a_wave_and_of_the_size_of_sort() -> None:
    """8 or 64 splits, a reduce task for 4; reduces wait for a twentieth of the maps, rounded up."""
    workload = make_workload("mapreduce_mix_8")
    tasks = JobTasks(workload.graph)
    assert [name for _, name in tasks.names] == ["sort", "wordcount"] * 4
    assert {user for user, _ in tasks.names} == {"user0", "user1"}
    assert CHOSEN in load_preset("mapreduce_mix_8").description
    maps, reduces = (np.bincount(tasks.job[tasks.kind == kind]) for kind in (MAP, REDUCE))
    assert set(maps.tolist()) == {8, 64}
    assert (4 * reduces == maps).all()
    assert workload.graph.n_edges == sum(np.ceil(maps / 20).astype(int) * reduces)
    splits = workload.graph.block_bytes[workload.graph.block_bytes == 64 * MIB]
    assert len(splits) >= maps.sum()
    sort = JobTasks(make_workload("sort_4gb").graph)
    assert (sort.kind == MAP).sum() == maps.max()


def test_jobs_of_a_mix_are_large_and_arrive_as_often_as_it_says() -> None:
    """A quarter are large, gaps are 120 s on average: means over 40 mixes of 8 jobs."""
    graphs = [make_workload("mapreduce_mix_8", seed=seed).graph for seed in range(40)]
    last = [graph.arrival_ps.max() / 1e12 for graph in graphs]
    assert np.mean(last) / 7 == pytest.approx(120, rel=0.2)  # standard error 6 %
    large = [(np.bincount(JobTasks(graph).job) == 80).mean() for graph in graphs]
    assert np.mean(large) == pytest.approx(0.25, abs=0.08)  # standard error 0.024


def test_a_sparse_matrix_has_16_elements_for_each_of_its_rows() -> None:
    """8 bytes per element and 4 per row of the result; elements that coincide count each."""
    preset = load_preset("spmv_rmat_14")
    graph = make_workload("spmv_rmat_14").graph
    assert graph.block_bytes.tolist() == [8 * 16 * 2**14, 4 * 2**14]
    assert CHOSEN in preset.description


@pytest.mark.parametrize(
    ("name", "tasks", "alpha"), [("ga_islands", 128, 10), ("ga_islands_256", 256, 20)]
)
def test_islands_have_three_functions_of_alpha_tasks(name: str, tasks: int, alpha: int) -> None:
    graph = make_workload(name).graph
    assert graph.n_tasks == 1 + tasks  # the main task spawns them
    mine = graph.ops[0, 1:]
    names = np.array(graph.class_names)[graph.task_class[1:]]
    by_cost = sorted({str(f) for f in names}, key=lambda f: -mine[names == f].mean())
    assert [(names == f).sum() for f in by_cost] == [alpha, alpha, alpha, tasks - 3 * alpha]
