"""Kernels that share a GPU in parts: partitions, contexts, contention, reallocation, by hand."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from simsched.engine.run import simulate
from simsched.machine.load import load_machine
from simsched.policy import make_policy
from simsched.policy.algorithms.accelerator.smk import drf_partition
from simsched.trace.schema import EventKind
from simsched.workload.registry import generate_workload

from .accelerator_toys import GPU, MIX, ends_ms, programs, run, times_ms

#: What a critical kernel waits for contexts: of 8 multiprocessors, or of a sixteenth of each of 15.
SAVED_MS = {"spart": 8 * 304 * 1024 / 288e6, "smk": 15 / 16 * 304 * 1024 / 288e6}


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


@pytest.mark.parametrize(
    ("policy", "at", "expected"),
    # Two kernels of 30 ms, side by side as far as blocks go, each of which needs 0.6 of the
    # instruction issues; w is what the critical one waits for contexts. Without quotas the one that
    # began first gets its 0.6, the other one 0.4, so 2/3 of its speed. Both at 0: 30 + w; then the
    # other one has 30 - 2/3 (30 + w) left and ends at 40 + w/3. The critical one at 10: the other
    # one ends at 30, when it has 30 + w - 20 * 2/3 left. With quotas both have 1 / 1.2 of their
    # speed: the other one ends at 36, when the critical one has w left. At 10 that is 24 ms for the
    # 20 left, until 34, when the critical one has 30 + w - 20.
    [
        ("smk", 0, lambda w: [30 + w, 40 + w / 3]),
        ("smk", 10, lambda w: [30 + 30 + w - 40 / 3, 30]),
        ("smk_wq", 0, lambda w: [36 + w, 36]),
        ("smk_wq", 10, lambda w: [34 + 10 + w, 34]),
        ("spart", 10, lambda w: [40 + w, 30]),  # multiprocessors of their own
    ],
)
def test_kernels_beside_each_other_contend_for_issues(
    backend: str, policy: str, at: int, expected: Callable[[float], list[float]]
) -> None:
    tasks = [
        {"kind": GPU, "ms": 30, "app": 0, "share": 400, "at": at},
        {"kind": GPU, "ms": 30, "app": 1, "share": 400},
    ]
    found = ends_ms(run(backend, policy, programs(tasks)))
    assert found == pytest.approx(expected(SAVED_MS[policy.removesuffix("_wq")]), rel=1e-9)


def test_dominant_resource_fairness() -> None:
    # The example of the paper on dominant resource fairness: 9 CPUs and 18 GB.
    assert drf_partition([[1, 4], [3, 1]], [9, 18]) == [3, 2]
    assert drf_partition([[2.0]], [9.0]) == [4]
    # What a kernel with few blocks leaves goes to the other one.
    assert drf_partition([[1.0], [1.0]], [8.0], [2, 8]) == [2, 6]
