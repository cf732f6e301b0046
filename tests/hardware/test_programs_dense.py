"""Stencils and dense linear algebra: results, counts against closed forms, what checks see."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from simsched.files.errors import ConfigurationError
from simsched.hardware.program import Program, make_program, programs
from simsched.hardware.programs._common import hashed_units
from simsched.workload import generate_workload
from simsched.workload.builder import accesses
from simsched.workload.graph import TaskGraph

from .serial import Times, drawn, execute_serially, newest

GRIDS = ("heat", "sor", "stencil9", "stencil6", "stencil25")
NAMES = (*GRIDS, "ge", "matmul", "cholesky")
SIZES: dict[str, tuple[dict[str, Any], ...]] = {
    "heat": (
        {"rows": 1, "columns": 1, "iterations": 1},
        {"rows": 2, "columns": 5, "leaf_rows": 1, "iterations": 3},
        {"rows": 3, "columns": 3, "leaf_rows": 1, "iterations": 4},
        {"rows": 37, "columns": 19, "leaf_rows": 1, "iterations": 6, "seed": 3},
        {"rows": 64, "columns": 33, "leaf_rows": 64},
        {"rows": 101, "columns": 7, "leaf_rows": 3, "irregular": True},
    ),
    "sor": (
        {"rows": 1, "columns": 1, "iterations": 1},
        {"rows": 3, "columns": 3, "leaf_rows": 1},
        {"rows": 4, "columns": 4, "leaf_rows": 2, "omega": 1},
        {"rows": 37, "columns": 20, "leaf_rows": 1, "omega": 0.7, "seed": 5},
        {"rows": 70, "columns": 31, "leaf_rows": 70},
        {"rows": 101, "columns": 8, "leaf_rows": 3, "irregular": True},
    ),
    "stencil9": (
        {"rows": 2, "columns": 2, "iterations": 1},
        {"rows": 3, "columns": 3, "leaf_rows": 1, "iterations": 2},
        {"rows": 41, "columns": 23, "leaf_rows": 6, "iterations": 7},
        {"rows": 101, "columns": 7, "leaf_rows": 4, "irregular": True},
    ),
    "stencil6": (
        {"rows": 1, "lines": 1, "columns": 1, "iterations": 1},
        {"rows": 5, "lines": 1, "columns": 9, "leaf_rows": 2},
        {"rows": 3, "lines": 3, "columns": 3, "leaf_rows": 1},
        {"rows": 19, "lines": 7, "columns": 5, "leaf_rows": 4, "iterations": 6},
        {"rows": 51, "lines": 4, "columns": 6, "leaf_rows": 3, "irregular": True},
    ),
    "stencil25": (
        {"rows": 3, "lines": 2, "columns": 4, "iterations": 2},
        {"rows": 9, "lines": 9, "columns": 9, "leaf_rows": 1, "iterations": 3},
        {"rows": 22, "lines": 13, "columns": 10, "leaf_rows": 2, "iterations": 5},
        {"rows": 51, "lines": 10, "columns": 11, "leaf_rows": 3, "irregular": True},
    ),
    "ge": (
        {"size": 1, "pivot_rows": 1, "leaf_rows": 1},
        {"size": 7, "pivot_rows": 20, "leaf_rows": 3},
        {"size": 33, "pivot_rows": 1, "leaf_rows": 1},
        {"size": 50, "pivot_rows": 7, "leaf_rows": 100},
        {"size": 96, "pivot_rows": 16, "leaf_rows": 8, "seed": 4},
    ),
    "matmul": (
        {"tiles": 1, "tile_size": 1, "iterations": 3},
        {"tiles": 2, "tile_size": 5, "iterations": 1},
        {"tiles": 4, "tile_size": 16, "seed": 7},
        {"tiles": 2, "tile_size": 37, "iterations": 1},
    ),
    "cholesky": (
        {"tiles": 1, "tile_size": 1},
        {"tiles": 1, "tile_size": 30},
        {"tiles": 7, "tile_size": 3},
        {"tiles": 3, "tile_size": 32, "seed": 2},
        {"tiles": 2, "tile_size": 41},
    ),
}
CASES = [(name, sizes) for name in NAMES for sizes in SIZES[name]]


def small(name: str, **changed: Any) -> Program:
    return make_program(name, {**programs()[name].small, **changed})


def once_but(iteration: int, task: int, count: int) -> Times:
    """Return that one task of one iteration runs `count` times, the others once."""
    return lambda when, what: count if (when, what) == (iteration, task) else 1


@pytest.mark.parametrize(("name", "sizes"), CASES, ids=lambda value: str(value).strip("{}"))
def test_odd_sizes_are_right(name: str, sizes: dict[str, Any]) -> None:
    for order in (newest, drawn(3)):
        program = small(name, **sizes)
        program.workload.validate()
        execute_serially(program, order)
        assert program.check() <= 1.0


@pytest.mark.parametrize("name", NAMES)
def test_data_that_nobody_computes_are_wrong(name: str) -> None:
    assert small(name).check() > 1.0


@pytest.mark.parametrize("count", [0, 2], ids=["missing", "doubled"])
@pytest.mark.parametrize("name", NAMES)
def test_checks_see_every_task_that_works(name: str, count: int) -> None:
    program = small(name, **({"irregular": False} if name in GRIDS else {}))
    workload = program.workload
    steps = {1, workload.iterations}
    for iteration in steps:
        for task in np.flatnonzero(workload.graph.ops[0] > 0):
            program = small(name)
            execute_serially(program, newest, once_but(iteration, int(task), count))
            assert program.check() > 1.0, (iteration, task)


@pytest.mark.parametrize("name", NAMES)
def test_checks_see_every_missing_initialisation(name: str) -> None:
    init = small(name).workload.init
    assert init is not None
    working = np.flatnonzero(init.ops[0] > 0)
    if name == "matmul":  # fresh pages hold zeros, which is what the result begins with
        working = working[: 2 * len(working) // 3]
    for task in working[:: max(len(working) // 8, 1)]:
        program = small(name)
        execute_serially(program, newest, once_but(0, int(task), 0))
        assert program.check() > 1.0, task


@pytest.mark.parametrize("name", ["ge", "cholesky"])
def test_checks_see_broken_dependences(name: str) -> None:
    wrong = 0
    for seed in range(5):
        program = small(name)
        execute_serially(program, drawn(seed), ignore_edges=True)
        wrong += program.check() > 1.0
    assert wrong == 5


@pytest.mark.parametrize("name", NAMES)
def test_checks_see_numbers_that_are_not_finite(name: str) -> None:
    program = small(name)
    execute_serially(program, newest)
    program.arrays[-1].flat[0] = np.nan
    assert not program.check() <= 1.0


@pytest.mark.parametrize("name", NAMES)
def test_seeds_make_different_data(name: str) -> None:
    one, same, other = (small(name, seed=seed) for seed in (1, 1, 2))
    for program in (one, same, other):
        execute_serially(program, newest)
    assert np.array_equal(one.arrays[-1], same.arrays[-1])
    assert not np.array_equal(one.arrays[-1], other.arrays[-1])


def assert_same(found: TaskGraph, expected: TaskGraph) -> None:
    """Assert that two graphs differ in their class numbers alone."""
    names = [graph.class_names for graph in (found, expected)]
    classes = [
        np.array(name)[graph.task_class]
        for name, graph in zip(names, (found, expected), strict=True)
    ]
    assert np.array_equal(*classes)
    for field in ("ops", "join_ops", "child_ptr", "child", "succ_ptr", "succ", "access_ptr"):
        assert np.array_equal(getattr(found, field), getattr(expected, field)), field
    for field in ("join_access", "access_block", "read_bytes", "written_bytes", "block_bytes"):
        assert np.array_equal(getattr(found, field), getattr(expected, field)), field


def interleaved(graph: TaskGraph) -> TaskGraph:
    """Return a graph of two arrays with one block in place of the two of a piece of rows."""
    n = graph.n_blocks // 2
    task = np.repeat(np.arange(graph.n_tasks), np.diff(graph.access_ptr))
    pairs = np.stack([task, graph.access_block % n])
    (owner, block), place = np.unique(pairs, axis=1, return_inverse=True)
    read, written = (
        np.bincount(place.reshape(-1), values).astype(np.int64)
        for values in (graph.read_bytes, graph.written_bytes)
    )
    merged = accesses(owner, block, read, written, graph.n_tasks)
    return replace(
        graph,
        access_ptr=merged.ptr,
        join_access=merged.join,
        access_block=merged.block,
        read_bytes=merged.read_bytes,
        written_bytes=merged.written_bytes,
        block_bytes=graph.block_bytes[:n] + graph.block_bytes[n:],
        alternate_block=None,
    )


@pytest.mark.parametrize("irregular", [False, True])
@pytest.mark.parametrize(
    ("name", "sizes", "columns", "halo", "updates"),
    [
        ("heat", {"rows": 61, "columns": 48}, 48, 1, False),
        ("sor", {"rows": 61, "columns": 47}, 24, 1, True),
        ("stencil9", {"rows": 61, "columns": 48}, 48, 1, False),
        ("stencil6", {"rows": 61, "lines": 7, "columns": 6}, 42, 1, False),
        ("stencil25", {"rows": 61, "lines": 7, "columns": 6}, 42, 4, True),
    ],
)
def test_grids_have_the_graph_of_the_workload_heat(
    name: str, sizes: dict[str, int], columns: int, halo: int, updates: bool, irregular: bool
) -> None:
    """Programs that update read what they overwrite; the others only write it.

    They hold the rows of both copies side by side.
    """
    program = small(name, **sizes, leaf_rows=5, irregular=irregular)
    expected = generate_workload(
        "heat",
        {
            "rows": 61,
            "columns": columns,
            "cutoff_rows": 6,
            "block_bytes": 5 * 16 * columns,
            "halo_rows": halo,
            "write_allocate": updates,
            "irregular": irregular,
            "ops_per_element": 1.0,
            "init_ops_per_element": 1.0,
        },
    )
    assert program.workload.init is not None
    assert expected.init is not None
    assert_same(program.workload.graph, interleaved(expected.graph))
    assert_same(program.workload.init, interleaved(expected.init))


@pytest.mark.parametrize("name", GRIDS)
def test_leaves_cover_the_rows_once(name: str) -> None:
    program = small(name)
    rows = programs()[name].small["rows"]
    covered = np.zeros(rows, dtype=int)
    for task in program.workload.graph.leaves:
        first, last = program.args[task]
        assert last - first <= programs()[name].small["leaf_rows"]
        covered[first:last] += 1
    assert np.all(covered == 1)


def test_sor_sweeps_each_colour_once_per_iteration() -> None:
    assert small("sor", iterations=7).workload.iterations == 14


@pytest.mark.parametrize(("size", "pivot_rows", "leaf_rows"), [(75, 8, 9), (64, 16, 4), (9, 1, 2)])
def test_elimination_has_the_stated_counts(size: int, pivot_rows: int, leaf_rows: int) -> None:
    program = make_program("ge", {"size": size, "pivot_rows": pivot_rows, "leaf_rows": leaf_rows})
    graph = program.workload.graph
    steps = -(-size // pivot_rows)
    assert graph.ops.sum() == (size - 1) * size * (size + 1) / 3
    assert graph.n_edges == steps - 1
    assert np.count_nonzero(graph.parent < 0) == steps
    written = sum(
        8 * (size - first) ** 2 for first in range(0, size, pivot_rows)
    )  # all rows from the pivots on
    assert graph.written_bytes.sum() == written
    leaves = np.flatnonzero(graph.task_class == graph.class_names.index("eliminate"))
    pivots = sum(
        8 * (size - step * pivot_rows) * min(pivot_rows, size - step * pivot_rows)
        for step in program.args[leaves, 0] // pivot_rows
    )
    assert graph.read_bytes.sum() == written + pivots


def test_elimination_works_on_each_row_below_once() -> None:
    program = small("ge")
    graph, size = program.workload.graph, programs()["ge"].small["size"]
    done = np.zeros((size, size), dtype=int)
    for task in np.flatnonzero(graph.ops[0] > 0):
        step, first, last = program.args[task]
        done[step, first:last] += 1
    for step in range(0, size, programs()["ge"].small["pivot_rows"]):
        assert np.all(done[step, step : size - 1] == 1)


@pytest.mark.parametrize(("tiles", "tile_size"), [(1, 4), (3, 13), (5, 8)])
def test_products_have_the_stated_counts(tiles: int, tile_size: int) -> None:
    graph = make_program("matmul", {"tiles": tiles, "tile_size": tile_size}).workload.graph
    assert graph.n_tasks == tiles**3
    assert graph.n_edges == tiles**2 * (tiles - 1)
    assert graph.ops.sum() == (tiles * tile_size) ** 3
    assert graph.n_blocks == 3 * tiles**2
    assert graph.read_bytes.sum() == 3 * tiles**3 * 8 * tile_size**2
    assert graph.written_bytes.sum() == tiles**3 * 8 * tile_size**2
    assert np.all(np.bincount(graph.access_block) == [*[tiles] * 3 * tiles**2])


def test_products_add_up() -> None:
    one, three = (small("matmul", iterations=iterations) for iterations in (1, 3))
    for program in (one, three):
        execute_serially(program, newest)
    assert np.allclose(three.arrays[2], 3.0 * one.arrays[2], rtol=1e-12)


def test_cholesky_has_the_graph_of_the_workload() -> None:
    program = small("cholesky")
    expected = generate_workload(
        "cholesky", {**programs()["cholesky"].small, "init_ops_per_element": 1.0}
    )
    assert program.workload.init is not None
    assert expected.init is not None
    assert_same(program.workload.graph, expected.graph)
    assert_same(program.workload.init, expected.init)


def test_cholesky_tasks_write_the_tiles_of_their_arguments() -> None:
    program = small("cholesky")
    graph = program.workload.graph
    _, row, column = program.args.T
    assert np.array_equal(
        graph.access_block[graph.written_bytes > 0], row * (row + 1) // 2 + column
    )


def test_initial_data_are_those_of_python() -> None:
    program = small("heat", rows=20, columns=15, iterations=1, seed=11)
    execute_serially(program, newest, lambda iteration, task: int(iteration == 0))
    assert np.array_equal(program.arrays[0][:, 0].ravel(), hashed_units(11, 300))


def test_a_plate_at_one_temperature_stays_there() -> None:
    """The weights of the Jacobi sweeps add up to one, those of the wave conserve a constant."""
    for name in ("heat", "stencil9", "stencil6", "stencil25"):
        program = small(name, iterations=1)
        program.arrays[0][...] = 0.75
        program = replace(program, workload=replace(program.workload, init=None))
        execute_serially(program, newest)
        result = program.arrays[0][:, 1][..., 1:]
        assert np.allclose(result, 0.75, rtol=1e-14), name


BAD = (
    ("heat", {"rows": 0}, "rows: found 0, accepted a whole number, 1"),
    ("heat", {"columns": 2.5}, "columns: found 2.5, accepted a whole number"),
    ("heat", {"irregular": 1}, "irregular: found 1, accepted true or false"),
    ("heat", {"leaf_rows": 2, "irregular": True}, "leaf_rows: found 2, accepted 3 or more"),
    ("heat", {"seed": -1}, "seed: found -1, accepted a whole number, 0 to"),
    ("heat", {"row": 5}, "program heat: unknown parameter 'row'; did you mean 'rows'"),
    ("sor", {"omega": 2.5}, "omega: found 2.5, accepted a finite number, 0.0 to 2.0"),
    ("sor", {"omega": float("nan")}, "omega: found nan"),
    ("stencil6", {"lines": 0}, "lines: found 0"),
    ("stencil9", {"iterations": "many"}, "iterations: found 'many'"),
    ("stencil25", {"leaf_rows": 0}, "leaf_rows: found 0"),
    ("ge", {"size": 50_001}, "size: found 50001, accepted a whole number, 1 to 50000"),
    ("ge", {"pivot_rows": 0}, "pivot_rows: found 0"),
    ("matmul", {"tiles": 0}, "tiles: found 0"),
    ("matmul", {"tiles": 1000}, "tasks, accepted at most"),
    ("cholesky", {"tile_size": -1}, "tile_size: found -1"),
)


@pytest.mark.parametrize(("name", "params", "message"), BAD)
def test_bad_parameters_are_refused(name: str, params: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigurationError, match=message.replace("(", r"\(")):
        make_program(name, params)


def test_more_data_than_the_machine_has_are_refused() -> None:
    with pytest.raises(ConfigurationError, match="bytes of data, more than this machine provides"):
        make_program("heat", {"rows": 2**20, "columns": 2**31 - 1, "leaf_rows": 2**20})
