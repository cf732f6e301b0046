"""Chare programs: sizes of the publication, counts and bytes as documented."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simsched.files.errors import ConfigurationError
from simsched.workload import generate_workload
from simsched.workload.presets import make_workload

GIB, MIB = 2**30, 2**20


def test_the_published_grid_has_32_gb_in_1024_chares() -> None:
    workload = make_workload("stencil3d_charm_32gb")
    graph = workload.graph
    assert graph.n_tasks == 1024
    blocks = graph.block_bytes[:1024]
    assert blocks.sum() == 32 * GIB
    assert 64 * blocks[0] == 2 * GIB  # reduced working set with one chare on each of 64 PEs
    faces = 2 * (15 * 64 + 2 * 16 * 56)  # of 16 x 8 x 8 chares, seen from both sides
    assert graph.block_bytes[1024:].sum() == faces * 128 * 128 * 8


@pytest.mark.parametrize(("name", "gib"), [("24gb", 24), ("38gb", 37.5), ("54gb", 54)])
def test_products_have_the_published_working_sets(name: str, gib: float) -> None:
    graph = make_workload(f"matmul_charm_{name}").graph
    assert graph.block_bytes.sum() == gib * GIB
    rows = graph.n_tasks // 32
    assert 64 * graph.block_bytes[:rows].max() == pytest.approx(6 * GIB, rel=0.12)


@settings(max_examples=30)
@given(st.tuples(*[st.integers(1, 5)] * 3), st.tuples(*[st.integers(1, 9)] * 3), st.booleans())
def test_a_stencil_moves_the_bytes_that_its_documentation_says(
    grid: tuple[int, int, int], shape: tuple[int, int, int], allocate: bool
) -> None:
    parameters = {f"chares_{axis}": n for axis, n in zip("xyz", grid, strict=True)}
    parameters |= {f"elements_{axis}": n for axis, n in zip("xyz", shape, strict=True)}
    parameters |= {"sweeps": 3, "write_allocate": allocate}
    workload = generate_workload("stencil3d_charm", parameters)
    workload.validate()
    graph = workload.graph
    n = int(np.prod(grid))
    elements = int(np.prod(shape))
    sent = sum(
        2 * (n // grid[axis]) * (grid[axis] - 1) * (elements // shape[axis]) for axis in range(3)
    )
    assert graph.n_tasks == n
    assert graph.written_bytes.sum() == (3 * n * elements + sent) * 8
    fetched = 2 if allocate else 1
    assert graph.read_bytes.sum() == (3 * n * elements * fetched + fetched * sent) * 8
    assert graph.ops.sum() == 3 * 8 * n * elements
    assert workload.init is not None
    assert workload.init.written_bytes.sum() == graph.block_bytes.sum()


def test_a_chare_in_the_middle_has_six_neighbours() -> None:
    parameters = {"chares_x": 3, "chares_y": 3, "chares_z": 3}
    graph = generate_workload("stencil3d_charm", parameters).graph
    middle = 13
    touched = graph.access_block[graph.access_ptr[middle] : graph.access_ptr[middle + 1]]
    assert sorted((touched - 27).tolist()) == [middle - 27, middle - 27, 4, 10, 12, 13, 14, 16, 22]


def test_a_product_reads_panels_and_passes_over_its_result() -> None:
    parameters = {"order": 100, "chare_rows": 4, "chare_columns": 2}
    graph = generate_workload(
        "matmul_charm", parameters | {"row_block": 10, "depth_block": 40}
    ).graph
    assert (graph.n_tasks, graph.n_blocks) == (8, 4 + 2 + 8)
    assert graph.block_bytes.sum() == 3 * 100 * 100 * 8
    task = 5  # row 2, column 1
    accesses = slice(graph.access_ptr[task], graph.access_ptr[task + 1])
    # 25 rows are 3 blocks of 10, 100 columns 3 of 40: B is read and C passed three times.
    assert graph.access_block[accesses].tolist() == [2, 5, 5, 11, 11]
    panel, block = 25 * 100 * 8, 25 * 50 * 8
    passes = [panel, 2 * panel, 2 * 2 * panel, block, 2 * block]
    assert graph.read_bytes[accesses].tolist() == passes
    assert graph.written_bytes[accesses].tolist() == [0, 0, 0, block, 2 * block]
    assert graph.ops[0, task] == pytest.approx(0.8 * 25 * 50 * 100)


def test_more_chares_than_rows_are_refused() -> None:
    with pytest.raises(ConfigurationError, match="chare_rows: found 16, accepted at most order"):
        generate_workload("matmul_charm", {"order": 10})


@pytest.mark.parametrize("targets_first", [False, True])
def test_copies_read_and_write_in_turn(targets_first: bool) -> None:
    parameters = {"copies": 3, "block_bytes": 1000, "piece_bytes": 400}
    graph = generate_workload("block_copies", {**parameters, "targets_first": targets_first}).graph
    assert (graph.n_tasks, graph.n_blocks, graph.n_accesses) == (3, 6, 3 * 2 * 3)
    source, target = (4, 1) if targets_first else (1, 4)
    accesses = slice(graph.access_ptr[1], graph.access_ptr[2])
    assert graph.access_block[accesses].tolist() == [source, target] * 3
    assert graph.read_bytes[accesses].tolist() == [400, 0, 400, 0, 200, 0]
    assert graph.written_bytes[accesses].tolist() == [0, 400, 0, 400, 0, 200]
