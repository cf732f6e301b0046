"""The Charm++ runtime for two memories: who moves what, when, and what it costs."""

from typing import Any

import numpy as np
import pytest

from simsched.analysis.metrics import run_metrics
from simsched.analysis.waterfall import time_parts
from simsched.engine.run import simulate
from simsched.files.errors import ModelError
from simsched.machine import load_machine
from simsched.machine.model import RuntimeCosts
from simsched.machine.synthetic import make_machine
from simsched.policy import make_policy
from simsched.policy.contract.base import PlanView
from simsched.policy.parts.chares import make_team
from simsched.testing import check_policy
from simsched.testing.battery import BACKENDS
from simsched.trace.run import Run
from simsched.trace.schema import EventKind
from simsched.workload import Workload, generate_workload
from simsched.workload.builder import accesses, build_graph
from simsched.workload.presets import make_workload

MIB, GIB = 2**20, 2**30
MOVING = ("charm_single_io", "charm_multi_noio", "charm_multi_io")


def run(policy: str, workload: Workload, workers: int = 136, **params: Any) -> Run:
    """Simulate on the machine of the publication."""
    machine = load_machine("knl_a2a_flat_charm")
    made = make_policy(policy, {"least_block_bytes": 8 * MIB, "pes": 64, **params})
    return simulate(machine, workload, made, workers=workers, events=True)


def view_of(machine_name: str, workers: int | None) -> PlanView:
    machine = load_machine(machine_name)
    threads = machine.place_workers(workers)
    domain = machine.core_domain[machine.thread_core[threads]]
    return PlanView(
        machine, Workload("w", build_graph([1.0])), threads, domain, np.random.default_rng(0)
    )


def test_helpers_are_siblings_of_processing_elements() -> None:
    view = view_of("knl_a2a_flat_charm", 136)
    core = view.machine.thread_core[view.worker_thread]
    team = make_team(view, "multi", 64)
    assert len(team.pe) == 64
    assert np.array_equal(core[team.pe], core[team.io])
    assert len(np.unique(core[team.pe])) == 64
    assert not set(team.pe.tolist()) & set(team.io.tolist())
    single = make_team(view, "single", 64)
    assert len(np.unique(single.io)) == 1
    assert core[single.io[0]] == core[single.pe[0]]
    assert single.io[0] not in single.pe
    none = make_team(view, "none", 64)
    assert np.array_equal(none.pe, none.io)


def test_without_siblings_workers_are_paired() -> None:
    view = view_of("knl_a2a_flat_charm", 5)
    assert make_team(view, "multi", 0).pe.tolist() == [0, 2, 4]
    assert make_team(view, "multi", 0).io.tolist() == [1, 3, 4]
    assert make_team(view, "single", 0).pe.tolist() == [0, 1, 2, 3]
    assert make_team(view, "single", 0).io.tolist() == [4] * 4
    alone = view_of("knl_a2a_flat_charm", 1)
    for io in ("none", "single", "multi"):
        assert [column.tolist() for column in make_team(alone, io, 0)] == [[0], [0]]


def test_naive_fills_hbm_in_order_and_never_more_than_it_has() -> None:
    workload = make_workload("stencil3d_charm_32gb", {"iterations": 1, "sweeps": 1})
    policy = make_policy("charm_naive", {"least_block_bytes": 8 * MIB})
    view = view_of("knl_a2a_flat_charm", 136)
    view = PlanView(view.machine, workload, view.worker_thread, view.worker_domain, view.rng)
    home = policy.place(view, None).home
    in_hbm = np.flatnonzero(home == 1)
    assert in_hbm.tolist() == list(range(len(in_hbm)))
    assert 15 <= workload.graph.block_bytes[in_hbm].sum() / GIB <= 16
    assert (home[len(in_hbm) :] == -1).all()


def test_hbm_only_refuses_data_that_do_not_fit() -> None:
    workload = make_workload("stencil3d_charm_32gb", {"iterations": 1, "sweeps": 1})
    with pytest.raises(ModelError, match="memory node hbm0"):
        run("charm_hbm_only", workload)


def test_hbm_only_fills_one_node_after_the_other() -> None:
    # Two blocks of 1.5 GiB fit into each of four nodes of 4 GiB, though 6 GiB are not 4.
    blocks = build_graph([1.0], block_bytes=np.full(8, 3 * GIB // 2))
    machine = load_machine("knl_snc4_flat")
    run = simulate(machine, Workload("w", blocks), make_policy("charm_hbm_only"), workers=4)
    view = view_of("knl_snc4_flat", 4)
    view = PlanView(machine, run.workload, view.worker_thread, view.worker_domain, view.rng)
    home = make_policy("charm_hbm_only").place(view, None).home
    assert home.tolist() == [4, 4, 5, 5, 6, 6, 7, 7]


def test_a_synchronous_visit_takes_copy_in_work_and_copy_out() -> None:
    machine = make_machine(
        domains=1,
        cores_per_domain=1,
        hbm_per_domain=True,
        core_cap_bytes_per_s=10e9,
        costs=RuntimeCosts(),
    )
    size, page, ops = 64 * MIB, machine.nodes[0].page_bytes, 3e9
    graph = build_graph([ops], accessed=accesses([0], [0], size, 0, 1), block_bytes=[size])
    policy = make_policy(
        "charm_multi_noio",
        {"allocation_s_per_page": 1e-6, "move_overhead_s": 5e-4},
    )
    found = simulate(machine, Workload("one", graph), policy, workers=1).makespan_s
    compute = max(ops / machine.core_groups[0].ops_per_s, size / 10e9)
    moves = 2 * (5e-4 + 1e-6 * size / page + 2 * size / 10e9)
    assert found == pytest.approx(compute + moves)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("events", [False, True])
@pytest.mark.parametrize(("policy", "workers"), [("charm_multi_noio", 1), ("charm_multi_io", 2)])
def test_moves_and_waiting_for_them_are_counted(
    backend: str, events: bool, policy: str, workers: int
) -> None:
    machine = make_machine(
        domains=1, cores_per_domain=workers, hbm_per_domain=True, core_cap_bytes_per_s=10e9
    )
    size, pages, iterations = 64 * MIB, 64 * MIB // machine.nodes[0].page_bytes, 3
    graph = build_graph([3e9], accessed=accesses([0], [0], size, 0, 1), block_bytes=[size])
    costs = {"allocation_s_per_page": 1e-6, "move_overhead_s": 5e-4}
    found = simulate(
        machine,
        Workload("one", graph, iterations),
        make_policy(policy, costs),
        workers=workers,
        backend=backend,
        events=events,
    )
    row = run_metrics(found.summary, machine, found.workload, found.worker_thread)
    move = 5e-4 + 1e-6 * pages + 2 * size / 10e9
    assert (row["migrations"], row["migrated_bytes"]) == (2 * iterations, 2 * iterations * size)
    assert row["migrate_s"] == pytest.approx(2 * iterations * move)
    assert row["busy_s"] == pytest.approx(iterations * 3.0)
    assert row["migration_overhead_s"] == pytest.approx(row["migrate_s"] / workers)
    if events:
        parts = time_parts(found).seconds
        assert sum(parts.values()) == pytest.approx(found.makespan_s)
        assert parts["migration"] == pytest.approx(row["migrate_s"] / workers)
        assert parts["compute"] == pytest.approx(row["busy_s"] / workers)


def moves_of(result: Run) -> list[tuple[int, int, int, int, int]]:
    """Return (start, end, worker, block, node) of all moves of iteration 1."""
    assert result.trace is not None
    columns = [result.trace.events[name].tolist() for name in COLUMNS]
    begun: dict[int, tuple[int, int]] = {}
    found = []
    for time, kind, worker, block, ends, iteration in zip(*columns, strict=True):
        if iteration == 1 and kind == EventKind.MIGRATE_START:
            begun[worker] = time, ends & 0xFFFFFFFF
        elif iteration == 1 and kind == EventKind.MIGRATE_END:
            found.append((begun[worker][0], time, worker, block, begun[worker][1]))
    return found


COLUMNS = ("time_ps", "kind", "worker", "arg0", "arg1", "iteration")
DDR4, HBM = 0, 1


@pytest.mark.parametrize("policy", MOVING)
def test_work_is_done_in_hbm_between_fetch_and_evict(policy: str) -> None:
    workload = make_workload("stencil3d_charm_32gb", {"iterations": 1, "sweeps": 2})
    result = run(policy, workload)
    trace = result.trace
    assert trace is not None
    columns = {
        name: column[trace.events["iteration"] == 1] for name, column in trace.events.items()
    }

    def times(kind: EventKind) -> np.ndarray:
        chosen = columns["kind"] == kind
        found = np.zeros(1024, np.int64)
        found[columns["task"][chosen]] = columns["time_ps"][chosen]
        return found

    moves = moves_of(result)
    fetched = {block: (start, end) for start, end, _, block, node in moves if node == HBM}
    evicted = {block: (start, end) for start, end, _, block, node in moves if node == DDR4}
    assert len(moves) == 2 * 1024
    assert set(fetched) == set(evicted) == set(range(1024))
    # Chare t has block t.
    start, end = times(EventKind.TASK_START), times(EventKind.TASK_END)
    assert all(fetched[t][1] <= start[t] and end[t] <= evicted[t][0] for t in range(1024))
    # Room is held from the begin of a fetch to the end of its evict.
    held = np.concatenate((np.full(1024, 32 * MIB), np.full(1024, -32 * MIB)))
    at = [fetched[t][0] for t in range(1024)] + [evicted[t][1] for t in range(1024)]
    order = np.lexsort((held, at))
    most = np.cumsum(held[order]).max()
    assert most <= 15.5 * GIB
    if policy == "charm_multi_noio":  # which fetches all it can before it begins to work
        assert most == 15.5 * GIB
    # Everything is fetched and evicted once: DDR4 sees each byte twice, and messages, of which
    # neighbours on one tile find a little in its cache.
    ddr4 = result.summary.node_bytes[1, :, 0].sum()
    messages = workload.graph.block_bytes[1024:].sum()
    assert 2.8 * messages < ddr4 - 2 * 32 * GIB <= 3 * messages


def test_who_moves_data() -> None:
    workload = generate_workload("stencil3d_charm", {"sweeps": 1})
    for policy, helpers in (("charm_single_io", 1), ("charm_multi_noio", 0), ("charm_multi_io", 8)):
        machine = load_machine("knl_a2a_flat_charm")
        made = make_policy(policy, {"pes": 8})
        result = simulate(machine, workload, made, workers=136, events=True)
        moves = moves_of(result)
        fetching = {worker for _, _, worker, _, node in moves if node == HBM}
        evicting = {worker for _, _, worker, _, node in moves if node == DDR4}
        computing = set(np.flatnonzero(result.summary.tasks_per_worker).tolist())
        assert evicting == computing
        assert len(computing) == 8
        assert len(fetching - computing) == helpers
        assert not helpers or not fetching & computing


def blocks(
    policy: str, backend: str, room: int, owners: int, blocks_of: list[list[int]], s: list[float]
) -> dict[int, float]:
    """Return when tasks end, which take so many seconds, with room for so many small blocks.

    `owners` processing elements have equal parts of the tasks. Moves take next to no time.
    """
    size, n = 4096, len(s)
    machine = make_machine(
        domains=1, cores_per_domain=2 * owners, hbm_per_domain=True, costs=RuntimeCosts()
    )
    capacity = machine.nodes[1].capacity_bytes
    accessed = accesses(
        [t for t, own in enumerate(blocks_of) for _ in own],
        [b for own in blocks_of for b in own],
        size,
        0,
        n,
    )
    graph = build_graph(
        np.array(s) * machine.core_groups[0].ops_per_s,
        accessed=accessed,
        block_bytes=np.full(1 + max(max(own) for own in blocks_of), size),
    )
    params = {"pes": owners, "usable_share": room * size / capacity, "move_overhead_s": 0.0}
    made = make_policy(policy, {"allocation_s_per_page": 0.0, **params})
    result = simulate(machine, Workload("toy", graph), made, backend=backend, events=True)
    assert result.trace is not None
    events = result.trace.events
    ended = events["kind"] == EventKind.TASK_END
    times = (events["time_ps"][ended] * 1e-12).round(3).tolist()
    return dict(sorted(zip(events["task"][ended].tolist(), times, strict=True)))


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(("policy", "last"), [(name, 3.0 + (name == MOVING[0])) for name in MOVING])
def test_an_element_gets_the_room_that_it_has_freed(backend: str, policy: str, last: float) -> None:
    # Four elements with three chares each, room for five blocks; those of element 0 take 10 s, the
    # others 1 s. By hand: each element has a chare, and element 0 its second one. Elements 1 to 3
    # evict every second and fetch their next one: 1, 2, 3 s. A helper for all takes the queues in
    # turn: at 2 s it is the turn of element 0, whose third chare gets room, so that of the other
    # three ones the last waits until 3 s.
    own = [[b] for b in range(12)]
    found = blocks(policy, backend, 5, 4, own, [10.0] * 3 + [1.0] * 9)
    assert list(found.values()) == [10, 20, 30, 1, 2, 3, 1, 2, 3, 1, 2, last]


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("policy", MOVING)
def test_what_others_free_wakes_who_waits_for_room(backend: str, policy: str) -> None:
    # Two elements with two chares each, room for one block. By hand: element 0 is first, and at 1 s
    # it fetches its second chare; element 1 gets room when element 0 has no chare left, at 2 s.
    # A helper for all turns to element 1 at 1 s, then to element 0.
    found = blocks(policy, backend, 1, 2, [[0], [1], [2], [3]], [1.0] * 4)
    in_turn = policy == "charm_single_io"
    assert list(found.values()) == ([1, 3, 2, 4] if in_turn else [1, 2, 3, 4])


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_block_that_another_element_fetches_is_waited_for(backend: str) -> None:
    # Both elements need block 0; the chares that follow need one of their own. By hand: one of them
    # fetches block 0, it stays for both, and they go on with their own: 1 and 2 s.
    found = blocks("charm_multi_io", backend, 3, 2, [[0], [1], [0], [2]], [1.0] * 4)
    assert list(found.values()) == [1, 2, 1, 2]


def test_a_machine_without_hbm_is_refused() -> None:
    machine = load_machine("knl_a2a_cache_charm")
    for policy in ("charm_naive", "charm_multi_io"):
        with pytest.raises(ModelError, match="unknown memory kind 'HBM'"):
            simulate(machine, generate_workload("chain"), make_policy(policy))


@pytest.mark.slow
@pytest.mark.parametrize("name", MOVING)
def test_the_contract_holds_when_room_is_short(name: str) -> None:
    check_policy(make_policy(name, {"usable_share": 1e-4, "mapping": "cyclic"}))


@pytest.mark.parametrize("policy", MOVING)
def test_blocks_that_change_places_are_fetched_in_turn(policy: str) -> None:
    # A chare reads block 0 in odd iterations and block 1 in even ones; only that one is fetched.
    graph = build_graph(
        [1e6],
        accessed=accesses([0], [0], 4096, 0, 1),
        block_bytes=[4096, 4096],
        alternate_block=np.array([1, 0], np.int32),
    )
    machine = make_machine(domains=1, cores_per_domain=2, hbm_per_domain=True)
    workload = Workload("turns", graph, 3)
    result = simulate(machine, workload, make_policy(policy), workers=2, events=True)
    assert result.trace is not None
    events = result.trace.events
    fetched = (events["kind"] == EventKind.MIGRATE_START) & (events["arg1"] & 0xFFFFFFFF == HBM)
    assert events["arg0"][fetched].tolist() == [0, 1, 0]
    accessed = events["kind"] == EventKind.ACCESS
    assert events["arg0"][accessed].tolist() == [0, 1, 0]
