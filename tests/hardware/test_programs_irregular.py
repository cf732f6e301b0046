"""Programs with irregular work or data: results in every valid order, counts, what checks see."""

import ctypes
import functools
import subprocess
import sysconfig
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from simsched.hardware import programs
from simsched.hardware.program import Program, make_program, small_params
from simsched.workload.graph import TaskGraph

NATIVE = Path(programs.__file__).parent.parent / "native"
FLAGS = ("-std=c11", "-O2", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC")
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


class _Call(ctypes.Structure):
    _fields_ = (
        ("arrays", ctypes.c_void_p),
        ("params", ctypes.c_void_p),
        ("constants", ctypes.c_void_p),
        ("args", ctypes.c_void_p),
        ("iteration", ctypes.c_int64),
        ("task", ctypes.c_int32),
        ("worker", ctypes.c_int32),
    )


_FUNCTION = ctypes.CFUNCTYPE(None, ctypes.POINTER(_Call))


class _Class(ctypes.Structure):
    _fields_ = (("name", ctypes.c_char_p), ("body", ctypes.c_void_p), ("join", ctypes.c_void_p))


class _Table(ctypes.Structure):
    _fields_ = (
        ("name", ctypes.c_char_p),
        ("classes", ctypes.POINTER(_Class)),
        ("n_classes", ctypes.c_int32),
    )


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    path = tmp_path_factory.mktemp("programs") / "programs.so"
    sources = [str(NATIVE / "programs" / f"{name}.c") for name in NAMES]
    compiler = (sysconfig.get_config_var("CC") or "cc").split()
    subprocess.run([*compiler, *FLAGS, *sources, "-o", str(path)], check=True)
    return ctypes.CDLL(str(path))


Times = Callable[[int, int], int]
"""How often a task of an iteration runs: once but in tests of what checks see."""


def run(library: ctypes.CDLL, program: Program, choose: Any, times: Times | None = None) -> None:
    """Run a program in one thread; `choose(n)` says which of n ready steps comes next."""
    table = _Table.in_dll(library, f"hw_program_{program.name}")
    classes = [table.classes[k] for k in range(table.n_classes)]
    names = tuple(entry.name.decode() for entry in classes)
    arrays = (ctypes.c_void_p * len(program.arrays))(*(a.ctypes.data for a in program.arrays))
    params = (ctypes.c_int64 * len(program.params))(*program.params)
    constants = (ctypes.c_double * len(program.constants))(*program.constants)
    workload = program.workload
    assert workload.init is not None
    graphs = [(0, workload.init, program.init_args)]
    graphs += [(k + 1, workload.graph, program.args) for k in range(workload.iterations)]
    for iteration, graph, args in graphs:
        assert graph.class_names == names
        for task, is_join in valid_order(graph, choose):
            entry = classes[graph.task_class[task]]
            address = entry.join if is_join else entry.body
            call = _Call(
                ctypes.addressof(arrays),
                ctypes.addressof(params),
                ctypes.addressof(constants),
                args[task].ctypes.data,
                iteration,
                task,
                0,
            )
            if address:
                for _ in range(1 if times is None else times(iteration, task)):
                    _FUNCTION(address)(ctypes.byref(call))


def valid_order(graph: TaskGraph, choose: Any) -> list[tuple[int, bool]]:
    """Return bodies and joins in an order that the graph allows."""
    parent, waits = graph.parent, graph.in_degree.copy()
    children = np.diff(graph.child_ptr).copy()
    created = parent < 0
    ready = [(int(task), False) for task in np.flatnonzero(created & (waits == 0))]
    order = []
    while ready:
        task, is_join = ready.pop(choose(len(ready)))
        order.append((task, is_join))
        own = graph.child[graph.child_ptr[task] : graph.child_ptr[task + 1]]
        if len(own) and not is_join:
            created[own] = True
            ready += [(int(child), False) for child in own if waits[child] == 0]
            continue
        followers = graph.succ[graph.succ_ptr[task] : graph.succ_ptr[task + 1]]
        for follower in followers:
            waits[follower] -= 1
            if waits[follower] == 0 and created[follower]:
                ready.append((int(follower), False))
        if parent[task] >= 0:
            children[parent[task]] -= 1
            if children[parent[task]] == 0:
                ready.append((int(parent[task]), True))
    assert len(order) == graph.n_tasks + np.count_nonzero(np.diff(graph.child_ptr))
    return order


def last(count: int) -> int:
    return count - 1


def first(count: int) -> int:
    return 0


def drawn(seed: int) -> Callable[[int], int]:
    return functools.partial(np.random.default_rng(seed).integers, 0)


def small(name: str, **changed: Any) -> Program:
    return make_program(name, dict(small_params(name)) | changed)


@pytest.mark.parametrize("name", NAMES)
def test_small_instances_are_right_in_any_valid_order(library: ctypes.CDLL, name: str) -> None:
    for choose in (first, last, drawn(1), drawn(2)):
        program = small(name)
        program.workload.validate()
        run(library, program, choose)
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
def test_odd_sizes_are_right(library: ctypes.CDLL, name: str, changed: dict[str, Any]) -> None:
    program = small(name, **changed)
    program.workload.validate()
    run(library, program, drawn(3))
    assert program.check() <= 1.0


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("repeats", [0, 2], ids=["missing", "doubled"])
def test_a_task_that_does_not_run_once_is_found(
    library: ctypes.CDLL, name: str, repeats: int
) -> None:
    graph = small(name).workload.graph
    for task in {*graph.leaves[:: -(-len(graph.leaves) // 5)].tolist(), graph.n_tasks - 1}:
        program = small(name)
        last_iteration = program.workload.iterations

        def times(iteration: int, other: int, skipped: tuple[int, int]) -> int:
            return repeats if (iteration, other) == skipped else 1

        run(library, program, first, functools.partial(times, skipped=(last_iteration, task)))
        assert program.check() > 1.0


@pytest.mark.parametrize("name", NAMES)
def test_a_wrong_result_is_found(library: ctypes.CDLL, name: str) -> None:
    program = small(name)
    run(library, program, first)
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
