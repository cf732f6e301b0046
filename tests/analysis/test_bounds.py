"""Lower bounds: closed forms, and never above what the reference engine takes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simsched.analysis.bounds import (
    capability,
    critical_path,
    lower_bounds,
    memory_bytes,
    traffic_bound_s,
)
from simsched.engine.run import simulate
from simsched.machine.model import Machine
from simsched.machine.synthetic import make_machine
from simsched.policy import make_policy
from simsched.workload.builder import accesses, adjacency, build_graph
from simsched.workload.graph import TaskGraph, Workload
from simsched.workload.registry import generate_workload


def threads(machine: Machine) -> np.ndarray:
    return machine.place_workers()


def path_s(graph: TaskGraph, seconds_per_op: float = 1.0) -> float:
    body, join = graph.ops[0] * seconds_per_op, graph.join_ops[0] * seconds_per_op
    return critical_path(graph, body, join, graph.creation_ops * seconds_per_op)


def one_pass(n_blocks: int, size: int, ops: float = 0.0) -> Workload:
    """One task per block that reads all of it."""
    tasks = np.arange(n_blocks)
    accessed = accesses(tasks, tasks, np.full(n_blocks, size), np.zeros(n_blocks, int), n_blocks)
    graph = build_graph(
        np.full(n_blocks, ops), accessed=accessed, block_bytes=np.full(n_blocks, size)
    )
    return Workload("pass", graph)


def test_chain_is_as_long_as_its_tasks() -> None:
    n = 5000
    graph = build_graph(
        np.arange(n, dtype=float), successors=adjacency(np.arange(n - 1), np.arange(1, n), n)
    )
    assert path_s(graph) == pytest.approx(n * (n - 1) / 2)


def test_wide_layers_take_the_longest_of_each() -> None:
    # 3 layers of 100 tasks, fully connected: more than the small-frontier shortcut handles.
    rng = np.random.default_rng(0)
    ops = rng.uniform(1, 2, 300)
    source = np.repeat(np.arange(200), 100)
    target = np.tile(np.arange(100), 200) + 100 * (1 + source // 100)
    graph = build_graph(ops, successors=adjacency(source, target, 300))
    assert path_s(graph) == pytest.approx(ops.reshape(3, 100).max(axis=1).sum())


def test_spawned_child_follows_body_and_creation_and_precedes_the_join() -> None:
    # 0 spawns 1 and 2; 2 is created at a cost of 5.
    graph = build_graph(
        np.array([1.0, 10.0, 7.0]),
        join_ops=np.array([100.0, 0.0, 0.0]),
        children=adjacency(np.array([0, 0]), np.array([1, 2]), 3),
        creation_ops=np.array([0.0, 0.0, 5.0]),
    )
    assert path_s(graph) == 1 + max(10, 5 + 7) + 100


def test_creating_tasks_is_no_part_of_the_bounds() -> None:
    # Two seconds of work, of which a loop makes one after the other without creating anything;
    # creating the second one takes a third second, creating the first one nobody.
    machine = make_machine(domains=1, cores_per_domain=1, ops_per_s=1e9)
    graph = build_graph(
        np.full(2, 1e9), children=adjacency([0], [1], 2), creation_ops=np.array([4e9, 1e9])
    )
    for policy, seconds in (("cilk_a", 3.0), ("openmp_static", 2.0)):
        run = simulate(machine, Workload("w", graph), make_policy(policy), backend="simpy")
        assert run.makespan_s == pytest.approx(seconds)
        assert lower_bounds(machine, run.program, run.worker_thread).best_s == pytest.approx(2.0)


def test_arrival_delays_a_root() -> None:
    graph = build_graph(np.array([2.0]), arrival_ps=np.array([3 * 10**12]))
    assert path_s(graph) == 5.0


def test_work_bound_is_all_operations_over_all_speed() -> None:
    machine = make_machine(domains=2, cores_per_domain=2, ops_per_s=1e9)
    graph = build_graph(np.full(8, 1e9))
    bounds = lower_bounds(machine, Workload("w", graph, iterations=3), threads(machine))
    assert bounds.work_s == pytest.approx(3 * 8 / 4)
    assert bounds.critical_path_s == pytest.approx(3)
    assert bounds.best_s == pytest.approx(6)


def test_smt_counts_with_its_throughput_not_with_its_threads() -> None:
    machine = make_machine(domains=1, cores_per_domain=1, smt_throughput=(1.0, 1.5), ops_per_s=1e9)
    assert capability(machine, threads(machine)).total_ops_per_s == {"cpu": 1.5e9}
    assert capability(machine, machine.place_workers(1)).total_ops_per_s == {"cpu": 1e9}


def test_bandwidth_bound_is_all_bytes_over_all_nodes() -> None:
    machine = make_machine(domains=2, dram_bandwidth_bytes_per_s=10e9)
    bounds = lower_bounds(machine, one_pass(10, 10**9), threads(machine))
    assert bounds.bandwidth_s == pytest.approx(10e9 / 20e9)


def test_blocks_that_caches_can_keep_are_not_charged() -> None:
    caches = [("L2", 10**6, 1e12, 0, 1)]
    machine = make_machine(domains=1, cores_per_domain=4, caches=caches)
    small = lower_bounds(machine, one_pass(4, 10**6), threads(machine))
    assert small.bandwidth_s == 0.0
    more = lower_bounds(machine, one_pass(6, 10**6), threads(machine))
    assert more.bandwidth_s == pytest.approx(2e6 / 10e9)
    large = lower_bounds(machine, one_pass(4, 2 * 10**6), threads(machine))
    assert large.bandwidth_s == pytest.approx(8e6 / 10e9)


def test_core_caps_limit_the_bandwidth() -> None:
    machine = make_machine(domains=1, cores_per_domain=2, core_cap_bytes_per_s=1e9)
    assert lower_bounds(machine, one_pass(4, 10**9), threads(machine)).bandwidth_s == 2.0


def test_two_kinds_of_processors_share_the_work_fairly() -> None:
    # Half of the tasks run ten times faster on the other kind: the fractional optimum is 1 s.
    from simsched.analysis.bounds import work_bound

    ops = np.array([[1.0] * 10 + [10.0] * 10, [10.0] * 10 + [1.0] * 10])
    graph = build_graph(ops, join_ops=np.zeros_like(ops), kinds=("cpu", "gpu"))
    assert work_bound(graph, [0, 1], np.array([10.0, 10.0])) == pytest.approx(1.0)


@settings(max_examples=60)
@given(
    st.sampled_from(["fork_join", "layered_random", "heat", "cholesky", "stencil2d", "pagerank"]),
    st.sampled_from(["work_sharing", "cilk_a", "pfws"]),
    st.sampled_from([(), (("L1", 2**14, 50e9, 10, 1), ("L2", 2**20, 20e9, 100, 2))]),
    st.sampled_from([None, 2e9]),
    st.sampled_from([1.0, 1.25]),
    st.integers(0, 5),
)
def test_no_run_beats_a_bound(
    workload: str,
    policy: str,
    caches: tuple[tuple[str, int, float, int, int], ...],
    cap: float | None,
    weight: float,
    seed: int,
) -> None:
    from simsched.workload.registry import make_small_workload

    machine = make_machine(
        caches=caches,
        core_cap_bytes_per_s=cap,
        remote_weight=weight,
        smt_throughput=(1.0, 1.4),
        link_bandwidth_bytes_per_s=3e9,
        ops_per_s=1e9,
    )
    run = simulate(
        machine, make_small_workload(workload), make_policy(policy), seed=seed, backend="simpy"
    )
    bounds = lower_bounds(machine, run.program, run.worker_thread)
    limit = run.makespan_s * (1 + 1e-9)
    assert 0 < bounds.best_s <= limit
    assert max(bounds.critical_path_s, bounds.work_s, bounds.bandwidth_s) <= bounds.best_s * (
        1 + 1e-9
    )
    assert traffic_bound_s(run.summary, machine) <= limit


def test_bound_of_one_worker_with_pure_compute_is_exact() -> None:
    machine = make_machine(domains=1, cores_per_domain=1)
    workload = generate_workload("fork_join", {"depth": 4})
    run = simulate(machine, workload, make_policy("cilk_a"), backend="simpy")
    bounds = lower_bounds(machine, run.program, run.worker_thread)
    assert run.makespan_s == pytest.approx(bounds.work_s, rel=1e-9)


def test_own_traffic_bound_is_exact_when_one_node_is_saturated() -> None:
    machine = make_machine(domains=1, cores_per_domain=4, dram_bandwidth_bytes_per_s=1e9)
    run = simulate(machine, one_pass(8, 10**6), make_policy("work_sharing"), backend="simpy")
    assert run.makespan_s == pytest.approx(traffic_bound_s(run.summary, machine), rel=1e-6)
    assert run.makespan_s == pytest.approx(8e-3, rel=1e-6)


def test_own_traffic_bound_is_exact_when_the_link_of_any_domain_is_saturated() -> None:
    machine = make_machine(
        domains=2,
        cores_per_domain=4,
        dram_bandwidth_bytes_per_s=1e12,
        link_bandwidth_bytes_per_s=1e9,
    )
    for far in (0, 1):
        moved = np.zeros((1, 2, 2), np.int64)
        moved[0, 1 - far, far] = 3 * 10**9
        run = simulate(machine, one_pass(8, 10**6), make_policy("work_sharing"))
        summary = replace(run.summary, node_bytes=moved, iteration=run.summary.iteration[:1])
        assert traffic_bound_s(summary, machine) == pytest.approx(3.0, rel=1e-9)


@pytest.mark.parametrize(
    ("passes_on", "loaded"),
    [([], 8000 + 3000), ([1e9, 1000], 2000 + 3000)],  # caches that pass blocks on: the smallest
)
def test_a_block_is_loaded_as_far_as_its_largest_access(
    passes_on: list[float], loaded: int
) -> None:
    # Block 0 is read in parts of 2,000 and 8,000 bytes, block 1 whole; both fit the cache.
    graph = build_graph(
        [0.0, 0.0, 0.0],
        accessed=accesses([0, 1, 2], [0, 0, 1], [2000, 8000, 3000], [0, 0, 0], 3),
        block_bytes=[8000, 3000],
    )
    cache = ("L1", 9000, 1e9, 500, 1, *passes_on)
    machine = make_machine(domains=1, cores_per_domain=1, caches=[cache])
    able = capability(machine, threads(machine))
    # What all caches can have kept of the iteration before is not loaded again.
    assert memory_bytes(graph, replace(able, all_cache_bytes=0)) == loaded
    assert memory_bytes(graph, able) == max(0, loaded - 9000)
