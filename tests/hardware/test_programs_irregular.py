"""Programs with irregular work or data: results in every valid order, counts, what checks see."""

import functools
from typing import Any

import numpy as np
import pytest

from simsched.hardware.program import Program, make_program, programs
from simsched.workload.graph import TaskGraph

from .serial import drawn, execute_serially, newest, oldest

NAMES = (
    "connected_components",
    "fft",
    "kmeans",
    "label_propagation",
    "merge_sort",
    "nqueens",
    "pagerank",
    "word_count",
)


def small(name: str, **changed: Any) -> Program:
    return make_program(name, dict(programs()[name].small) | changed)


@pytest.mark.parametrize("name", NAMES)
def test_small_instances_are_right_in_any_valid_order(name: str) -> None:
    for choose in (oldest, newest, drawn(1), drawn(2)):
        program = small(name)
        program.workload.validate()
        execute_serially(program, choose)
        assert program.check() <= 1.0


ODD = (
    ("connected_components", {"vertices": 2, "degree": 0.0, "part_vertices": 1}),
    ("connected_components", {"vertices": 1009, "degree": 0.6, "part_vertices": 37}),
    ("connected_components", {"vertices": 1009, "degree": 3.0, "skew": 0.9, "iterations": 30}),
    ("fft", {"points": 2, "block_points": 1, "iterations": 1}),
    ("fft", {"points": 64, "block_points": 64}),
    ("fft", {"points": 64, "block_points": 32}),
    ("fft", {"points": 256, "block_points": 1}),
    ("kmeans", {"points": 2, "leaf_points": 1, "centres": 2, "dimensions": 1, "iterations": 1}),
    ("kmeans", {"points": 1009, "leaf_points": 101, "centres": 1, "dimensions": 7}),
    ("kmeans", {"points": 1009, "leaf_points": 1008, "centres": 31, "iterations": 8}),
    ("label_propagation", {"vertices": 1009, "degree": 0.7, "part_vertices": 61, "labels": 256}),
    ("label_propagation", {"vertices": 1009, "degree": 5.0, "labels": 1, "iterations": 1}),
    ("merge_sort", {"keys": 1, "leaf_keys": 1}),
    ("merge_sort", {"keys": 257, "leaf_keys": 1}),
    ("merge_sort", {"keys": 4099, "leaf_keys": 17, "seed": 5}),
    ("merge_sort", {"keys": 4099, "leaf_keys": 10_000}),
    ("nqueens", {"queens": 1, "prefix_rows": 0}),
    ("nqueens", {"queens": 3, "prefix_rows": 2}),
    ("nqueens", {"queens": 6, "prefix_rows": 6}),
    ("nqueens", {"queens": 10, "prefix_rows": 2, "iterations": 1}),
    ("nqueens", {"queens": 12, "prefix_rows": 1, "iterations": 1}),
    ("pagerank", {"vertices": 2, "degree": 1.0, "part_vertices": 5}),
    ("pagerank", {"vertices": 1009, "degree": 1.5, "part_vertices": 41, "iterations": 8}),
    ("pagerank", {"vertices": 1009, "skew": 0.9, "damping": 0.5, "seed": 9}),
    ("word_count", {"words": 5, "maps": 5, "vocabulary": 1, "reduces": 1}),
    ("word_count", {"words": 1009, "maps": 13, "vocabulary": 101, "reduces": 101, "skew": 0.0}),
    ("word_count", {"words": 1009, "maps": 1, "vocabulary": 17, "reduces": 16, "skew": 3.0}),
)


@pytest.mark.parametrize(("name", "changed"), ODD)
def test_odd_sizes_are_right(name: str, changed: dict[str, Any]) -> None:
    program = small(name, **changed)
    program.workload.validate()
    execute_serially(program, drawn(3))
    assert program.check() <= 1.0


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("repeats", [0, 2], ids=["missing", "doubled"])
def test_a_task_that_does_not_run_once_is_found(name: str, repeats: int) -> None:
    graph = small(name).workload.graph
    for task in {*graph.leaves[:: -(-len(graph.leaves) // 5)].tolist(), graph.n_tasks - 1}:
        program = small(name)
        last_iteration = program.workload.iterations

        def times(iteration: int, other: int, skipped: tuple[int, int]) -> int:
            return repeats if (iteration, other) == skipped else 1

        execute_serially(program, oldest, functools.partial(times, skipped=(last_iteration, task)))
        assert program.check() > 1.0


@pytest.mark.parametrize("name", ["fft", "word_count"])
def test_a_task_that_does_not_wait_is_found(name: str) -> None:
    program = small(name)
    execute_serially(program, oldest, ignore_edges=True)
    assert program.check() > 1.0


@pytest.mark.parametrize("name", NAMES)
def test_a_wrong_result_is_found(name: str) -> None:
    program = small(name)
    execute_serially(program, oldest)
    before = program.check()
    counts = program.arrays[0].copy()
    for array in program.arrays[1:]:
        if array.flags.writeable:
            array += array.dtype.type(1)
    assert np.array_equal(counts, program.arrays[0])
    assert before <= 1.0
    assert program.check() > 1.0


@pytest.mark.parametrize("name", NAMES)
def test_blocks_lie_side_by_side_in_their_arrays(name: str) -> None:
    program = small(name)
    sizes = program.workload.graph.block_bytes
    assert len(program.block_array) == len(program.block_offset_bytes) == len(sizes)
    for number in np.unique(program.block_array):
        own = np.flatnonzero(program.block_array == number)
        ends = np.cumsum(sizes[own])
        assert np.array_equal(program.block_offset_bytes[own], ends - sizes[own])
        assert ends[-1] == program.arrays[number].nbytes


@pytest.mark.parametrize("name", NAMES)
def test_accesses_stay_within_their_blocks(name: str) -> None:
    program = small(name)
    for graph in (program.workload.init, program.workload.graph):
        assert graph is not None
        room = graph.block_bytes[graph.access_block]
        assert np.all(graph.read_bytes <= room)
        assert np.all(graph.written_bytes <= room)


@pytest.mark.parametrize("name", NAMES)
def test_tasks_that_may_run_at_the_same_time_do_not_share_what_they_write(name: str) -> None:
    double_buffered = {"connected_components", "label_propagation", "pagerank"}
    graph = small(name).workload.graph
    before = precedence(graph)
    rank = np.repeat(np.arange(graph.n_tasks), np.diff(graph.access_ptr))
    step = 2 * rank + (np.arange(graph.n_accesses) >= graph.join_access[rank])
    for block in range(graph.n_blocks):
        here = np.flatnonzero(graph.access_block == block)
        writers = step[here[graph.written_bytes[here] > 0]]
        others = writers if name in double_buffered else step[here]
        for writer in writers:
            ordered = before[writer, others] | before[others, writer] | (others == writer)
            assert ordered.all()


def precedence(graph: TaskGraph) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """Return which step (body 2 t, join 2 t + 1) precedes which, through any number of others."""
    n_steps = 2 * graph.n_tasks
    before = np.zeros((n_steps, n_steps), dtype=bool)
    for task in range(graph.n_tasks):
        before[2 * task, 2 * task + 1] = True
        for child in graph.child[graph.child_ptr[task] : graph.child_ptr[task + 1]]:
            before[2 * task, 2 * child] = before[2 * child + 1, 2 * task + 1] = True
        for follower in graph.succ[graph.succ_ptr[task] : graph.succ_ptr[task + 1]]:
            before[2 * task + 1, 2 * follower] = True
    for step in range(n_steps):
        before |= np.outer(before[:, step], before[step])
    return before
