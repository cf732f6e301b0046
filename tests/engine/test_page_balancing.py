"""Pages that follow accesses: what faults, what moves, what it costs."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest

from benchmarks.policies import CentralQueue
from simsched.analysis.metrics import run_metrics
from simsched.analysis.waterfall import time_parts
from simsched.engine.run import simulate
from simsched.files.errors import PolicyError
from simsched.machine.model import Machine, RuntimeCosts
from simsched.machine.synthetic import make_machine
from simsched.policy import make_policy
from simsched.policy.contract.base import AcquireStep, Placement, Plan, PlanView, PoolGroup
from simsched.policy.contract.blocks import PageBalancing, system_pages
from simsched.trace.run import Run
from simsched.trace.schema import EventKind
from simsched.workload.builder import accesses, adjacency, build_graph, first_touch_loop
from simsched.workload.graph import TaskGraph, Workload

US = 1_000_000  # picoseconds, and the time of 1000 operations at 1e9 per second
PAGE = 4096
PAGES = 8
SIZE = PAGES * PAGE
LOCAL = SIZE * 1000 // 4  # ps for a block at 4 GB/s, 8.192 us
FAR = 10 * US  # what a remote access takes longer
COSTS = RuntimeCosts(page_fault_ps=US, page_move_ps=2 * US, page_migration_ps=3 * US)
MOVE = PAGES * (2 + 3) * US


def machine(**changes: Any) -> Machine:
    usual: dict[str, Any] = {
        "domains": 2,
        "cores_per_domain": 1,
        "dram_bandwidth_bytes_per_s": 4e9,
        "remote_latency_ps": FAR,
        "local_latency_ps": 0,
        "page_bytes": PAGE,
        "costs": COSTS,
    }
    return make_machine(**{**usual, **changes})


def reads(n_bytes: list[int], ops: float = 0.0) -> TaskGraph:
    """Return a row of tasks of which each reads some bytes of one block."""
    n = len(n_bytes)
    every = np.arange(n)
    return build_graph(
        np.full(n, ops),
        successors=adjacency(every[:-1], every[1:], n),
        accessed=accesses(every, np.zeros(n, int), n_bytes, 0, n),
        block_bytes=[SIZE],
    )


@dataclass(frozen=True, kw_only=True)
class Pinned(CentralQueue):
    """Tasks on the workers that are named; pages may follow them in the iterations."""

    balancing: Any = None
    workers: Any = ()
    node: Any = 1

    def __post_init__(self) -> None:
        pass

    def place(self, view: PlanView, state: Any) -> Placement:
        home = np.full(view.workload.graph.n_blocks, self.node, np.int32)
        return Placement(home, view.machine.touch_order)

    def plan(self, view: PlanView, state: Any, graph: TaskGraph) -> Plan:
        workers = np.zeros(graph.n_tasks, np.int32)
        if graph is view.workload.graph:
            workers[: len(self.workers)] = self.workers
        return Plan(
            acquire=(AcquireStep("worker"),),
            pool_groups=(PoolGroup("worker"),),
            instance_of=workers,
            balancing=self.balancing if graph is view.workload.graph else None,
        )


def run(backend: str, graph: TaskGraph, policy: Pinned, **options: Any) -> Run:
    chosen = options.pop("machine", machine())
    return simulate(chosen, Workload("w", graph, **options), policy, backend=backend, events=True)


def every(scan_period_s: float, **more: Any) -> PageBalancing:
    return PageBalancing(scan_period_s, PAGE, **more)


@pytest.mark.parametrize("ops", [0.0, 50_000.0])
def test_a_block_moves_with_the_first_access_and_then_is_local(backend: str, ops: float) -> None:
    graph = reads([SIZE] * 3, ops)
    compute = round(ops * 1000)
    off = run(backend, graph, Pinned()).summary
    assert off.makespan_ps == 3 * max(LOCAL + FAR, compute)
    assert (off.page_faults, off.page_fault_ps, off.migrations) == (0, 0, 0)
    on = run(backend, graph, Pinned(balancing=every(1.0)))
    stall = PAGES * US + MOVE
    assert on.summary.makespan_ps == stall + 3 * max(LOCAL, compute)
    assert (on.summary.page_faults, on.summary.page_fault_ps) == (PAGES, stall)
    assert (on.summary.migrations, on.summary.migrated_bytes) == (1, SIZE)
    row = run_metrics(on.summary, on.machine, on.workload, on.worker_thread)
    assert row["page_faults"] == PAGES
    assert row["page_fault_s"] == pytest.approx(stall * 1e-12)
    assert row["remote_bytes"] == 0


def test_every_scan_lets_local_pages_fault_again(backend: str) -> None:
    # Each access takes longer than the period, so that pages are marked again before the next one.
    found = run(backend, reads([SIZE] * 4), Pinned(balancing=every(5e-6))).summary
    assert found.page_faults == 4 * PAGES
    assert found.migrations == 1
    assert found.makespan_ps == 4 * (LOCAL + PAGES * US) + MOVE


@pytest.mark.parametrize("ops", [0.0, 50_000.0])
def test_results_show_pages_as_migration(backend: str, ops: float) -> None:
    # One of two workers reads a block three times; the first access moves it, each one faults.
    capped = machine(core_cap_bytes_per_s=4e9)  # a core alone takes all that a node gives
    found = run(backend, reads([SIZE] * 3, ops), Pinned(balancing=every(5e-6)), machine=capped)
    stall = 3 * PAGES * US + MOVE
    assert found.summary.page_fault_ps == stall
    row = run_metrics(found.summary, found.machine, found.workload, found.worker_thread)
    assert row["migrate_s"] == pytest.approx(stall * 1e-12)
    assert row["busy_s"] == pytest.approx(3 * max(LOCAL, ops * 1000) * 1e-12)
    assert row["migration_overhead_s"] == pytest.approx(stall / 2 * 1e-12)  # of two workers
    parts = time_parts(found).seconds
    assert parts["migration"] == pytest.approx(stall / 2 * 1e-12)
    assert parts["compute"] == pytest.approx(3 * ops * 1000 / 2 * 1e-12)
    assert parts["memory"] == pytest.approx((0 if ops else 3 * LOCAL / 2) * 1e-12)
    assert parts["cache"] == parts["remote"] == pytest.approx(0.0, abs=1e-15)
    assert sum(parts.values()) == pytest.approx(found.makespan_s)


def test_pages_do_not_take_the_time_of_caches(backend: str) -> None:
    cached = machine(core_cap_bytes_per_s=4e9, caches=[("L2", 4 * SIZE, 16e9, 0, 1)])
    policy = Pinned(balancing=every(5e-6), node=0)
    found = run(backend, reads([SIZE] * 3), policy, machine=cached)
    parts = time_parts(found).seconds  # one read from memory, two from the cache
    assert parts["migration"] == pytest.approx(3 * PAGES * US / 2 * 1e-12)
    assert parts["memory"] == pytest.approx(LOCAL / 2 * 1e-12)
    assert parts["cache"] == pytest.approx(2 * SIZE / 16e9 / 2)


def test_huge_pages_fault_once(backend: str) -> None:
    huge = PageBalancing(1.0, 2**21)
    found = run(backend, reads([SIZE] * 2), Pinned(balancing=huge)).summary
    assert found.page_faults == 1
    copying = PAGES * 3 * US
    assert found.makespan_ps == US + 2 * US + copying + 2 * LOCAL


def test_the_first_fault_or_two_in_a_row_pass_the_filter(backend: str) -> None:
    # Linux 4.3: a page remembers who had the last fault, but nobody when it is new; then it moves.
    often = every(5e-6, faults_to_move=2)
    alone = run(backend, reads([SIZE] * 3), Pinned(balancing=often)).summary
    assert alone.migrations == 1
    assert alone.makespan_ps == MOVE + 3 * (LOCAL + PAGES * US)
    # After a fault of its own node, the first one of the other does not pass, the second does.
    after = run(backend, reads([SIZE] * 3), Pinned(balancing=often, workers=[1, 0, 0])).summary
    assert after.migrations == 1
    assert after.makespan_ps == FAR + MOVE + 3 * (LOCAL + PAGES * US)
    # Two nodes in turn: without the filter the block moves each time, with it only when it is new.
    turns = [0, 1, 0, 1]
    shared = run(backend, reads([SIZE] * 4), Pinned(balancing=often, workers=turns)).summary
    assert shared.migrations == 1
    hasty = run(backend, reads([SIZE] * 4), Pinned(balancing=every(5e-6), workers=turns)).summary
    assert hasty.migrations == 4


Turn = tuple[int, str, int]  #: a worker reads some pages of block A or B


def moving_turns(backend: str, turns: list[Turn], thread_group: str) -> list[int]:
    """Return which of the turns move a block; A, of 8 pages, is on node 1 and B, of 16, on node 0.

    Workers 0 and 1 are at node 0, workers 2 and 3 at node 1. Every turn takes longer than a period.
    """
    n = len(turns)
    task = np.arange(n)
    graph = build_graph(
        np.zeros(n),
        successors=adjacency(task[:-1], task[1:], n),
        accessed=accesses(
            task, ["AB".index(block) for _, block, _ in turns], [p * PAGE for *_, p in turns], 0, n
        ),
        block_bytes=[SIZE, 2 * SIZE],
    )
    policy = Pinned(
        balancing=every(5e-6, faults_to_move=2, thread_group=thread_group),
        workers=[worker for worker, *_ in turns],
        node=np.array([1, 0]),
    )
    trace = run(backend, graph, policy, machine=machine(cores_per_domain=2)).trace
    assert trace is not None
    moves = trace.events["kind"] == EventKind.PAGE_MOVE
    found: list[int] = trace.events["task"][moves].tolist()
    return found


def test_shared_faults_of_a_group_do_not_move_what_is_spread(backend: str) -> None:
    # Worker 1 follows worker 0 on A in turn 4 (shared) and itself in turn 5 (private). At turn 4
    # node 0 has an average of 8 // 2 // 2 + 16 = 18, node 1 of (8 // 2 // 2 + 8) // 2 = 5.
    turns = [(2, "A", 8), (0, "B", 8), (0, "A", 8), (1, "B", 16), (1, "A", 8), (1, "A", 8)]
    assert moving_turns(backend, turns, "none") == [4]
    assert moving_turns(backend, turns, "start") == [5]
    # In turn 3 worker 1 has had a fault on B after worker 0, which makes it a member of the group.
    assert moving_turns(backend, turns, "sharing") == [5]
    lone = [*turns[:3], (0, "B", 16), *turns[4:]]  # without it, its first shared fault passes
    assert moving_turns(backend, lone, "sharing") == [4]
    assert moving_turns(backend, lone, "start") == [5]


@pytest.mark.parametrize(("pages", "moved"), [(15, [3]), (16, [])])
def test_shared_faults_spread_a_group_over_nodes(
    backend: str, pages: int, moved: list[int]
) -> None:
    # At turn 3 node 0 has an average of pages // 2, node 1 of 8 // 2 // 2 + 8 = 10: it moves if
    # 4 * (pages // 2) < 3 * 10, up to 15 pages.
    turns = [(2, "A", 8), (0, "B", pages), (0, "A", 8), (1, "A", 8)]
    assert moving_turns(backend, turns, "start") == moved


def test_a_group_does_not_move_a_new_page_at_its_first_fault(backend: str) -> None:
    # Nobody has had a fault on it, so it is not private; no node has fewer faults than another.
    turns = [(0, "A", 8), (0, "A", 8), (0, "A", 8)]
    assert moving_turns(backend, turns, "start") == [1]
    assert moving_turns(backend, turns, "sharing") == moving_turns(backend, turns, "none") == [0]
    # A worker that only had new pages is in no group yet; in one, node 0 has 8 faults, node 1 none.
    new = [(0, "B", 8), (0, "A", 8)]
    assert moving_turns(backend, new, "sharing") == [1]
    assert moving_turns(backend, new, "start") == []


def test_a_fault_counts_where_the_page_has_moved(backend: str) -> None:
    # At turn 2 node 0 has the 8 faults of turn 1, which moved A there, node 1 half of turn 0's 8.
    turns = [(0, "A", 8), (0, "A", 8), (2, "B", 8)]
    assert moving_turns(backend, turns, "start") == [1, 2]


@pytest.mark.parametrize(
    ("policy", "thread_group"), [("balancenuma", "sharing"), ("shm_balancenuma", "start")]
)
def test_policies_have_the_filter_of_linux(policy: str, thread_group: str) -> None:
    found = vars(make_policy(policy))
    assert (found["faults_to_move"], found["thread_group"]) == (2, thread_group)


def test_a_block_moves_if_half_of_its_pages_fault(backend: str) -> None:
    half = PAGES // 2
    for n_pages, moved in ((half - 1, 0), (half, 1)):
        graph = reads([n_pages * PAGE, n_pages * PAGE - 1])
        result = run(backend, graph, Pinned(balancing=every(1.0)))
        assert result.summary.page_faults == n_pages  # the second access finds them unmarked
        assert result.summary.migrations == moved
    # Pages that were touched before do not fault again: first 3 of 8, then 5.
    grown = run(backend, reads([3 * PAGE, SIZE]), Pinned(balancing=every(1.0)))
    assert grown.trace is not None
    columns = grown.trace.events
    faults = columns["arg1"][columns["kind"] == EventKind.PAGE_FAULT]
    assert faults.tolist() == [3, 5]
    assert grown.summary.migrations == 1


def test_blocks_stay_where_they_are_without_room(backend: str) -> None:
    graph = reads([SIZE] * 2)
    full = replace(graph, block_bytes=np.array([SIZE, SIZE]))
    small = machine(dram_capacity_bytes=SIZE + 1)
    policy = Pinned(balancing=every(1.0), node=np.array([1, 0]))
    found = run(backend, full, policy, machine=small).summary
    assert (found.page_faults, found.migrations) == (PAGES, 0)


def test_first_touch_and_initialisation_do_not_fault(backend: str) -> None:
    fresh = run(backend, reads([SIZE]), Pinned(balancing=every(1.0), node=-1)).summary
    assert fresh.page_faults == 0
    # The initialisation touches on node 0 without balancing; worker 1 then takes the block over.
    init = first_touch_loop(np.array([SIZE]), 0.0)
    policy = Pinned(balancing=every(1.0), node=-1, workers=[1, 1])
    found = run(backend, reads([SIZE] * 2), policy, init=init)
    assert found.summary.iteration.tolist() == [0, 1]
    assert (found.summary.page_faults, found.summary.migrations) == (PAGES, 1)
    assert found.trace is not None
    columns = found.trace.events
    assert set(columns["iteration"][columns["kind"] == EventKind.PAGE_FAULT].tolist()) == {1}


def test_break_even_is_where_the_gain_has_paid_for_the_move(backend: str) -> None:
    # 48 us to move, 10 us gained with every traversal: five traversals pay.
    def traversals(count: int, policy: Pinned) -> int:
        return int(run(backend, reads([SIZE] * count), policy).summary.makespan_ps)

    gains = [
        traversals(count, Pinned()) - traversals(count, Pinned(balancing=every(1.0)))
        for count in (1, 4, 5, 10)
    ]
    assert gains == [count * FAR - PAGES * US - MOVE for count in (1, 4, 5, 10)]
    assert [gain >= 0 for gain in gains] == [False, False, True, True]


@pytest.mark.parametrize(
    ("balancing", "message"),
    [
        (
            PageBalancing(0.0),
            "balancing: scan_period_s: found 0.0, accepted .* 1e-09 to",
        ),
        (PageBalancing(1.0, 0), "balancing: page_bytes: found 0, accepted .* 1 to"),
        (
            PageBalancing(1.0, 2**40),
            "page_bytes: found 1099511627776, accepted .* 1 to 1073741824",
        ),
        (PageBalancing(1.0, 3000), "page_bytes: found 3000, accepted powers of two up to"),
        (
            PageBalancing(1.0, 4096, 0),
            "balancing: faults_to_move: found 0, accepted .* 1 to",
        ),
        (PageBalancing(1.0, 4096, 1, "all"), "unknown thread_group 'all'; accepted: none, sharing"),
    ],
)
def test_wrong_numbers_are_named(balancing: PageBalancing, message: str) -> None:
    with pytest.raises(PolicyError, match=message):
        run("native", reads([SIZE]), Pinned(balancing=balancing))


@pytest.mark.parametrize("policy", ["balancenuma", "shm_balancenuma"])
@pytest.mark.parametrize("size", [1, 2048, 3000, 12288, 2**31, 2**40])
def test_pages_are_the_machines_or_huge_ones(policy: str, size: int) -> None:
    expected = (
        f"page_bytes: found {size}, accepted powers of two from 4096 \\(a page of machine .*\\) "
        "to 1073741824"
    )
    with pytest.raises(PolicyError, match=expected):
        simulate(machine(), Workload("w", reads([SIZE])), make_policy(policy, {"page_bytes": size}))


@pytest.mark.parametrize("size", [4096, 65536, 2**21, 2**30])
def test_sizes_of_pages_of_processors_are_accepted(size: int) -> None:
    made = make_policy("balancenuma", {"page_bytes": size})
    found = simulate(machine(), Workload("w", reads([SIZE]), iterations=2), made)
    assert found.summary.page_faults == max(1, SIZE // size)  # there is no second scan
    with pytest.raises(PolicyError, match="from 65536"):
        system_pages(make_machine(page_bytes=65536), 1.0, 4096, 1, "none")
