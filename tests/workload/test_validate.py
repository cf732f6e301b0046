"""Everything wrong with a graph has a message; every deadlock is found, and nothing else."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simsched.files.errors import GraphError
from simsched.workload import TaskGraph, Workload
from simsched.workload.builder import accesses, adjacency, build_graph


def sample() -> TaskGraph:
    """Return a root 0 with children 1, 2, 3; edges 1 -> 2, 1 -> 3; an independent task 4."""
    return build_graph(
        np.ones((2, 5)),
        join_ops=np.array([[1.0, 0, 0, 0, 0]] * 2),
        kinds=("cpu", "gpu"),
        children=adjacency([0, 0, 0], [1, 2, 3], 5),
        successors=adjacency([1, 1], [2, 3], 5),
        accessed=accesses(
            [0, 1, 2, 0], [0, 1, 1, 1], 10, 20, 5, in_join=[False, False, False, True]
        ),
        block_bytes=[100, 200],
    )


def changed(name: str, index: object, value: float) -> TaskGraph:
    """Return the sample with one entry of an array changed."""
    array = getattr(sample(), name).copy()
    array[index] = value
    return replace(sample(), **{name: array})


def test_the_sample_is_valid() -> None:
    sample().validate()


@pytest.mark.parametrize(
    ("name", "index", "value", "message"),
    [
        ("ops", (1, 3), np.nan, "task 3: ops on gpu: found nan, accepted 0 or more, infinity"),
        ("ops", (0, 2), -1.0, "task 2: ops on cpu: found -1.0"),
        ("ops", (0, 2), -np.inf, "task 2: ops on cpu: found -inf"),
        ("ops", (slice(None), 4), np.inf, "task 4: ops: no processor kind can run it"),
        ("join_ops", (0, 0), np.nan, "task 0: join_ops on cpu: found nan"),
        ("join_ops", (slice(None), 0), np.inf, "task 0: join_ops: no processor kind can run it"),
        ("join_ops", (0, 4), 3.0, "task 4: join_ops: found 3.0, accepted 0 without children"),
        ("creation_ops", 1, np.inf, "task 1: creation_ops: found inf, accepted 0 or more"),
        ("creation_ops", 1, -2.0, "task 1: creation_ops: found -2.0"),
        ("arrival_ps", 4, -5, "task 4: arrival_ps: found -5, accepted 0 or more"),
        ("arrival_ps", 2, 5, "task 2: arrival_ps: found 5, accepted 0 with a parent"),
        ("task_class", 3, 1, "task 3: found class 1, accepted 0 to 0"),
        ("succ", 1, 9, "edge 1 of task 1: found task 9, accepted 0 to 4"),
        ("succ", 0, -1, "edge 0 of task 1: found task -1, accepted 0 to 4"),
        ("succ", 0, 1, "edge 0: from task 1 to itself"),
        ("child", 2, 5, "child entry 2 of task 0: found task 5, accepted 0 to 4"),
        ("child", 0, 0, "child entry 0: from task 0 to itself"),
        ("child", 2, 1, "task 1: found parents 0, 0, accepted at most one"),
        ("access_block", 3, 2, "access 3 of task 2: found block 2, accepted 0 to 1"),
        ("read_bytes", 2, -8, "access 2: read_bytes: found -8, accepted 0 to "),
        ("written_bytes", 2, -8, "access 2: written_bytes: found -8"),
        ("block_bytes", 1, -1, "block 1: block_bytes: found -1, accepted 0 to "),
        ("join_access", 0, 3, "task 0: join_access: found 3, accepted 0 to 2"),
        ("join_access", 1, 2, "task 1: join_access: found 1 accesses of the join, accepted none"),
        ("succ_ptr", 5, 1, "succ_ptr: found 0 to 1, accepted 0 to 2"),
        ("succ_ptr", 0, 1, "succ_ptr: found 1 to 2, accepted 0 to 2"),
        ("succ_ptr", 2, -1, "succ_ptr: descends at task 1: 0 to -1"),
        ("child_ptr", 1, 7, "child_ptr: descends at task 1: 7 to 3"),
        ("access_ptr", 5, 9, "access_ptr: found 0 to 9, accepted 0 to 4"),
    ],
)
def test_a_wrong_entry_is_named(name: str, index: object, value: float, message: str) -> None:
    with pytest.raises(GraphError) as caught:
        changed(name, index, value).validate()
    assert str(caught.value).startswith(message)


@pytest.mark.parametrize(
    ("name", "array", "message"),
    [
        ("ops", np.ones((2, 0)), "no tasks: a graph has at least one"),
        ("ops", np.ones((1, 5)), "ops: found shape (1, 5), accepted (2, 5)"),
        ("ops", np.ones((2, 5), np.float32), "ops: found type float32, accepted float64"),
        ("creation_ops", np.ones(4), "creation_ops: found shape (4,), accepted (5,)"),
        ("succ", np.array([2, 3]), "succ: found type int64, accepted int32"),
        ("read_bytes", np.ones(3, np.int64), "read_bytes: found shape (3,), accepted (4,)"),
        ("kinds", (), "kinds: found (), accepted one or more different names"),
        ("kinds", ("cpu", "cpu"), "kinds: found ('cpu', 'cpu'), accepted"),
    ],
)
def test_wrong_lengths_types_and_names_are_named(name: str, array: Any, message: str) -> None:
    with pytest.raises(GraphError) as caught:
        replace(sample(), **{name: array}).validate()
    assert str(caught.value).startswith(message)


def linked(
    n_tasks: int, children: list[tuple[int, int]], edges: list[tuple[int, int]]
) -> TaskGraph:
    return build_graph(
        np.ones(n_tasks),
        children=adjacency([p for p, _ in children], [c for _, c in children], n_tasks),
        successors=adjacency([u for u, _ in edges], [v for _, v in edges], n_tasks),
    )


@pytest.mark.parametrize(
    ("children", "edges", "message"),
    [
        ([], [(0, 1), (1, 2), (2, 0)], "task 1 starts after task 0, task 2 starts after task 1"),
        ([(0, 1)], [(0, 1)], "task 1 starts after task 0, task 0 ends after its child 1"),
        ([(0, 1), (1, 2)], [(2, 0)], "task 0 spawns task 1, task 1 spawns task 2, task 0 starts"),
        ([(0, 1), (1, 2)], [(0, 2)], "task 2 starts after task 0"),
        ([(0, 1), (1, 2), (2, 0)], [], "task 0 ends after its child 1"),
        # Each waits for a child of the other.
        ([(0, 1), (2, 3)], [(0, 3), (2, 1)], "task 3 starts after task 0"),
    ],
)
def test_deadlocks_through_edges_and_spawns(
    children: list[tuple[int, int]], edges: list[tuple[int, int]], message: str
) -> None:
    with pytest.raises(GraphError, match=r"^cycle: ") as caught:
        linked(4, children, edges).validate()
    assert message in str(caught.value)


def test_edges_between_siblings_and_subtrees_are_fine() -> None:
    children = [(0, 1), (0, 2), (1, 3), (2, 4)]
    linked(6, children, [(2, 1), (4, 3), (3, 5), (0, 5)]).validate()


def runs_to_the_end(
    n_tasks: int, children: list[tuple[int, int]], edges: list[tuple[int, int]]
) -> bool:
    """Whether tasks that start and end as soon as they may all end."""
    started, ended = set[int](), set[int]()
    while True:
        may_start = {
            t
            for t in set(range(n_tasks)) - started
            if all(p in started for p, c in children if c == t)
            and all(u in ended for u, v in edges if v == t)
        }
        may_end = {t for t in started - ended if all(c in ended for p, c in children if p == t)}
        if not may_start and not may_end:
            return len(ended) == n_tasks
        started |= may_start
        ended |= may_end


@settings(max_examples=300)
@given(
    st.lists(st.integers(-1, 6), min_size=7, max_size=7),
    st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), max_size=5),
)
def test_a_graph_is_refused_exactly_when_it_cannot_end(
    parents: list[int], edges: list[tuple[int, int]]
) -> None:
    children = [(p, c) for c, p in enumerate(parents) if p not in (-1, c)]
    proper = [(u, v) for u, v in edges if u != v]
    graph = linked(7, sorted(children), proper)
    if runs_to_the_end(7, children, proper):
        graph.validate()
    else:
        with pytest.raises(GraphError, match=r"^cycle: "):
            graph.validate()


def test_long_cycles_are_abridged() -> None:
    n_tasks = 1000
    edges = [(t, (t + 1) % n_tasks) for t in range(n_tasks)]
    with pytest.raises(GraphError, match=r"and 992 more$"):
        linked(n_tasks, [], edges).validate()


def test_large_graphs_are_looked_at_to_their_end() -> None:
    n = 3 * 2**15 + 5
    tasks = np.arange(n - 1)
    build_graph(np.ones(n), successors=adjacency(tasks, tasks + 1, n)).validate()
    last = build_graph(np.ones(n), successors=adjacency([*tasks, n - 1], [*(tasks + 1), n - 1], n))
    with pytest.raises(GraphError, match=f"edge {n - 1}: from task {n - 1} to itself"):
        last.validate()
    back = build_graph(np.ones(n), successors=adjacency([*tasks, n - 1], [*(tasks + 1), n - 2], n))
    with pytest.raises(GraphError, match=f"cycle: task {n - 1} starts after task {n - 2}"):
        back.validate()


def test_workloads_check_both_graphs_and_their_blocks() -> None:
    graph = sample()
    Workload("w", graph, init=graph).validate()
    with pytest.raises(GraphError, match="iterations: found 0, accepted 1 or more"):
        Workload("w", graph, iterations=0).validate()
    with pytest.raises(GraphError, match="different blocks"):
        Workload("w", graph, init=changed("block_bytes", 0, 50)).validate()
