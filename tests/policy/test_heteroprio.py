"""Heteroprio: schedules and scores derived by hand, on the machine of test_runtime_queues."""

from __future__ import annotations

from dataclasses import replace

import pytest

from simsched.machine.model import CoreGroup
from simsched.policy.algorithms.list_scheduling.heteroprio import Bucket, Buckets
from simsched.policy.parts.runtime_like import DEVICE as ON_DEVICE
from simsched.policy.parts.runtime_like import HOST
from simsched.trace.schema import EventKind
from simsched.workload.builder import build_graph
from tests.engine.test_copies import device_machine
from tests.policy.test_runtime_queues import (
    CORE_0,
    CORE_1,
    DEVICE,
    NOWHERE,
    alone,
    graph,
    of_kind,
    run,
    workers_of,
)


def test_workers_take_the_newest_tasks_ahead() -> None:
    # The device takes 5 and 4 and executes 4 first, a core takes 3 and 2. Two tasks are left, less
    # than there are workers: the other core takes only 1, and 0 is left for who comes next.
    result = run(alone("heteroprio"), graph([4.0] * 6))
    starts = of_kind(result, EventKind.TASK_START)
    assert [task for task, worker, _ in starts if worker == DEVICE] == [4, 5, 0]
    assert workers_of(result)[1:4] == [CORE_1, CORE_0, CORE_0]


@pytest.mark.parametrize(
    ("name", "workers", "end_ms"),
    [
        # The device takes the newer task, 1, and has ended it when 0 ends on a core. Two tasks for
        # one device are less than the factor of 4 that a core is slower, as known when they come.
        ("heteroprio", [CORE_0, DEVICE, DEVICE, DEVICE], 6.0),
        # The device takes 0. When that has ended the device takes 2 and the idle core 3.
        ("eager", [DEVICE, CORE_0, DEVICE, CORE_1], 5.0),
    ],
)
def test_slow_workers_leave_a_short_bucket_to_the_device(
    name: str, workers: list[int], end_ms: float
) -> None:
    result = run(alone(name), graph([4.0] * 4, edges=((0, 2), (0, 3))))
    assert workers_of(result) == workers
    assert result.makespan_s == pytest.approx(end_ms * 1e-3, rel=1e-8)


@pytest.mark.parametrize("devices_of", [[2, 2, 2, 2], [1, 2, 1, 2], [0, 2, 2, 1]])
def test_workers_take_only_what_they_can_execute(devices_of: list[int]) -> None:
    # A core and two devices of different kinds, tasks of one class with a time on one of them each.
    # What the one device takes ahead is in its own queue, where the other one must not help itself.
    machine = device_machine(devices=2, cores=1)
    groups = (*machine.core_groups, CoreGroup("other", "other", 4e9))
    machine = replace(machine, core_groups=groups, core_group=machine.core_domain)
    ops = [[4e6 if own == kind else NOWHERE for own in devices_of] for kind in range(3)]
    tasks = build_graph(ops, kinds=("cpu", "gpu", "other"))
    result = run(alone("heteroprio"), tasks, machine)
    assert workers_of(result) == devices_of


def test_tasks_of_one_class_that_run_elsewhere_have_a_bucket_of_their_own() -> None:
    # Both are of one class. Task 0 takes 0.1 ms on the device, 10 times less than a core, which
    # would leave a short bucket to it; task 1 runs on cores only, so a core takes it at once.
    machine = device_machine(devices=1, cores=1)
    tasks = graph([1.0, 1.0], edges=((0, 1),), device_ms=[0.1, NOWHERE])
    result = run(alone("heteroprio"), tasks, machine, workers=2)
    assert workers_of(result) == [1, 0]
    assert result.makespan_s == pytest.approx(1.1e-3, rel=1e-8)


def bucket(host_s: float, device_s: float, types: tuple[int, ...] = (HOST, ON_DEVICE)) -> Bucket:
    made = Bucket(types=types)
    for kind, time_s in ((HOST, host_s), (ON_DEVICE, device_s)):
        made.time_s[kind].add(time_s)
        made.released[kind].add(0.5)
    return made


def test_scores_follow_the_published_formula() -> None:
    equal, fast = bucket(2.0, 2.0), bucket(4.0, 1.0)
    fast.executed = [0.25, 0.75]
    buckets = Buckets(
        {},
        [2, 1],
        [],
        [],
        {3: equal, 7: fast},
        {3: 0.5, 7: 0.5},
    )
    # The mean task takes 0.5 * 2 + 0.5 * 1 = 1.5 s on its best type.
    assert buckets.normalised(HOST, fast) == pytest.approx(4 / 1.5)
    assert buckets.score(ON_DEVICE, equal, 0) == 0.0
    assert buckets.score(ON_DEVICE, fast, 0) == pytest.approx((1 + 0.5 + 0.75 * 0.5) * 2.0)
    assert buckets.score(HOST, fast, 0) == pytest.approx((1 + 0.5 + 0.25 * 0.5) * -2.0)
    assert buckets.score(HOST, fast, 2) > 1e7  # one execution is too few
    assert buckets.score(ON_DEVICE, bucket(9.0, 9.0, (ON_DEVICE,)), 0) > 1e8  # nobody else can
