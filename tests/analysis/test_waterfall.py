"""Parts of a makespan: they add up, and each shows what a run really waited for."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from simsched.analysis.segments import UndisturbedModel, accesses_of
from simsched.analysis.waterfall import TimeParts, time_parts
from simsched.engine.run import simulate
from simsched.machine.model import Machine, RuntimeCosts
from simsched.machine.synthetic import make_machine
from simsched.policy import make_policy
from simsched.testing.cases import small_machines, small_workloads
from simsched.trace.run import Run
from simsched.workload.builder import accesses, build_graph
from simsched.workload.graph import Workload
from simsched.workload.registry import generate_workload

MB = 1_000_000


def reading(tasks: int, block_bytes: int = MB, ops: float = 0.0) -> Workload:
    """Independent tasks that each read a block of their own."""
    number = np.arange(tasks, dtype=np.int64)
    graph = build_graph(
        np.full(tasks, ops),
        accessed=accesses(number, number, np.full(tasks, block_bytes), 0, tasks),
        block_bytes=np.full(tasks, block_bytes, dtype=np.int64),
    )
    return Workload("reading", graph)


def parts_of(machine: Machine, workload: Workload, workers: int, **placed: Any) -> TimeParts:
    policy = make_policy("work_sharing", placed)
    return time_parts(simulate(machine, workload, policy, workers=workers, events=True))


def assert_adds_up(parts: TimeParts) -> None:
    assert sum(parts.seconds.values()) == pytest.approx(parts.makespan_s, rel=1e-9)
    assert min(parts.seconds.values()) > -1e-9 * parts.makespan_s


def test_one_worker_alone_waits_for_memory_and_nothing_else() -> None:
    machine = make_machine(domains=1, cores_per_domain=1, core_cap_bytes_per_s=10e9)
    parts = parts_of(machine, reading(4), 1)
    assert parts.seconds["memory"] == pytest.approx(4 * MB / 10e9)
    assert parts.makespan_s == pytest.approx(4 * MB / 10e9)


def test_two_workers_on_one_controller_wait_half_of_the_time() -> None:
    machine = make_machine(domains=1, cores_per_domain=2, core_cap_bytes_per_s=10e9)
    parts = parts_of(machine, reading(4), 2)
    assert parts.seconds["memory"] == pytest.approx(2 * MB / 10e9)
    assert parts.seconds["wait DRAM: controller"] == pytest.approx(2 * MB / 10e9)


def test_computation_that_hides_its_accesses_leaves_no_waiting() -> None:
    machine = make_machine(domains=1, cores_per_domain=1, core_cap_bytes_per_s=10e9)
    ops = 3 * MB / 10e9 * 1e9  # three times what the bytes take, at 1e9 operations per second
    parts = parts_of(machine, reading(4, ops=ops), 1)
    assert parts.seconds["compute"] == pytest.approx(parts.makespan_s)
    assert parts.seconds["memory"] == 0.0


def test_latency_and_weight_of_remote_nodes_are_the_remote_part() -> None:
    machine = make_machine(
        domains=2,
        cores_per_domain=1,
        core_cap_bytes_per_s=10e9,
        local_latency_ps=100_000,
        remote_latency_ps=300_000,
    )
    parts = parts_of(machine, reading(4), 1, placement="interleave")
    # Blocks 1 and 3 are on the other domain's node.
    assert parts.seconds["remote"] == pytest.approx(2 * 200e-9)
    assert parts.seconds["memory"] == pytest.approx(4 * (MB / 10e9 + 100e-9))


def test_a_cache_that_holds_the_data_turns_memory_into_cache_time() -> None:
    machine = make_machine(
        domains=1,
        cores_per_domain=1,
        core_cap_bytes_per_s=10e9,
        caches=[("L2", 8 * MB, 40e9, 0, 1)],
    )
    workload = reading(4)
    again = Workload("twice", workload.graph, iterations=2)
    parts = parts_of(machine, again, 1)
    assert parts.seconds["memory"] == pytest.approx(4 * MB / 10e9)
    assert parts.seconds["cache"] == pytest.approx(4 * MB / 40e9)


def test_a_write_that_hits_and_goes_to_memory_takes_both() -> None:
    # A block of 1 MB is read at 10 GB/s, and written in a cache of 1 GB/s; written back it takes
    # as long as read.
    machine = make_machine(
        domains=1,
        cores_per_domain=1,
        core_cap_bytes_per_s=10e9,
        caches=[("L1", 2 * MB, 1e9, 0, 1)],
    )
    graph = build_graph(
        [0.0], accessed=accesses([0, 0], [0, 0], [MB, 0], [0, MB], 1), block_bytes=[MB]
    )
    parts = parts_of(machine, Workload("update", graph), 1)
    assert_adds_up(parts)
    assert parts.seconds["cache"] == pytest.approx(MB / 1e9, rel=1e-3)
    assert parts.seconds["memory"] == pytest.approx(2 * MB / 10e9, rel=1e-2)
    assert parts.seconds["compute"] == 0.0


def test_what_hits_take_at_most_does_not_depend_on_how_many_caches_there_are() -> None:
    # Each of the four caches hits once per access: 7 ns, then 40 GB/s; and both are rounded up.
    machine = make_machine(domains=4, cores_per_domain=1, caches=[("L2", 8 * MB, 40e9, 7000, 1)])
    twice = Workload("twice", reading(4).graph, iterations=2)
    run = simulate(machine, twice, make_policy("manual_static"), events=True)
    assert run.trace is not None
    model = UndisturbedModel(run, run.trace)
    _, (graph, second) = accesses_of(run)
    assert model.most_hit_ps(graph, second).tolist() == [7000 + 1 + MB * 25] * 4


def test_steals_locks_and_barriers_have_parts_of_their_own() -> None:
    costs = RuntimeCosts(steal_ps=(5_000,), pop_ps=1_000, barrier_ps=7_000)
    machine = make_machine(domains=1, cores_per_domain=2, costs=costs)
    workload = generate_workload("fork_join", {"depth": 3, "iterations": 3})
    run = simulate(machine, workload, make_policy("cilk_a"), events=True)
    parts = time_parts(run)
    assert_adds_up(parts)
    steals = int(run.summary.steals.sum())
    assert steals > 0
    assert parts.seconds["steal"] == pytest.approx(steals * 5e-9 / 2)
    assert parts.seconds["between iterations"] == pytest.approx(
        (run.summary.iteration_overhead_ps.sum()) * 1e-12
    )


@pytest.mark.parametrize("policy", ["cilk", "bats", "work_sharing", "openmp_static"])
@pytest.mark.parametrize("backend", ["native", "simpy"])
def test_parts_add_up_for_any_run(policy: str, backend: str) -> None:
    for machine in small_machines().values():
        for workload in small_workloads().values():
            run = simulate(machine, workload, make_policy(policy), backend=backend, events=True)
            parts = time_parts(run)
            assert_adds_up(parts)
            assert machine.caches or parts.seconds["cache"] == 0.0


def test_a_run_without_trace_is_refused() -> None:
    machine = make_machine()
    run: Run = simulate(machine, reading(2), make_policy("cilk_a"))
    with pytest.raises(ValueError, match="no event trace"):
        time_parts(run)


def test_a_slower_path_without_others_on_it_is_remote_not_waiting() -> None:
    machine = make_machine(domains=2, cores_per_domain=1, core_cap_bytes_per_s=10e9)
    slower = tuple(
        tuple(
            path if domain == node else replace(path, core_cap_bytes_per_s=(5e9,))
            for node, path in enumerate(row)
        )
        for domain, row in enumerate(machine.paths)
    )
    parts = parts_of(replace(machine, paths=slower), reading(4), 1, placement="interleave")
    assert parts.seconds["memory"] == pytest.approx(4 * MB / 10e9)
    assert parts.seconds["remote"] == pytest.approx(2 * (MB / 5e9 - MB / 10e9))
    assert parts.seconds["wait DRAM: controller"] == pytest.approx(0)


def test_copies_are_migration_and_waiting_for_them_is_between_iterations() -> None:
    costs = RuntimeCosts(page_migration_ps=1_000_000)
    machine = make_machine(domains=2, cores_per_domain=2, hbm_per_domain=True, costs=costs)
    workload = generate_workload(
        "heat", {"rows": 4096, "columns": 1024, "leaf_bytes": 65536, "iterations": 3}
    )
    run = simulate(machine, workload, make_policy("bats_nh"), events=True)
    assert run.summary.migrations > 0
    parts = time_parts(run)
    assert_adds_up(parts)
    copying = int(run.summary.worker_migrate_ps.sum()) * 1e-12 / 4
    assert parts.seconds["migration"] == pytest.approx(copying)
    between = int(run.summary.iteration_overhead_ps.sum()) * 1e-12
    assert parts.seconds["between iterations"] == pytest.approx(between - copying)


def test_what_writes_cost_more_far_away_is_remote_too() -> None:
    machine = make_machine(domains=2, cores_per_domain=1, core_cap_bytes_per_s=10e9)
    paths = tuple(
        tuple(
            replace(path, write_core_cap_bytes_per_s=(8e9 if domain == node else 4e9,))
            for node, path in enumerate(row)
        )
        for domain, row in enumerate(machine.paths)
    )
    number = np.arange(4, dtype=np.int64)
    accessed = accesses(number, number, np.zeros(4, np.int64), np.full(4, MB), 4)
    graph = build_graph(np.zeros(4), accessed=accessed, block_bytes=np.full(4, MB))
    workload = Workload("writing", graph)
    parts = parts_of(replace(machine, paths=paths), workload, 1, placement="interleave")
    assert parts.seconds["memory"] == pytest.approx(4 * MB / 8e9)
    assert parts.seconds["remote"] == pytest.approx(2 * (MB / 4e9 - MB / 8e9))


def test_waiting_is_for_the_link_where_that_is_narrower_than_the_controller() -> None:
    machine = make_machine(
        domains=2,
        cores_per_domain=2,
        core_cap_bytes_per_s=10e9,
        dram_bandwidth_bytes_per_s=20e9,
        link_bandwidth_bytes_per_s=2e9,
    )
    parts = parts_of(machine, reading(16), 4, placement="interleave")
    assert_adds_up(parts)
    assert parts.seconds["wait DRAM: link"] > 0.1 * parts.makespan_s
    assert parts.seconds["wait DRAM: controller"] < 1e-3 * parts.makespan_s
