"""Pools that starve get slots by force, and jobs wait for local work: decisions at a heartbeat."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from simsched.policy import make_policy
from simsched.policy.contract.base import Transfer
from simsched.policy.parts.mapreduce_tracker import Attempt, Tracker
from simsched.policy.parts.mapreduce_waiting import Waiting
from simsched.trace.run import Run
from simsched.trace.schema import EventKind
from simsched.workload.graph import Workload
from simsched.workload.mapreduce_job import MAP, REDUCE
from simsched.workload.registry import generate_workload
from tests.policy.test_mapreduce import _view_of, cluster, events, run, sort

PERIOD_S = 3.0


class Parked:
    """State of a run in which nobody does anything, some seconds after its start."""

    def __init__(self, now_s: float) -> None:
        self.now_s = now_s

    def now_ps(self) -> int:
        return round(self.now_s * 1e12)

    def is_waiting(self, worker: int) -> bool:
        return True

    def has_failed(self, worker: int) -> bool:
        return False

    def progress(self, worker: int) -> None:
        return None


def heartbeat(policy: Any, state: Tracker, workload: Workload, number: int) -> list[Transfer]:
    """Return the tasks that a heartbeat sends out while all slots are free."""
    state.attempts.clear()
    view = _view_of(workload).during(Parked(number * PERIOD_S))
    return list(policy.on_timer(view, state))


def tracker(policy: Any, workload: Workload) -> Tracker:
    """Return a tracker whose map tasks all wait and have their splits nowhere in the cluster."""
    state: Tracker = policy.start(_view_of(workload))
    state.is_tracking = True
    n_maps = int((state.tasks.kind == MAP).sum())
    state.replicas = [(99,)] * n_maps + [()] * (len(state.replicas) - n_maps)
    for task in range(n_maps):
        state.wait(task)
    return state


# -------------------------------------------------------------------------------------------------
# fair shares


def two_users(**params: Any) -> Workload:
    """Return a job of sixteen splits, and one of the second user that arrives while it runs."""
    shape = {"jobs": 2, "users": 2, "splits_per_reduce": 16, "split_bytes": 4_000_000}
    times = {"mean_interarrival_s": 20.0, "task_noise": 0.0}
    return generate_workload("mapreduce_mix", {**shape, **times, **params})


def starve(mix: Workload, backend: str = "native") -> tuple[Run, list[int], list[int]]:
    """Return a run, the first user's map tasks, and the second one's.

    Eight map slots take the first eight tasks within six seconds; each takes 1600 s.
    """
    params = {"preempt_after_s": 10.0, "least_slots": 2, "heartbeat_s": PERIOD_S}
    result = run("fair", cluster((10.0,) * 4), mix, backend, **params)
    graph = result.workload.graph
    maps = [np.flatnonzero(graph.task_class == c).tolist() for c in (0, 2)]
    assert [graph.class_names[c] for c in (0, 2)] == ["user0/sort.map", "user1/wordcount.map"]
    # The pool is seen starving at 9 s and again at 21 s, the first heartbeat 10 s later.
    assert 6.0 < graph.arrival_ps[maps[1][0]] * 1e-12 < 9.0
    return result, *maps


@pytest.mark.parametrize("backend", ["simpy", "native"])
def test_a_slot_taken_by_force_goes_to_the_pool_that_starves(backend: str) -> None:
    mix = two_users(small_splits=16, large_splits=16)
    result, first, second = starve(mix, backend)
    kills = events(result, EventKind.KILL, "time_ps", "task")
    assert [round(time * 1e-12) for time, _ in kills] == [21, 21]
    assert {task for _, task in kills} <= set(first)
    starts = [
        (round(time * 1e-12, 6), task)
        for time, task in events(result, EventKind.TASK_START, "time_ps", "task")
    ]
    assert [time for time, task in starts if task in second][:2] == [24.0, 24.0]
    # What was killed has not failed: it starts over when tasks of the first user have ended.
    for _, killed in kills:
        again = [time for time, task in starts if task == killed]
        assert len(again) == 2
        assert again[1] > 1600.0


def test_no_more_is_killed_than_the_pool_has_waiting() -> None:
    # By chance (seed 0) the first job is large and the second one small: a single map task.
    mix = two_users(small_splits=1, large_splits=16, large_share=0.5)
    result, first, second = starve(mix)
    assert (len(first), len(second)) == (16, 1)
    kills = events(result, EventKind.KILL, "time_ps")
    assert [round(time * 1e-12) for (time,) in kills] == [21]


def test_nothing_is_killed_for_slots_that_are_free() -> None:
    """With one task at a heartbeat a pool can be below its guarantee beside free slots."""
    mix = two_users(small_splits=16, large_splits=16)
    policy = make_policy("fair", {"preempt_after_s": 0.0, "least_slots": 2})
    state = policy.start(_view_of(mix))
    for worker in (4, 5, 8):  # nodes have two map slots, then two reduce slots
        state.attempts[worker] = Attempt(worker, worker, worker // 4, 0, entered_ps=[0])
    for task in range(17, 33):
        state.wait(task)

    class Busy(Parked):
        def is_waiting(self, worker: int) -> bool:
            return worker in self.free

        def running_task(self, worker: int) -> int:
            return worker if worker in (4, 5, 8) else -1

        free: tuple[int, ...] = ()

    live = Busy(3.0)
    view = _view_of(mix).during(live)
    live.free = (0, 1)
    assert policy.kills(view, state) == ()
    live.free = (0,)  # one is missing, and the first user stays at its guarantee
    assert [kill.worker for kill in policy.kills(view, state)] == [8]


# -------------------------------------------------------------------------------------------------
# delay scheduling


@pytest.mark.parametrize(("most_skips", "sent"), [(0, 4), (1, 4), (3, 2), (4, 1), (5, 0)])
def test_the_job_goes_elsewhere_at_the_dth_request(most_skips: int, sent: int) -> None:
    """Four nodes ask once each at a heartbeat, with two free map slots, and nothing is local."""
    policy, workload = make_policy("delay", {"most_skips": most_skips}), sort()
    state = tracker(policy, workload)
    assert len(heartbeat(policy, state, workload, 1)) == sent
    assert state.skips == {0: 4}
    # The next request is the fifth.
    assert len(heartbeat(policy, state, workload, 2)) == 4


def test_only_local_map_tasks_set_the_counter_back() -> None:
    policy, workload = make_policy("delay", {"most_skips": 99}), sort()
    state = tracker(policy, workload)
    heartbeat(policy, state, workload, 1)
    state.wait(24)
    assert policy.pick_of_job(state, 0, REDUCE, 0) == 24
    assert state.skips == {0: 4}
    state.waiting.clear()
    state.replicas[7] = (2,)
    for task in range(24):
        state.wait(task)
    assert policy.pick_of_job(state, 2, MAP, 0) == 7
    assert state.skips == {0: 0}


def test_every_iteration_has_its_own_counters() -> None:
    policy, workload = make_policy("delay", {"most_skips": 99}), sort()
    state = tracker(policy, workload)
    heartbeat(policy, state, workload, 1)
    state.start_iteration()
    assert state.skips == {}


# -------------------------------------------------------------------------------------------------
# what waits


def test_waiting_tasks_by_kind_and_job() -> None:
    waiting = Waiting()
    assert not waiting
    for kind, job, task in ((MAP, 3, 9), (REDUCE, 1, 5), (MAP, 1, 4), (MAP, 3, 7), (MAP, 1, 2)):
        waiting.add(kind, job, task)
    assert [waiting.jobs(kind) for kind in (MAP, REDUCE)] == [[1, 3], [1]]
    assert list(waiting.of_kind(MAP)) == [4, 2, 9, 7]
    assert list(waiting.of_job(MAP, 3)) == [9, 7]
    waiting.remove(MAP, 1, 4)
    waiting.remove(MAP, 1, 2)
    assert [waiting.jobs(kind) for kind in (MAP, REDUCE)] == [[3], [1]]
    waiting.clear()
    assert not waiting
    assert list(waiting.of_kind(REDUCE)) == []


def test_the_first_local_task_is_that_which_has_waited_longest() -> None:
    """Tasks without input are local everywhere, in their turn; who comes back waits at the end."""
    waiting = Waiting()
    for task, nodes in ((5, (1, 2)), (3, (0, 1)), (8, ()), (1, (2,)), (7, (0, 2))):
        waiting.add(MAP, 0, task, nodes)
    assert [waiting.first_local(MAP, 0, node) for node in (0, 1, 2, 3)] == [3, 5, 5, 8]
    waiting.remove(MAP, 0, 5)
    assert [waiting.first_local(MAP, 0, node) for node in (0, 1, 2, 3)] == [3, 3, 8, 8]
    waiting.add(MAP, 0, 5, (1, 2))
    waiting.remove(MAP, 0, 8)
    assert [waiting.first_local(MAP, 0, node) for node in (0, 1, 2, 3)] == [3, 3, 1, None]
    waiting.remove(MAP, 0, 3)
    assert [waiting.first_local(MAP, 0, node) for node in (0, 1, 2, 3)] == [7, 5, 1, None]
    assert waiting.first(MAP, 0) == 1
    assert waiting.first_local(MAP, 1, 2) is waiting.first_local(REDUCE, 0, 2) is None
    waiting.clear()
    assert waiting.first_local(MAP, 0, 2) is None


@pytest.mark.parametrize("name", ["hadoop_fifo", "samr", "delay"])
def test_a_slot_looks_at_few_of_many_waiting_tasks(name: str) -> None:
    """Programs of a million tasks run on trackers, too: every task is looked at a few times."""
    policy, workload = make_policy(name), sort()
    state = tracker(policy, workload)
    state.waiting.clear()
    state.replicas = [()] * len(state.replicas)
    for task in range(24):
        state.wait(task)
    looks: list[int] = []

    class Counted(np.ndarray):  # type: ignore[type-arg]  # of the kinds or the jobs of tasks
        def __getitem__(self, task: Any) -> Any:
            looks.append(task)
            return super().__getitem__(task)

    for what in ("kind", "job"):
        vars(state.tasks)[what] = getattr(state.tasks, what).view(Counted)
    view = _view_of(workload).during(Parked(PERIOD_S))
    assert policy.pick(view, state, 0, MAP) == 0
    assert len(looks) <= 2


@pytest.mark.parametrize(("name", "sent"), [("hadoop_fifo", 0), ("samr", 0), ("delay", None)])
def test_a_node_without_local_work_does_not_look_for_it(name: str, sent: int | None) -> None:
    """The last quarter of a large program is local to few: each task is looked at a few times."""
    policy, workload = make_policy(name), sort()
    state = tracker(policy, workload)
    looks: list[Any] = []

    class Counted(list[tuple[int, ...]]):
        def __getitem__(self, task: Any) -> Any:
            looks.append(task)
            return super().__getitem__(task)

    state.replicas = Counted(state.replicas)
    view = _view_of(workload).during(Parked(PERIOD_S))
    assert policy.pick(view, state, 0, MAP) == sent
    assert len(looks) <= 2
