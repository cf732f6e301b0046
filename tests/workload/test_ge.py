"""Gaussian elimination: bytes and operations against an elimination done step by step."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simsched.engine.run import simulate
from simsched.machine.synthetic import make_machine
from simsched.policy.contract.registry import make_policy
from simsched.workload import generate_workload


@settings(max_examples=50, deadline=None)
@given(
    st.integers(2, 60),
    st.integers(4, 20),
    st.integers(3, 20),
    st.booleans(),
    st.one_of(st.none(), st.integers(1, 70)),
)
def test_a_mean_step_is_the_first_steps_divided_by_their_number(
    size: int, cutoff: int, block_rows: int, irregular: bool, first: int | None
) -> None:
    parameters = {"size": size, "cutoff_rows": cutoff, "block_rows": block_rows, "steps": first}
    workload = generate_workload("ge", {**parameters, "irregular": irregular})
    workload.validate()
    graph = workload.graph
    heights = graph.block_bytes[:-1] // (8 * size)
    assert (heights.sum(), graph.block_bytes[-1]) == (size, 8 * size)
    block_of = np.repeat(np.arange(len(heights)), heights)
    spans = leaf_spans(size, cutoff, irregular=irregular)
    steps, rows_bytes = min(first or size - 1, size - 1), np.zeros(len(heights))
    pivot_reads, elements = np.zeros(len(spans)), 0
    for pivot in range(steps):
        width = size - pivot
        elements += width * (size - pivot)  # the rows below and the pivot row itself
        for row in range(pivot + 1, size):
            rows_bytes[block_of[row]] += 8 * width
        for leaf, (_, last) in enumerate(spans):
            pivot_reads[leaf] += 8 * width if last > pivot + 1 else 0
    is_pivot = graph.access_block == len(heights)
    own = np.bincount(graph.access_block, graph.written_bytes, len(heights) + 1)[:-1]
    pieces = np.bincount(graph.access_block, minlength=len(heights) + 1)[:-1]
    assert (np.abs(own - rows_bytes / steps) <= pieces).all()
    if first is None:
        assert own.sum() == 8 * size * (size + 1) // 3
    task = np.repeat(np.arange(graph.n_tasks), np.diff(graph.access_ptr))
    read = np.bincount(task[is_pivot], graph.read_bytes[is_pivot], graph.n_tasks)
    read[0] -= graph.written_bytes[is_pivot].sum()
    assert (np.abs(read[graph.leaves] - pivot_reads / steps) <= 1).all()
    assert graph.ops.sum() == pytest.approx(2 * elements / steps)


def leaf_spans(rows: int, cutoff: int, *, irregular: bool) -> list[tuple[int, int]]:
    """Return the rows of every leaf of the recursive program."""
    spans: list[tuple[int, int]] = []

    def first(s: int, e: int) -> None:
        if e - s < cutoff:
            spans.append((s, e))
        else:
            middle = (s + e) // 2
            (second if irregular else first)(s, middle)
            first(middle, e)

    def second(s: int, e: int) -> None:
        if e - s < cutoff:
            spans.append((s, e))
        else:
            q = (e - s) // 4
            first(s, s + q)
            first(s + q, s + 2 * q)
            second(s + 2 * q, s + 3 * q)
            first(s + 3 * q, e)

    first(0, rows)
    return spans


@pytest.mark.parametrize(
    ("size", "megabytes", "leaves"), [(1024, 8.39, 128), (2048, 33.6, 256), (8192, 537, 1024)]
)
def test_published_sizes(size: int, megabytes: float, leaves: int) -> None:
    workload = generate_workload("ge", {"size": size})
    graph = workload.graph
    assert graph.block_bytes[:-1].sum() / 1e6 == pytest.approx(megabytes, rel=2e-3)
    assert (len(graph.leaves), graph.n_blocks) == (leaves, leaves + 1)
    assert workload.init is not None
    assert workload.init.written_bytes.sum() == graph.block_bytes.sum()
    # A third of the matrix per step.
    assert graph.written_bytes.sum() / graph.block_bytes.sum() == pytest.approx(1 / 3, rel=1e-2)


def test_the_irregular_tree_of_1024_rows() -> None:
    graph = generate_workload("ge", {"irregular": True, "cutoff_rows": 8}).graph
    assert (graph.n_tasks, len(graph.leaves)) == (513, 330)


def test_rows_are_the_hotter_the_later_they_become_the_pivot_row() -> None:
    graph = generate_workload("ge", {"size": 256}).graph
    written = np.bincount(graph.access_block, graph.written_bytes)[:-1]
    assert (np.diff(written) > 0).all()


def test_only_the_root_writes_the_pivot_row() -> None:
    graph = generate_workload("ge", {"size": 64}).graph
    task = np.repeat(np.arange(graph.n_tasks), np.diff(graph.access_ptr))
    is_pivot = graph.access_block == graph.n_blocks - 1
    assert task[is_pivot & (graph.written_bytes > 0)].tolist() == [0]
    assert task[is_pivot].tolist() == [0, 0, *graph.leaves]  # the root reads, then writes
    assert graph.class_names[graph.task_class[0]] == "pivot"


@pytest.mark.parametrize("steps", [1, 8, 63])
def test_what_is_updated_in_place_is_fetched_once(steps: int) -> None:
    # The elimination itself, element by element; an iteration is the mean of its first steps.
    touched = sum(1 for k in range(steps) for row in range(k + 1, 64) for column in range(k, 64))
    pivot = sum(64 - k for k in range(steps))
    workload = replace(generate_workload("ge", {"size": 64, "steps": steps}), init=None)
    machine = make_machine(domains=1, cores_per_domain=1, caches=[("L1", 1 << 20, 100e9, 0, 1)])
    summary = simulate(machine, workload, make_policy("cilk_a")).summary
    fetched = 8 * (touched + pivot) / steps
    leaves = len(workload.graph.leaves)
    assert int(summary.cache_missing_bytes.sum()) == pytest.approx(fetched, abs=leaves + 1)


@pytest.mark.parametrize(
    ("name", "parameters", "data_bytes"),
    [
        # Leaves of merge sort use one of two arrays, combining ones of a transform half of a block.
        (
            "mergesort",
            {"items": 1024, "leaf_items": 128, "element_bytes": 4, "merge": "none"},
            4096,
        ),
        ("fft", {"points": 64, "leaf_points": 32, "point_bytes": 16}, 1024),
    ],
)
def test_others_that_update_in_place_fetch_their_data_once(
    name: str, parameters: dict[str, object], data_bytes: int
) -> None:
    workload = replace(generate_workload(name, parameters), init=None)
    machine = make_machine(domains=1, cores_per_domain=1, caches=[("L1", 1 << 20, 100e9, 0, 1)])
    summary = simulate(machine, workload, make_policy("cilk_a")).summary
    assert int(summary.cache_missing_bytes.sum()) == data_bytes
