"""modular-heft: schedules derived by hand, on two cores and a device four times as fast."""

from __future__ import annotations

import pytest

from simsched.trace.schema import EventKind
from tests.policy.test_runtime_queues import (
    CORE_0,
    DEVICE,
    NOWHERE,
    alone,
    graph,
    of_kind,
    run,
    workers_of,
)


@pytest.mark.parametrize(
    ("most_queued", "order"),
    [
        # The queue of the device holds all: it takes the most urgent one.
        (30, [3, 2, 1, 0]),
        # 0 goes down first and fills it. When the device takes 0, 3 goes down, then 2, then 1.
        (1, [0, 3, 2, 1]),
    ],
)
def test_the_most_urgent_task_goes_down_when_there_is_place(
    most_queued: int, order: list[int]
) -> None:
    tasks = graph([NOWHERE] * 4, priority=[0, 1, 2, 3], device_ms=[1.0] * 4)
    ends = of_kind(run(alone("modular_heft", most_queued=most_queued), tasks), EventKind.TASK_END)
    assert [task for task, _, _ in ends] == order


def test_tasks_wait_for_the_best_worker_while_others_have_place() -> None:
    # The device would end 1 after 2 ms, a core after 4. Its queue is full until it takes 0.
    tasks = graph([4.0] * 3)
    assert workers_of(run(alone("modular_heft", most_queued=1), tasks)) == [DEVICE] * 3


@pytest.mark.parametrize(("name", "worker"), [("modular_heft", DEVICE), ("dmda", CORE_0)])
def test_who_asks_in_vain_forgets_what_it_executes(name: str, worker: int) -> None:
    # The device executes 0 for 10 ms and has asked for another task at its start. After 1 ms task
    # 2 would end after 1 + 1 ms there if the device were free, on a core after 1 + 4.
    tasks = graph([NOWHERE, 1.0, 4.0], edges=((1, 2),), device_ms=[10.0, NOWHERE, 1.0])
    assert workers_of(run(alone(name), tasks)) == [DEVICE, CORE_0, worker]


def test_queued_data_are_fetched_and_tasks_whose_data_are_there_come_first() -> None:
    # 0 is taken at once. When it begins, after 1.005 ms, block 0 is there and block 1 is not: of 1
    # and 2, as urgent, 2 comes first. It ends after 3.005 ms, 1 after 4.005: block 1 came at 2.010.
    tasks = graph(
        [NOWHERE] * 3, reads=[[0], [1], [0]], priority=[9, 7, 7], device_ms=[1.0, 1.0, 1.0]
    )
    ends = of_kind(run(alone("modular_heft"), tasks), EventKind.TASK_END)
    assert [task for task, _, _ in ends] == [0, 2, 1]
    assert [time for _, _, time in ends] == pytest.approx([2.005, 3.005, 4.005], rel=1e-9)
