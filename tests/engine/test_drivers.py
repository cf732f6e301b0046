"""What drivers of devices take for handing copies over: closed forms, on both engines."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from simsched.engine.reference.drivers import Drivers
from simsched.machine.model import Machine
from simsched.policy.contract.base import HookView, Pool
from simsched.trace.run import Run
from simsched.trace.schema import EventKind
from tests.engine.test_copies import (
    COPY_S,
    FIRST,
    HOST,
    MB,
    SECOND,
    _Assigned,
    _Queueing,
    _QueueingInOrder,
    both,
    device_machine,
    program,
)

MICROSECOND = 1_000_000
COMPUTE_S = 1e6 / 4e9


def driven(
    hand_over_us: int = 0,
    allocation_us: int = 0,
    chunk: int = 0,
    capacity_bytes: int = 100 * MB,
    look_us: int = 0,
) -> Machine:
    """Return the machine of test_copies with drivers that take time."""
    machine = device_machine(capacity_bytes=capacity_bytes)
    costs = replace(
        machine.costs,
        driver_look_ps=look_us * MICROSECOND,
        copy_hand_over_ps=hand_over_us * MICROSECOND,
        device_allocation_ps=allocation_us * MICROSECOND,
        device_chunk_bytes=chunk,
    )
    return replace(machine, costs=costs)


def begins_us(run: Run) -> list[float]:
    """Return when copies begin."""
    assert run.trace is not None
    events = run.trace.events
    return (events["time_ps"][events["kind"] == EventKind.MIGRATE_START] / MICROSECOND).tolist()


def test_a_copy_begins_when_it_has_been_handed_over() -> None:
    run = both(driven(hand_over_us=10), program([[(0, MB, 0)]]), _Assigned([FIRST]))
    assert begins_us(run) == [10.0]
    assert run.makespan_s == pytest.approx(10e-6 + COPY_S + COMPUTE_S, rel=1e-9)


def test_a_driver_looks_before_it_hands_over_and_before_it_notices_the_end_of_a_copy() -> None:
    run = both(driven(hand_over_us=10, look_us=2), program([[(0, MB, 0)]]), _Assigned([FIRST]))
    assert begins_us(run) == [12.0]
    assert run.makespan_s == pytest.approx(14e-6 + COPY_S + COMPUTE_S, rel=1e-9)


def test_what_is_wanted_while_a_driver_looks_is_handed_over_by_its_rank() -> None:
    # Without the look the copy of block 0 would be prepared first, because it is wanted first.
    workload = program([[(block, MB, 0)] for block in range(3)])
    run = both(driven(hand_over_us=10, look_us=2), workload, _QueueingInOrder([2]))
    assert run.trace is not None
    begun = run.trace.events["kind"] == EventKind.MIGRATE_START
    assert run.trace.events["arg0"][begun].tolist() == [2, 0, 1]


class _Alternating(_QueueingInOrder):
    """Prefetches the data of the second task of each device."""

    def on_ready(self, view: HookView, state: Any, task: int, worker: int) -> Pool:
        return Pool(task // 2, [FIRST, SECOND][task % 2])


def test_drivers_that_find_nothing_to_do_wait_until_something_happens(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # The second block of each device has no room while its first task computes, 2.5 ms. Looks come
    # of what is wanted, of the ends of four copies and of four tasks, not of the other's looks.
    workload = program([[(block, MB, 0)] for block in range(4)], ops=1e7)
    sizes = np.array([10, 10, 30, 30]) * MB
    workload = replace(workload, graph=replace(workload.graph, block_bytes=sizes))
    looks: list[int] = []
    look = Drivers.look
    monkeypatch.setattr(Drivers, "look", lambda self, node: (looks.append(node), look(self, node)))
    machine = driven(hand_over_us=10, look_us=2, capacity_bytes=30 * MB)
    run = both(machine, workload, _Alternating([0, 1]))
    assert run.makespan_s > 2 * 2.5e-3
    assert len(looks) <= 2 * (4 + 4 + 4)


def test_copies_are_handed_over_while_others_move() -> None:
    tasks = [[(0, MB, 0), (1, MB, 0)]]
    run = both(driven(hand_over_us=10), program(tasks), _Assigned([FIRST]))
    assert begins_us(run) == pytest.approx([10.0, 10.0 + COPY_S * 1e6])


def test_drivers_work_side_by_side_and_allocations_one_after_the_other() -> None:
    tasks = [[(0, MB, 0)], [(1, MB, 0)]]
    machine = driven(hand_over_us=10, allocation_us=175, chunk=100 * MB)
    run = both(machine, program(tasks), _Assigned([FIRST, SECOND]))
    assert begins_us(run) == [185.0, 360.0]
    run = both(driven(hand_over_us=10), program(tasks), _Assigned([FIRST, SECOND]))
    assert begins_us(run) == [10.0, 10.0]


@pytest.mark.parametrize(
    ("policy", "copied"),
    [(_QueueingInOrder, [0, 3, 1, 2, 4, 5]), (_Queueing, [0, 3, 4, 1, 5, 2])],
)
def test_prefetches_that_a_driver_has_begun_to_hand_over_come_before_what_is_urgent(
    policy: type[_Queueing], copied: list[int]
) -> None:
    # Block 0 is being prepared when the others are wanted, so what task 3 reads comes after it and
    # before the others, which follow when copies have ended.
    workload = program([[(block, MB, 0)] for block in range(6)])
    graph = replace(workload.graph, priority=np.array([0, 5, 1, 5, 7, 2], np.int32))
    workload = replace(workload, graph=graph)
    run = both(driven(hand_over_us=10), workload, policy([3]))
    assert run.trace is not None
    begun = run.trace.events["kind"] == EventKind.MIGRATE_START
    assert run.trace.events["arg0"][begun].tolist() == copied
    assert begins_us(run) == pytest.approx([10.0 + i * COPY_S * 1e6 for i in range(6)])


@pytest.mark.parametrize(
    ("chunk", "n_blocks", "n_allocations"),
    [
        (100 * MB, 3, 1),  # 10 MB are less than an eighth of 100 MB: room for ten
        (80 * MB, 8, 1),  # just an eighth, and used up
        (80 * MB, 9, 2),
        (79 * MB, 3, 3),  # larger than an eighth: each alone
    ],
)
def test_small_blocks_share_a_chunk(chunk: int, n_blocks: int, n_allocations: int) -> None:
    tasks = [[(i, MB, 0)] for i in range(n_blocks)]
    chain = [(i, i + 1) for i in range(n_blocks - 1)]
    machine = driven(0, 175, chunk, capacity_bytes=1000 * MB)
    run = both(machine, program(tasks, chain), _Assigned([FIRST] * n_blocks))
    expected_s = n_allocations * 175e-6 + n_blocks * (COPY_S + COMPUTE_S)
    assert run.makespan_s == pytest.approx(expected_s, rel=1e-9)


def test_a_place_stays_where_another_node_writes_the_block() -> None:
    tasks = [[(0, MB, 0)], [(0, MB, MB)], [(0, MB, 0)]]
    chain = [(0, 1), (1, 2)]
    machine = driven(0, 175, 16 * MB)
    run = both(machine, program(tasks, chain), _Assigned([FIRST, HOST, FIRST]))
    free = both(driven(), program(tasks, chain), _Assigned([FIRST, HOST, FIRST]))
    assert run.summary.migrations == 2
    assert run.makespan_s == pytest.approx(175e-6 + free.makespan_s, rel=1e-9)


def test_what_makes_room_leaves_its_place() -> None:
    # Room for two blocks: the third and the fourth take the places of the first and the second.
    tasks = [[(i, MB, 0)] for i in range(4)]
    chain = [(i, i + 1) for i in range(3)]
    machine = driven(0, 175, 16 * MB, capacity_bytes=20 * MB)
    run = both(machine, program(tasks, chain), _Assigned([FIRST] * 4))
    assert run.makespan_s == pytest.approx(2 * 175e-6 + 4 * (COPY_S + COMPUTE_S), rel=1e-9)


def test_room_alone_is_allocated_too() -> None:
    machine = driven(hand_over_us=10, allocation_us=175, chunk=16 * MB)
    run = both(machine, program([[(0, 0, MB)]]), _Assigned([FIRST]))
    assert run.summary.migrations == 0
    assert run.makespan_s == pytest.approx(175e-6 + COMPUTE_S, rel=1e-9)


@pytest.mark.parametrize(("prefetches", "allocation_s"), [(False, 175e-6), (True, 0.0)])
def test_room_for_what_is_only_written_is_allocated_while_the_task_before_computes(
    prefetches: bool, allocation_s: float
) -> None:
    machine = driven(allocation_us=175, chunk=16 * MB)
    policy = _Assigned([FIRST, FIRST], prefetches=prefetches)
    run = both(machine, program([[], [(0, 0, MB)]]), policy)
    assert run.makespan_s == pytest.approx(allocation_s + 2 * COMPUTE_S, rel=1e-9)


def test_a_driver_comes_round_to_what_is_brought_back() -> None:
    # Task 0 has its place after 175 us and begins when that round has ended, in which room is also
    # made for two blocks that queued tasks write: at 525 us. It ends at 775 us, in the next round,
    # for two blocks. Then, before the fifth one, comes the copy to the host.
    workload = program([[(block, 0, MB)] for block in range(6)])
    final = np.arange(6) == 0
    workload = replace(workload, graph=replace(workload.graph, access_final=final))
    run = both(driven(10, 175, 16 * MB), workload, _Queueing([0]))
    assert begins_us(run) == pytest.approx([5 * 175.0 + 10.0])


@pytest.mark.parametrize(
    ("n_queued", "end_us"), [(1, 185 + 1005 + 250), (2, 185 + 1005 + 185 + 250)]
)
def test_a_task_begins_when_its_driver_has_come_round(n_queued: int, end_us: float) -> None:
    # The copy for task 0 begins after 185 us. When it ends its driver first prepares the second
    # prefetch, if there is one, which takes 185 us; the first one has been handed over before.
    workload = program([[(block, MB, 0)] for block in range(1 + n_queued)])
    run = both(driven(10, 175, 16 * MB), workload, _Queueing([0]))
    assert run.trace is not None
    events = run.trace.events
    first = (events["kind"] == EventKind.TASK_END) & (events["task"] == 0)
    assert events["time_ps"][first] / MICROSECOND == pytest.approx(end_us)


@pytest.mark.parametrize(("n_queued", "begin_us"), [(6, 7 * 175 + 10), (8, 9 * 175 + 10)])
def test_a_copy_that_ends_while_its_driver_is_busy_is_noticed_in_the_next_round(
    n_queued: int, begin_us: float
) -> None:
    # The copy for task 0 ends after 1190 us. By then the driver makes room for the fifth and sixth
    # block that queued tasks write, two in a round; the round ends after 1235 us. If there are two
    # more, the driver notices the end of the copy and makes room for them first.
    tasks = [[(0, MB, 0)]] + [[(block, 0, MB)] for block in range(1, 1 + n_queued)]
    run = both(driven(10, 175, 16 * MB), program(tasks), _Queueing([0]))
    assert run.trace is not None
    events = run.trace.events
    first = (events["kind"] == EventKind.TASK_END) & (events["task"] == 0)
    assert events["time_ps"][first] / MICROSECOND == pytest.approx(begin_us + COMPUTE_S * 1e6)


def test_room_for_a_block_that_has_been_written_elsewhere_is_given_back() -> None:
    # The first device allocates it for task 5 while it computes the five before; the host writes
    # the block at the same time. So task 7, which reads it on the device, needs a copy.
    tasks = [[]] * 5 + [[(0, 0, MB)], [(0, 0, MB)], [(0, MB, 0)]]
    policy = _Assigned([FIRST] * 6 + [HOST, FIRST], prefetches=True)
    machine = driven(allocation_us=175, chunk=16 * MB, capacity_bytes=10 * MB)
    run = both(machine, program(tasks, [(6, 7)]), policy)
    assert run.summary.migrations == 1
    assert run.makespan_s == pytest.approx(1e-3 + COPY_S + 2 * COMPUTE_S, rel=1e-9)


def test_the_host_has_no_driver() -> None:
    machine = driven(hand_over_us=10, allocation_us=175, chunk=16 * MB)
    run = both(machine, program([[(0, 0, MB)]]), _Assigned([HOST]))
    plain = both(device_machine(), program([[(0, 0, MB)]]), _Assigned([HOST]))
    assert run.makespan_s == plain.makespan_s


class _Looking(_Assigned):
    """Notes at each start of a task what the second node holds, expects and has a place for."""

    def __init__(self, worker: list[int]) -> None:
        super().__init__(worker, prefetches=True)
        object.__setattr__(self, "seen", [])

    def on_start(self, view: HookView, state: Any, task: int, worker: int) -> None:
        now = view.live
        assert now is not None
        asked = (now.holds, now.expects, now.has_place)
        self.seen.append([ask(1, 0) for ask in asked])  # type: ignore[attr-defined]


@pytest.mark.parametrize("chunk", [0, 16 * MB])
def test_a_block_keeps_its_place_on_a_device_when_it_is_written_elsewhere(chunk: int) -> None:
    # Task 0 computes on the host, task 1 writes the block on the device, tasks 2 and 3 on the host
    # and on the other device. When these start only its place, which chunks give, is left.
    tasks = [[], [(0, 0, MB)], [(0, 0, MB)], [(0, MB, MB)]]
    policy = _Looking([HOST, FIRST, HOST, SECOND])
    both(driven(chunk=chunk), program(tasks, [(0, 1), (1, 2), (2, 3)]), policy)
    nothing, all_of_it = [False] * 3, [True] * 3
    left = [False, False, chunk > 0]
    seen = policy.seen  # type: ignore[attr-defined]
    assert seen == 2 * [nothing, all_of_it, left, left]  # by both engines


def test_a_copy_has_its_place_from_when_it_is_handed_over() -> None:
    # While task 0 computes on the device, block 0 is on its way there for task 1, which is next.
    policy = _Looking([FIRST, FIRST])
    both(driven(), program([[], [(0, MB, 0)]]), policy)
    assert policy.seen == 2 * [[False, True, True], [True] * 3]  # type: ignore[attr-defined]
