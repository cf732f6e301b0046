"""SOR and the stencils: published trees, footprints and traffic."""

import numpy as np
import pytest

from simsched.files.errors import ConfigurationError
from simsched.workload import TaskGraph, generate_workload

MIB = 2**20
PLATE = {"rows": 8096, "columns": 1024}
VOLUME = {"rows": 8096, "lines": 64, "columns": 64}
LARGE_PLATE = {"rows": 8096, "columns": 4096}
LARGE_VOLUME = {"rows": 8096, "lines": 128, "columns": 128}
SWEEPS = ["sor", "stencil9", "stencil6", "stencil25"]


def small_size(name: str) -> dict[str, int]:
    """Return parameters of a grid with rows of 1 KiB in one copy."""
    if name in ("sor", "stencil9"):
        return {"columns": 128}
    return {"lines": 8, "columns": 16}


@pytest.mark.parametrize("name", SWEEPS)
@pytest.mark.parametrize(
    ("parameters", "leaves", "rows"),
    [
        ({}, 1024, {7: 96, 8: 928}),
        ({"cutoff_rows": 8}, 1952, {4: 1856, 7: 96}),
        ({"cutoff_rows": 9}, 1024, {7: 96, 8: 928}),
    ],
)
def test_8096_rows_in_leaves_of_at_most_8_or_fewer_than_8(
    name: str, parameters: dict[str, int], leaves: int, rows: dict[int, int]
) -> None:
    graph = generate_workload(name, {"rows": 8096, **small_size(name), **parameters}).graph
    assert (graph.n_tasks, len(graph.leaves)) == (2 * leaves - 1, leaves)
    heights, counts = np.unique(graph.block_bytes // 1024, return_counts=True)
    assert dict(zip(heights.tolist(), (counts // 2).tolist(), strict=True)) == rows


@pytest.mark.parametrize(
    ("rows", "leaves"), [(1024, 128), (2048, 256), (16384, 2048), (32768, 4096)]
)
def test_leaves_of_the_scaling_experiments(rows: int, leaves: int) -> None:
    assert len(generate_workload("stencil6", {"rows": rows}).graph.leaves) == leaves


@pytest.mark.parametrize("name", SWEEPS)
def test_the_irregular_tree_is_that_of_heat(name: str) -> None:
    parameters = {"rows": 1024, "irregular": True, "cutoff_rows": 8}
    graph = generate_workload(name, {**parameters, **small_size(name)}).graph
    heat = generate_workload("heat", parameters).graph
    assert (graph.n_tasks, len(graph.leaves)) == (513, 330)
    assert graph.child.tolist() == heat.child.tolist()


@pytest.mark.parametrize(
    ("name", "parameters", "megabytes"),
    [
        ("sor", PLATE, 132.6),
        ("stencil9", PLATE, 132.6),
        ("stencil6", VOLUME, 530.6),
        ("stencil25", VOLUME, 530.6),
        ("sor", LARGE_PLATE, 530.6),
        ("stencil25", LARGE_VOLUME, 2122),
    ],
)
def test_footprints(name: str, parameters: dict[str, int], megabytes: float) -> None:
    workload = generate_workload(name, parameters)
    assert workload.init is not None
    assert workload.graph.block_bytes.sum() / 1e6 == pytest.approx(megabytes, rel=5e-4)
    assert workload.init.written_bytes.sum() == workload.graph.block_bytes.sum()


# Rows of the subtrees that fit a shared cache while their parents do not, their distance from the
# root, size range in MiB, leaves and number.
SUBTREES = [
    ("sor", PLATE, 6, {253}, 5, (4.45, 4.46), {32}, 32),
    ("stencil9", PLATE, 6, {253}, 5, (4.45, 4.46), {32}, 32),
    ("stencil6", VOLUME, 6, {63, 64}, 7, (4.4, 4.5), {8}, 128),
    ("stencil25", VOLUME, 6, {63, 64}, 7, (5.93, 6.0), {8}, 128),
    ("stencil9", LARGE_PLATE, 24, {253}, 5, (17.8, 17.9), {32}, 32),
    ("stencil6", LARGE_VOLUME, 24, {63, 64}, 7, (17.7, 18.0), {8}, 128),
    ("stencil25", LARGE_VOLUME, 24, {63, 64}, 7, (23.7, 24.0), {8}, 128),
]


@pytest.mark.parametrize(
    ("name", "parameters", "cache_mib", "rows", "level", "mib", "leaves", "number"), SUBTREES
)
def test_subtrees_that_fit_the_shared_caches(
    name: str,
    parameters: dict[str, int],
    cache_mib: int,
    rows: set[int],
    level: int,
    mib: tuple[float, float],
    leaves: set[int],
    number: int,
) -> None:
    graph = generate_workload(name, parameters).graph
    size, height, count, depth = subtrees(graph)
    fits = size <= cache_mib * MIB
    roots = np.flatnonzero(fits & ~fits[graph.parent])
    assert len(roots) == number
    assert set(depth[roots].tolist()) == {level}
    assert set(count[roots].tolist()) == leaves
    row_bytes = graph.block_bytes.sum() // 8096 // 2
    assert set((height[roots] // row_bytes).tolist()) == rows
    # The outermost subtrees lack one side's halo.
    inner = size[roots[1:-1]] / MIB
    assert mib[0] <= inner.min() <= inner.max() <= mib[1]


def subtrees(graph: TaskGraph) -> tuple[np.ndarray, ...]:
    """Return bytes touched with halo and without, leaves and level of every task's subtree."""
    task = np.repeat(np.arange(graph.n_tasks), np.diff(graph.access_ptr))
    most = graph.block_bytes[graph.access_block]
    touched = np.minimum(graph.read_bytes + graph.written_bytes, most)
    size = np.bincount(task, touched, graph.n_tasks).astype(np.int64)
    own = np.where(graph.written_bytes > 0, most, 0)
    height = np.bincount(task, own, graph.n_tasks).astype(np.int64)
    count = (np.diff(graph.child_ptr) == 0).astype(np.int64)
    level = np.zeros(graph.n_tasks, dtype=np.int64)
    for task_number in range(graph.n_tasks - 1, 0, -1):
        for sums in (size, height, count):
            sums[graph.parent[task_number]] += sums[task_number]
    for task_number in range(1, graph.n_tasks):
        level[task_number] = level[graph.parent[task_number]] + 1
    return size, height, count, level


@pytest.mark.parametrize(
    ("name", "halo"), [("sor", 1), ("stencil9", 1), ("stencil6", 1), ("stencil25", 4)]
)
def test_traffic_is_that_of_the_formulas(name: str, halo: int) -> None:
    rows, line = 256, 1024
    for copies, reads in ((2, 2 * rows), (1, rows)):
        parameters = {"rows": rows, "copies": copies, **small_size(name)}
        graph = generate_workload(name, parameters).graph
        assert graph.written_bytes.sum() == rows * line
        assert graph.read_bytes.sum() == (reads + 2 * halo * 31) * line
        assert graph.block_bytes.tolist() == [8 * line] * (32 * copies)


def test_sor_updates_one_colour_after_the_other() -> None:
    parameters = {"rows": 64, "columns": 128, "iterations": 5}
    in_order, colours = (generate_workload("sor", {**parameters, "colours": n}) for n in (1, 2))
    assert (in_order.iterations, colours.iterations) == (5, 10)
    # All lines hold both colours, but a half sweep computes half of the elements.
    assert in_order.graph.ops.sum() == 64 * 128 * 7
    assert colours.graph.ops.sum() == 64 * 128 * 7 / 2
    for column in ("access_block", "read_bytes", "written_bytes"):
        first, second = (getattr(w.graph, column).tolist() for w in (in_order, colours))
        assert first == second
    assert generate_workload("sor", parameters).iterations == 10


def test_sor_updates_the_unknowns_and_reads_the_right_hand_side() -> None:
    graph = generate_workload("sor", {"rows": 6, "columns": 4, "leaf_rows": 2}).graph
    leaf = graph.leaves[1]  # the middle one of three pieces of rows, or the second of four
    part = slice(graph.access_ptr[leaf], graph.access_ptr[leaf + 1])
    n, line = graph.n_blocks // 2, 32
    height = graph.block_bytes[1] // line
    rows = zip(
        graph.access_block[part].tolist(),
        (graph.read_bytes[part] // line).tolist(),
        (graph.written_bytes[part] // line).tolist(),
        strict=True,
    )
    assert list(rows) == [(0, 1, 0), (1, height, height), (n + 1, height, 0), (2, 1, 0)]
    assert graph.alternate_block is None


@pytest.mark.parametrize("name", [name for name in SWEEPS if name != "sor"])
def test_a_leaf_goes_over_its_rows_pass_by_pass(name: str) -> None:
    parameters = {"rows": 64, **small_size(name)}
    once = generate_workload(name, parameters).graph
    twice = generate_workload(name, {**parameters, "passes": 2}).graph
    for task in range(once.n_tasks):
        one = slice(once.access_ptr[task], once.access_ptr[task + 1])
        two = slice(twice.access_ptr[task], twice.access_ptr[task + 1])
        for column in ("read_bytes", "written_bytes"):
            assert getattr(twice, column)[two].tolist() == 2 * getattr(once, column)[one].tolist()
        # The copy that was written is read by the second pass, which writes the other one.
        blocks = once.access_block[one]
        swapped = once.alternate_block[blocks]
        assert twice.access_block[two].tolist() == [*blocks.tolist(), *swapped.tolist()]
    assert twice.alternate_block is None, "after two passes each copy has its place again"
    assert twice.ops.sum() == 2 * once.ops.sum()


@pytest.mark.parametrize("name", SWEEPS)
def test_blocks_may_be_smaller_than_leaves(name: str) -> None:
    parameters = {"rows": 64, "block_rows": 2, **small_size(name)}
    workload = generate_workload(name, parameters)
    workload.validate()
    assert set(workload.graph.block_bytes.tolist()) == {2048}


@pytest.mark.parametrize("name", [*SWEEPS, "ge"])
def test_irregular_leaves_of_2_rows_are_refused(name: str) -> None:
    with pytest.raises(ConfigurationError, match=f"{name}: leaf_rows: found 2, accepted 3 or more"):
        generate_workload(name, {"irregular": True, "leaf_rows": 2})
    with pytest.raises(ConfigurationError, match="cutoff_rows: found 3, accepted 4 or more"):
        generate_workload(name, {"irregular": True, "cutoff_rows": 3})
    with pytest.raises(ConfigurationError, match="block_rows: found 2, accepted 3 or more"):
        generate_workload(name, {"irregular": True, "block_rows": 2})
