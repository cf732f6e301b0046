"""Merge sort: trees, bytes of every level and operations."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simsched.files.errors import ConfigurationError
from simsched.workload import generate_workload
from simsched.workload.presets import make_workload


def test_the_published_array_is_moved_once_by_leaves_and_once_by_every_level_of_joins() -> None:
    workload = make_workload("mergesort_1024x1024")
    graph = workload.graph
    assert (graph.n_tasks, len(graph.leaves), graph.n_blocks) == (2047, 1024, 1024)
    array = 4 * 2**20
    assert graph.block_bytes.sum() == 2 * array
    assert graph.written_bytes.sum() == (1 + 10) * array
    assert graph.read_bytes.sum() == (1 + 2 * 10) * array
    assert graph.ops.sum() + graph.join_ops.sum() == 4.0 * 2**20 * 20


def test_without_allocating_stores_and_without_merging() -> None:
    parameters = {"items": 4096, "leaf_items": 128}
    array = 4 * 4096
    graph = generate_workload("mergesort", {**parameters, "write_allocate": False}).graph
    assert graph.read_bytes.sum() == graph.written_bytes.sum() == 6 * array
    graph = generate_workload("mergesort", {**parameters, "merge": "none"}).graph
    assert graph.read_bytes.sum() == graph.written_bytes.sum() == array
    assert not graph.join_ops.any()
    assert (graph.join_access == graph.access_ptr[1:]).all()


@settings(max_examples=60)
@given(st.integers(1, 500), st.integers(3, 40), st.integers(3, 40), st.booleans())
def test_every_task_moves_its_own_items(items: int, leaf: int, block: int, irregular: bool) -> None:
    parameters = {"items": items, "leaf_items": leaf, "block_items": block, "element_bytes": 2}
    workload = generate_workload("mergesort", {**parameters, "irregular": irregular})
    workload.validate()
    graph = workload.graph
    task = np.repeat(np.arange(graph.n_tasks), np.diff(graph.access_ptr))
    written = np.bincount(task, graph.written_bytes, graph.n_tasks)
    read = np.bincount(task, graph.read_bytes, graph.n_tasks)
    is_leaf = np.diff(graph.child_ptr) == 0
    assert written[0] == 2 * items
    assert written[is_leaf].sum() == 2 * items
    for inner in np.flatnonzero(~is_leaf):
        children = graph.child[graph.child_ptr[inner] : graph.child_ptr[inner + 1]]
        assert written[inner] == written[children].sum()
    assert (read == np.where(is_leaf, written, 2 * written)).all()
    in_join = np.arange(graph.n_accesses) >= graph.join_access[task]
    assert (in_join == ~is_leaf[task]).all()
    assert workload.init is not None
    assert workload.init.written_bytes.sum() == graph.block_bytes.sum() == 4 * items


def test_comparisons_of_four_parts_are_two_levels_of_halves() -> None:
    graph = generate_workload("mergesort", {"items": 256, "leaf_items": 8, "irregular": True}).graph
    degree = np.diff(graph.child_ptr)
    assert set(degree.tolist()) == {0, 2, 4}
    assert graph.ops.sum() + graph.join_ops.sum() == pytest.approx(4.0 * 256 * 8)


def test_irregular_leaves_of_2_items_are_refused() -> None:
    with pytest.raises(ConfigurationError, match="mergesort: leaf_items: found 2, accepted 3"):
        generate_workload("mergesort", {"irregular": True, "leaf_items": 2})
