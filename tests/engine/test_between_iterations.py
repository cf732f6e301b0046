"""What happens between iterations: counters, overhead and migration, with known answers."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest

from benchmarks.policies import CentralQueue
from simsched.engine.run import simulate
from simsched.files.errors import PolicyError
from simsched.machine.model import Machine, RuntimeCosts
from simsched.machine.synthetic import make_machine
from simsched.policy.algorithms.work_stealing.random_stealing import stealing_plan
from simsched.policy.contract.base import Counters, Monitor, Placement, Plan, PlanView, Update
from simsched.trace.schema import EventKind, Summary
from simsched.workload.builder import accesses, adjacency, build_graph
from simsched.workload.graph import TaskGraph, Workload

US = 1_000_000
MB = 10**6


def blocks(n: int) -> TaskGraph:
    """One task for each of n blocks of 1 MB that reads it."""
    read = accesses(range(n), range(n), MB, 0, n)
    return build_graph(np.zeros(n), accessed=read, block_bytes=np.full(n, MB))


@dataclass(frozen=True, kw_only=True)
class Moving(CentralQueue):
    """Blocks start on node 0; after iteration 1 the given ones move."""

    moves: tuple[tuple[int, int], ...] = ()
    together: int = 1
    overhead_ps: int = 0
    home: int = 0

    def on_iteration(self, view: PlanView, state: Any, counters: Counters) -> Update | None:
        if counters.iteration > 1:
            return None
        return Update(
            move_block=np.array([block for block, _ in self.moves], np.int32),
            move_node=np.array([node for _, node in self.moves], np.int32),
            migrating_workers=self.together,
            overhead_ps=self.overhead_ps,
        )


def summary(backend: str, policy: Moving, n: int = 2, page_ps: int = 0) -> Summary:
    machine = make_machine(
        domains=2, costs=RuntimeCosts(barrier_ps=1000, page_migration_ps=page_ps)
    )
    return simulate(machine, Workload("w", blocks(n), 3), policy, backend=backend).summary


def test_copies_load_the_controllers_and_the_run_waits_for_them(backend: str) -> None:
    found = summary(backend, Moving(moves=((0, 1), (1, 1)), overhead_ps=5_000_000))
    # 2 MB at 10 GB/s; the second interval has nothing but the barrier.
    assert found.iteration_overhead_ps.tolist() == [1000 + 5 * US + 200 * US, 1000, 0]
    assert (found.migrations, found.migrated_bytes) == (2, 2 * MB)
    assert found.worker_migrate_ps.sum() == 200 * US
    # Afterwards both blocks are read from node 1 alone.
    assert found.node_bytes.sum(axis=1).tolist() == [[2 * MB, 0], [0, 2 * MB], [0, 2 * MB]]


@pytest.mark.parametrize(("together", "copying_ps"), [(1, 2000 * US), (2, 1000 * US)])
def test_each_copying_worker_handles_so_many_pages_per_second(
    backend: str, together: int, copying_ps: int
) -> None:
    # A page of 4096 bytes in 4.096 us: 1 GB/s for each worker.
    policy = Moving(moves=((0, 1), (1, 1)), together=together)
    found = summary(backend, policy, page_ps=4_096_000)
    assert found.iteration_overhead_ps[0] == 1000 + copying_ps


def test_moves_to_the_present_home_cost_nothing(backend: str) -> None:
    found = summary(backend, Moving(moves=((0, 0), (1, 0))))
    assert found.iteration_overhead_ps[0] == 1000
    assert found.migrations == 0


def test_moved_blocks_give_their_room_back(backend: str) -> None:
    used = []

    class Reporting(Moving):
        def on_iteration(self, view: PlanView, state: Any, counters: Counters) -> Update | None:
            used.append(counters.node_used_bytes.tolist())
            return super().on_iteration(view, state, counters)

    summary(backend, Reporting(moves=((0, 1),)))
    assert used == [[2 * MB, 0], [MB, MB]]


def test_a_block_is_moved_at_most_once(backend: str) -> None:
    # Two copies of one block at a time would give the room on its old node back twice.
    with pytest.raises(PolicyError, match="move_block: found block 1 more than once"):
        summary(backend, Moving(moves=((0, 1), (1, 1), (1, 0)), together=2))


def test_a_migration_that_does_not_fit_is_refused(backend: str) -> None:
    machine = make_machine(domains=2, dram_capacity_bytes=2 * MB)
    machine = replace(
        machine, nodes=(machine.nodes[0], replace(machine.nodes[1], capacity_bytes=MB))
    )
    policy = Moving(moves=((0, 1), (1, 1)))
    with pytest.raises(PolicyError, match=r"block 1 \(1000000 bytes\) does not fit on node 1"):
        simulate(machine, Workload("w", blocks(2), 2), policy, backend=backend)


class Nowhere(CentralQueue):
    def place(self, view: PlanView, state: Any) -> Placement:
        return Placement(np.full(1, -1, np.int32), np.full((2, 1), -1, np.int32))


def test_first_touch_needs_nodes_that_exist(backend: str) -> None:
    with pytest.raises(PolicyError, match=r"place: touch_order\[0, 0\]: found -1, accepted 0 to 1"):
        simulate(make_machine(), Workload("w", blocks(1)), Nowhere(), backend=backend)


def watched(backend: str, machine: Machine, graph: TaskGraph) -> Counters:
    """Return what one worker's first iteration measures with three sampled pages in every block."""
    seen = []

    class Watching(CentralQueue):
        def plan(self, view: PlanView, state: Any, graph: TaskGraph) -> Plan:
            offsets = np.tile([0, 4096, 8192], (graph.n_blocks, 1))
            return replace(
                super().plan(view, state, graph),
                counter_group=np.arange(graph.n_tasks, dtype=np.int32) - 1,
                monitor=Monitor(10 * US, offsets),
            )

        def on_iteration(self, view: PlanView, state: Any, counters: Counters) -> None:
            seen.append(counters)

    simulate(machine, Workload("w", graph, 2), Watching(home=1), backend=backend, workers=1)
    return seen[0]


def test_a_sampled_page_counts_once_per_polling_loop(backend: str) -> None:
    # Accesses begin at 0, 12, 15 and 24 us: one, two and one in the loops of 10 us.
    graph = build_graph(
        [12_000.0, 3000.0, 9000.0, 1000.0],
        accessed=accesses(range(4), [0] * 4, [4096, 4097, 5000, 8192], 0, 4),
        block_bytes=[12_288],
    )
    counters = watched(backend, make_machine(), graph)
    assert counters.samples.tolist() == [[3, 2, 0]]
    assert counters.duration_s == pytest.approx(25e-6)


def test_bytes_are_counted_by_group_kind_and_locality(backend: str) -> None:
    # The only worker is in domain 0; the blocks live on DRAM node 1. Task 0 has no group.
    counters = watched(backend, make_machine(hbm_per_domain=True), blocks(3))
    assert counters.group_bytes.tolist() == [[[0, MB], [0, 0]]] * 2
    assert counters.executed_by.tolist() == [0, 0, 0]
    assert counters.block_home.tolist() == [1, 1, 1]
    assert counters.node_used_bytes.tolist() == [0, 3 * MB, 0, 0]


def test_bytes_that_a_cache_does_not_hold_are_counted_by_group_and_domain(backend: str) -> None:
    # One worker on domain 0 of two: task 0 (no group) leaves 6000 bytes in both levels; task 1
    # (group 0) wants 8000, of which both lack the other 2000; task 2 (group 1) writes a block that
    # fits L2 only.
    graph = build_graph(
        [0.0, 0.0, 0.0],
        successors=adjacency([0, 1], [1, 2], 3),
        accessed=accesses([0, 1, 2], [0, 0, 1], [6000, 8000, 0], [0, 0, 30_000], 3),
        block_bytes=[8000, 30_000],
    )
    caches = [("L1", 10_000, 100e9, 500, 1), ("L2", 40_000, 100e9, 500, 1)]
    counters = watched(backend, make_machine(caches=caches), graph)
    assert counters.group_missing_bytes.tolist() == [[2000, 2000], [30_000, 30_000]]
    policy = CentralQueue(home=0)
    machine = make_machine(caches=caches)
    found = simulate(machine, Workload("w", graph), policy, backend=backend, workers=1).summary
    assert found.cache_missing_bytes.tolist() == [[[38_000, 38_000], [0, 0]]]
    assert found.cache_hit_bytes.tolist() == [[[6000, 0], [0, 0]]]
    assert found.cache_misses.tolist() == [[[3, 3], [0, 0]]]
    assert found.cache_hits.tolist() == [[[0, 0], [0, 0]]]


def test_memory_that_belongs_to_no_domain_is_local_to_all(backend: str) -> None:
    machine = make_machine()
    shared = replace(machine.nodes[1], domain=None)
    machine = replace(machine, nodes=(machine.nodes[0], shared))
    assert watched(backend, machine, blocks(2)).group_bytes.tolist() == [[[MB, 0]]]


@dataclass(frozen=True, kw_only=True)
class GoingOn(CentralQueue):
    """Random stealing in which the program goes on where it ended; workers may be left out."""

    left_out: int = -1  # after iteration 1

    def __post_init__(self) -> None:
        pass

    def plan(self, view: PlanView, state: Any, graph: TaskGraph) -> Plan:
        plan = stealing_plan(spawn="parent_first", roots="last")
        if self.left_out < 0:
            return plan
        return replace(plan, active_workers=np.arange(view.n_workers) != self.left_out)

    def on_iteration(self, view: PlanView, state: Any, counters: Counters) -> Update | None:
        if self.left_out < 0 or counters.iteration > 1:
            return None
        left_out = replace(self, left_out=int(counters.executed_by[0]))
        return Update(plan=left_out.plan(view, state, view.workload.graph))


def starts_and_ends(backend: str, policy: GoingOn) -> tuple[list[int], list[int]]:
    """Return the worker that started, and that ended, the root in each of 20 iterations."""
    tree = build_graph(
        np.array([0.0, 5.0, 5.0, 5.0, 5.0]), children=adjacency([0, 0, 0, 0], [1, 2, 3, 4], 5)
    )
    machine = make_machine(domains=2, cores_per_domain=2, costs=RuntimeCosts(steal_ps=(100,)))
    run = simulate(machine, Workload("w", tree, 20), policy, backend=backend, events=True)
    assert run.trace is not None
    events = run.trace.events
    at_root = events["task"] == 0
    started, ended = (
        events["worker"][at_root & (events["kind"] == kind)].tolist()
        for kind in (EventKind.TASK_START, EventKind.TASK_END)
    )
    return started, ended


def test_the_program_goes_on_where_it_ended(backend: str) -> None:
    started, ended = starts_and_ends(backend, GoingOn())
    assert started == [0, *ended[:-1]]
    assert len(set(started)) > 1


def test_it_goes_on_elsewhere_when_that_worker_takes_no_part_any_more(backend: str) -> None:
    started, ended = starts_and_ends(backend, GoingOn(left_out=3))
    assert started[1] == (1 if ended[0] == 0 else 0)
    assert started[2:] == ended[1:-1]
