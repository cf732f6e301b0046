"""The benchmarks of the Knights Landing study have the published sizes and state their counts."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simsched.policy.parts.subgraphs import group_tasks
from simsched.workload import generate_workload
from simsched.workload.presets import make_workload

PAGE = 4096
MATRICES = ["heat_16gb_coarse", "sor_16gb", "conv_16gb", "sten_16gb"]
GRAPHS = {"pagerank_16gb": 8261, "label_propagation_16gb": 8498, "connected_components_16gb": 8166}


@pytest.mark.parametrize("name", MATRICES)
def test_matrices_are_224k_by_4k_in_chunks_of_512_pages(name: str) -> None:
    workload = make_workload(name)
    graph = workload.graph
    assert workload.iterations == (400 if name == "sor_16gb" else 200)  # two half sweeps
    assert graph.block_bytes.sum() == 224 * 1024 * 4096 * 8 * 2  # 15.03e9, said to be 16 GB
    assert (graph.n_tasks, len(graph.leaves), graph.n_blocks) == (16383, 8192, 2 * 8192)
    assert 2 * -(-graph.block_bytes // PAGE).max() <= 512


@pytest.mark.parametrize(("size", "leaves"), [(2, 1024), (22, 16384)])
def test_data_of_2_to_22_gb_keep_columns_edges_and_leaves(size: int, leaves: int) -> None:
    heat, ranks = (make_workload(f"{name}_{size}gb") for name in ("heat", "pagerank"))
    assert heat.iterations == ranks.iterations == 200
    assert heat.graph.block_bytes.sum() == size * 14 * 1024 * 4096 * 8 * 2  # a sixteenth of 224K
    assert ranks.graph.written_bytes.sum() == 8 * size * 2**20  # a rank for each vertex
    edges = (ranks.graph.block_bytes.sum() - 16 * size * 2**20) // 180
    assert edges == pytest.approx(5.5 * size * 2**20, rel=1e-3)
    assert (heat.graph.n_tasks, heat.graph.n_blocks) == (
        2 * size * 14 * 1024 - 1,
        2 * size * 14 * 1024,
    )
    assert (ranks.graph.n_tasks, ranks.graph.n_blocks) == (2 * leaves - 1, leaves)
    assert len(heat.init.leaves) == len(ranks.graph.leaves) == leaves
    assert heat.init.written_bytes.sum() == heat.graph.block_bytes.sum()
    for graph in (heat.graph, ranks.graph):
        assert graph.block_bytes.sum() == pytest.approx(size * 1e9, rel=0.07)
    # 512 pages for each leaf of the initialisation; drawn edges differ a little
    assert -(-ranks.graph.block_bytes // PAGE).max() <= 512 * 1.02
    own = np.repeat(np.arange(heat.init.n_tasks), np.diff(heat.init.access_ptr))
    assert np.bincount(own, heat.init.written_bytes).max() <= 512 * PAGE


def test_elimination_is_48k_squared_in_single_precision() -> None:
    workload = make_workload("ge_10gb")
    graph = workload.graph
    row = 48 * 1024 * 4
    assert workload.iterations == 200
    assert graph.block_bytes.sum() == (48 * 1024 + 1) * row  # and the pivot row
    assert graph.block_bytes.sum() == pytest.approx(10e9, rel=0.05)
    assert -(-graph.block_bytes // PAGE).max() <= 512


@pytest.mark.parametrize(("name", "logic_vmas"), GRAPHS.items())
def test_graphs_have_16_gb_in_the_published_number_of_chunks(name: str, logic_vmas: int) -> None:
    workload = make_workload(name)
    graph = workload.graph
    assert workload.iterations == 200
    assert graph.block_bytes.sum() / 2**30 == pytest.approx(16, rel=0.05)
    assert graph.n_blocks == pytest.approx(logic_vmas, rel=0.04)
    assert -(-graph.block_bytes // PAGE).sum() == pytest.approx(512 * logic_vmas, rel=0.07)


@pytest.mark.parametrize("name", ["label_propagation_16gb", "connected_components_16gb"])
def test_graphs_of_8_m_vertices_have_eleven_edges_each(name: str) -> None:
    graph = make_workload(name).graph
    vertices = 2**23
    assert graph.written_bytes.sum() == 8 * vertices
    edges = (graph.block_bytes.sum() - 16 * vertices) // 180
    assert edges == pytest.approx(11 * vertices, rel=1e-3)
    assert graph.read_bytes.sum() == (180 + 64) * edges


def test_heat_has_the_published_number_of_subgraphs() -> None:
    graph = make_workload("heat_16gb").graph
    assert group_tasks(graph, 10 * 16).n_subgraphs == 2048
    assert graph.n_tasks == 2 * 224 * 1024 - 1


@settings(max_examples=30)
@given(st.integers(1, 300), st.integers(1, 40), st.integers(0, 4), st.integers(1, 30))
def test_a_convolution_moves_the_bytes_that_its_documentation_says(
    rows: int, columns: int, radius: int, leaf_rows: int
) -> None:
    line = columns * 8
    parameters = {
        "rows": rows,
        "columns": columns,
        "radius": radius,
        "leaf_bytes": 2 * line * leaf_rows,
        "block_bytes": 2 * line * leaf_rows,
    }
    workload = generate_workload("conv", parameters)
    workload.validate()
    graph = workload.graph
    assert graph.n_tasks == 2 * len(graph.leaves) - 1
    assert graph.written_bytes.sum() == rows * line
    leaf_sizes = graph.block_bytes // line
    if leaf_sizes.min() >= radius:
        halo = 2 * radius * (len(graph.leaves) - 1)
        assert graph.read_bytes.sum() == (2 * rows + halo) * line
    assert graph.ops.sum() == rows * columns * 2 * (2 * radius + 1) ** 2


def test_a_nine_point_stencil_reads_one_row_on_either_side() -> None:
    parameters = {"rows": 64, "columns": 16, "leaf_rows": 16}
    graph = generate_workload("stencil9", {**parameters, "write_allocate": False}).graph
    assert len(graph.leaves) == 4
    assert np.add.reduceat(graph.read_bytes, graph.access_ptr[graph.leaves]).tolist() == [
        17 * 128,
        18 * 128,
        18 * 128,
        17 * 128,
    ]
    assert graph.ops[0, graph.leaves].tolist() == [16 * 16 * 17] * 4


def test_labels_spread_evenly_and_components_do_not() -> None:
    def spread(name: str) -> float:
        graph = generate_workload(name, {"vertices": 2**17, "block_bytes": "256 KiB"}, 3).graph
        read = np.bincount(graph.access_block, weights=graph.read_bytes)
        return float(read.std() / read.mean())

    assert spread("label_propagation") < 0.1 < spread("connected_components")
