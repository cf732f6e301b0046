"""BATS from plan to plan."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from simsched.engine.run import simulate
from simsched.machine.model import RuntimeCosts
from simsched.machine.synthetic import make_machine
from simsched.policy import make_policy
from simsched.policy.algorithms.heterogeneous_memory.bats import Bats, search_order
from simsched.policy.contract.base import CHILD_FIRST, PARENT_FIRST, Plan, PlanView
from simsched.policy.parts.bats_balancer import NEVER, monitoring_workers
from simsched.testing import rehearse, small_machines, small_workloads
from simsched.trace.run import Run
from simsched.trace.schema import EventKind
from simsched.workload.builder import accesses, build_graph, first_touch_loop
from simsched.workload.graph import Workload
from simsched.workload.spawn_tree import equal_parts, first_touch_tree, grow

MACHINE = small_machines()["four_domains_hbm"]
TREE = small_workloads()["tree"]


def plans(workload: Workload = TREE, **params: Any) -> tuple[Plan, ...]:
    return rehearse(Bats(**params), MACHINE, workload).plans


def steps(plan: Plan) -> list[tuple[str, str, str, tuple[str, ...]]]:
    return [(step.group, step.where, step.take, step.when) for step in plan.acquire]


RANDOM = [("worker", "own", "newest", ()), ("worker", "anywhere", "oldest", ())]
ALONE = ("domain_inactive",)


def test_the_five_levels_of_hierarchical_stealing() -> None:
    assert steps(plans()[-1]) == [
        ("worker", "own", "newest", ()),
        ("worker", "same_domain", "oldest", ()),
        ("high", "own", "oldest", ()),
        ("low", "own", "oldest", ()),
        ("worker", "same_domain", "oldest", ()),
        ("low", "other_domains", "oldest", ALONE),
        ("high", "other_domains", "oldest", ALONE),
    ]
    # One random worker is asked before a subgraph is begun, and anybody when there is none.
    assert [step.choice.attempts for step in plans()[-1].acquire] == [0, 1, 0, 0, 0, 0, 0]


def test_profiling_takes_one_subgraph_at_a_time_and_steals_inside_sockets_only() -> None:
    assert steps(plans()[2]) == [
        ("worker", "own", "newest", ()),
        ("worker", "same_domain", "oldest", ()),
        ("high", "own", "oldest", ALONE),
        ("low", "own", "oldest", ALONE),
    ]


def test_a_subgraph_can_be_begun_before_and_after_others_are_asked() -> None:
    for joining, expected in (
        ("before_beginning", ["worker", "worker", "high", "low", "low", "high"]),
        ("after_beginning", ["worker", "high", "low", "worker", "low", "high"]),
    ):
        order = search_order(alone=False, between_sockets=True, joining=joining)
        assert [step.group for step in order] == expected


def test_initialisation_and_first_iteration_steal_at_random() -> None:
    init, first = plans()[:2]
    assert steps(init) == steps(first) == RANDOM
    assert init.monitor is None
    assert init.active_workers is None


def test_the_first_iteration_gives_workers_up_for_monitoring() -> None:
    first = plans(monitor_threads=5)[1]
    assert first.active_workers is not None
    # Four workers in each of four domains: the last of each, then the one before in the first.
    assert np.flatnonzero(~first.active_workers).tolist() == [2, 3, 7, 11, 15]


# Of the 32 blocks of 12,388 bytes each leaf of the initialisation allocates two: 7 pages.
AREAS, AREA_PAGES, BLOCK_BYTES = 16, 7, 12_388


def sampled(plan: Plan) -> list[int]:
    """Return the sampled bytes of all areas, from the start of the first block."""
    assert plan.monitor is not None
    block, column = np.nonzero(plan.monitor.sample_offset_bytes < NEVER)
    offset = plan.monitor.sample_offset_bytes[block, column]
    assert np.all(offset < BLOCK_BYTES)
    return sorted((block * BLOCK_BYTES + offset).tolist())


def test_a_polling_loop_lasts_as_long_as_reading_all_samples() -> None:
    plan = plans(sample_pages=3, monitor_threads=4)[1]
    assert plan.monitor is not None
    assert plan.monitor.period_ps == AREAS * 3 * 200_000 // 4
    areas, pages = np.divmod(sampled(plan), 2 * BLOCK_BYTES)
    assert areas.tolist() == np.repeat(np.arange(AREAS), 3).tolist()
    assert np.all(pages % 4096 == 0)


@pytest.mark.parametrize("sample_pages", [7, 8, 1_000_000])
def test_no_area_has_more_samples_than_the_largest_has_pages(sample_pages: int) -> None:
    # A million samples of each block were drawn, polled and kept.
    plan = plans(sample_pages=sample_pages, monitor_threads=4)[1]
    every = [
        area * 2 * BLOCK_BYTES + page * 4096 for area in range(AREAS) for page in range(AREA_PAGES)
    ]
    assert sampled(plan) == every
    assert plan.monitor is not None
    assert plan.monitor.period_ps == AREAS * AREA_PAGES * 200_000 // 4


@pytest.mark.parametrize(
    ("domains", "threads", "expected"),
    [([0], 4, []), ([0, 0], 4, [1]), ([0, 0, 1, 1], 4, [1, 3, 0]), ([0, 0, 1], 2, [1, 2])],
)
def test_one_worker_always_remains(domains: list[int], threads: int, expected: list[int]) -> None:
    assert monitoring_workers(np.array(domains, np.int32), threads) == expected


def test_roots_enter_socket_pools_and_upper_tasks_are_parent_first() -> None:
    plan = plans()[2]
    order, group, instance = plan.spawn_order, plan.group_of, plan.instance_of
    assert isinstance(order, np.ndarray)
    assert group is not None
    assert instance is not None
    roots = np.flatnonzero(group)
    # 127 tasks, 2 cores per socket: subtrees with at least 20 tasks, that is with 31.
    assert len(roots) == 4
    assert sorted(instance[roots].tolist()) == [0, 1, 2, 3]
    assert np.all(instance[group == 0] == -1)
    upper = np.array([0, 1, int(TREE.graph.child[1])])
    assert np.all(order[np.append(roots, upper)] == PARENT_FIRST)
    assert int((order == CHILD_FIRST).sum()) == 127 - 4 - 3
    assert plan.counter_group is not None
    assert np.bincount(plan.counter_group + 1).tolist() == [3, 31, 31, 31, 31]


def test_without_its_scheduler_bats_steals_at_random_throughout() -> None:
    found = plans(scheduler="random")
    assert all(steps(plan) == RANDOM for plan in found)
    assert found[1].monitor is not None
    assert found[2].monitor is None
    assert found[2].active_workers is None


def test_without_its_balancer_bats_neither_monitors_nor_migrates() -> None:
    found = rehearse(Bats(balancer=False), MACHINE, TREE)
    assert found.plans[1].monitor is None
    assert found.plans[1].active_workers is None
    assert all(update is None or not len(update.move_block) for update in found.updates)


def test_allocation_is_a_parameter() -> None:
    weighted = rehearse(Bats(), MACHINE, TREE).placement.home
    even = rehearse(Bats(allocation="even"), MACHINE, TREE).placement.home
    assert np.bincount(even).tolist() == [4] * 8
    # 10 against 40 GB/s: 16 leaves of two blocks in parts of 0.8 and 3.2.
    assert np.bincount(weighted, minlength=8)[4:].sum() > 20


def simulated(policy: str, params: Any = None, **options: Any) -> Run:
    return simulate(
        options.pop("machine", MACHINE),
        options.pop("workload", TREE),
        make_policy(policy, params),
        backend="native",
        events=True,
        **options,
    )


def test_on_a_machine_profiling_finds_the_data() -> None:
    # 16 of 64 blocks live on each of four nodes; subgraphs of two blocks lie on one node each.
    bounds, blocks = np.arange(65), np.full(64, 4096)
    tree = grow(64, equal_parts(2, 2))
    graph = build_graph(
        np.where(tree.is_leaf, 1e5, 0),
        children=tree.children,
        accessed=accesses(tree.leaves, np.arange(64), blocks, 0, tree.n_tasks),
        block_bytes=blocks,
    )
    workload = Workload("w", graph, 4, first_touch_tree(tree, bounds, blocks, 1.0))
    machine = make_machine(domains=4)
    run = simulated("bats", {"tasks_per_core": 1}, machine=machine, workload=workload)
    node_bytes = run.summary.node_bytes
    share = np.trace(node_bytes, axis1=1, axis2=2) / node_bytes.sum(axis=(1, 2))
    assert share[2] == 1.0  # the first socket tried is the right one, and nobody steals
    assert share[1] < 0.6 < share[4]  # random stealing, hierarchical stealing


def test_an_even_start_is_balanced_by_migration() -> None:
    # 64 blocks of equal hotness on 8 nodes of 10 and 40 GB/s: 8 each, should be 3.2 and 12.8.
    items = 64
    bounds = np.arange(items + 1)
    blocks = np.full(items, 16 * 4096)
    tree = grow(items, equal_parts(2, 2))
    graph = build_graph(
        np.where(tree.is_leaf, 1e5, 0),
        children=tree.children,
        accessed=accesses(tree.leaves, np.arange(items), blocks, 0, tree.n_tasks),
        block_bytes=blocks,
    )
    init = first_touch_tree(tree, bounds, blocks, 1.0)
    machine = replace(
        MACHINE, caches=(), costs=replace(MACHINE.costs, hotness_sample_ps=10_000_000)
    )
    run = simulated("bats_nh", machine=machine, workload=Workload("w", graph, 2, init))
    assert run.trace is not None
    ends = run.trace.events["kind"] == EventKind.MIGRATE_END
    home = np.repeat(np.arange(8), 8)
    home[run.trace.events["arg0"][ends]] = run.trace.events["arg1"][ends]
    # Every sampled page is accessed once: four blocks leave each DRAM node for the HBM nodes.
    assert np.bincount(home, minlength=8).tolist() == [4, 4, 4, 4, 12, 12, 12, 12]
    assert run.summary.migrations == 16


def test_blocks_of_an_area_migrate_together() -> None:
    # As above, of two arrays: each leaf of the initialisation allocates a block of both.
    items, size = 64, 16 * 4096
    blocks = np.full(2 * items, size)
    tree = grow(items, equal_parts(2, 2))
    leaves = np.repeat(tree.leaves, 2)
    used = np.arange(2 * items) // 2 + items * (np.arange(2 * items) % 2)
    graph = build_graph(
        np.where(tree.is_leaf, 1e5, 0),
        children=tree.children,
        accessed=accesses(leaves, used, size, 0, tree.n_tasks),
        block_bytes=blocks,
    )
    init = first_touch_tree(tree, np.arange(items + 1), blocks, 1.0)
    machine = replace(
        MACHINE, caches=(), costs=replace(MACHINE.costs, hotness_sample_ps=10_000_000)
    )
    run = simulated("bats_nh", machine=machine, workload=Workload("w", graph, 2, init))
    assert run.trace is not None
    ends = run.trace.events["kind"] == EventKind.MIGRATE_END
    moved, node = (run.trace.events[name][ends] for name in ("arg0", "arg1"))
    first, second = (
        dict(zip(moved[m] % items, node[m], strict=True)) for m in (moved < items, moved >= items)
    )
    assert first == second
    assert len(first) == 16
    assert run.summary.migrations == 32


@pytest.mark.parametrize("workers", [1, 2, 3, 5])
@pytest.mark.parametrize("machine", ["one_domain", "two_domains", "four_domains_hbm"])
def test_nothing_stalls(machine: str, workers: int) -> None:
    chosen = small_machines()[machine]
    for workload in small_workloads().values():
        if workers <= chosen.n_threads:
            simulated("bats", machine=chosen, workload=workload, workers=workers)


def test_without_blocks_there_is_nothing_to_monitor() -> None:
    workload = Workload("cpu", build_graph(np.full(5, 1e6)), iterations=3)
    assert simulated("bats", workload=workload).summary.n_tasks == 15


@pytest.mark.parametrize("sizes", [(4096, 0), (0, 4096), (0, 0)])
def test_blocks_without_bytes_have_no_page_to_sample(sizes: tuple[int, int]) -> None:
    accessed = accesses([0, 1], [0, 1], list(sizes), [0, 0], 2)
    graph = build_graph(np.full(2, 1e6), accessed=accessed, block_bytes=sizes)
    monitor = plans(Workload("two blocks", graph, iterations=2))[0].monitor
    assert monitor is not None
    for size, offsets in zip(sizes, monitor.sample_offset_bytes.tolist(), strict=True):
        assert {one for one in offsets if one != NEVER} == ({0} if size else set())


def test_free_sampling_still_has_a_polling_period() -> None:
    machine = make_machine(costs=RuntimeCosts())
    blocks = np.full(4, 4096)
    workload = Workload("w", first_touch_loop(blocks, 1.0), iterations=2)
    assert simulated("bats", machine=machine, workload=workload).summary.n_tasks == 8


def test_sampling_draws_from_the_policys_own_stream() -> None:
    threads = MACHINE.place_workers()
    domain = MACHINE.core_domain[MACHINE.thread_core[threads]]
    offsets = []
    for seed in (1, 1, 2):
        view = PlanView(MACHINE, TREE, threads, domain, np.random.default_rng(seed))
        policy = Bats(sample_pages=2)
        monitor = policy.plan(view, policy.start(view), TREE.graph).monitor
        assert monitor is not None
        offsets.append(monitor.sample_offset_bytes.tolist())
    assert offsets[0] == offsets[1] != offsets[2]
