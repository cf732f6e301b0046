"""Tasks dealt to whoever is free first, by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from simsched.analysis.dealing import Dealt, length_ps
from simsched.workload.builder import adjacency, build_graph
from simsched.workload.graph import TaskGraph


def dealt(graph: TaskGraph, body: list[float], **others: Any) -> Dealt:
    nothing = np.zeros(graph.n_tasks)
    values = {
        "join_ps": nothing,
        "created_ps": nothing,
        "arrival_ps": nothing,
        "rank": None,
        "group": nothing.astype(np.int64),
        "speed": nothing + 1.0,
    }
    given = {name: None if each is None else np.array(each) for name, each in others.items()}
    return Dealt(graph, np.array(body), **{**values, **given})


def length(of: Dealt, workers: int = 2, speeds: tuple[float, ...] = (1.0,) * 4) -> float:
    return length_ps(of, [[*range(workers)]], np.array(speeds))


def test_who_is_free_first_takes_the_next_task() -> None:
    graph = build_graph([1.0] * 4)
    assert length(dealt(graph, [4.0, 1.0, 1.0, 3.0])) == 5.0  # 4 beside 1 + 1 + 3
    assert length(dealt(graph, [4.0, 1.0, 1.0, 3.0]), workers=1) == 9.0
    # The last one first: 3 + 1 beside 1 + 4.
    assert length(dealt(graph, [4.0, 1.0, 1.0, 3.0], rank=[3, 2, 1, 0])) == 6.0


def test_tasks_wait_for_predecessors_and_arrivals() -> None:
    graph = build_graph([1.0] * 3, successors=adjacency([0], [1], 3))
    assert length(dealt(graph, [2.0, 3.0, 1.0])) == 5.0
    assert length(dealt(graph, [2.0, 3.0, 1.0], arrival_ps=[0.0, 0.0, 7.0])) == 8.0


def test_parents_create_their_children_and_wait_for_them() -> None:
    graph = build_graph([1.0] * 3, children=adjacency([0, 0], [1, 2], 3))
    # The children begin at 1 and at 2, when their parent leaves its worker; then it goes on.
    tree = dealt(graph, [2.0, 5.0, 3.0], created_ps=[0.0, 1.0, 2.0], join_ps=[4.0, 0.0, 0.0])
    assert length(tree) == 10.0
    assert length(tree, workers=1) == 14.0


def test_slower_cores_take_longer() -> None:
    graph = build_graph([1.0] * 2)
    tasks = dealt(graph, [4.0, 4.0], speed=[1.0, 1.0])
    assert length(tasks, speeds=(1.0, 0.5)) == pytest.approx(8.0)


def test_groups_take_their_own_tasks_only() -> None:
    tasks = dealt(build_graph([1.0] * 3), [1.0, 1.0, 5.0], group=[0, 0, 1])
    assert length_ps(tasks, [[0], [1]], np.ones(2)) == 5.0
    tasks = dealt(build_graph([1.0] * 3), [1.0, 1.0, 5.0], group=[0, 1, 1])
    assert length_ps(tasks, [[0], [1]], np.ones(2)) == 6.0
