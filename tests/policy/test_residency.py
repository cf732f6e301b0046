"""Admission to fast memory: room, counters, what comes and goes."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simsched.files.errors import ModelError
from simsched.policy.parts.residency import IN, LEAVING, OUT, Residency, blocks_of_tasks
from simsched.workload.builder import accesses, build_graph


def test_a_task_is_admitted_with_all_its_blocks_or_not_at_all() -> None:
    # Room for two of three blocks of 100 bytes: task 0 has two, task 1 one of these and another.
    residency = Residency([[0, 1], [1, 2]], [100] * 3, {5: 200})
    assert residency.admit(0) == [0, 1]
    assert residency.room_bytes == {5: 0}
    assert residency.admit(1) is None
    assert residency.users == [1, 1, 0]
    for block in (0, 1):
        residency.arrive(block)
    assert residency.release(0) == [0, 1]
    assert residency.leave(0)
    residency.give_back(0)
    # Block 1 is still there: only block 2 must be fetched, into the room of block 0.
    assert residency.admit(1) == [2]
    assert not residency.leave(1)  # somebody needs it again
    assert residency.where[:2] == [OUT, IN]


def test_nobody_is_admitted_to_a_block_that_is_being_evicted() -> None:
    residency = Residency([[0]], [100], {5: 300})
    residency.admit(0)
    residency.arrive(0)
    residency.release(0)
    assert residency.leave(0)
    assert not residency.leave(0)
    assert residency.where == [LEAVING]
    assert residency.admit(0) is None
    residency.give_back(0)
    assert residency.admit(0) == [0]


def test_each_block_goes_to_the_emptiest_node() -> None:
    residency = Residency([[0, 1, 2], [3]], [60, 30, 30, 40], {5: 100, 6: 90})
    assert residency.admit(0) == [0, 1, 2]
    assert residency.node == {0: 5, 1: 6, 2: 6}
    assert residency.room_bytes == {5: 40, 6: 30}
    assert residency.admit(1) == [3]


def test_a_task_that_does_not_fit_is_refused() -> None:
    with pytest.raises(ModelError, match="found a task with 300 bytes of blocks, accepted at most"):
        Residency([[0, 1]], [150, 150], {5: 299})
    with pytest.raises(ModelError, match="accepted at most 400 in 2 nodes"):
        Residency([[0]], [300], {5: 200, 6: 200})  # no node has room for the block


def test_blocks_of_tasks_are_named_once_in_order_of_access() -> None:
    accessed = accesses([0, 0, 0, 1, 1], [2, 0, 2, 1, 0], 1, 0, 2)
    graph = build_graph(np.ones(2), accessed=accessed, block_bytes=[9, 1, 9])
    assert blocks_of_tasks(graph, graph.block_bytes > 1) == [[2, 0], [0]]


@settings(max_examples=100)
@given(st.data())
def test_room_and_counters_are_those_of_the_admitted_tasks(data: st.DataObject) -> None:
    n_blocks, n_tasks = data.draw(st.integers(1, 6)), data.draw(st.integers(1, 14))
    sizes = data.draw(st.lists(st.integers(1, 60), min_size=n_blocks, max_size=n_blocks))
    any_blocks = st.lists(st.integers(0, n_blocks - 1), unique=True, max_size=3)
    needed = data.draw(st.lists(any_blocks, min_size=n_tasks, max_size=n_tasks))
    residency = Residency(needed, sizes, {5: 180, 6: 200})
    running: list[int] = []
    waiting = list(range(n_tasks))
    while waiting or running:
        admitted = residency.admit(waiting[0]) if waiting else None
        if admitted is not None:
            running.append(waiting.pop(0))
            for block in admitted:
                residency.arrive(block)
        else:
            assert running  # otherwise nothing would ever be admitted
            ended = running.pop(data.draw(st.integers(0, len(running) - 1)))
            for block in residency.release(ended):
                if residency.leave(block):
                    residency.give_back(block)
        users = [sum(block in needed[task] for task in running) for block in range(n_blocks)]
        assert residency.users == users
        inside = {block for block in range(n_blocks) if users[block]}
        assert {block for block, where in enumerate(residency.where) if where == IN} == inside
        for node, room in ((5, 180), (6, 200)):
            held = sum(sizes[block] for block in inside if residency.node[block] == node)
            assert residency.room_bytes[node] == room - held >= 0
