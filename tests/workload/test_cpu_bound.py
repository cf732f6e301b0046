"""CPU-bound programs: trees, operations and bytes against known counts and recursive programs."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simsched.files.errors import ConfigurationError
from simsched.workload import TaskGraph, generate_workload
from simsched.workload.call_tree import CallTree
from simsched.workload.draws import stream
from simsched.workload.generators import mandelbrot
from simsched.workload.generators import queens as queens_module
from simsched.workload.generators.cholesky import enumerate_tasks
from simsched.workload.generators.knapsack import Search
from simsched.workload.generators.mandelbrot import escape_steps


def levels(graph: TaskGraph) -> np.ndarray:
    """Return the distance of every task from its root."""
    level = np.zeros(graph.n_tasks, dtype=np.int64)
    for task in range(1, graph.n_tasks):
        if graph.parent[task] >= 0:
            level[task] = level[graph.parent[task]] + 1
    return level


def in_class(graph: TaskGraph, name: str) -> np.ndarray:
    """Return whether each task has the class of that name."""
    return graph.task_class == graph.class_names.index(name)


# Board, nodes of the whole search tree including the empty board, solutions.
QUEENS = [(1, 2, 1), (2, 3, 0), (3, 6, 0), (4, 17, 2), (6, 153, 4), (8, 2057, 92), (10, 35539, 724)]


@pytest.mark.parametrize(("board", "nodes", "solutions"), QUEENS)
def test_queens_has_the_known_nodes_and_solutions(board: int, nodes: int, solutions: int) -> None:
    parameters = {"queens": board, "task_depth": board, "probes": 0, "ops_per_try": 1.0}
    graph = generate_workload("queens", parameters).graph
    graph.validate()
    assert graph.n_tasks == nodes
    assert (levels(graph) == board).sum() == solutions
    for depth in range(board):
        cut = generate_workload("queens", {**parameters, "task_depth": depth}).graph
        assert cut.ops.sum() == nodes * board
        assert cut.n_tasks == (levels(graph) <= depth).sum()
        assert levels(cut).max() == min(depth, levels(graph).max())


def test_queens_counts_12_and_estimates_15() -> None:
    counted = generate_workload("queens", {"queens": 12, "probes": 0, "ops_per_try": 1.0}).graph
    assert counted.ops.sum() == 12 * 856_189
    # The standard error of the sum over 1,764 tasks with 200 probes each is below one percent.
    estimated = generate_workload("queens", {"queens": 15, "probes": 200, "ops_per_try": 1.0}).graph
    assert estimated.ops.sum() == pytest.approx(15 * 171_129_072, rel=0.02)


def test_queens_estimates_are_those_counted_in_the_mean() -> None:
    parameters = {"queens": 8, "task_depth": 1, "ops_per_try": 0.125}
    counted = generate_workload("queens", {**parameters, "probes": 0}).graph.ops[0]
    estimated = generate_workload("queens", {**parameters, "probes": 20_000}).graph.ops[0]
    assert estimated == pytest.approx(counted, rel=0.02)


def test_first_levels_of_20_queens() -> None:
    graph = generate_workload("queens", {"queens": 20, "task_depth": 2, "probes": 1}).graph
    assert np.bincount(levels(graph)).tolist() == [1, 20, 19 * 18]
    graph.validate()


@pytest.mark.parametrize("at_once", [1, 20, 2**15])
def test_probes_descend_row_by_row(at_once: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every descent as a loop, with one long row of random numbers for each row of the board."""
    monkeypatch.setattr(queens_module, "SLICE", at_once)
    board, depth, probes = 7, 2, 3
    starts = [c for c in itertools.product(range(board), repeat=2) if abs(c[0] - c[1]) > 1]
    below = np.zeros((len(starts), probes))
    draws = stream(5, "probes").random((board - depth, len(starts), probes))
    for at, probe in np.ndindex(below.shape):
        placed, weight = list(starts[at]), 1
        for row in range(depth, board):
            free = [
                c
                for c in range(board)
                if all(abs(c - p) not in (0, row - r) for r, p in enumerate(placed))
            ]
            weight *= len(free)
            below[at, probe] += weight
            if not free:
                break
            placed.append(free[int(draws[row - depth, at, probe] * len(free))])
    parameters = {"queens": board, "task_depth": depth, "probes": probes, "ops_per_try": 1 / board}
    graph = generate_workload("queens", parameters, seed=5).graph
    found = graph.ops[0, in_class(graph, "search")]
    assert found.tolist() == pytest.approx((1 + below.mean(axis=1)).tolist())


def test_probes_that_take_too_long_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """12 queens have 11 x 10 placements of 2; each probe tries 12 columns in 10 rows."""
    parameters = {"queens": 12, "task_depth": 2, "probes": 2}
    monkeypatch.setattr(queens_module, "MAX_TRIES", 26_400)
    generate_workload("queens", parameters)
    monkeypatch.setattr(queens_module, "MAX_TRIES", 26_399)
    with pytest.raises(ConfigurationError, match="probes: found 2 below each of 110 placements of"):
        generate_workload("queens", parameters)


def test_counting_many_queens_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="probes: found 0 with 13 queens, accepted 1"):
        generate_workload("queens", {"queens": 13, "probes": 0})


@settings(max_examples=30)
@given(st.lists(st.tuples(st.integers(1, 20), st.integers(1, 20)), min_size=1, max_size=8))
def test_knapsack_finds_the_best_value(items: list[tuple[int, int]]) -> None:
    items.sort(key=lambda item: -item[1] / item[0])
    capacity = sum(weight for weight, _ in items) // 2
    search = Search([weight for weight, _ in items], [value for _, value in items], capacity)
    search.spawn(3, 1.0)
    best = 0
    for chosen in itertools.product((False, True), repeat=len(items)):
        taken = [item for item, take in zip(items, chosen, strict=True) if take]
        if sum(weight for weight, _ in taken) <= capacity:
            best = max(best, sum(value for _, value in taken))
    assert search.best == best


def test_knapsack_nodes_do_not_depend_on_where_tasks_end() -> None:
    full = generate_workload("knapsack", {"items": 14, "task_depth": 14, "ops_per_node": 1.0}).graph
    assert full.ops.sum() == full.n_tasks
    degree = np.diff(full.child_ptr)
    assert set(degree.tolist()) == {0, 2}
    for depth in (0, 3, 8):
        parameters = {"items": 14, "task_depth": depth, "ops_per_node": 1.0}
        graph = generate_workload("knapsack", parameters).graph
        graph.validate()
        assert graph.ops.sum() == full.n_tasks
        assert graph.n_tasks == (levels(full) <= depth).sum()


def test_knapsack_cuts_what_cannot_be_better() -> None:
    # Leaving both items gives 0, taking the second 1; taking the first (2) is still to be tried,
    # and after it the second exceeds the capacity.
    search = Search([1, 1], [2, 1], 1)
    graph = search.spawn(2, 1.0).graph()
    assert (graph.n_tasks, search.best) == (5, 2)
    # The first branch finds 2; the second item is worth at most 1 and is cut at once.
    search = Search([1, 1, 1], [2, 2, 1], 1)
    search.best = 2
    assert not search.visit(2, 0, 1)
    assert search.visit(0, 0, 1)


def test_checkers_positions_do_not_depend_on_where_tasks_end() -> None:
    parameters = {"depth": 7, "ops_per_position": 1.0}
    full = generate_workload("checkers", {**parameters, "task_depth": 7}).graph
    full.validate()
    assert full.ops.sum() == full.n_tasks
    for depth in (0, 1, 4):
        graph = generate_workload("checkers", {**parameters, "task_depth": depth}).graph
        graph.validate()
        assert graph.ops.sum() == full.n_tasks
        assert graph.n_tasks == (levels(full) <= depth).sum()
        assert in_class(graph, "search").sum() == (levels(full) == depth).sum()


def test_checkers_has_the_mean_number_of_moves() -> None:
    graph = generate_workload("checkers", {"moves": 4, "depth": 6, "task_depth": 6}).graph
    degree = np.diff(graph.child_ptr)[levels(graph) < 6]
    assert set(degree.tolist()) == set(range(1, 8))
    assert degree.mean() == pytest.approx(4.0, rel=0.1)


def test_too_many_positions_are_refused() -> None:
    with pytest.raises(ConfigurationError, match="found more than 50000000 positions"):
        generate_workload("checkers", {"moves": 20, "depth": 30})


@pytest.mark.parametrize("depth", range(5))
def test_fft_tasks_operations_and_bytes(depth: int) -> None:
    points = 32 << depth
    graph = generate_workload("fft", {"points": points, "leaf_points": 32, "radix": 2}).graph
    graph.validate()
    many = 2**depth
    assert graph.n_tasks == depth * 2 * many + many
    assert in_class(graph, "transform").sum() == many
    assert in_class(graph, "combine").sum() == depth * many
    assert graph.n_edges == 2 * (many - 1)
    assert graph.ops.sum() == 5 * points * (5 + depth)
    assert graph.read_bytes.sum() == graph.written_bytes.sum() == 16 * points * (1 + depth)


def test_fft_combines_after_both_halves() -> None:
    graph = generate_workload("fft", {"points": 64, "leaf_points": 32}).graph
    assert graph.parent.tolist() == [-1, 0, 0, 0, 3, 3]
    assert graph.succ.tolist() == [3, 3]
    # Leaves that combine update a half of each block: they read both, then write both.
    assert graph.access_block.tolist() == [0, 1, 0, 1, 0, 1, 0, 1, 0, 1]
    assert graph.read_bytes.tolist()[2:] == [256, 256, 0, 0] * 2
    assert graph.written_bytes.tolist()[2:] == [0, 0, 256, 256] * 2


def test_fft_combines_several_levels_in_one_pass() -> None:
    # 16 leaves of 8 points, radix 4: two stages: the root divides into 4 parts
    # of 32 points, each of these into 4 leaves. Each stage has 2 x 16 tasks and moves all points.
    graph = generate_workload("fft", {"points": 128, "leaf_points": 8, "radix": 4}).graph
    graph.validate()
    assert graph.n_tasks == (2 * 2 + 1) * 16
    assert in_class(graph, "combine").sum() == 2 * 16
    assert in_class(graph, "divide").sum() == 1 + 4
    assert graph.n_edges == 4 * 5
    assert graph.ops.sum() == 5 * 128 * 7
    assert graph.read_bytes.sum() == graph.written_bytes.sum() == 3 * 16 * 128
    # The last leaf that combines has the last two points of each part of the whole: 32 are a part.
    begin = graph.access_ptr[-2]
    assert graph.access_block[begin:].tolist() == [3, 7, 11, 15] * 2
    assert graph.read_bytes[begin:].tolist() == [32] * 4 + [0] * 4


@pytest.mark.parametrize("key", ["points", "leaf_points", "radix"])
def test_fft_refuses_what_is_not_a_power_of_two(key: str) -> None:
    with pytest.raises(ConfigurationError, match=f"fft: {key}: found 48, accepted powers of two"):
        generate_workload("fft", {key: 48})


@pytest.mark.parametrize("at_once", [7, 2**16])
def test_mandelbrot_operations_are_those_of_its_points(
    at_once: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mandelbrot, "SLICE", at_once)
    parameters = {"rows": 24, "columns": 20, "most_steps": 60, "leaf_rows": 3}
    graph = generate_workload("mandelbrot", {**parameters, "ops_per_step": 1.0}).graph
    graph.validate()
    rows = np.zeros(24)
    for row, column in itertools.product(range(24), range(20)):
        c = complex(-2.0 + (column + 0.5) * 3.0 / 20, -1.5 + (row + 0.5) * 3.0 / 24)
        z, steps = 0j, 0
        while steps < 60 and abs(z) <= 2.0:
            z, steps = z * z + c, steps + 1
        rows[row] += steps
    assert graph.n_tasks == 15
    assert graph.ops[0, graph.leaves].tolist() == rows.reshape(8, 3).sum(axis=1).tolist()
    assert graph.written_bytes.tolist() == [3 * 20 * 4] * 8
    assert not graph.read_bytes.any()


def test_too_many_rows_are_refused_before_they_are_computed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """1,000 rows of their own make 1,999 tasks."""
    monkeypatch.setenv("SIMSCHED_MAX_TASKS", "1998")
    monkeypatch.setattr(mandelbrot, "escape_steps", lambda *_: pytest.fail("computed"))
    with pytest.raises(ConfigurationError, match="mandelbrot: found 1999 tasks, accepted at most"):
        generate_workload("mandelbrot", {"rows": 1000, "columns": 1})


def test_too_many_points_are_refused() -> None:
    """2^31 points count 8 steps each besides those of the set."""
    parameters = {"rows": 2**15, "columns": 2**16, "most_steps": 1, "leaf_rows": 2**15}
    with pytest.raises(ConfigurationError, match="accepted at most 17179869184 steps altogether"):
        generate_workload("mandelbrot", parameters)


def test_points_of_the_set_take_all_steps_and_others_few() -> None:
    points = np.array([0.0, -1.0, -2.0, 0.25, 3.0, 0.5 + 1.0j])
    assert escape_steps(points, 1000)[:4].tolist() == [1000] * 4
    assert escape_steps(points, 1000)[4] == 1


def test_a_generation_of_islands() -> None:
    parameters = {"islands": 5, "individuals": 32, "leaf_individuals": 4, "genome_bytes": 10}
    workload = generate_workload("ga", {**parameters, "fitness_costs": "constant", "migrants": 3})
    workload.validate()
    graph = workload.graph
    assert graph.n_tasks == 1 + 5 * 15
    assert [int(in_class(graph, name).sum()) for name in graph.class_names] == [1, 5, 30, 40]
    assert graph.ops.sum() == pytest.approx(160 * 20_000.0)
    assert graph.join_ops.sum() == 160 * 500.0
    population = 160 * 10
    assert graph.block_bytes.sum() == population
    assert graph.read_bytes.sum() == 2 * population + 5 * 3 * 10
    assert graph.written_bytes.sum() == population + 5 * 3 * 10
    assert workload.iterations == 50


def test_a_single_island_has_no_migration() -> None:
    graph = generate_workload("ga", {"islands": 1, "individuals": 8, "leaf_individuals": 8}).graph
    graph.validate()
    assert graph.n_tasks == 2
    assert graph.access_ptr.tolist() == [0, 0, 2]
    assert (graph.ops[0, 1] > 8 * 500.0, graph.join_ops.any()) == (True, False)


@pytest.mark.parametrize("level", range(5))
def test_quadrants_work_on_the_tiles_of_the_tiled_factorisation(level: int) -> None:
    tiles = 2**level
    parameters = {"levels": level, "tile_size": 3}
    quadrants = generate_workload("cholesky_quadtree", parameters).graph
    quadrants.validate()
    tiled = generate_workload("cholesky", {"tiles": tiles, "tile_size": 3}).graph
    assert len(quadrants.leaves) == tiled.n_tasks == tiles * (tiles + 1) * (tiles + 2) // 6
    assert quadrants.ops.sum() == pytest.approx(tiled.ops.sum())
    assert quadrants.block_bytes.tolist() == tiled.block_bytes.tolist()
    assert quadrants.read_bytes.sum() == tiled.read_bytes.sum()
    for graph in (quadrants, tiled):
        written = np.bincount(graph.access_block, graph.written_bytes)
        assert written.tolist() == np.bincount(tiled.access_block, tiled.written_bytes).tolist()


def test_quadrants_keep_the_order_of_the_tiled_factorisation() -> None:
    tiles = 8
    graph = generate_workload("cholesky_quadtree", {"levels": 3, "tile_size": 2}).graph
    ends_before = order_of_leaves(graph)
    leaves = graph.leaves.tolist()
    place = {leaf: index for index, leaf in enumerate(leaves)}
    tiled = generate_workload("cholesky", {"tiles": tiles, "tile_size": 2}).graph
    tasks = enumerate_tasks(tiles)
    writes = {}
    for leaf in leaves:
        blocks = graph.access_block[graph.access_ptr[leaf] : graph.access_ptr[leaf + 1]]
        writes[tuple(blocks.tolist())] = place[leaf]
    assert len(writes) == len(leaves) == len(tasks.kind)
    where = [
        writes[tuple(tiled.access_block[tiled.access_ptr[t] : tiled.access_ptr[t + 1]].tolist())]
        for t in range(tiled.n_tasks)
    ]
    for task in range(tiled.n_tasks):
        for successor in tiled.succ[tiled.succ_ptr[task] : tiled.succ_ptr[task + 1]]:
            first, second = where[task], where[successor]
            same = tiled.access_block[tiled.access_ptr[task + 1] - 1]
            if same == tiled.access_block[tiled.access_ptr[successor + 1] - 1]:
                # Updates of one tile may come in any order, but one after the other.
                assert ends_before[first, second] or ends_before[second, first]
            else:
                assert ends_before[first, second]


def order_of_leaves(graph: TaskGraph) -> np.ndarray:
    """Return which leaf always ends before which other begins; shape (n_leaves, n_leaves)."""
    leaves = graph.leaves
    ends = np.ones(graph.n_tasks, dtype=np.int64)
    for task in range(graph.n_tasks - 1, 0, -1):
        ends[graph.parent[task]] += ends[task]
    ends += np.arange(graph.n_tasks)  # the subtree of a task is a range of numbers
    before = np.zeros((len(leaves), len(leaves)), dtype=bool)
    for task in range(graph.n_tasks):
        own = (leaves >= task) & (leaves < ends[task])
        for successor in graph.succ[graph.succ_ptr[task] : graph.succ_ptr[task + 1]]:
            before[np.ix_(own, (leaves >= successor) & (leaves < ends[successor]))] = True
    while True:
        further = before | (before.astype(np.int32) @ before.astype(np.int32) > 0)
        if (further == before).all():
            return before
        before = further


def test_syncs_order_the_children_of_one_caller_only() -> None:
    calls = CallTree(("task",))
    root = calls.call(None, 0)
    calls.sync(root)  # nothing spawned yet
    first, second = calls.call(root, 0), calls.call(root, 0)
    nested = calls.call(second, 0)
    calls.sync(root)
    calls.sync(root)  # nothing spawned since
    third = calls.call(root, 0)
    calls.sync(root)
    fourth = calls.call(root, 0)
    graph = calls.graph()
    edges = [
        (task, int(after))
        for task in range(graph.n_tasks)
        for after in graph.succ[graph.succ_ptr[task] : graph.succ_ptr[task + 1]]
    ]
    assert edges == [(first, third), (second, third), (third, fourth)]
    assert graph.parent[nested] == second
