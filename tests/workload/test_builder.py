"""Arrays from edge and access lists: order, totals, defaults."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simsched.files.errors import GraphError
from simsched.workload.builder import (
    accesses,
    adjacency,
    build_graph,
    first_touch_loop,
    merge_accesses,
    overlaps,
)

EDGES = st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), max_size=40)


@given(EDGES)
def test_adjacency_keeps_the_order_of_each_source(edges: list[tuple[int, int]]) -> None:
    found = adjacency([u for u, _ in edges], [v for _, v in edges], 7)
    assert found.ptr.dtype == np.int64
    assert found.target.dtype == np.int32
    for task in range(7):
        listed = found.target[found.ptr[task] : found.ptr[task + 1]].tolist()
        assert listed == [v for u, v in edges if u == task]
    assert found.ptr[-1] == len(edges)


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 9), st.booleans()), max_size=30))
def test_accesses_of_the_body_precede_those_of_the_join(
    listed: list[tuple[int, int, bool]],
) -> None:
    columns = [[entry[i] for entry in listed] for i in range(3)]
    read = np.arange(len(listed)) * 10
    found = accesses(columns[0], columns[1], read, 7, 5, in_join=columns[2])
    for task in range(5):
        body = [i for i, (t, _, joined) in enumerate(listed) if t == task and not joined]
        join = [i for i, (t, _, joined) in enumerate(listed) if t == task and joined]
        begin, border, end = found.ptr[task], found.join[task], found.ptr[task + 1]
        assert found.read_bytes[begin:border].tolist() == [10 * i for i in body]
        assert found.read_bytes[border:end].tolist() == [10 * i for i in join]
        assert found.block[begin:end].tolist() == [listed[i][1] for i in body + join]
    assert found.written_bytes.tolist() == [7] * len(listed)


@given(
    st.lists(
        st.tuples(st.integers(0, 3), st.integers(0, 3), st.integers(0, 99), st.integers(0, 99)),
        max_size=40,
    )
)
def test_merged_accesses_keep_every_byte(listed: list[tuple[int, int, int, int]]) -> None:
    columns = np.array(listed, dtype=np.int64).reshape(-1, 4).T
    found = merge_accesses(columns[0], columns[1], columns[2], columns[3], 4)
    for task in range(4):
        part = slice(found.ptr[task], found.ptr[task + 1])
        blocks = found.block[part].tolist()
        assert blocks == sorted({b for t, b, _, _ in listed if t == task})
        for block, read, written in zip(
            blocks, found.read_bytes[part], found.written_bytes[part], strict=True
        ):
            assert read == sum(r for t, b, r, _ in listed if (t, b) == (task, block))
            assert written == sum(w for t, b, _, w in listed if (t, b) == (task, block))


@given(
    st.lists(st.integers(1, 5), min_size=1, max_size=8),
    st.lists(st.tuples(st.integers(0, 40), st.integers(0, 40)), max_size=10),
)
def test_overlaps_are_the_items_counted_one_by_one(
    parts: list[int], ranges: list[tuple[int, int]]
) -> None:
    bounds = np.append(0, np.cumsum(parts))
    n_items = int(bounds[-1])
    clipped = [(min(a, n_items), min(b, n_items)) for a, b in ranges]
    first, last = (np.array([r[i] for r in clipped], dtype=np.int64) for i in range(2))
    part_of = np.repeat(np.arange(len(parts)), parts)
    expected: dict[tuple[int, int], int] = {}
    for owner, (a, b) in enumerate(clipped):
        for item in range(a, b):
            key = (owner, int(part_of[item]))
            expected[key] = expected.get(key, 0) + 1
    found = overlaps(first, last, bounds)
    keys = list(zip(found.owner.tolist(), found.part.tolist(), strict=True))
    assert keys == sorted(expected)
    assert dict(zip(keys, found.items.tolist(), strict=True)) == expected
    for (owner, part), item in zip(keys, found.first.tolist(), strict=True):
        a, b = clipped[owner]
        assert item == next(i for i in range(a, b) if part_of[i] == part)


def test_what_is_not_given_is_empty_or_zero() -> None:
    graph = build_graph([1.0, 2.0, 3.0])
    graph.validate()
    assert graph.kinds == ("cpu",)
    assert graph.ops.shape == (1, 3)
    assert graph.n_edges == graph.n_blocks == graph.n_accesses == len(graph.child) == 0
    assert not graph.join_ops.any()
    assert graph.parent.tolist() == [-1, -1, -1]


def test_costs_of_several_kinds_are_rows() -> None:
    graph = build_graph([[1.0, 2.0], [np.inf, 1.0]], kinds=("cpu", "gpu"))
    graph.validate()
    assert graph.n_tasks == 2


def test_a_loop_of_first_touches_writes_every_byte_once() -> None:
    sizes = np.array([10, 0, 30])
    graph = first_touch_loop(sizes, 5.0)
    graph.validate()
    assert graph.access_block.tolist() == [0, 1, 2]
    assert graph.written_bytes.tolist() == sizes.tolist()
    assert graph.ops.tolist() == [[5.0, 5.0, 5.0]]


def test_a_source_that_does_not_exist_is_refused() -> None:
    with pytest.raises(GraphError, match="edge 1: found task 3, accepted 0 to 2"):
        adjacency([0, 3], [1, 1], 3)
    with pytest.raises(GraphError, match="access 0: found task -1, accepted 0 to 2"):
        accesses([-1], [0], [0], [0], 3)
    with pytest.raises(GraphError, match="found 2 sources and 1 targets"):
        adjacency([0, 1], [1], 3)


def test_graphs_are_read_only() -> None:
    graph = build_graph(np.ones(3))
    with pytest.raises(ValueError, match="read-only"):
        graph.ops[0, 1] = 2.0


def test_first_touch_loops_are_for_any_kinds_of_processors() -> None:
    sizes = np.array([64, 128, 64], np.int64)
    graph = first_touch_loop(sizes, [[5.0], [np.inf]], kinds=("cpu", "gpu"))
    assert graph.kinds == ("cpu", "gpu")
    assert graph.ops.tolist() == [[5.0] * 3, [math.inf] * 3]
    assert first_touch_loop(sizes, [1.0, 2.0, 3.0]).ops.tolist() == [[1.0, 2.0, 3.0]]
    same = first_touch_loop(sizes, 2.0, kinds=("big", "little"))
    assert same.ops.tolist() == [[2.0] * 3] * 2
