"""Runs whose outcome follows from arithmetic on paper."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.policies import CentralQueue
from simsched.engine.run import simulate
from simsched.files.errors import ModelError, StalledError
from simsched.machine.model import MemorySideCache, RuntimeCosts
from simsched.machine.synthetic import make_machine
from simsched.policy.contract.base import AcquireStep, Plan
from simsched.trace.schema import EventKind
from simsched.workload.builder import accesses, adjacency, build_graph
from simsched.workload.graph import TaskGraph, Workload

PS = 10**12


def one_domain(cores: int, **options):  # type: ignore[no-untyped-def]
    return make_machine(domains=1, cores_per_domain=cores, **options)


def flows(n: int, n_bytes: int) -> TaskGraph:
    """`n` independent tasks that read a block of their own and compute nothing."""
    return build_graph(
        np.zeros(n),
        accessed=accesses(np.arange(n), np.arange(n), n_bytes, 0, n),
        block_bytes=np.full(n, n_bytes),
    )


def makespan_ps(machine, graph, backend, policy=None, **options) -> int:  # type: ignore[no-untyped-def]
    run = simulate(
        machine, Workload("w", graph), policy or CentralQueue(), backend=backend, **options
    )
    return run.summary.makespan_ps


def test_one_worker_takes_the_sum(backend: str) -> None:
    ops = np.array([1000.0, 2500.0, 4.0])
    assert makespan_ps(one_domain(1), build_graph(ops), backend) == 3504 * 1000


@pytest.mark.parametrize("workers", [1, 3, 16])
def test_equal_tasks_on_as_many_workers_take_one_tasks_time(backend: str, workers: int) -> None:
    assert makespan_ps(one_domain(workers), build_graph(np.full(workers, 1e6)), backend) == 10**9


@pytest.mark.parametrize("k", [1, 2, 7])
def test_flows_share_one_controller(backend: str, k: int) -> None:
    # k flows of 10^6 bytes at 10^10 bytes/s together.
    assert makespan_ps(one_domain(k), flows(k, 10**6), backend) == k * 10**8


def test_a_flow_is_limited_by_its_cores_cap(backend: str) -> None:
    machine = one_domain(2, core_cap_bytes_per_s=2e9)
    assert makespan_ps(machine, flows(2, 10**6), backend) == 5 * 10**8


def test_capped_and_uncapped_flows_share_max_min_fairly(backend: str) -> None:
    # Two workers of one core may draw 1 GB/s each, a third alone on its core 2 GB/s: the node's
    # 10 GB/s are never full.
    machine = one_domain(2, core_cap_bytes_per_s=2e9, smt_throughput=(1.0, 1.0))
    assert makespan_ps(machine, flows(3, 10**6), backend, workers=4) == 10**9


def test_remote_bytes_weigh_more(backend: str) -> None:
    machine = make_machine(domains=2, cores_per_domain=1, remote_weight=1.25)
    graph = flows(2, 10**6)
    # Both blocks on node 0: rate r for both with r + 1.25 r = 10 GB/s until both end together.
    expected = math.ceil(10**6 * 2.25 / 10e9 * PS)
    assert abs(makespan_ps(machine, graph, backend, CentralQueue(home=0)) - expected) <= 1


def test_a_link_is_shared_by_remote_flows_only(backend: str) -> None:
    machine = make_machine(domains=2, cores_per_domain=2, link_bandwidth_bytes_per_s=1e9)
    # Two remote flows share 1 GB/s; the local ones are over long before.
    got = makespan_ps(machine, flows(4, 10**6), backend, CentralQueue(home=0))
    assert abs(got - 2 * 10**9) <= 1


def test_a_bandwidth_curve_counts_flows(backend: str) -> None:
    from dataclasses import replace

    machine = one_domain(4)
    node = replace(machine.nodes[0], bandwidth_curve=(1e9, 4e9, 2e9))
    machine = replace(machine, nodes=(node,))
    assert makespan_ps(machine, flows(1, 10**6), backend) == 10**9
    assert makespan_ps(machine, flows(2, 10**6), backend) == 5 * 10**8
    # Four flows get 2 GB/s, the last entry of the curve; they end together.
    assert makespan_ps(machine, flows(4, 10**6), backend) == 2 * 10**9


def test_latency_and_computation_overlap_as_specified(backend: str) -> None:
    machine = one_domain(1, local_latency_ps=700)
    n = 10**6
    for ops, expected in ((0.0, 10**8 + 700), (50_000.0, 10**8 + 700), (200_000.0, 2 * 10**8)):
        graph = build_graph([ops], accessed=accesses([0], [0], n, 0, 1), block_bytes=[n])
        assert makespan_ps(machine, graph, backend) == expected


def test_busy_siblings_slow_each_other(backend: str) -> None:
    machine = one_domain(1, smt_throughput=(1.0, 1.25))
    # Two threads compute at 0.625 each; after the first has ended the other goes on at 1.
    graph = build_graph([1e6, 2e6])
    alone = (2e6 - 1e6) / 1e9
    assert makespan_ps(machine, graph, backend) == round((1e6 / 0.625e9 + alone) * PS)


def test_cache_hits_need_no_memory(backend: str) -> None:
    graph = build_graph(
        [0.0, 0.0, 0.0],
        successors=adjacency([0, 1], [1, 2], 3),
        accessed=accesses([0, 1, 2], [0, 0, 1], [5000, 5000, 20_000], 0, 3),
        block_bytes=[5000, 20_000],
    )
    # Miss 5000 at 10 GB/s, hit 5000 at 100 GB/s after 500 ps, block 1 does not fit.
    run = simulate(
        one_domain(1, caches=[("L1", 10_000, 100e9, 500, 1)]),
        Workload("w", graph),
        CentralQueue(),
        backend=backend,
    )
    # 0.1 bytes per ps is not a double: the end of the hit is rounded up by a picosecond.
    assert 0 <= run.summary.makespan_ps - (500_000 + (500 + 50_000) + 2_000_000) <= 1
    assert run.summary.cache_hits.sum(axis=(0, 1)).tolist() == [1]
    assert run.summary.cache_misses.sum(axis=(0, 1)).tolist() == [2]


def test_least_recent_blocks_are_evicted(backend: str) -> None:
    order = [0, 1, 0, 2, 0, 1]  # capacity for two: 2 evicts 1, the last access misses
    n = len(order)
    graph = build_graph(
        np.zeros(n),
        successors=adjacency(range(n - 1), range(1, n), n),
        accessed=accesses(range(n), order, 5000, 0, n),
        block_bytes=[5000] * 3,
    )
    machine = one_domain(1, caches=[("L1", 10_000, 100e9, 0, 1)])
    summary = simulate(machine, Workload("w", graph), CentralQueue(), backend=backend).summary
    assert summary.cache_misses.sum(axis=(0, 1)).tolist() == [4]
    assert summary.cache_hit_bytes.sum(axis=(0, 1)).tolist() == [10_000]


def test_writes_invalidate_other_cores_copies(backend: str) -> None:
    # Core 0 reads, core 1 writes, core 0 reads again: who runs what follows from the chain's pools.
    graph = build_graph(
        np.zeros(3),
        successors=adjacency([0, 1], [1, 2], 3),
        accessed=accesses(range(3), [0, 0, 0], [4000, 0, 4000], [0, 4000, 0], 3),
        block_bytes=[4000],
    )

    class Alternate(CentralQueue):
        def plan(self, view, state, graph):  # type: ignore[no-untyped-def]
            return Plan(acquire=(AcquireStep("worker"),), instance_of=np.array([0, 1, 0], np.int32))

    machine = one_domain(2, caches=[("L1", 10_000, 100e9, 0, 1)])
    run = simulate(machine, Workload("w", graph), Alternate(), backend=backend)
    assert run.summary.cache_hits.sum(axis=(0, 1)).tolist() == [0]
    shared = one_domain(2, caches=[("L1", 10_000, 100e9, 0, 2)])
    run = simulate(shared, Workload("w", graph), Alternate(), backend=backend)
    assert run.summary.cache_hits.sum(axis=(0, 1)).tolist() == [2]


@pytest.mark.parametrize("ops", [0.0, 100.0])
def test_written_blocks_come_from_the_writers_cache(backend: str, ops: float) -> None:
    graph = build_graph(
        np.full(4, ops),
        successors=adjacency([0, 1, 2], [1, 2, 3], 4),
        accessed=accesses(range(4), [0, 0, 0, 0], [4000, 0, 4000, 4000], [0, 4000, 0, 0], 4),
        block_bytes=[4000],
    )

    class Turns(CentralQueue):
        def plan(self, view, state, graph):  # type: ignore[no-untyped-def]
            instance = np.array([0, 1, 0, 2], np.int32)
            return Plan(acquire=(AcquireStep("worker"),), instance_of=instance)

    # Worker 0 reads, 1 writes: both from memory, 400 ns each, beside which they compute. 0 reads
    # what 1 has written: 20 ns and 4000 B at 5 GB/s; it computes afterwards, a nanosecond per
    # operation. Then it is written no more, and 2 reads from memory.
    machine = one_domain(3, caches=[("L1", 10_000, 100e9, 0, 1, 5e9, 20_000)])
    run = simulate(machine, Workload("w", graph), Turns(), backend=backend)
    assert run.summary.makespan_ps == 3 * 400_000 + 820_000 + 1000 * ops
    assert run.summary.cache_hits.sum(axis=(0, 1)).tolist() == [0]
    assert run.summary.cache_hit_bytes.sum(axis=(0, 1)).tolist() == [4000]
    # What does not fit into the cache is nowhere held written.
    small = one_domain(3, caches=[("L1", 3999, 100e9, 0, 1, 5e9, 20_000)])
    run = simulate(small, Workload("w", graph), Turns(), backend=backend)
    assert run.summary.makespan_ps == 4 * 400_000


@pytest.mark.parametrize(("passing", "missing"), [(3000, 1250 + 3000), (7000, 1250 + 7000 + 1250)])
def test_what_passes_through_a_cache_displaces_the_rest(
    backend: str, passing: int, missing: int
) -> None:
    # A cache of 5000 bytes keeps 1250 beside 3000, but not while 7000 pass through it.
    graph = build_graph(
        np.zeros(3),
        successors=adjacency([0, 1], [1, 2], 3),
        accessed=accesses(range(3), [0, 1, 0], [1250, passing, 1250], 0, 3),
        block_bytes=[1250, 7000],
    )
    machine = one_domain(1, caches=[("L1", 5000, 100e9, 0, 1)])
    run = simulate(machine, Workload("w", graph), CentralQueue(), backend=backend)
    assert run.summary.cache_missing_bytes.sum() == missing


def test_memory_side_cache_is_direct_mapped(backend: str) -> None:
    side = MemorySideCache(8000, 1000, 100e9, 0, 0, "contiguous")  # 8 slots
    # Blocks 0 and 1 of 5 granules each overlap in two slots.
    graph = build_graph(
        np.zeros(3),
        successors=adjacency([0, 1], [1, 2], 3),
        accessed=accesses(range(3), [0, 1, 0], 5000, 0, 3),
        block_bytes=[5000, 5000],
    )
    machine = one_domain(1, memory_side_cache=side)
    run = simulate(machine, Workload("w", graph), CentralQueue(), backend=backend)
    assert run.summary.memory_side_hit_bytes == 3000
    miss, hit = 12_000 / 10e9, 3000 / 100e9
    # Four flows, each rounded up to a picosecond.
    assert 0 <= run.summary.makespan_ps - round((miss + hit) * PS) <= 4


def test_memory_side_cache_loads_what_is_touched(backend: str) -> None:
    side = MemorySideCache(8000, 1000, 100e9, 0, 0, "contiguous")
    # 1500 bytes take two granules of the block's five; then two of five, then the only one hit.
    graph = build_graph(
        np.zeros(3),
        successors=adjacency([0, 1], [1, 2], 3),
        accessed=accesses(range(3), [0, 0, 0], [1500, 5000, 1000], 0, 3),
        block_bytes=[5000],
    )
    machine = one_domain(1, memory_side_cache=side)
    run = simulate(machine, Workload("w", graph), CentralQueue(), backend=backend)
    assert run.summary.memory_side_hit_bytes == 2000 + 1000


def test_memory_side_cache_loads_what_comes_from_memory(backend: str) -> None:
    side = MemorySideCache(8000, 1000, 100e9, 0, 0, "contiguous")
    # The cache has 3000 bytes of four granules, so that only the last granule is fetched; block 1
    # sweeps the cache out, and what it has loaded of block 0 is found then.
    graph = build_graph(
        np.zeros(4),
        successors=adjacency([0, 1, 2], [1, 2, 3], 4),
        accessed=accesses(range(4), [0, 0, 1, 0], [3000, 4000, 5000, 4000], 0, 4),
        block_bytes=[4000, 5000],
    )
    machine = one_domain(1, caches=[("L1", 4000, 100e9, 0, 1)], memory_side_cache=side)
    run = simulate(machine, Workload("w", graph), CentralQueue(), backend=backend)
    # Granules 4 to 8 of block 1: one of them has displaced the first of block 0.
    assert run.summary.memory_side_hit_bytes == 3000


def test_runtime_costs_add_up_on_one_worker(backend: str) -> None:
    costs = RuntimeCosts(
        spawn_child_first_ps=7, spawn_parent_first_ps=100, pop_ps=1000, push_ps=5, barrier_ps=10**6
    )
    tree = build_graph([0.0, 10.0, 10.0], children=adjacency([0, 0], [1, 2], 3))
    machine = one_domain(1, costs=costs)
    # Root from its pool (pop), two spawns; child-first: the continuation is popped once.
    assert makespan_ps(machine, tree, backend, CentralQueue(spawn=0)) == 2000 + 14 + 20_000
    # Parent-first: both children are popped.
    assert makespan_ps(machine, tree, backend, CentralQueue(spawn=1)) == 3000 + 200 + 20_000
    run = simulate(machine, Workload("w", tree, 3), CentralQueue(spawn=0), backend=backend)
    assert run.summary.makespan_ps == 3 * 22_014 + 2 * 10**6


def test_a_lock_serialises_the_central_queue(backend: str) -> None:
    class Locked(CentralQueue):
        def plan(self, view, state, graph):  # type: ignore[no-untyped-def]
            from dataclasses import replace

            plan = super().plan(view, state, graph)
            groups = (plan.pool_groups[0], replace(plan.pool_groups[1], locked=True))
            return replace(plan, pool_groups=groups)

    machine = one_domain(4, costs=RuntimeCosts(lock_hold_ps=100))
    # Four workers get the lock one after the other, the last one starts after 400 ps.
    assert makespan_ps(machine, build_graph(np.full(4, 1.0)), backend, Locked()) == 400 + 1000


def test_spawn_orders_of_one_worker(backend: str) -> None:
    """Chen and Guo 2017, Algorithm 1: t1 -> t2, t3; t2 -> t4, t5; t3 -> t6, t7."""
    tree = build_graph(
        np.full(8, 1.0), children=adjacency([0, 1, 1, 2, 2, 3, 3], [1, 2, 3, 4, 5, 6, 7], 8)
    )

    def starts(spawn: int) -> list[int]:
        run = simulate(
            one_domain(1),
            Workload("w", tree),
            CentralQueue(spawn=spawn),
            backend=backend,
            events=True,
        )
        assert run.trace is not None
        events = run.trace.events
        return events["task"][events["kind"] == EventKind.TASK_START].tolist()

    assert starts(0) == [0, 1, 2, 4, 5, 3, 6, 7]
    assert starts(1) == [0, 1, 2, 3, 4, 5, 6, 7]


@settings(max_examples=40)
@given(st.integers(0, 2**32), st.integers(1, 6))
def test_greedy_lists_keep_grahams_bounds(seed: int, workers: int) -> None:
    """Graham 1969: T_P <= T_1 / P + T_inf for every greedy schedule, and never less than either."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 60))
    u, v = rng.integers(0, n, (2, 3 * n))
    keep = u < v
    ops = rng.integers(1, 1000, n).astype(float)
    graph = build_graph(ops, successors=adjacency(u[keep], v[keep], n))
    longest = np.zeros(n)
    for task in range(n):
        before = [longest[a] for a, b in zip(u[keep], v[keep], strict=True) if b == task]
        longest[task] = ops[task] + max(before, default=0.0)
    for backend in ("simpy", "native"):
        time = makespan_ps(one_domain(workers), graph, backend) / 1000
        assert max(ops.sum() / workers, longest.max()) <= time
        assert time <= ops.sum() / workers + (1 - 1 / workers) * longest.max() + 1e-9


def test_a_stalled_run_names_who_waits_for_what(backend: str) -> None:
    class Nobody(CentralQueue):
        def plan(self, view, state, graph):  # type: ignore[no-untyped-def]
            return Plan(
                acquire=(AcquireStep("worker"),),
                active_workers=np.array([True, False]),
                instance_of=np.array([0, 1, -1], np.int32),
            )

    graph = build_graph([1.0, 1.0, 1.0], successors=adjacency([1], [2], 3))
    with pytest.raises(
        StalledError,
        match="stalled at 1e-09 s with 2 tasks left: task 1 is in pool "
        "group 0 instance 1, from which no worker may take; task 2 waits for "
        "predecessor 1",
    ):
        makespan_ps(one_domain(2), graph, backend, Nobody())


def test_data_larger_than_memory_is_refused(backend: str) -> None:
    machine = one_domain(1, dram_capacity_bytes=1000)
    with pytest.raises(ModelError, match="found 1001 bytes for first touch, accepted at most 1000"):
        makespan_ps(machine, flows(1, 1001), backend)


def two_ways_to_node_0(backend: str, **remote: object) -> list[int]:
    """Return when tasks on domains 0 and 1 end that read 10^6 bytes each from node 0."""
    from dataclasses import replace

    machine = make_machine(domains=2, cores_per_domain=1, local_latency_ps=700)
    near = machine.paths[0][0]
    machine = replace(machine, paths=((near, near), (replace(near, **remote), near)))  # type: ignore[arg-type]

    class OneEach(CentralQueue):
        def plan(self, view, state, graph):  # type: ignore[no-untyped-def]
            return Plan(acquire=(AcquireStep("worker"),), instance_of=np.array([0, 1], np.int32))

    workload = Workload("w", flows(2, 10**6))
    run = simulate(machine, workload, OneEach(home=0), backend=backend, events=True)
    assert run.trace is not None
    events = run.trace.events
    ended = events["kind"] == EventKind.TASK_END
    order = np.argsort(events["task"][ended])
    return events["time_ps"][ended][order].tolist()


def test_ways_that_differ_in_latency_only_are_two(backend: str) -> None:
    both = 2 * 10**6 * 100  # 10 GB/s for both together
    assert two_ways_to_node_0(backend, latency_ps=1500) == [both + 700, both + 1500]


def test_ways_that_differ_in_cap_only_are_two(backend: str) -> None:
    # The capped flow takes 2 GB/s, the other one the remaining 8 GB/s.
    ends = two_ways_to_node_0(backend, core_cap_bytes_per_s=(2e9,))
    assert ends == [125_000_700, 500_000_700]


@pytest.mark.parametrize(
    ("machine", "graph"),
    [
        (one_domain(1), build_graph(np.array([1e16]))),
        (one_domain(1), build_graph(np.array([2.0**62 / 1000]))),
        (one_domain(2), build_graph(np.array([1.0, 1e300]))),
        (one_domain(1, dram_bandwidth_bytes_per_s=100.0), flows(1, 2**31)),
    ],
)
def test_more_time_than_there_is(backend: str, machine, graph) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(ModelError, match=r"2\*\*62 ps"):
        makespan_ps(machine, graph, backend)
