"""Edges from accesses; expectations by hand and from the rule about every pair of tasks."""

from __future__ import annotations

import itertools

import networkx as nx
import numpy as np
import pytest

from simsched.files.errors import GraphError
from simsched.workload.dependences import MODES
from simsched.workload.graph import TaskGraph

SIZES = {"a": 100, "b": 20}


def edges(graph: TaskGraph) -> set[tuple[int, int]]:
    source = np.repeat(np.arange(graph.n_tasks), np.diff(graph.succ_ptr))
    return set(zip(source.tolist(), graph.succ.tolist(), strict=True))


def made(*uses: list[tuple[str, str]]) -> TaskGraph:
    return TaskGraph.from_accesses(np.ones(len(uses)), uses, SIZES)


def test_reads_and_writes_by_hand() -> None:
    graph = made(
        [("a", "write")],
        [("a", "read"), ("b", "write")],
        [("a", "read")],
        [("b", "read"), ("a", "update")],  # after both readers of a, and the writer of b
        [("a", "write")],
    )
    assert edges(graph) == {(0, 1), (0, 2), (1, 3), (2, 3), (3, 4)}
    assert graph.block_bytes.tolist() == [100, 20]
    assert graph.access_block.tolist() == [0, 0, 1, 0, 1, 0, 0]
    assert graph.read_bytes.tolist() == [0, 100, 0, 100, 20, 100, 0]
    assert graph.written_bytes.tolist() == [100, 0, 20, 0, 0, 100, 100]


def test_tasks_that_commute_by_hand() -> None:
    commute = [("a", "commute")]
    graph = made([("a", "write")], commute, commute, [("a", "read")], commute)
    assert edges(graph) == {(0, 1), (0, 2), (1, 3), (2, 3), (3, 4)}
    assert graph.read_bytes.tolist() == [0, 100, 100, 100, 100]
    assert graph.written_bytes.tolist() == [100, 100, 100, 0, 100]


@pytest.mark.parametrize("seed", range(30))
def test_pairs_are_in_order_if_they_disturb_each_other(seed: int) -> None:
    rng = np.random.default_rng(seed)
    names, modes = list("abc"), list(MODES)
    uses = []
    for _ in range(25):
        used = [name for name in names if rng.random() < 0.5]
        uses.append([(name, modes[int(rng.integers(4))]) for name in used])
    graph = TaskGraph.from_accesses(np.ones(25), uses, dict.fromkeys(names, 8))
    every = nx.DiGraph(edges(graph))
    every.add_nodes_from(range(25))
    after = {task: nx.descendants(every, task) for task in every}
    disturbing = set()
    for first, second in itertools.combinations(range(25), 2):
        for name in names:
            between = [dict(used).get(name) for used in uses[first : second + 1]]
            ends = between[0], between[-1]
            alike = {mode for mode in between if mode is not None}
            # Readers, and tasks that commute, in a row of nothing else.
            free = ends[0] == ends[1] == "read" or (ends[0] == "commute" and alike == {"commute"})
            if None not in ends and not free:
                disturbing.add((first, second))
    assert all(second in after[first] for first, second in disturbing)
    assert edges(graph) <= disturbing


@pytest.mark.parametrize(
    ("uses", "message"),
    [
        ([[("aa", "read")]], "task 0: unknown block 'aa'; did you mean 'a'"),
        ([[("a", "reed")]], "task 0: block 'a': unknown use 'reed'; did you mean 'read'"),
        ([[("a", "read"), ("a", "write")]], "task 0: block 'a': found twice, accepted once"),
        ([[], []], "uses: found 2 tasks, accepted 1, as many as ops"),
    ],
)
def test_bad_input(uses: list[list[tuple[str, str]]], message: str) -> None:
    with pytest.raises(GraphError, match=message):
        TaskGraph.from_accesses([1.0], uses, SIZES)


def test_other_arrays_are_passed_on() -> None:
    graph = TaskGraph.from_accesses(
        [[1.0, 2.0], [3.0, 4.0]], [[], []], {}, kinds=("cpu", "gpu"), priority=[5, 6]
    )
    assert graph.kinds == ("cpu", "gpu")
    assert graph.priority is not None
    assert graph.priority.tolist() == [5, 6]
    assert graph.succ.tolist() == []


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([1.0], [[("a", "read")]], {"a": "big"}), "block_bytes: 'a': found 'big', accepted whole"),
        (([1.0], [[("a", "read")]], {"a": 4.5}), "block_bytes: 'a': found 4.5"),
        (([1.0], [[("a", "read")]], {"a": 2**70}), "block_bytes: 'a': found 1180"),
        (([1.0], [[("a", "read")]], [4]), "block_bytes: found .4., accepted a mapping"),
        (([1.0], [[("a",)]], SIZES), "task 0: found .*accepted pairs of a block and a use"),
        (([1.0], ["ab"], SIZES), "task 0: found 'ab', accepted pairs"),
        (([1.0], [None], SIZES), "task 0: found nothing, accepted pairs"),
        (([1.0], [[(["a"], "read")]], SIZES), "task 0: found .*accepted pairs"),
        (([1.0], 5, SIZES), "uses: found 5, accepted a list for each task"),
        (([1.0], np.array([1]), SIZES), "uses: found .1., accepted a list"),
        ((["x"], [[]], SIZES), "found arrays of other values than build takes: .*'x'"),
    ],
)
def test_input_of_another_form_is_one_message(arguments, message):
    """These were ValueErrors, TypeErrors and OverflowErrors of Python and NumPy."""
    with pytest.raises(GraphError, match=message):
        TaskGraph.from_accesses(*arguments)
