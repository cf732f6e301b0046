"""Planned stays in fast memory: admission in turn, room, counters."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simsched.files.errors import ModelError
from simsched.policy.parts.residency import Residency, plan_residency
from simsched.workload.builder import accesses, adjacency, build_graph
from simsched.workload.graph import TaskGraph


def program(
    blocks_of: list[list[int]], sizes: list[int], edges: list[tuple[int, int]]
) -> TaskGraph:
    """Return tasks that read the given blocks."""
    task = [t for t, blocks in enumerate(blocks_of) for _ in blocks]
    block = [b for blocks in blocks_of for b in blocks]
    n = len(blocks_of)
    source, target = [a for a, _ in edges], [b for _, b in edges]
    return build_graph(
        np.ones(n),
        successors=adjacency(source, target, n),
        accessed=accesses(task, block, 1, 0, n),
        block_bytes=sizes,
    )


def planned(graph: TaskGraph, owner: list[int], room: int) -> Residency:
    """Return the plan with all blocks moved."""
    return plan_residency(graph, np.ones(graph.n_blocks, bool), np.array(owner, np.int32), room)


def test_two_elements_take_turns_and_room_is_passed_on() -> None:
    # Tasks 0, 1, 2 on element 0 and 3, 4 on element 1, a block each, room for three.
    graph = program([[0], [1], [2], [3], [4]], [100] * 5, [])
    plan = planned(graph, [0, 0, 0, 1, 1], 300)
    assert plan.order == [0, 3, 1, 4, 2]
    assert [stay.block for stay in plan.stays] == [0, 3, 1, 4, 2]
    assert [stay.after for stay in plan.stays] == [[], [], [], [0], [1]]
    assert [stay.buffer for stay in plan.stays] == [0, 1, 2, 0, 1]
    assert plan.buffer_bytes.tolist() == [100] * 3


def test_a_block_that_somebody_needs_stays() -> None:
    # All three tasks share block 0; the blocks of their own come and go.
    graph = program([[0, 1], [0, 2], [0, 3]], [100] * 4, [])
    plan = planned(graph, [0, 0, 0], 300)
    assert [(stay.block, stay.users) for stay in plan.stays] == [
        (0, [0, 1, 2]),
        (1, [0]),
        (2, [1]),
        (3, [2]),
    ]
    assert plan.stays[3].after == [1]


def test_a_block_comes_back_only_after_it_has_been_evicted() -> None:
    graph = program([[0], [1], [0]], [100, 100], [(1, 2)])
    plan = planned(graph, [0, 0, 0], 300)
    assert [stay.block for stay in plan.stays] == [0, 1, 0]
    assert plan.stays[2].after == [0]


def test_large_tasks_are_not_kept_out_by_small_ones() -> None:
    graph = program([[0], [1], [2], [3], [4]], [100, 10, 10, 10, 100], [])
    plan = planned(graph, [0, 1, 1, 1, 0], 200)
    assert plan.order == [0, 1, 4, 2, 3]
    assert plan.stays[2].after == [0]


def test_a_task_that_does_not_fit_is_refused() -> None:
    with pytest.raises(ModelError, match="found a task with 300 bytes of blocks, accepted at most"):
        planned(program([[0, 1]], [150, 150], []), [0], 299)


@settings(max_examples=100, deadline=None)
@given(st.data())
def test_room_is_never_exceeded_and_every_task_has_its_blocks(data: st.DataObject) -> None:
    n_blocks, n_tasks = data.draw(st.integers(1, 6)), data.draw(st.integers(1, 14))
    sizes = data.draw(st.lists(st.integers(1, 60), min_size=n_blocks, max_size=n_blocks))
    any_blocks = st.lists(st.integers(0, n_blocks - 1), unique=True, max_size=3)
    blocks_of = data.draw(st.lists(any_blocks, min_size=n_tasks, max_size=n_tasks))
    pairs = [(a, b) for b in range(n_tasks) for a in range(b)]
    edges = data.draw(st.lists(st.sampled_from(pairs), unique=True, max_size=8)) if pairs else []
    owner = data.draw(st.lists(st.integers(0, 2), min_size=n_tasks, max_size=n_tasks))
    room = data.draw(st.integers(180, 400))
    plan = planned(program(blocks_of, sizes, edges), owner, room)
    assert sorted(plan.order) == list(range(n_tasks))
    for task, blocks in enumerate(blocks_of):
        assert [plan.stays[stay].block for stay in plan.stays_of[task]] == blocks
        assert all(task in plan.stays[stay].users for stay in plan.stays_of[task])
    assert plan.buffer_bytes.sum() <= room
    # Whatever the order of ends, stays that do not wait for each other fit together: carry the
    # stays out as late as their room allows and as early as possible.
    over: set[int] = set()
    present: dict[int, int] = {}
    for number, stay in enumerate(plan.stays):
        for other in stay.after:
            over.add(other)
            present.pop(other, None)
        assert all(other < number for other in stay.after)
        present[number] = sizes[stay.block]
        assert len({plan.stays[s].block for s in present}) == len(present)
        assert sum(present.values()) <= room
