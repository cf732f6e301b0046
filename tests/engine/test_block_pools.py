"""Blocks from pools: where they are allocated, what is recycled, what it takes."""

from __future__ import annotations

import random
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pytest

from benchmarks.policies import CentralQueue
from simsched.analysis.metrics import run_metrics
from simsched.engine.run import simulate
from simsched.files.errors import ModelError, PolicyError
from simsched.machine.synthetic import make_machine
from simsched.policy.contract.base import (
    AcquireStep,
    HookView,
    Placement,
    Plan,
    PlanView,
    Pool,
    PoolGroup,
    Update,
)
from simsched.policy.contract.blocks import BlockPools, size_classes
from simsched.trace.run import Run
from simsched.trace.schema import EventKind
from simsched.workload.builder import accesses, adjacency, build_graph, first_touch_loop
from simsched.workload.graph import TaskGraph, Workload
from tests.engine.test_write_backs import random_levels

SIZE = 3000
CLASS = 4096
CACHED = [("L1", 100 * SIZE, 1e12, 0, 1)]


def chain(n: int, *, sequential: bool = False, sizes: list[int] | None = None) -> TaskGraph:
    """Return tasks 0 to n - 1 in a row; task i reads block i and writes block i + 1.

    The root n creates the first two tasks and task i task i + 2; a sequential program lets the root
    create all of them.
    """
    every = np.arange(n)
    size = np.full(n + 1, SIZE) if sizes is None else np.array(sizes)
    creator = np.full(n, n) if sequential else np.append([n, n], every[:-2])
    detached = np.ones(n + 1, bool)
    detached[n] = False
    return build_graph(
        np.append(np.full(n, 1000.0), 0.0),
        children=adjacency(creator, every, n + 1),
        successors=adjacency(every[:-1], every[1:], n + 1),
        accessed=accesses(
            np.repeat(every, 2),
            np.column_stack([every, every + 1]).ravel(),
            np.column_stack([size[:-1], np.zeros(n)]).ravel(),
            np.column_stack([np.zeros(n), size[1:]]).ravel(),
            n + 1,
        ),
        block_bytes=size,
        detached=detached,
    )


def pools(n: int, *, immediate: bool, **more: Any) -> BlockPools:
    """Return pools for a chain: block i is allocated with task i, and freed when it has ended.

    The last block has no reader: it is always allocated by first touch, and freed by its writer.
    """
    task = np.append(np.arange(n), -1).astype(np.int32)
    at = task if immediate else np.full(n + 1, -1, np.int32)
    free_at = np.append(task[:-1], n - 1).astype(np.int32)
    return BlockPools(size_classes(np.full(n + 1, SIZE)), at, free_at, **more)


@dataclass(frozen=True, kw_only=True)
class Pinned(CentralQueue):
    """Every task on the worker that is named."""

    pools: Any = None
    workers: Any = ()
    home: Any = None
    seen: Any = field(default=None, compare=False)

    def __post_init__(self) -> None:
        pass

    def place(self, view: PlanView, state: Any) -> Placement:
        home = np.full(view.workload.graph.n_blocks, -1, np.int32)
        if self.home is not None:
            home[:] = self.home
        return Placement(home, view.machine.touch_order, self.pools)

    def plan(self, view: PlanView, state: Any, graph: TaskGraph) -> Plan:
        workers = np.zeros(graph.n_tasks, np.int32)
        workers[: len(self.workers)] = self.workers
        return Plan(
            acquire=(AcquireStep("worker"),),
            pool_groups=(PoolGroup("worker"),),
            spawn_order=1,
            instance_of=workers,
        )


def run(backend: str, graph: TaskGraph, policy: Any, **options: Any) -> Run:
    machine = options.pop("machine", make_machine(domains=2, cores_per_domain=1))
    workload = Workload("w", graph, **options)
    return simulate(machine, workload, policy, backend=backend, events=True)


def homes(result: Run, *kinds: EventKind) -> list[tuple[int, int, int]]:
    """Return (task, block, node) of the events of some kinds."""
    assert result.trace is not None
    columns = result.trace.events
    chosen = np.isin(columns["kind"], kinds)
    names = ("task", "arg0", "arg1")
    return list(zip(*(columns[name][chosen].tolist() for name in names), strict=True))


def test_immediate_allocation_needs_one_more_block_than_deferred(backend: str) -> None:
    # Task i creates i + 2 before its own block is free: three blocks of memory against two.
    n = 8
    for immediate, live in ((True, 3), (False, 2)):
        for iterations in (1, 3):
            policy = Pinned(pools=pools(n, immediate=immediate))
            result = run(backend, chain(n), policy, iterations=iterations)
            assert result.summary.peak_bytes == live * CLASS
            assert result.summary.node_peak_bytes.tolist() == [live * CLASS, 0]


def test_a_sequential_control_program_with_immediate_allocation_takes_everything(
    backend: str,
) -> None:
    n = 8
    needed = {
        immediate: run(
            backend, chain(n, sequential=True), Pinned(pools=pools(n, immediate=immediate))
        ).summary
        for immediate in (True, False)
    }
    assert needed[True].peak_bytes == n * CLASS
    assert needed[True].recycled_blocks == 1  # the last block
    assert needed[False].peak_bytes == 2 * CLASS
    assert needed[False].recycled_blocks == n - 1


def test_immediate_follows_the_creator_and_deferred_the_producer(backend: str) -> None:
    # Tasks alternate between the workers: task i + 2 is created where i runs, its producer i + 1
    # runs on the other node.
    n = 8
    turns = np.arange(n) % 2
    deferred = run(backend, chain(n), Pinned(pools=pools(n, immediate=False), workers=turns))
    touched = {block: node for _, block, node in homes(deferred, EventKind.FIRST_TOUCH)}
    assert touched == {0: 0, **{block: (block - 1) % 2 for block in range(1, n + 1)}}
    assert homes(deferred, EventKind.ALLOCATE) == []
    immediate = run(backend, chain(n), Pinned(pools=pools(n, immediate=True), workers=turns))
    # The root, on node 0, creates tasks 0 and 1; task i + 2 is created where task i runs, on node
    # i % 2. Pools are empty at first: memory of the system is on the creator's node as well.
    by_hand = [(0, 0, 0), (1, 1, 0), *((t, t, t % 2) for t in range(2, n))]
    assert homes(immediate, EventKind.ALLOCATE) == by_hand
    assert homes(immediate, EventKind.FREE)[:3] == [(0, 0, 0), (1, 1, 0), (2, 2, 0)]
    assert homes(immediate, EventKind.FIRST_TOUCH) == [(n - 1, n, 1)]  # nobody reads the last one
    assert deferred.summary.managed_bytes.tolist() == [(n + 1) * SIZE, (n - 1) * SIZE]
    # Task i, on node i % 2, reads block i on its own node, and writes block i + 1 on the other one,
    # but for the last block, which is its writer's.
    assert immediate.summary.managed_bytes.tolist() == [(n + 1) * SIZE, (n - 1) * SIZE]


def test_blocks_can_be_allocated_near_others(backend: str) -> None:
    n = 8
    turns = np.arange(n) % 2
    near = np.maximum(np.arange(n + 1) - 1, -1).astype(np.int32)  # the input of the producer
    policy = Pinned(pools=pools(n, immediate=True, allocate_near=near), workers=turns)
    result = run(backend, chain(n), policy)
    # Block 0 is on the node of the root, 0, block 1 near it, and so on: whoever creates them.
    assert homes(result, EventKind.ALLOCATE) == [(task, task, 0) for task in range(n)]


def test_one_creator_has_everything_on_its_node(backend: str) -> None:
    # The root runs on worker 0; tasks, and so producers, alternate between the nodes.
    n = 8
    policy = Pinned(pools=pools(n, immediate=True), workers=np.arange(n) % 2)
    result = run(backend, chain(n, sequential=True), policy)
    assert homes(result, EventKind.ALLOCATE) == [(task, task, 0) for task in range(n)]
    # Tasks 0, 2, 4, 6 read and write there; 1, 3, 5, 7 do so from node 1, but for the last write.
    assert result.summary.managed_bytes.tolist() == [9 * SIZE, 7 * SIZE]


def test_a_full_node_hands_on_to_the_next_one(backend: str) -> None:
    # Node 0 takes two blocks, those of tasks 0 and 1; the others go where its worker touches next.
    n = 4
    machine = make_machine(domains=2, cores_per_domain=1, dram_capacity_bytes=2 * CLASS)
    policy = Pinned(pools=pools(n, immediate=True))
    result = run(backend, chain(n, sequential=True), policy, machine=machine)
    nodes = [node for _, _, node in homes(result, EventKind.ALLOCATE)]
    assert nodes == [0, 0, 1, 1]


def test_memory_goes_back_to_the_pool_of_its_node_whoever_frees_it(backend: str) -> None:
    # Block 1 is written on node 0 and freed by task 1 on node 1; task 2, on node 1, finds nothing
    # there for block 3 and takes memory of the system, although node 0 has freed memory.
    n, turns = 4, [0, 1, 1, 1]
    result = run(backend, chain(n), Pinned(pools=pools(n, immediate=False), workers=turns))
    touched = {block: home for _, block, home in homes(result, EventKind.FIRST_TOUCH)}
    assert touched[3] == 1
    assert homes(result, EventKind.FREE)[1] == (1, 1, 0)


def test_the_memory_freed_last_is_given_out_first(backend: str) -> None:
    # Task 0 writes blocks 0 and 1, which have the cache to themselves; task 1 frees 0, then 1. Task
    # 2 takes memory for a block: that of block 1, of which the cache holds everything, while block
    # 0 is longer by 500 bytes that stay out of it.
    graph = build_graph(
        [0.0] * 3,
        successors=adjacency([0, 1], [1, 2], 3),
        accessed=accesses([0, 0, 2], [0, 1, 2], [0, 0, SIZE], [SIZE - 500, SIZE, 0], 3),
        block_bytes=[SIZE - 500, SIZE, SIZE],
    )
    never = np.full(3, -1, np.int32)
    given = BlockPools(np.full(3, 12, np.int32), never, np.array([1, 1, -1], np.int32))
    machine = make_machine(domains=2, cores_per_domain=1, caches=CACHED)
    result = run(backend, graph, Pinned(pools=given), machine=machine)
    assert homes(result, EventKind.FREE) == [(1, 0, 0), (1, 1, 0)]
    assert result.summary.recycled_blocks == 1
    assert result.summary.peak_bytes == 2 * CLASS
    # Both writes miss; the read of block 2 finds block 1's bytes (block 0's: 500 too few).
    assert result.summary.cache_missing_bytes.sum() == 2 * SIZE - 500


def test_the_initialisation_neither_allocates_nor_frees(backend: str) -> None:
    n = 4
    init = first_touch_loop(np.full(n + 1, SIZE), 0.0)
    result = run(backend, chain(n), Pinned(pools=pools(n, immediate=True)), init=init)
    assert result.trace is not None
    columns = result.trace.events
    chosen = np.isin(columns["kind"], [EventKind.ALLOCATE, EventKind.FREE])
    assert set(columns["iteration"][chosen].tolist()) == {1}
    assert result.summary.peak_bytes == (n + 1) * CLASS


def test_memory_may_be_smaller_than_all_blocks(backend: str) -> None:
    n = 8
    machine = make_machine(domains=1, cores_per_domain=1, dram_capacity_bytes=2 * CLASS)
    deferred = Pinned(pools=pools(n, immediate=False))
    assert run(backend, chain(n), deferred, machine=machine).summary.peak_bytes == 2 * CLASS
    # Two blocks of 4 KiB fill the node.
    in_use = (
        "that domain 0 may touch: 8 KiB of the 8 KiB of node 0 are in use; what helps: a smaller"
    )
    with pytest.raises(ModelError, match=f"block 2 of 4096 bytes finds no room .* {in_use}"):
        run(backend, chain(n), Pinned(pools=pools(n, immediate=True)), machine=machine)
    with pytest.raises(ModelError, match="for first touch, accepted at most"):
        run(backend, chain(n), Pinned(), machine=machine)


def test_hooks_see_where_blocks_are(backend: str) -> None:
    seen: list[tuple[int, int, int]] = []

    class Looking(Pinned):
        def on_ready(self, view: HookView, state: Any, task: int, worker: int) -> Pool | None:
            assert view.live is not None
            if task < 4:
                seen.append((task, view.live.block_home(task), view.live.block_home(task + 1)))
            return None

    run(backend, chain(5), Looking(pools=pools(5, immediate=True), workers=[1] * 5))
    # Block i has memory since task i was created: the root creates 0 and 1, on worker 0 (node 0);
    # task i, on worker 1, creates i + 2. When task 0 becomes ready, task 1 does not exist.
    assert seen == [(0, 0, -1), (1, 0, 1), (2, 1, 1), (3, 1, 1)]


def test_managed_data_and_footprint_are_metrics(backend: str) -> None:
    n = 8
    policy = Pinned(pools=pools(n, immediate=False), workers=np.arange(n) % 2)
    result = run(backend, chain(n), policy)
    row = run_metrics(result.summary, result.machine, result.workload, result.worker_thread)
    assert row["managed_bytes"] == 2 * n * SIZE
    assert row["managed_local_percent"] == pytest.approx(100 * (n + 1) / (2 * n))
    assert row["footprint_bytes"] == sum(row["node_footprint_bytes"])
    plain = run(backend, chain(n), Pinned(home=0)).summary
    assert plain.peak_bytes == (n + 1) * SIZE
    assert plain.managed_bytes.tolist() == [0, 0]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"size_class": np.full(5, 11, np.int32)}, "block 0: size_class: found one smaller"),
        (
            {"size_class": np.full(4, 12, np.int32)},
            r"size_class: found shape \(4,\), acc.* \(5,\)",
        ),
        ({"size_class": np.full(5, 60, np.int32)}, r"size_class\[0\]: found 60, accepted -1"),
        ({"size_class": np.full(5, -1, np.int32)}, "block 0: allocate_at: found a task for a"),
        ({"free_at": np.full(5, 5, np.int32)}, r"free_at\[0\]: found 5, accepted -1 to 4"),
        ({"allocate_near": np.full(5, 5, np.int32)}, r"allocate_near\[0\]: found 5, accepted"),
    ],
)
def test_wrong_pools_are_named(changes: dict[str, Any], message: str) -> None:
    given = replace(pools(4, immediate=True), **changes)
    with pytest.raises(PolicyError, match=message):
        run("native", chain(4), Pinned(pools=given))
    with pytest.raises(PolicyError, match="block 0: found a home"):
        run("native", chain(4), Pinned(pools=pools(4, immediate=True), home=0))


@pytest.mark.parametrize("iterations", [1, 3])
@pytest.mark.parametrize("n", [2, 9])
def test_recycled_memory_is_still_cached(n: int, iterations: int, backend: str) -> None:
    # Two pieces of memory take turns: the first is read, both are written, whatever is in them.
    machine = make_machine(domains=2, cores_per_domain=1, caches=CACHED)
    policy = Pinned(pools=pools(n, immediate=False))
    summary = run(backend, chain(n), policy, machine=machine, iterations=iterations).summary
    assert summary.recycled_blocks == (n + 1) * iterations - 2
    assert summary.cache_missing_bytes.sum() == 2 * SIZE
    assert summary.write_back_bytes == SIZE


@pytest.mark.parametrize(
    ("sizes", "lacked"),
    [
        pytest.param([3000, 3000, 2500, 3000, 3000], 6000 + 500, id="smaller between"),
        pytest.param([2500, 3000, 3000, 3000, 3000], 5500 + 500, id="smaller first"),
        pytest.param([2500, 3000, 4000, 3500, 2500], 5500 + 1500 + 500, id="larger later"),
    ],
)
def test_recycled_memory_is_cached_as_far_as_it_was_used(
    sizes: list[int], lacked: int, backend: str
) -> None:
    machine = make_machine(domains=2, cores_per_domain=1, caches=CACHED)
    policy = Pinned(pools=pools(len(sizes) - 1, immediate=False))
    summary = run(backend, chain(len(sizes) - 1, sizes=sizes), policy, machine=machine).summary
    assert summary.peak_bytes == 2 * CLASS
    assert summary.cache_missing_bytes.sum() == lacked


def test_memory_that_is_allocated_at_a_creation_is_still_cached(backend: str) -> None:
    # Three pieces: task i creates i + 2, with its block, before its own block is free.
    n = 8
    machine = make_machine(domains=2, cores_per_domain=1, caches=CACHED)
    policy = Pinned(pools=pools(n, immediate=True))
    summary = run(backend, chain(n), policy, machine=machine).summary
    assert summary.peak_bytes == 3 * CLASS
    assert summary.cache_missing_bytes.sum() == 3 * SIZE


def fan(n: int) -> TaskGraph:
    """Return tasks in a row that write a block each, and a last one that reads all."""
    every = np.arange(n)
    return build_graph(
        np.zeros(n + 1),
        successors=adjacency(every, every + 1, n + 1),
        accessed=accesses(
            np.append(every, np.full(n, n)),
            np.tile(every, 2),
            np.repeat([0, SIZE], n),
            np.repeat([SIZE, 0], n),
            n + 1,
        ),
        block_bytes=np.full(n, SIZE),
    )


def freed_at_the_end(n: int) -> BlockPools:
    """Return pools for a fan whose last task frees everything."""
    none = np.full(n, -1, np.int32)
    return BlockPools(size_classes(np.full(n, SIZE)), none, np.full(n, n, np.int32))


@pytest.mark.parametrize("iterations", [1, 2, 4])
def test_blocks_that_change_their_memory_find_all_of_it_cached(
    iterations: int, backend: str
) -> None:
    # The pool gives out last what was freed first: in the second iteration the order is reversed.
    n = 10
    machine = make_machine(domains=2, cores_per_domain=1, caches=CACHED)
    policy = Pinned(pools=freed_at_the_end(n))
    summary = run(backend, fan(n), policy, machine=machine, iterations=iterations).summary
    assert summary.peak_bytes == n * CLASS
    assert summary.recycled_blocks == n * (iterations - 1)
    assert summary.cache_missing_bytes.sum() == n * SIZE
    assert summary.write_back_bytes == 0


@dataclass(frozen=True, kw_only=True)
class Moving(Pinned):
    """Every task of an iteration on one worker, on each in turn."""

    def on_iteration(self, view: PlanView, state: Any, counters: Any) -> Update:
        graph = view.workload.graph
        plan = self.plan(view, state, graph)
        turn = np.full(graph.n_tasks, counters.iteration % 2, np.int32)
        return Update(replace(plan, instance_of=turn))


def test_memory_of_the_system_is_not_cached(backend: str) -> None:
    # The other worker's pool is empty: its block is that of before, but the memory is not.
    machine = make_machine(domains=2, cores_per_domain=1, caches=[("L1", 100 * SIZE, 1e12, 0, 2)])
    policy = Moving(pools=freed_at_the_end(1))
    result = run(backend, fan(1), policy, machine=machine, iterations=2)
    assert result.summary.node_peak_bytes.tolist() == [CLASS, CLASS]
    assert result.summary.cache_missing_bytes.sum() == 2 * SIZE


def random_lives(draw: random.Random, n: int) -> tuple[TaskGraph, BlockPools]:
    """Return tasks in a row, each with a block that it writes and some of the next ones read."""
    steps, free_at = [], []
    sizes = [draw.choice([2100, 2500, 3000, 3500, 4096]) for _ in range(n)]
    for block in range(n):
        readers = [block + k for k in range(1, 4) if block + k < n and draw.random() < 0.6]
        written = draw.choice([sizes[block], sizes[block] // 2, 2 * sizes[block]])
        steps += [(block, block, 0, written)]
        steps += [(task, block, sizes[block], draw.choice([0, 0, 700])) for task in readers]
        free_at.append(max(readers, default=block))
    task, block, read, written = (list(column) for column in zip(*sorted(steps), strict=True))
    graph = build_graph(
        np.zeros(n),
        successors=adjacency(range(n - 1), range(1, n), n),
        accessed=accesses(task, block, read, written, n),
        block_bytes=sizes,
    )
    none = np.full(n, -1, np.int32)
    return graph, BlockPools(size_classes(np.array(sizes)), none, np.array(free_at, np.int32))


@pytest.mark.parametrize("seed", range(30))
def test_both_backends_recycle_alike(seed: int) -> None:
    draw = random.Random(seed)
    n = 60
    graph, given = random_lives(draw, n)
    machine = make_machine(domains=2, cores_per_domain=2, caches=random_levels(draw))
    policy = Pinned(pools=given, workers=[draw.randrange(4) for _ in range(n)])
    runs = [run(each, graph, policy, machine=machine, iterations=3) for each in ("simpy", "native")]
    one, other = (each.summary for each in runs)
    assert one.makespan_ps == other.makespan_ps
    assert one.write_back_bytes == other.write_back_bytes
    assert one.cache_missing_bytes.tolist() == other.cache_missing_bytes.tolist()
