"""Gaussian elimination: bytes and operations against an elimination done step by step."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simsched.engine.run import BACKENDS, simulate
from simsched.files.errors import PolicyError
from simsched.machine.synthetic import make_machine
from simsched.policy.algorithms.work_stealing.random_stealing import RandomStealing
from simsched.policy.contract.base import PlanView
from simsched.policy.contract.registry import make_policy
from simsched.workload import generate_workload
from simsched.workload.graph import Workload

LOOPS = ("openmp_static", "manual_static", "offline_locality", "numalb")


@settings(max_examples=50)
@given(
    st.integers(2, 60),
    st.integers(4, 20),
    st.integers(3, 20),
    st.booleans(),
    st.one_of(st.none(), st.integers(1, 70)),
    st.integers(1, 70),
)
def test_an_iteration_is_a_step_of_the_elimination(
    size: int, cutoff: int, block_rows: int, irregular: bool, first: int | None, iterations: int
) -> None:
    parameters = {"size": size, "cutoff_rows": cutoff, "block_rows": block_rows, "steps": first}
    workload = generate_workload(
        "ge", {**parameters, "irregular": irregular, "iterations": iterations}
    )
    workload.validate()
    graph = workload.graph
    heights = graph.block_bytes[:-1] // (8 * size)
    assert (heights.sum(), graph.block_bytes[-1]) == (size, 8 * size)
    block_of = np.repeat(np.arange(len(heights)), heights)
    spans = leaf_spans(size, cutoff, irregular=irregular)
    steps, sums = min(first or size - 1, size - 1), np.zeros(3)
    for number in range(1, iterations + 1):
        pivot = (number - 1) * steps // iterations
        width, rows_bytes = size - pivot, np.zeros(len(heights))
        for row in range(pivot + 1, size):
            rows_bytes[block_of[row]] += 8 * width
        step = workload.graph_of(number)
        step.validate()
        is_pivot = step.access_block == len(heights)
        task = np.repeat(np.arange(step.n_tasks), np.diff(step.access_ptr))
        own = np.bincount(step.access_block, step.written_bytes, len(heights) + 1)[:-1]
        assert own.tolist() == rows_bytes.tolist()
        read = np.bincount(task[is_pivot], step.read_bytes[is_pivot], step.n_tasks)
        assert (
            read[step.leaves][1:].tolist()
            == [8 * width if last > pivot + 1 else 0 for _, last in spans][1:]
        )
        # The rows below and the pivot row itself.
        assert step.ops.sum() == 2 * width * width
        assert (
            step.read_bytes + step.written_bytes > 0
        ).all()  # leaves that are done touch nothing
        sums += [step.ops.sum(), step.read_bytes.sum(), step.written_bytes.sum()]
    mean = [graph.ops.sum(), graph.read_bytes.sum(), graph.written_bytes.sum()]
    assert mean[0] == pytest.approx(sums[0] / iterations)
    assert 0 <= sums[1] / iterations - mean[1] <= graph.n_accesses
    assert 0 <= sums[2] / iterations - mean[2] <= graph.n_accesses


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
    workload = generate_workload("ge", {"size": size, "iterations": size - 1})
    graph = workload.graph
    assert graph.block_bytes[:-1].sum() / 1e6 == pytest.approx(megabytes, rel=2e-3)
    assert (len(graph.leaves), graph.n_blocks) == (leaves, leaves + 1)
    assert workload.init is not None
    assert workload.init.written_bytes.sum() == graph.block_bytes.sum()
    # Of the whole elimination a third of the matrix per step.
    assert graph.written_bytes.sum() / graph.block_bytes.sum() == pytest.approx(1 / 3, rel=1e-2)


def test_three_steps_by_hand() -> None:
    # 4 x 4 doubles, two leaves of two rows. Step 0: rows 1 to 3, 4 columns: 32 bytes a row; leaf 1
    # has row 1, leaf 2 rows 2 and 3. Step 1: row 2 and 3, 24 bytes a row. Step 2: row 3, 16 bytes.
    workload = generate_workload("ge", {"size": 4, "leaf_rows": 2, "iterations": 3})
    written = [
        np.bincount(g.access_block, g.written_bytes, 3).astype(int).tolist()
        for g in map(workload.graph_of, (1, 2, 3))
    ]
    assert written == [[32, 64, 32], [0, 48, 24], [0, 16, 16]]
    ops = [workload.graph_of(number).ops.sum() for number in (1, 2, 3)]
    assert ops == [2 * 16, 2 * 9, 2 * 4]
    assert np.bincount(workload.graph.access_block, workload.graph.written_bytes).astype(
        int
    ).tolist() == [10, 42, 24]


def test_what_is_left_shrinks_on_both_engines() -> None:
    # One core, memory of 1 GB/s, no caches: step k moves what it reads and writes. Of 4 x 4
    # doubles, as above, rows both ways and the pivot row: by the root both ways, by each leaf that
    # has rows left once. Step 0: 2 (96 + 32) + 2 x 32 = 320 bytes; step 1: 2 (48 + 24) + 24 = 168;
    # step 2: 2 (16 + 16) + 16 = 80.
    workload = replace(
        generate_workload("ge", {"size": 4, "leaf_rows": 2, "iterations": 3, "ops_per_element": 0}),
        init=None,
    )
    machine = make_machine(domains=1, cores_per_domain=1, dram_bandwidth_bytes_per_s=1e9)
    for backend in BACKENDS:
        summary = simulate(machine, workload, make_policy("cilk_a"), backend=backend).summary
        took = (summary.iteration_end_ps - summary.iteration_start_ps).tolist()
        assert took == [320_000, 168_000, 80_000], backend


def test_the_irregular_tree_of_1024_rows() -> None:
    graph = generate_workload("ge", {"irregular": True, "cutoff_rows": 8}).graph
    assert (graph.n_tasks, len(graph.leaves)) == (513, 330)


def test_rows_are_the_hotter_the_later_they_become_the_pivot_row() -> None:
    graph = generate_workload("ge", {"size": 256, "iterations": 255}).graph
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
    # The first step touches every row but the pivot row, and later ones nothing else: the caches
    # hold all. The pivot row, a block of its own, is what the root touches.
    workload = generate_workload("ge", {"size": 64, "steps": steps, "iterations": steps})
    machine = make_machine(domains=1, cores_per_domain=1, caches=[("L1", 1 << 20, 100e9, 0, 1)])
    summary = simulate(machine, replace(workload, init=None), make_policy("cilk_a")).summary
    assert int(summary.cache_missing_bytes.sum()) == 8 * 64 * 64


def test_policies_keep_what_iterations_cost() -> None:
    # Loops, lists and slower spawns are made of each step.
    workload = generate_workload("ge", {"size": 32, "iterations": 31})
    machine = make_machine(domains=2, cores_per_domain=2)
    for policy in (*LOOPS, "amc_static_alg8", "laws"):
        took = [
            simulate(machine, workload, make_policy(policy), backend=backend).summary
            for backend in BACKENDS
        ]
        assert [s.makespan_ps for s in took] == [took[0].makespan_ps] * len(took)
        length = took[0].iteration_end_ps - took[0].iteration_start_ps
        assert length[-1] < length[1] / 2, policy


def test_a_policy_may_not_drop_what_iterations_cost() -> None:
    class Forgetful(RandomStealing[None]):
        def prepare(self, view: PlanView) -> Workload:
            return replace(view.workload, varying=None)

    workload = generate_workload("ge", {"size": 32, "iterations": 31})
    with pytest.raises(PolicyError, match="found a program without what its iterations cost"):
        simulate(make_machine(), workload, Forgetful())


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
