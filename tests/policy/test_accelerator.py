"""The K40 server as a device, budgets, headrooms, gates and partitions, by hand."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from simsched.analysis.metrics import run_metrics
from simsched.engine.run import simulate
from simsched.files.errors import ConfigurationError, PolicyError
from simsched.machine.load import load_machine
from simsched.policy import make_policy
from simsched.policy.algorithms.accelerator.baymax import headroom_s, refilled_s
from simsched.policy.algorithms.accelerator.cpu_side_pool import CpuSidePool
from simsched.policy.algorithms.accelerator.smk import drf_partition, warp_quota
from simsched.policy.algorithms.accelerator.timegraph import periods_until, replenished
from simsched.policy.contract.base import Transfer
from simsched.policy.parts.accelerator_copies import batch_copies
from simsched.policy.parts.predictors import trained
from simsched.trace.run import Run
from simsched.trace.schema import EventKind
from simsched.workload.applications import Applications
from simsched.workload.builder import accesses, adjacency, build_graph
from simsched.workload.graph import Workload
from simsched.workload.registry import generate_workload
from tests.engine.invariants import trace_violations

KINDS = ("cpu", "gpu", "copy_in", "copy_out")
GPU, IN, OUT = 1, 2, 3
MIX: dict[str, object] = {
    "critical": "pos ner",
    "batch": "hw pf hs",
    "queries": 2,
    "batch_s": 0.1,
    "chunk_bytes": 16 * 2**20,
}
MS = 1e6  # operations of 1 ms on the GPU
MB = 10**6
#: What a critical kernel waits for contexts: of 8 multiprocessors, or of a sixteenth of each of 15.
SAVED_MS = {"spart": 8 * 304 * 1024 / 288e6, "smk": 15 / 16 * 304 * 1024 / 288e6}


@pytest.fixture(params=["simpy", "native"])
def backend(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def programs(tasks: list[dict[str, Any]], target_s: float = 0.1) -> Workload:
    """Return tasks given as kind, ms or MB, application (0 critical), after, pinned, share, at."""
    n = len(tasks)
    kind = np.array([task["kind"] for task in tasks])
    ops = np.full((4, n), np.inf)
    ops[kind, np.arange(n)] = [task.get("ms", 0.0) * MS for task in tasks]
    moved = np.array([int(task.get("mb", 0) * MB) for task in tasks])
    pinned = np.array([task.get("pinned", False) for task in tasks])
    copies = np.flatnonzero(moved)
    edges = [(task["after"], i) for i, task in enumerate(tasks) if "after" in task]
    sources, targets = zip(*edges, strict=True) if edges else ((), ())
    graph = build_graph(
        ops,
        kinds=KINDS,
        successors=adjacency(sources, targets, n),
        accessed=accesses(copies, pinned[copies].astype(int), moved[copies], 0, n),
        block_bytes=[1000 * MB, 1000 * MB],
        arrival_ps=np.array([task.get("at", 0) for task in tasks]) * 10**9,
        occupancy=[task.get("share", 1000) for task in tasks],
    )
    application = np.array([task.get("app", 1) for task in tasks], np.int32)
    about = Applications(
        ("lc", "b1", "b2", "b3"),
        np.array([True, False, False, False]),
        target_s,
        application,
        np.where(application == 0, 0, -1).astype(np.int32),
        ("size", "out", "pinned"),
        np.column_stack([moved, kind == OUT, pinned]).astype(float),
        np.array([False, True]),
    )
    return Workload("programs", graph, applications=about)


def run(backend: str, policy: str, workload: Workload, **parameters: Any) -> Run:
    chosen = make_policy(policy, parameters)
    return simulate(load_machine("k40_server"), workload, chosen, backend=backend, events=True)


def times_ms(result: Run, kind: EventKind = EventKind.TASK_START) -> list[float]:
    assert result.trace is not None
    events = result.trace.events
    chosen = events["kind"] == kind
    order = np.argsort(events["task"][chosen], kind="stable")
    found: list[float] = (events["time_ps"][chosen][order] / 1e9).tolist()
    return found


def ends_ms(result: Run) -> list[float]:
    return times_ms(result, EventKind.TASK_END)


@pytest.mark.parametrize(("n", "rate"), [(1, 3150), (2, 3150), (3, 3150), (4, 3040), (5, 2432)])
def test_pageable_copies_share_the_link_beyond_three(backend: str, n: int, rate: float) -> None:
    copies = [{"kind": IN, "mb": 31.5, "share": 1} for _ in range(n)]
    assert ends_ms(run(backend, "mps", programs(copies))) == pytest.approx([31.5 / rate * 1e3] * n)


def test_a_pinned_copy_has_its_direction_to_itself(backend: str) -> None:
    # The pinned copy waits for the pageable one that runs, and those after it wait for it.
    tasks = [
        {"kind": IN, "mb": 3.15, "share": 1},
        {"kind": IN, "mb": 118.83, "pinned": True},
        {"kind": IN, "mb": 3.15, "share": 1},
        {"kind": OUT, "mb": 3.15, "share": 1},
    ]
    assert ends_ms(run(backend, "mps", programs(tasks))) == pytest.approx([1, 11, 12, 1])


def test_kernels_overlap_under_mps_but_not_by_themselves(backend: str) -> None:
    kernels = [{"kind": GPU, "ms": 5, "share": 600}, {"kind": GPU, "ms": 5, "share": 400}]
    assert times_ms(run(backend, "mps", programs(kernels))) == [0, 0]
    assert times_ms(run(backend, "accelerator_fcfs", programs(kernels))) == [0, 5]


def test_priority_overtakes_waiting_kernels_only(backend: str) -> None:
    # Batch kernels of two streams; the critical one arrives at 2, while the first runs.
    tasks = [
        {"kind": GPU, "ms": 10},
        {"kind": GPU, "ms": 10, "app": 2},
        {"kind": GPU, "ms": 1, "app": 0, "at": 2},
    ]
    assert times_ms(run(backend, "mps", programs(tasks))) == [0, 10, 20]
    assert times_ms(run(backend, "priority", programs(tasks))) == [0, 11, 10]
    found = times_ms(run(backend, "timegraph_prt", programs(tasks), decision_s=0.0))
    assert found == [0, 11, 10]


def test_high_throughput_lets_a_run_of_one_task_block_another(backend: str) -> None:
    # Two kernels of the batch job are submitted in a row; the critical one waits for both.
    tasks = [
        {"kind": GPU, "ms": 10},
        {"kind": GPU, "ms": 10},
        {"kind": GPU, "ms": 1, "app": 0, "at": 2},
        {"kind": GPU, "ms": 10, "at": 3},
    ]
    ht = times_ms(run(backend, "timegraph_ht", programs(tasks), decision_s=0.0))
    assert ht == [0, 10, 20, 21]
    prt = times_ms(run(backend, "timegraph_prt", programs(tasks), decision_s=0.0))
    assert prt == [0, 11, 10, 21]
    tasks = [  # the third sleeps since 2, so that it may not follow the second
        {"kind": GPU, "ms": 10},
        {"kind": GPU, "ms": 10, "app": 2, "at": 1},
        {"kind": GPU, "ms": 10, "app": 2, "at": 2},
        {"kind": GPU, "ms": 2, "app": 0, "at": 11},
    ]
    assert times_ms(run(backend, "timegraph_ht", programs(tasks), decision_s=0)) == [0, 10, 22, 20]


@pytest.mark.parametrize("policy", ["timegraph_prt", "timegraph_ht", "timegraph_pe"])
def test_a_kernel_that_arrives_at_an_idle_device_needs_no_decision(
    backend: str, policy: str
) -> None:
    # A chain, and a kernel after a pause, at 30; what arrives at 31 has to be woken at 35, by one
    # decision of 2 ms.
    tasks = [
        {"kind": GPU, "ms": 10, "app": 0},
        {"kind": GPU, "ms": 10, "app": 0, "after": 0},
        {"kind": GPU, "ms": 5, "app": 0, "at": 30},
        {"kind": GPU, "ms": 5, "at": 31},
    ]
    found = run(backend, policy, programs(tasks), decision_s=2e-3)
    assert times_ms(found) == [0, 10, 30, 37]
    assert found.summary.decisions == 1


def test_replenishment() -> None:
    assert [replenished(e, 5) for e in (-7, -2, 0, 4)] == [-2, 3, 5, 5]
    assert [replenished(e, 5, 12) for e in (-2, 3, 8)] == [3, 8, 12]
    assert replenished(4, 5, 3) == 5  # a cost below C changes nothing


@pytest.mark.parametrize(
    ("reservation", "expected"),
    # C = 4, T = 10. pe: 4 - 6 = -2 at 6; e = 2 at 10, so the second runs from 10 to 16 and leaves
    # -4; e = 0 at 20 is not enough, 4 at 30 is. ae: 6 > 4, so the first waits for
    # e = min(6, 4 + 4) at 10; e = 0 at 16, 4 at 20, 6 at 30; and so on.
    [("pe", [0, 10, 30]), ("ae", [10, 30, 50])],
)
def test_reservations(backend: str, reservation: str, expected: list[float]) -> None:
    tasks = [{"kind": GPU, "ms": 6} for _ in range(3)]
    given = {"capacity_s": 4e-3, "period_s": 10e-3, "decision_s": 0.0, "prediction_s": 0.0}
    found = run(backend, "timegraph_prt", programs(tasks), reservation=reservation, **given)
    assert times_ms(found) == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize(
    ("tasks", "expected"),
    # ae, C = 4, T = 20, x = 11. Submitted at 0: e is 4, 8 at 20, 11 at 40; 0 after the kernel; 4,
    # 8, 11 after three more periods, whether the next kernel waits by then or is still to come.
    # Behind a critical kernel from 35 to 55 the first runs from 55 to 66: min(11, 11 + 4) = 11 at
    # 60, 0 at 66; 4, 8, 11 at 80, 100, 120. Waiting from 5 for a critical one to end at 50: 8 at
    # 20, 11 at 40. Submitted at 45: no kernel waits at 20 and 40, so e is still 4; 8, 11 at 60, 80.
    [
        ([{}, {"at": 30}, {"at": 125}], [40, 100, 160]),
        ([{}, {}, {"ms": 20, "app": 0, "at": 35}], [55, 120, 35]),
        ([{"at": 5}, {"ms": 50, "app": 0}], [50, 0]),
        ([{"at": 45}], [80]),
    ],
)
def test_a_long_kernel_raises_the_bound(backend: str, tasks: Any, expected: list[float]) -> None:
    given = {"capacity_s": 4e-3, "period_s": 20e-3, "decision_s": 0.0, "prediction_s": 0.0}
    program = programs([{"kind": GPU, "ms": 11} | task for task in tasks])
    found = run(backend, "timegraph_ae", program, **given)
    assert times_ms(found) == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("cost_ps", [None, 3, 12])
def test_many_replenishments_are_one_formula(cost_ps: int | None) -> None:
    for left_ps in (-31, -10, 0, 3, 5):
        found, n = left_ps, 0
        while not (found > 0 if cost_ps is None else found >= cost_ps):
            found, n = replenished(found, 5, cost_ps or 0), n + 1
        assert periods_until(left_ps, 5, cost_ps) == n
        assert n == 0 or replenished(left_ps, 5, cost_ps or 0, n) == found


def test_small_budgets_take_many_periods(backend: str) -> None:
    # C = 0.007, T = 10, in ms: 0.007 - 6 = -5.993 at 6; 5.993 / 0.007 = 856.1, so 857 periods.
    tasks = [{"kind": GPU, "ms": 6} for _ in range(2)]
    given = {"period_s": 10e-3, "decision_s": 0.0}
    found = run(backend, "timegraph_pe", programs(tasks), capacity_s=7e-6, **given)
    assert times_ms(found) == pytest.approx([0, 8570], abs=1e-6)
    # Six million periods of 10 ms are more than an hour.
    found = run(backend, "timegraph_pe", programs(tasks), capacity_s=1e-9, **given)
    assert times_ms(found) == pytest.approx([0, 6e7], abs=1e-6)


@pytest.mark.parametrize("reservation", ["pe", "ae"])
def test_reservations_need_predictable_response_time(reservation: str) -> None:
    message = f"reservation: found '{reservation}', accepted 'none' with policy 'ht'"
    with pytest.raises(ConfigurationError, match=message):
        make_policy("timegraph_ht", {"reservation": reservation})


def test_formulas_of_baymax() -> None:
    assert batch_copies(12160e6, 3150e6) == 2
    assert headroom_s(150, 30, 40, 25) == 55
    # After 50 of 150 with 20 of 40 done, 10 queued: 100 - 10 - 20 - 0.
    assert refilled_s(150, 50, 10, 40, 20, 0) == 70


BAYMAX: dict[str, Any] = {"predictor": "view", "decision_s": 0.0}


def test_batch_kernels_stay_within_the_headroom(backend: str) -> None:
    # Target 100, T_self 20: headroom 80 at 0. The kernel of 50 fits, then 30 are left: that of 40
    # has to wait until the query has ended, that of 25 does not.
    tasks = [
        {"kind": GPU, "ms": 20, "app": 0},
        {"kind": GPU, "ms": 50, "app": 1},
        {"kind": GPU, "ms": 40, "app": 2},
        {"kind": GPU, "ms": 25, "app": 3},
    ]
    assert times_ms(run(backend, "baymax", programs(tasks), **BAYMAX)) == [0, 20, 95, 70]


def test_overlap_refills_the_headroom(backend: str) -> None:
    def tasks(ms: float) -> list[dict[str, Any]]:
        return [
            {"kind": GPU, "ms": 20, "app": 0, "share": 300},
            {"kind": GPU, "ms": 30, "app": 1, "share": 300},
            {"kind": GPU, "ms": 20, "app": 0, "share": 300, "after": 0},
            {"kind": GPU, "ms": ms, "app": 2, "share": 300},
            {"kind": GPU, "ms": 1, "app": 0, "share": 300, "after": 2},
        ]

    # Target 100, T_self 41: headroom 59, 29 after the kernel of 30. One of 35 has to wait. When
    # the last kernel is submitted at 40, the first batch kernel has ended: 100 - 40 - 0 - 1 = 59.
    found = times_ms(run(backend, "baymax", programs(tasks(35)), **BAYMAX))
    assert found == [0, 0, 20, 40, 40]
    found = times_ms(run(backend, "baymax_nc", programs(tasks(35)), **BAYMAX))
    assert found == [0, 0, 20, 41, 40]


def test_nothing_is_issued_while_more_than_the_target_is_queued(backend: str) -> None:
    # Without a query: 70 + 40 exceed the target of 100, the third waits for the end of the first.
    tasks = [{"kind": GPU, "ms": ms, "app": i + 1} for i, ms in enumerate((70, 40, 5))]
    result = run(backend, "baymax", programs(tasks), **BAYMAX)
    assert result.trace is not None
    events = result.trace.events
    entered = (events["kind"] == EventKind.TASK_READY) & (events["arg0"] == 2)
    queued = dict(zip(events["task"][entered].tolist(), events["time_ps"][entered], strict=True))
    assert [queued[task] / 1e9 for task in range(3)] == [0, 0, 70]


def test_two_batch_copies_at_once_in_a_direction(backend: str) -> None:
    tasks: list[dict[str, Any]] = [
        {"kind": IN, "mb": 31.5, "share": 1, "app": 1 + i % 3} for i in range(4)
    ]
    tasks += [
        {"kind": IN, "mb": 3.15, "share": 1, "app": 0},
        {"kind": OUT, "mb": 3.15, "share": 1, "app": 2},
    ]
    managed = times_ms(run(backend, "baymax", programs(tasks), **BAYMAX))
    assert managed == pytest.approx([0, 0, 10, 10, 0, 0])
    assert times_ms(run(backend, "baymax_np", programs(tasks), **BAYMAX)) == [0] * 6


@pytest.mark.parametrize(("link_mb_per_s", "at_once"), [(16400, 4), (9500, 2), (4700, 1)])
@pytest.mark.parametrize("kind", [IN, OUT])
def test_batch_copies_at_once_follow_from_the_machines_link(
    backend: str, kind: int, link_mb_per_s: float, at_once: int
) -> None:
    # floor(16400 / 3150) - 1 = 4, floor(9500 / 3150) - 1 = 2; floor(4700 / 3150) - 1 = 0 would
    # leave none, so one.
    machine = load_machine("k40_server")
    links = tuple(replace(x, bandwidth_bytes_per_s=link_mb_per_s * 1e6) for x in machine.links)
    machine = replace(machine, links=links)
    tasks = [{"kind": kind, "mb": 31.5, "share": 1, "app": 1 + i % 3} for i in range(6)]
    policy = make_policy("baymax", BAYMAX)
    result = simulate(machine, programs(tasks), policy, backend=backend, events=True)
    starts = [10.0 * (i // at_once) for i in range(6)]
    assert times_ms(result) == pytest.approx(starts)


def test_pinned_batch_copies_need_headroom(backend: str) -> None:
    # 20 ms of pinned copy do not fit into 100 - 90; after the query they do.
    tasks = [
        {"kind": GPU, "ms": 90, "app": 0},
        {"kind": IN, "mb": 237.66, "pinned": True, "app": 1},
        {"kind": IN, "mb": 31.5, "share": 1, "app": 2},
    ]
    assert times_ms(run(backend, "baymax", programs(tasks), **BAYMAX)) == [0, 90, 0]


def test_a_decision_takes_time(backend: str) -> None:
    kernel = programs([{"kind": GPU, "ms": 1}])
    found = times_ms(run(backend, "baymax", kernel, predictor="view"))
    assert found == pytest.approx([0.05])


def overhead_s(result: Run) -> float:
    row = run_metrics(result.summary, result.machine, result.workload, result.worker_thread)
    assert row["policy_decision_s"] == row["policy_work_s"] == row["policy_overhead_s"]
    percent = 100.0 * row["policy_overhead_s"] / row["makespan_s"]
    assert row["policy_overhead_percent"] == pytest.approx(percent)
    return float(row["policy_overhead_s"])


def test_decisions_are_overhead(backend: str) -> None:
    # Three kernels of 10 ms one after the other. The first arrives at an idle GPU, where it is
    # submitted at once; a decision, of 5 ms, at the two boundaries. Costs are predicted of all.
    tasks = [{"kind": GPU, "ms": 10} for _ in range(3)]
    for policy, parameters, decided_ms, decisions in (
        ("timegraph_prt", {"decision_s": 0.0}, 0.0, 0),
        ("timegraph_prt", {"decision_s": 5e-3}, 10.0, 2),
        ("timegraph_pe", {"decision_s": 5e-3, "capacity_s": 1.0}, 10.0, 2),
        ("timegraph_ae", {"decision_s": 5e-3, "capacity_s": 1.0, "prediction_s": 1e-3}, 13.0, 3),
    ):
        result = run(backend, policy, programs(tasks), **parameters)
        assert result.makespan_s == pytest.approx((30 + decided_ms) * 1e-3), policy
        assert overhead_s(result) == pytest.approx(decided_ms * 1e-3), policy
        assert result.summary.decisions == decisions
    # High throughput: the others follow the first without a decision.
    assert overhead_s(run(backend, "timegraph_ht", programs(tasks), decision_s=5e-3)) == 0.0
    # What kernels sleep for their budget is none: they start at 0, 10 and 30.
    budget = {"capacity_s": 4e-3, "period_s": 10e-3, "decision_s": 0.0}
    short = [{"kind": GPU, "ms": 6} for _ in range(3)]
    assert overhead_s(run(backend, "timegraph_pe", programs(short), **budget)) == 0.0
    # Copies and kernels have a decision each, host code has none.
    mixed = [{"kind": GPU, "ms": 1}, {"kind": IN, "mb": 1, "share": 1}, {"kind": 0, "ms": 1}]
    found = run(backend, "baymax", programs(mixed), predictor="view")
    assert overhead_s(found) == pytest.approx(2 * 50e-6)
    assert overhead_s(run(backend, "mps", programs(tasks))) == 0.0


def test_a_decision_takes_no_longer_than_its_transfer() -> None:
    class Strange(CpuSidePool):
        def on_finish(self, view: Any, state: Any, task: int, worker: int) -> tuple[Transfer, ...]:
            return (Transfer(3, 0, 2, 1, 1, 1000, decision_ps=2000),)

    message = "Transfer: decision_ps: found 2000, accepted 0 to its delay_ps, 1000"
    machine, kernel = load_machine("k40_server"), programs([{"kind": GPU, "ms": 1}])
    with pytest.raises(PolicyError, match=message):
        simulate(machine, kernel, Strange())


def test_the_host_passes_on_what_the_order_says(backend: str) -> None:
    tasks = [
        {"kind": GPU, "ms": 9, "app": 1},
        {"kind": GPU, "ms": 5, "app": 2, "at": 1},
        {"kind": GPU, "ms": 2, "app": 3, "at": 2},
        {"kind": GPU, "ms": 7, "app": 0, "at": 3},
    ]
    expected = {
        "fifo": [0, 9, 14, 16],
        "shortest_first": [0, 11, 9, 16],
        "critical_first": [0, 16, 21, 9],
    }
    for order, starts in expected.items():
        found = run(backend, "cpu_side_pool", programs(tasks), order=order, in_flight=1)
        assert times_ms(found) == starts, order


def test_partitions_slow_kernels_down_and_keep_them_apart(backend: str) -> None:
    # Half of the device each: a kernel that would fill it takes twice as long, one of 500 as long
    # as alone; both sides run beside each other.
    tasks = [{"kind": GPU, "ms": 10, "app": 1}, {"kind": GPU, "ms": 10, "app": 0, "share": 500}]
    result = run(backend, "spatial_qos", programs(tasks))
    assert times_ms(result) == [0, 0]
    assert ends_ms(result) == pytest.approx([20, 10])


@pytest.mark.parametrize("clock", [1.0, 2.0])
def test_a_switch_takes_as_long_as_saving_the_context(backend: str, clock: float) -> None:
    machine = load_machine("k40_server")
    fast = tuple(replace(g, ops_per_s=g.ops_per_s * clock) for g in machine.core_groups)
    machine = replace(machine, core_groups=fast)
    alone = [{"kind": GPU, "ms": 10 * clock, "app": 0, "share": 500}]
    batch = {"kind": GPU, "ms": 10 * clock, "app": 1, "share": 500}
    # Registers and shared memory, 304 KiB, at the bandwidth of the memory, whatever the clock;
    # nothing where no batch kernel is there.
    for policy, expected in SAVED_MS.items():
        for tasks, wait_ms in ((alone, 0.0), ([*alone, batch], expected)):
            result = simulate(
                machine, programs(tasks), make_policy(policy), backend=backend, events=True
            )
            assert ends_ms(result)[0] == pytest.approx(10 + wait_ms, rel=1e-9), policy


@pytest.mark.parametrize("policy", SAVED_MS)
def test_one_side_alone_has_the_device_also_during_a_run(backend: str, policy: str) -> None:
    # Until 5 ms the batch kernel is alone and half done. The critical one then takes 2 ms and the
    # switch at half speed, in which the other does as much of its own; the rest is at full speed.
    tasks = [{"kind": GPU, "ms": 10, "app": 1}, {"kind": GPU, "ms": 2, "app": 0, "at": 5}]
    taken = 2 + SAVED_MS[policy]
    result = run(backend, policy, programs(tasks))
    assert times_ms(result) == [0, 5]
    assert ends_ms(result) == pytest.approx([10 + taken, 5 + 2 * taken], rel=1e-9)
    # Under a fixed partition the batch kernel has a half all the time, and so has the other.
    assert ends_ms(run(backend, "spatial_qos", programs(tasks))) == pytest.approx([20, 9])


@pytest.mark.parametrize("policy", SAVED_MS)
def test_kernels_of_a_side_share_its_part(backend: str, policy: str) -> None:
    # Two batch kernels fill the device together. A critical one that fills half of it has its half
    # at full speed, and they have the other one: half speed each for as long as that takes.
    tasks = [
        {"kind": GPU, "ms": 10, "app": 1, "share": 500},
        {"kind": GPU, "ms": 10, "app": 2, "share": 500},
        {"kind": GPU, "ms": 2, "app": 0, "share": 500, "at": 5},
    ]
    taken = 2 + SAVED_MS[policy]
    result = run(backend, policy, programs(tasks))
    assert times_ms(result) == [0, 0, 5]
    assert ends_ms(result) == pytest.approx([10 + taken / 2, 10 + taken / 2, 5 + taken], rel=1e-9)


@pytest.mark.parametrize("policy", ["smk_drf", "smk_wq"])
def test_kernels_that_fill_nothing_of_the_device_run(backend: str, policy: str) -> None:
    # An occupancy of 0 was a part of 0, and no pace is 0.
    tasks = [
        {"kind": GPU, "ms": 10, "app": 1, "share": 0},
        {"kind": GPU, "ms": 2, "app": 0, "share": 1000, "at": 5},
    ]
    result = run(backend, policy, programs(tasks))
    assert ends_ms(result)[0] >= 10


def test_a_kernel_without_another_side_has_the_whole_device(backend: str) -> None:
    for application in (0, 1):
        tasks = [{"kind": GPU, "ms": 10, "app": application}]
        assert ends_ms(run(backend, "spart", programs(tasks))) == [10]


def test_shares_change_when_kernels_begin_and_end(backend: str) -> None:
    # The batch kernel has all 15 multiprocessors until the critical one comes at 5 and gets the 8
    # that it can use, for 10 ms, in which the other does 10 * 7/15; then that has all of them.
    tasks = [
        {"kind": GPU, "ms": 10, "app": 1},
        {"kind": GPU, "ms": 10, "app": 0, "share": 500, "at": 5},
    ]
    result = run(backend, "gpu_evr", programs(tasks, target_s=20e-3))
    assert times_ms(result) == [0, 5]
    assert ends_ms(result) == pytest.approx([15 + 5 - 10 * 7 / 15, 15])


def test_an_urgent_batch_kernel_overtakes_critical_ones(backend: str) -> None:
    # A critical kernel fills the GPU until 10. T_margin of the batch kernel is its submission at 1
    # plus T_resp less 3 ms. When it is past, or close, at 10, it goes before the next critical one,
    # which takes one of its two multiprocessors; otherwise it waits until that has ended.
    tasks = [
        {"kind": GPU, "ms": 10, "app": 0},
        {"kind": GPU, "ms": 3, "app": 2, "at": 1},
        {"kind": GPU, "ms": 4, "app": 0, "at": 2},
    ]
    one = {"multiprocessors": 2, "response_s": 1e-3, "urgent_s": 1e-9}
    for response_ms, urgent_ms, expected in (
        (11.0, 0.0, [0, 10, 10]),  # margin 9
        (13.0, 2.5, [0, 10, 10]),  # margin 11, close
        (13.0, 0.5, [0, 14, 10]),  # margin 11, not close
    ):
        given = {**one, "batch_response_s": response_ms * 1e-3}
        if urgent_ms:
            given["urgent_s"] = urgent_ms * 1e-3
        result = run(backend, "gpu_evr", programs(tasks), **given)
        assert times_ms(result) == pytest.approx(expected), response_ms


def test_no_more_multiprocessors_than_there_are(backend: str) -> None:
    given = {**MIX, "queries": 6, "batch": "hw md cfd", "batch_s": 0.2}
    workload = generate_workload("accelerator_mix", given)
    policy = make_policy("gpu_evr", {})
    result = simulate(load_machine("k40_server"), workload, policy, backend=backend, events=True)
    assert result.trace is not None
    graph, events = workload.graph, result.trace.events
    assert graph.occupancy is not None
    kernel = np.isfinite(graph.ops[GPU])
    running: dict[int, float] = {}
    pace, most, now = dict.fromkeys(range(100), 1.0), 0.0, -1
    shrunk = 0
    for time, kind, worker, task, value in zip(
        *(events[name].tolist() for name in ("time_ps", "kind", "worker", "task", "arg0")),
        strict=True,
    ):
        if time > now:  # what holds from the instant before on
            used = sum(pace[w] * wanted for w, wanted in running.items())
            assert used <= 1.0 + 1e-6
            most, now = max(most, used), time
        if kind == EventKind.PACE:
            shrunk += worker in running and value / 1e9 < pace[worker]
            pace[worker] = value / 1e9
        elif kind == EventKind.TASK_START and kernel[task]:
            running[worker] = graph.occupancy[task] / 1000
        elif kind == EventKind.TASK_END:
            running.pop(worker, None)
    assert most > 0.99
    assert shrunk > 10


def test_dominant_resource_fairness() -> None:
    # The example of the paper on dominant resource fairness: 9 CPUs and 18 GB.
    assert drf_partition([[1, 4], [3, 1]], [9, 18]) == [3, 2]
    assert drf_partition([[2.0]], [9.0]) == [4]
    # What a kernel with few blocks leaves goes to the other one.
    assert drf_partition([[1.0], [1.0]], [8.0], [2, 8]) == [2, 6]
    assert warp_quota(0.8, 3, 6) == pytest.approx(0.4)


def test_a_class_without_tasks_is_not_predicted() -> None:
    # A profiled class of which the program has no task: nothing to predict, nothing changes.
    mix = generate_workload("accelerator_mix", MIX)
    names = (*mix.graph.class_names, "imc.kernel")
    assert "imc.kernel" not in mix.graph.class_names
    assert trained("lr_knn", "imc.kernel") is not None
    more = replace(mix, graph=replace(mix.graph, class_names=names))
    without, found = run("native", "baymax", mix), run("native", "baymax", more)
    assert found.summary.makespan_ps == without.summary.makespan_ps


@pytest.mark.parametrize(
    "spec",
    [
        "mps",
        "accelerator_fcfs",
        "priority",
        "cpu_side_pool",
        "timegraph_prt",
        "timegraph_ht",
        "timegraph_pe",
        "timegraph_ae",
        "spatial_qos",
        "gpu_evr",
        "spart",
        "smk_wq",
        "baymax[predictor=view]",
        "baymax_nc[predictor=view]",
        "baymax_np[predictor=view]",
    ],
)
def test_backends_agree_on_services_and_batch_jobs(spec: str) -> None:
    workload = generate_workload("accelerator_mix", MIX)
    machine, policy = load_machine("k40_server"), make_policy(spec)
    traces = []
    for engine in ("native", "simpy"):
        result = simulate(machine, workload, policy, backend=engine, events=True)
        assert result.trace is not None
        assert trace_violations(result) == []
        traces.append(result.trace.events)
    for name, column in traces[0].items():
        np.testing.assert_array_equal(column, traces[1][name], err_msg=name)
