"""Stencil, Cholesky and layered graphs against published counts and plain enumerations."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simsched.workload import TaskGraph, generate_workload
from simsched.workload.bench import bench_rng


def successors(graph: TaskGraph) -> list[list[int]]:
    return [
        graph.succ[graph.succ_ptr[t] : graph.succ_ptr[t + 1]].tolist() for t in range(graph.n_tasks)
    ]


def created(n_tasks: int, edges: list[tuple[int, int]]) -> list[list[int]]:
    """Return the successors of each task in the order of edge creation."""
    lists: list[list[int]] = [[] for _ in range(n_tasks)]
    for source, target in edges:
        lists[source].append(target)
    return lists


@pytest.mark.parametrize(
    ("steps", "tasks", "edges"), [(3, 12288, 40448), (25, 102400, 485376), (245, 1003520, 4934656)]
)
def test_stencil_counts(steps: int, tasks: int, edges: int) -> None:
    graph = generate_workload(
        "stencil2d", {"width": 64, "height": 64, "steps": steps, "costs": "bench"}
    ).graph
    graph.validate()
    assert (graph.n_tasks, graph.n_edges, graph.n_blocks) == (tasks, edges, 0)


@pytest.mark.parametrize(
    ("tiles", "tasks", "edges"),
    [
        (1, 1, 0),
        (38, 9880, 27417),
        (64, 45760, 131040),
        (84, 102340, 296310),
        (181, 1004731, 2964780),
    ],
)
def test_cholesky_counts(tiles: int, tasks: int, edges: int) -> None:
    graph = generate_workload("cholesky", {"tiles": tiles, "costs": "bench"}).graph
    graph.validate()
    assert (graph.n_tasks, graph.n_edges, graph.n_blocks) == (tasks, edges, 0)


@pytest.mark.parametrize(("width", "height", "steps"), [(4, 3, 3), (1, 5, 2), (5, 1, 2), (1, 1, 4)])
def test_stencil_edges_and_accesses_one_by_one(width: int, height: int, steps: int) -> None:
    workload = generate_workload(
        "stencil2d",
        {"width": width, "height": height, "steps": steps, "tile_rows": 5, "tile_columns": 3},
    )
    workload.validate()
    graph, edges = workload.graph, []
    for t in range(steps):
        for i in range(height):
            for j in range(width):
                task = (t * height + i) * width + j
                shifts = ((0, 0), (-1, 0), (1, 0), (0, -1), (0, 1))
                tiles = [(i + a, j + b) for a, b in shifts]
                near = [(a, b) for a, b in tiles if 0 <= a < height and 0 <= b < width]
                expected = {}
                for a, b in near:
                    if t:
                        edges.append((((t - 1) * height + a) * width + b, task))
                    elements = 15 if (a, b) == (i, j) else 3 if b == j else 5
                    expected[a * width + b] = (elements * 8, 15 * 8 if (a, b) == (i, j) else 0)
                part = slice(graph.access_ptr[task], graph.access_ptr[task + 1])
                moved = zip(graph.read_bytes[part], graph.written_bytes[part], strict=True)
                found = dict(zip(graph.access_block[part].tolist(), moved, strict=True))
                assert found == expected
    assert successors(graph) == created(graph.n_tasks, edges)
    assert set(graph.block_bytes.tolist()) == {2 * 15 * 8}
    assert set(graph.ops[0]) == {15 * 5.0}


def plain_cholesky(
    tiles: int,
) -> tuple[list[str], list[tuple[int, int]], list[list[tuple[int, int]]]]:
    """Return class and tiles (own tile last) of each task, and the edges in order of creation."""
    kinds: list[str] = []
    touched: list[list[tuple[int, int]]] = []
    edges: list[tuple[int, int]] = []
    writer: dict[tuple[int, int], int] = {}

    def create(kind: str, reads: list[tuple[int, int]], own: tuple[int, int]) -> None:
        edges.extend((writer[tile], len(kinds)) for tile in [*reads, own] if tile in writer)
        writer[own] = len(kinds)
        kinds.append(kind)
        touched.append([*reads, own])

    for k in range(tiles):
        create("potrf", [], (k, k))
        for i in range(k + 1, tiles):
            create("trsm", [(k, k)], (i, k))
        for i in range(k + 1, tiles):
            for j in range(k + 1, i + 1):
                create("syrk" if i == j else "gemm", [(i, k)] + [(j, k)] * (i != j), (i, j))
    return kinds, edges, touched


@pytest.mark.parametrize("tiles", [1, 2, 3, 7])
def test_cholesky_tasks_edges_and_accesses_one_by_one(tiles: int) -> None:
    workload = generate_workload("cholesky", {"tiles": tiles, "tile_size": 10})
    workload.validate()
    graph = workload.graph
    kinds, edges, touched = plain_cholesky(tiles)
    assert [graph.class_names[c] for c in graph.task_class] == kinds
    assert successors(graph) == created(len(kinds), edges)
    flops = {"potrf": 1000 / 3, "trsm": 1000.0, "syrk": 1000.0, "gemm": 2000.0}
    assert graph.ops[0].tolist() == pytest.approx([flops[kind] for kind in kinds], rel=1e-15)
    for task, tiles_used in enumerate(touched):
        part = slice(graph.access_ptr[task], graph.access_ptr[task + 1])
        assert graph.access_block[part].tolist() == [i * (i + 1) // 2 + j for i, j in tiles_used]
        assert graph.read_bytes[part].tolist() == [800] * len(tiles_used)
        assert graph.written_bytes[part].tolist() == [0] * (len(tiles_used) - 1) + [800]


def test_costs_of_the_benchmarks_are_drawn_in_the_order_of_tasks() -> None:
    stencil = generate_workload(
        "stencil2d", {"width": 4, "height": 4, "steps": 3, "costs": "bench"}
    )
    assert stencil.graph.ops[0].tolist() == [(0.5 + x) * 1e6 for x in bench_rng(48)]
    cholesky = generate_workload("cholesky", {"tiles": 6, "costs": "bench"})
    kinds, _, _ = plain_cholesky(6)
    for kind, number, found in zip(
        kinds, bench_rng(len(kinds)).tolist(), cholesky.graph.ops[0].tolist(), strict=True
    ):
        factor = 0.9 + 0.2 * number
        expected = {"potrf": 1e6 * factor / 3, "gemm": 2e6 * factor}.get(kind, 1e6 * factor)
        assert found == expected
    independent = generate_workload("independent", {"tasks": 9, "costs": "bench"})
    assert independent.graph.ops[0].tolist() == [(0.5 + x) * 1e6 for x in bench_rng(9)]


@settings(max_examples=40)
@given(
    st.integers(1, 6), st.integers(1, 9), st.sampled_from([0.0, 0.1, 0.5, 1.0]), st.integers(0, 99)
)
def test_layers_are_linked_to_the_one_above_only(
    layers: int, width: int, probability: float, seed: int
) -> None:
    parameters = {"layers": layers, "width": width, "edge_probability": probability}
    workload = generate_workload("layered_random", parameters, seed)
    workload.validate()
    graph = workload.graph
    edges = [(u, v) for u, targets in enumerate(successors(graph)) for v in targets]
    assert len(set(edges)) == len(edges)
    assert all(v // width == u // width + 1 for u, v in edges)
    assert all(graph.in_degree[width:] >= 1)
    if probability == 1.0:
        assert len(edges) == (layers - 1) * width**2
    if probability == 0.0:
        assert len(edges) == (layers - 1) * width
    for task in range(graph.n_tasks):
        part = slice(graph.access_ptr[task], graph.access_ptr[task + 1])
        before = [u for u, v in edges if v == task]
        assert graph.access_block[part].tolist() == [*before, task]
        assert graph.written_bytes[part].tolist() == [0] * len(before) + [65536]


def test_layered_edges_are_as_many_as_their_probability_says() -> None:
    width, probability = 200, 0.01
    graph = generate_workload(
        "layered_random", {"layers": 51, "width": width, "edge_probability": probability}, 3
    ).graph
    expected = 50 * width * (probability * width + (1 - probability) ** width)
    assert graph.n_edges == pytest.approx(expected, rel=4 / expected**0.5)


@pytest.mark.parametrize("costs", ["constant", "uniform", "exponential", "lognormal"])
def test_drawn_costs_have_the_mean_asked_for(costs: str) -> None:
    parameters = {"tasks": 40_000, "costs": costs, "mean_ops": 7.0, "spread": 0.5}
    ops = generate_workload("independent", parameters, 5).graph.ops[0]
    deviation = {"constant": 0.0, "uniform": 0.5 / 3**0.5, "exponential": 1.0, "lognormal": 0.5}
    assert ops.mean() == pytest.approx(7.0, rel=0.02)
    assert ops.std() == pytest.approx(7.0 * deviation[costs], rel=0.03)
    assert ops.min() > 0


def test_flows_and_chain() -> None:
    flows = generate_workload("flows", {"tasks": 100, "blocks": 8})
    flows.validate()
    assert flows.graph.access_block.tolist() == [t % 8 for t in range(100)]
    assert flows.graph.read_bytes.tolist() == [int((0.5 + x) * 1e6) for x in bench_rng(100)]
    chain = generate_workload("chain", {"tasks": 5, "ops": 2.0})
    chain.validate()
    assert successors(chain.graph) == [[1], [2], [3], [4], []]
    assert generate_workload("chain", {"tasks": 1}).graph.n_edges == 0


def test_drawn_edges_do_not_depend_on_the_costs() -> None:
    first, second = (
        generate_workload("layered_random", {"costs": costs}, 8).graph
        for costs in ("uniform", "exponential")
    )
    assert np.array_equal(first.succ, second.succ)
