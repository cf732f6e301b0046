"""Graphs of irregular programs against closed forms, and parameters that are refused."""

import re
from typing import Any

import numpy as np
import pytest

from simsched.engine.run import simulate
from simsched.files.errors import ConfigurationError
from simsched.hardware.program import Program, make_program, programs
from simsched.machine.synthetic import make_machine
from simsched.policy.algorithms.work_stealing.random_stealing import RandomStealing
from simsched.workload.graph import TaskGraph

VALUE_BYTES = {"connected_components": 4, "label_propagation": 4, "pagerank": 8}


def small(name: str, **changed: Any) -> Program:
    return make_program(name, dict(programs()[name].small) | changed)


def class_ops(graph: TaskGraph, name: str) -> float:
    own = graph.task_class == graph.class_names.index(name)
    return float(graph.ops[0, own].sum() + graph.join_ops[0, own].sum())


def class_count(graph: TaskGraph, name: str) -> int:
    return int(np.count_nonzero(graph.task_class == graph.class_names.index(name)))


def sources_by_part(program: Program) -> tuple[list[np.ndarray[Any, Any]], int]:
    """Return where the values lie that each leaf of a graph program reads, and a part's stride."""
    found = []
    for task in program.workload.graph.leaves:
        vertices, edges, links, own = program.args[task]
        given = program.arrays[1][links : links + 2 * vertices + edges]
        found.append(np.append(given[2 * vertices :], own + np.arange(vertices)))
    return found, program.params[1]


@pytest.mark.parametrize("name", sorted(VALUE_BYTES))
def test_rounds_visit_all_edges_and_fetch_each_line_once(name: str) -> None:
    program = small(name, vertices=3000, part_vertices=200)
    graph, item = program.workload.graph, VALUE_BYTES[name]
    sources, stride = sources_by_part(program)
    leaf = graph.class_names[-1]
    n_edges = sum(map(len, sources)) - 3000
    assert class_count(graph, leaf) == 16
    assert graph.n_tasks == 31
    assert class_ops(graph, leaf) == n_edges + 3000
    assert graph.written_bytes.sum() == 3000 * item
    lines = sum(len(np.unique(places * item // 64)) for places in sources)
    assert graph.read_bytes.sum() == 64 * lines + 4 * (2 * 3000 + n_edges)
    assert program.arrays[3].nbytes == 16 * 2 * stride * item


def test_popular_vertices_have_more_edges() -> None:
    program = small("pagerank", vertices=4096, popular_run=16, part_vertices=16, skew=0.8)
    edges = np.sort(program.args[program.workload.graph.leaves, 1])
    assert edges[-1] > 20 * np.median(edges)
    even = small("pagerank", vertices=4096, part_vertices=16, skew=0.0)
    edges = np.sort(even.args[even.workload.graph.leaves, 1])
    assert edges[-1] < 1.5 * np.median(edges)


def test_components_take_at_least_the_rounds_they_need() -> None:
    needed = small("connected_components").workload.iterations - 1
    assert needed > 2
    small("connected_components", iterations=needed)
    with pytest.raises(ConfigurationError, match=f"found {needed - 1}, accepted {needed} or more"):
        small("connected_components", iterations=needed - 1)


def test_merge_sort_merges_every_key_once_per_level() -> None:
    graph = make_program("merge_sort", {"keys": 4096, "leaf_keys": 256}).workload.graph
    assert class_count(graph, "sort") == 16
    assert class_ops(graph, "sort") == 4096 * 8
    assert class_ops(graph, "merge") == 4096 * 4
    leaf_bytes, join_bytes = 8 * 4096, 4 * 8 * 4096
    assert graph.read_bytes.sum() == 3 * leaf_bytes + join_bytes * 3 // 2
    assert graph.written_bytes.sum() == 2 * leaf_bytes + join_bytes * 3 // 2


def test_kmeans_compares_each_point_with_each_centre() -> None:
    program = make_program(
        "kmeans", {"points": 1024, "dimensions": 3, "centres": 5, "leaf_points": 64}
    )
    graph = program.workload.graph
    assert class_ops(graph, "assign") == 1024 * 5 * 3
    assert class_ops(graph, "reduce") == 14 * 5 * 4
    assert class_ops(graph, "move") == 2 * 5 * 4
    sums, leaves, joins = 8 * 5 * 4, 16, 15
    assert graph.written_bytes.sum() == (leaves + joins) * sums + 8 * 15
    assert graph.read_bytes.sum() == 8 * 3 * 1024 + leaves * (sums + 8 * 15) + sums * (
        2 * joins + 1
    )


def test_word_count_moves_one_entry_per_word_of_a_part() -> None:
    program = make_program(
        "word_count", {"words": 999, "vocabulary": 50, "maps": 6, "reduces": 4, "seed": 3}
    )
    graph = program.workload.graph
    parts = np.split(program.arrays[1], program.init_args[1:, 1])
    entries = sum(len(np.unique(part)) for part in parts)
    assert (graph.n_tasks, graph.n_edges) == (2 * 6 + 4, 6 + 6 * 4)
    assert class_ops(graph, "map") == 999
    assert class_ops(graph, "shuffle") == 6 * 50
    assert class_ops(graph, "reduce") == entries + 4 * 16
    moved, table, totals = 8 * (entries + 6 * 4), 4 * 50 * 6, 8 * 16 * 4
    assert graph.written_bytes.sum() == 4 * entries + table + moved + 8 * 6 * 4 + totals
    assert graph.read_bytes.sum() == 4 * 999 + 4 * entries + table + moved + totals


@pytest.mark.parametrize(
    ("queens", "nodes"), [(4, 17), (5, 54), (6, 153), (7, 552), (8, 2057), (10, 35539)]
)
@pytest.mark.parametrize("rows", [0, 1, 3])
def test_leaves_know_the_nodes_that_they_visit(queens: int, nodes: int, rows: int) -> None:
    graph = make_program("nqueens", {"queens": queens, "prefix_rows": rows}).workload.graph
    assert class_ops(graph, "search") + class_count(graph, "place") == nodes
    assert class_ops(graph, "place") == graph.n_tasks - 1


@pytest.mark.parametrize(("points", "block"), [(64, 64), (64, 32), (1024, 64), (1024, 1)])
def test_fft_has_half_n_log_n_butterflies(points: int, block: int) -> None:
    graph = make_program("fft", {"points": points, "block_points": block}).workload.graph
    blocks = points // block
    steps = blocks.bit_length() - 1
    assert graph.n_tasks == steps * blocks // 2 + blocks
    assert graph.n_edges == steps * blocks
    assert graph.ops.sum() == points // 2 * (points.bit_length() - 1)
    assert graph.written_bytes.sum() == 16 * points * (steps + 1)
    assert graph.read_bytes.sum() == 16 * points * (steps + 1) + 16 * block * graph.n_tasks


@pytest.mark.parametrize(
    "name", ["fft", "kmeans", "merge_sort", "nqueens", "pagerank", "word_count"]
)
def test_both_engines_simulate_the_same_run(name: str) -> None:
    workload = small(name).workload
    machine = make_machine(caches=(("L2", 32768, 20e9, 9000, 1),), remote_latency_ps=1000)
    native, simpy = (
        simulate(machine, workload, RandomStealing(), backend=backend)
        for backend in ("native", "simpy")
    )
    assert native.summary.makespan_ps == simpy.summary.makespan_ps
    work = workload.graph.ops.sum() + workload.graph.join_ops.sum()
    assert native.makespan_s >= work * workload.iterations / (4 * 1e9)


def test_a_seed_determines_the_data() -> None:
    for name, own in (("pagerank", 1), ("label_propagation", 1), ("word_count", 1)):
        same, other = small(name, seed=4), small(name, seed=5)
        assert np.array_equal(small(name, seed=4).arrays[own], same.arrays[own])
        assert not np.array_equal(other.arrays[own], same.arrays[own])


REFUSED = (
    ("connected_components", "vertices", 1, "accepted a whole number, 2 to 67108864"),
    ("connected_components", "degree", -1.0, "accepted a finite number, 0 to 1000"),
    ("connected_components", "vertices", 2**22, "accepted 2047 or more for 4194304 vertices"),
    ("fft", "points", 96, "accepted a power of two, 2 to 1073741824"),
    ("fft", "block_points", 4096, "accepted a power of two, 1 to 2048"),
    ("fft", "block_points", 48, "accepted a power of two, 1 to 2048"),
    ("kmeans", "leaf_points", 2000, "accepted 1 to 1999 for 2000 points"),
    ("kmeans", "centres", 0, "accepted a whole number, 1 to 1024"),
    ("kmeans", "points", 4, "accepted 1 to 3 for 4 points"),
    ("label_propagation", "labels", 257, "accepted a whole number, 1 to 256"),
    ("label_propagation", "skew", 1.0, "accepted a finite number, 0 to 0.9"),
    ("merge_sort", "keys", 2.5, "accepted a whole number, 1 to 4294967296"),
    ("merge_sort", "leaf_keys", 0, "accepted a whole number, 1 to 4294967296"),
    ("merge_sort", "keys", 2**30, "accepted 1024 or more for 1073741824 keys"),
    ("nqueens", "queens", 16, "accepted a whole number, 1 to 15"),
    ("nqueens", "prefix_rows", 7, "accepted a whole number, 0 to 6"),
    ("nqueens", "queens", 2, "accepted 0 to 2 for 2 queens"),
    ("pagerank", "degree", 0.5, "accepted a finite number, 1 to 1000"),
    ("pagerank", "damping", 1.5, "accepted a finite number, 0 to 1"),
    ("pagerank", "iterations", 0, "accepted a whole number, 1 to 1000000"),
    ("pagerank", "part_vertices", 0, "accepted a whole number, 1 to 67108864"),
    ("word_count", "maps", 4097, "accepted a whole number, 1 to 4096"),
    ("word_count", "words", 3, "accepted 1 to 3 for 3 words"),
    ("word_count", "reduces", 701, "accepted 1 to 700 for this vocabulary"),
    ("word_count", "seed", -1, "accepted a whole number, 0 to 1073741823"),
)


@pytest.mark.parametrize(("name", "parameter", "found", "accepted"), REFUSED)
def test_wrong_parameters_are_refused(
    name: str, parameter: str, found: object, accepted: str
) -> None:
    with pytest.raises(ConfigurationError, match=f"^program {name}: .*{re.escape(accepted)}$"):
        small(name, **{parameter: found})
