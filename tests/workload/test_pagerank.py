"""PageRank: sizes, conserved bytes, degrees and hotness as the distributions say."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simsched.files.errors import ConfigurationError
from simsched.workload import Workload, generate_workload
from simsched.workload.presets import make_workload

RANK, EDGE, GATHER = 8, 180, 64


def edges_of(workload: Workload, vertices: int) -> int:
    """Return the number of edges that the sizes of the blocks imply."""
    edges, rest = divmod(int(workload.graph.block_bytes.sum()) - 2 * RANK * vertices, EDGE)
    assert rest == 0
    return edges


def gathered(workload: Workload) -> np.ndarray:
    """Return the edges that lead to each block, where leaves are blocks."""
    graph = workload.graph
    read = np.bincount(graph.access_block, weights=graph.read_bytes, minlength=graph.n_blocks)
    written = np.bincount(graph.access_block, weights=graph.written_bytes)
    own = graph.block_bytes - 2 * written
    return (read - own) / GATHER


def test_the_published_16_gb_case() -> None:
    workload = make_workload("pagerank_16gb")
    workload.validate()
    graph = workload.graph
    assert workload.iterations == 200
    assert (graph.n_tasks, len(graph.leaves), graph.n_blocks) == (16383, 8192, 8192)
    assert 16e9 < graph.block_bytes.sum() < 2**34
    edges = edges_of(workload, 2**24)
    assert edges == pytest.approx(5.5 * 2**24, rel=1e-3)
    assert graph.read_bytes.sum() == (EDGE + GATHER) * edges
    assert graph.written_bytes.sum() == RANK * 2**24
    assert np.diff(graph.access_ptr).max() <= 16
    assert gathered(workload).sum() == edges
    hot = np.sort(gathered(workload))[::-1]
    assert hot[0] > 20 * hot.mean()


@settings(max_examples=40)
@given(
    st.fixed_dictionaries(
        {
            "vertices": st.integers(1, 3000),
            "degrees": st.sampled_from(["uniform", "power_law", "constant"]),
            "highest_degree": st.integers(1, 30),
            "skew": st.sampled_from([0.0, 0.5, 1.5]),
            "popular_run": st.sampled_from([1, 7, 5000]),
            "leaf_bytes": st.integers(1000, 400_000),
            "block_bytes": st.integers(1000, 400_000),
            "max_remote_blocks": st.integers(1, 20),
        }
    ),
    st.integers(0, 2**32),
)
def test_no_byte_is_lost_and_accesses_are_limited(parameters: dict[str, int], seed: int) -> None:
    workload = generate_workload("pagerank", parameters, seed)
    workload.validate()
    graph, vertices = workload.graph, parameters["vertices"]
    edges = edges_of(workload, vertices)
    assert vertices <= edges <= vertices * parameters["highest_degree"]
    assert graph.read_bytes.sum() == (EDGE + GATHER) * edges
    assert graph.written_bytes.sum() == RANK * vertices
    assert graph.ops.sum() == pytest.approx(2.0 * edges + 4.0 * vertices)
    own = np.zeros(graph.n_tasks, dtype=np.int64)
    owner = np.repeat(np.arange(graph.n_tasks), np.diff(graph.access_ptr))
    np.add.at(own, owner, graph.written_bytes > 0)
    assert (np.diff(graph.access_ptr) <= own + parameters["max_remote_blocks"]).all()
    assert workload.init is not None
    assert workload.init.written_bytes.sum() == graph.block_bytes.sum()


def test_hotness_follows_the_popularity_of_vertices() -> None:
    vertices, skew = 2**17, 0.5
    parameters = {
        "vertices": vertices,
        "skew": skew,
        "popular_run": vertices,
        "block_bytes": "1 MiB",
    }
    workload = generate_workload("pagerank", parameters | {"leaf_bytes": "1 MiB"}, 4)
    popularity = np.arange(1, vertices + 1) ** -skew
    expected = popularity.reshape(workload.graph.n_blocks, -1).sum(axis=1) / popularity.sum()
    found = gathered(workload)
    assert found / found.sum() == pytest.approx(expected, rel=0.2)
    assert found[0] / found.sum() == pytest.approx(expected[0], rel=0.02)


def test_without_skew_blocks_are_equally_hot() -> None:
    parameters = {"vertices": 2**18, "skew": 0.0, "degrees": "constant", "highest_degree": 9}
    workload = generate_workload("pagerank", parameters, 4)
    found = gathered(workload)
    assert found.sum() == 5 * 2**18
    assert found == pytest.approx(np.full(len(found), found.mean()), rel=0.15)


def test_scattered_popularity_evens_out() -> None:
    def spread(run: int) -> float:
        parameters = {"vertices": 2**19, "skew": 0.5, "popular_run": run}
        hot = gathered(generate_workload("pagerank", parameters, 2))
        return float(hot.std() / hot.mean())

    assert spread(1) < 0.3 < 1.0 < spread(2**11)


@pytest.mark.parametrize("exponent", [1.0, 2.5])
def test_power_law_degrees_have_their_mean(exponent: float) -> None:
    vertices = 2**18
    parameters = {"vertices": vertices, "degrees": "power_law", "degree_exponent": exponent}
    workload = generate_workload("pagerank", parameters | {"highest_degree": 50}, 1)
    degree = np.arange(1, 51)
    chance = degree**-exponent / (degree**-exponent).sum()
    assert edges_of(workload, vertices) == pytest.approx(vertices * (chance @ degree), rel=0.01)


def test_a_range_of_degrees_that_is_empty_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="lowest_degree: found 11, accepted 0 to"):
        generate_workload("pagerank", {"lowest_degree": 11})
    with pytest.raises(ConfigurationError, match="lowest_degree: found 0, accepted 1 to"):
        generate_workload("pagerank", {"lowest_degree": 0, "degrees": "power_law"})
