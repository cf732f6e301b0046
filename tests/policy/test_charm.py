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
from simsched.policy.parts.charm_moves import EVICT, FETCH, MovingWorkload
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
    latencies = 4 * (size // (2 * MIB)) * 1e-6
    assert found == pytest.approx(compute + moves, abs=latencies)


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
    latencies = 2 * iterations * 4 * (size // (2 * MIB)) * 1e-6
    assert (row["migrations"], row["migrated_bytes"]) == (2 * iterations, 2 * iterations * size)
    assert row["migrate_s"] == pytest.approx(2 * iterations * move, abs=latencies)
    assert row["busy_s"] == pytest.approx(iterations * 3.0)
    assert row["migration_overhead_s"] == pytest.approx(row["migrate_s"] / workers)
    # With a helper the processing element has nothing to do while the block is fetched.
    wait = iterations * move if workers == 2 else 0.0
    assert row["move_wait_s"] == pytest.approx(wait, abs=latencies)
    if events:
        parts = time_parts(found).seconds
        assert sum(parts.values()) == pytest.approx(found.makespan_s)
        assert parts["migration"] == pytest.approx(row["migrate_s"] / workers)
        assert parts["compute"] == pytest.approx(row["busy_s"] / workers)


@pytest.mark.parametrize("policy", MOVING)
def test_work_is_done_in_hbm_between_fetch_and_evict(policy: str) -> None:
    workload = make_workload("stencil3d_charm_32gb", {"iterations": 1, "sweeps": 2})
    result = run(policy, workload)
    moving = result.workload
    assert isinstance(moving, MovingWorkload)
    trace = result.trace
    assert trace is not None
    columns = {
        name: column[trace.events["iteration"] == 1] for name, column in trace.events.items()
    }

    def times(kind: EventKind) -> np.ndarray:
        chosen = columns["kind"] == kind
        found = np.zeros(moving.graph.n_tasks, np.int64)
        found[columns["task"][chosen]] = columns["time_ps"][chosen]
        return found

    start, end = times(EventKind.TASK_START), times(EventKind.TASK_END)
    fetches, evicts = (
        np.flatnonzero((moving.role == role) & (np.diff(moving.graph.child_ptr) > 0))
        for role in (FETCH, EVICT)
    )
    assert len(fetches) == len(evicts) == 1024
    users = moving.graph.succ[moving.graph.succ_ptr[fetches]]
    assert (end[fetches] <= start[users]).all()
    assert (end[users] <= start[evicts]).all()
    # Room is held from the begin of a fetch to the end of its evict.
    held = np.concatenate((np.full(1024, 32 * MIB), np.full(1024, -32 * MIB)))
    at = np.concatenate((start[fetches], end[evicts]))
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
        moving = result.workload
        assert isinstance(moving, MovingWorkload)
        assert result.trace is not None
        events = result.trace.events
        ended = (events["kind"] == EventKind.TASK_END) & (events["iteration"] == 1)
        worker = np.zeros(moving.graph.n_tasks, np.int64)
        worker[events["task"][ended]] = events["worker"][ended]
        fetching = set(worker[moving.role == FETCH].tolist())
        others = set(worker[moving.role != FETCH].tolist())
        assert len(others) == 8
        assert len(fetching - others) == helpers
        assert not helpers or not fetching & others


def test_a_machine_without_hbm_is_refused() -> None:
    machine = load_machine("knl_a2a_cache_charm")
    for policy in ("charm_naive", "charm_multi_io"):
        with pytest.raises(ModelError, match="unknown memory kind 'HBM'"):
            simulate(machine, generate_workload("chain"), make_policy(policy))


@pytest.mark.slow
@pytest.mark.parametrize("name", MOVING)
def test_the_contract_holds_when_room_is_short(name: str) -> None:
    check_policy(make_policy(name, {"usable_share": 1e-4, "mapping": "cyclic"}))
