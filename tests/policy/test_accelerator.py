"""The K40 server as a device, budgets, headrooms and gates, by hand."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from simsched.analysis.metrics import run_metrics
from simsched.engine.run import simulate
from simsched.files.errors import ConfigurationError, PolicyError
from simsched.machine.load import load_machine
from simsched.machine.model import Change
from simsched.machine.synthetic import make_machine
from simsched.policy import make_policy
from simsched.policy.algorithms.accelerator.baymax import headroom, refilled
from simsched.policy.algorithms.accelerator.cpu_side_pool import CpuSidePool
from simsched.policy.algorithms.accelerator.timegraph import periods_until, replenished
from simsched.policy.contract.base import Transfer
from simsched.policy.parts.accelerator_copies import batch_copies
from simsched.policy.parts.predictors import trained
from simsched.trace.run import Run
from simsched.trace.schema import EventKind
from simsched.workload.builder import build_graph
from simsched.workload.graph import Workload
from simsched.workload.registry import generate_workload
from tests.engine.invariants import trace_violations

from .accelerator_toys import GPU, IN, MIX, OUT, ends_ms, programs, run, times_ms


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
    ("ms", "expected"),
    # C = 10, T = 100, both in ms. 30: e is -20 at 30, 0 at 200, which is not above 0, and 10 at
    # 300. 29: e is -19, so 1 at 200; then -28, so 2 at 500. 31: e is -21, so 9 at 300, -22 after
    # the second, so 8 at 600.
    [(29, [0, 200, 500]), (30, [0, 300, 600]), (31, [0, 300, 600])],
)
def test_a_budget_of_nothing_is_not_above_nothing(
    backend: str, ms: int, expected: list[float]
) -> None:
    tasks = [{"kind": GPU, "ms": ms} for _ in range(3)]
    given = {"capacity_s": 10e-3, "period_s": 0.1, "decision_s": 0.0}
    assert times_ms(run(backend, "timegraph_pe", programs(tasks), **given)) == expected


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
    assert headroom(150, 30, 40, 25) == 55
    # After 50 of 150 with 20 of 40 done, 10 queued: 100 - 10 - 20 - 0.
    assert refilled(150, 50, 10, 40, 20, 0) == 70


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


def test_what_happens_at_a_time_is_seen_at_once(backend: str) -> None:
    # The next query comes when the one before has ended, at 20, and then has the headroom
    # 100 - 20: a kernel of 85 that waits since 0 has to wait for its end, too, at 40.
    tasks = [
        {"kind": GPU, "ms": 20, "app": 0},
        {"kind": GPU, "ms": 85, "app": 1},
        {"kind": GPU, "ms": 20, "app": 0, "query": 1, "after": 0},
    ]
    assert times_ms(run(backend, "baymax", programs(tasks), **BAYMAX)) == [0, 40, 20]


def test_a_kernel_that_takes_the_whole_headroom_fits(backend: str) -> None:
    # Target 0.3 s, T_self 0.1 s: a kernel of 0.2 s fits exactly. In floats 0.3 - 0.1 < 0.2.
    tasks = [{"kind": GPU, "ms": 100, "app": 0}, {"kind": GPU, "ms": 200, "share": 0}]
    found = run(backend, "baymax", programs(tasks, target_s=0.3), **BAYMAX)
    assert times_ms(found) == [0, 0]


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


@pytest.mark.parametrize("policy", ["timegraph_pe", "timegraph_prt", "cpu_side_pool", "gpu_evr"])
def test_what_a_failed_worker_was_passed_is_passed_on_to_another(backend: str, policy: str) -> None:
    # Without a GPU every task is a kernel. Two of four workers fail at 1 ms, in the middle of what
    # they have been passed; the policy took that for being executed and passed nothing on.
    machine = make_machine(domains=2, cores_per_domain=2, ops_per_s=1e9)
    machine = replace(machine, changes=(Change(10**9, (0, 1), 0.0),))
    workload = Workload("w", build_graph(np.full(8, 3e6)))
    result = simulate(machine, workload, make_policy(policy), backend=backend)
    assert result.summary.n_tasks == 8
    assert result.summary.tasks_per_worker[:2].tolist() == [0, 0]
