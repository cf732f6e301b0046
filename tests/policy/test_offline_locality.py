"""Scheduling by sharing known from an earlier run."""

import numpy as np
import pytest

from simsched.engine.run import simulate
from simsched.files.errors import PolicyError
from simsched.machine.synthetic import make_machine
from simsched.policy import make_policy
from simsched.policy.algorithms.numa.offline_locality import OfflineLocality, reordered
from simsched.policy.parts.static_order import ScheduledWorkload
from simsched.testing import rehearse, small_workloads
from simsched.trace.schema import EventKind
from simsched.workload.builder import accesses, adjacency, build_graph
from simsched.workload.graph import TaskGraph, Workload

SIZE = 4096
MACHINE = make_machine(
    domains=2,
    cores_per_domain=2,
    caches=[("L2", 3 * SIZE, 30e9, 1_000, 1), ("L3", 9 * SIZE, 20e9, 2_000, 2)],
)


def shuffled_chain(n: int, seed: int = 0) -> TaskGraph:
    """A stencil whose tasks are numbered at random."""
    place = np.random.default_rng(seed).permutation(n)
    task = np.concatenate([np.arange(n)] * 3)
    block = np.concatenate([place, place - 1, place + 1])
    read = np.repeat([SIZE, SIZE // 8, SIZE // 8], n)
    inside = (block >= 0) & (block < n)
    return build_graph(
        np.full(n, 1e5),
        accessed=accesses(task[inside], block[inside], read[inside], 0, n),
        block_bytes=np.full(n, SIZE),
    )


def test_groups_run_on_the_cores_that_share_the_cache_one_after_the_other() -> None:
    graph = shuffled_chain(32)
    prepared = rehearse(OfflineLocality(), MACHINE, Workload("chain", graph)).workload
    assert isinstance(prepared, ScheduledWorkload)
    assert prepared.worker is not None
    own = owned_blocks(prepared.graph)
    domain = prepared.worker // 2
    # 32 blocks, 9 fit a shared cache: four groups of eight neighbours, two for each domain, which
    # are two neighbouring ones; half of each group for each of the two cores.
    for d in (0, 1):
        mine = np.sort(own[domain == d])
        assert mine.tolist() in (list(range(16)), list(range(16, 32)))
    assert np.bincount(prepared.worker).tolist() == [8, 8, 8, 8]
    for worker in range(4):
        mine = own[prepared.worker == worker]
        for group in (mine[:4], mine[4:]):
            assert np.ptp(group) == 3
            assert len(set((group // 4).tolist())) == 1
            assert np.all(np.abs(np.diff(group[:2])) == 1)  # neighbours follow each other


def owned_blocks(graph: TaskGraph) -> np.ndarray:
    """Return the block that each task touches as a whole."""
    task = np.repeat(np.arange(graph.n_tasks), np.diff(graph.access_ptr))
    own = np.empty(graph.n_tasks, np.int64)
    whole = graph.read_bytes == SIZE
    own[task[whole]] = graph.access_block[whole]
    return own


def test_less_misses_than_random_stealing() -> None:
    graph = shuffled_chain(256, seed=3)
    workload = Workload("chain", graph, iterations=3)
    misses = [
        int(simulate(MACHINE, workload, make_policy(name)).summary.node_bytes.sum())
        for name in ("offline_locality", "cilk")
    ]
    assert misses[0] < 0.9 * misses[1]


def test_lists_are_executed_in_order_without_stealing() -> None:
    graph = shuffled_chain(40)
    run = simulate(MACHINE, Workload("chain", graph), OfflineLocality(), events=True)
    assert run.trace is not None
    events = run.trace.events
    started = events["kind"] == EventKind.TASK_START
    for worker in range(4):
        tasks = events["task"][started & (events["worker"] == worker)]
        assert np.all(np.diff(tasks) > 0)
    assert not np.any(events["kind"] == EventKind.STEAL)


def test_work_is_divided_in_proportion() -> None:
    ops = np.where(np.arange(64) < 16, 3e6, 1e6)
    workload = Workload("uneven", build_graph(ops))
    prepared = rehearse(OfflineLocality(), MACHINE, workload).workload
    assert isinstance(prepared, ScheduledWorkload)
    load = np.bincount(prepared.worker, weights=prepared.graph.ops[0])
    assert load.max() <= 1.1 * load.mean()


def test_tasks_with_predecessors_keep_their_numbers() -> None:
    flow = small_workloads()["dataflow"]
    prepared = rehearse(OfflineLocality(), MACHINE, flow).workload
    assert np.array_equal(prepared.graph.succ, flow.graph.succ)
    assert np.array_equal(prepared.graph.ops, flow.graph.ops)


def test_reordering_keeps_what_tasks_do() -> None:
    graph = shuffled_chain(6)
    order = np.array([3, 1, 5, 0, 2, 4])
    found = reordered(graph, order)
    for new, old in enumerate(order.tolist()):
        for name in ("access_block", "read_bytes"):
            mine = getattr(found, name)[found.access_ptr[new] : found.access_ptr[new + 1]]
            other = getattr(graph, name)[graph.access_ptr[old] : graph.access_ptr[old + 1]]
            assert mine.tolist() == other.tolist()


def test_an_unprepared_program_is_refused() -> None:
    graph = build_graph(np.ones(3), children=adjacency(np.empty(0, int), np.empty(0, int), 3))
    with pytest.raises(PolicyError, match="has not been prepared"):
        OfflineLocality().plan(_view(graph), None, graph)


def _view(graph: TaskGraph) -> object:
    class View:
        workload = Workload("w", graph)

    return View()
