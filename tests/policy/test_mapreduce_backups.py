"""When and of which tasks MapReduce policies start backups, against hand calculations."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from simsched.engine.run import simulate
from simsched.policy import make_policy
from simsched.policy.algorithms.mapreduce.samr import Samr
from simsched.policy.parts.mapreduce_tracker import Attempt
from simsched.trace.schema import EventKind
from simsched.workload.mapreduce_job import MAP
from simsched.workload.registry import generate_workload
from tests.policy.test_mapreduce import _view_of, cluster, events, sort


def at(seconds: float) -> Any:
    """Return a clock that stands still."""
    return SimpleNamespace(now_ps=lambda: round(seconds * 1e12))


@pytest.mark.parametrize("backend", ["simpy", "native"])
@pytest.mark.parametrize("name", ["hadoop_default", "late", "samr[straggler_cap=1.0]"])
def test_a_task_has_run_for_a_minute_before_it_gets_a_backup(name: str, backend: str) -> None:
    """All of them were implemented on Hadoop 0.19: one constant, 60 s."""
    # The slow node gets its first task at 3 s, its second one at 6 s, which take 200 s; all others
    # end after 10 s. At 63 s, a heartbeat, the first one has run for a minute.
    machine, workload = cluster((1.0, 1.0, 1.0, 0.05)), sort(splits=8)
    policy = make_policy(name, {"average_over": "all"})
    result = simulate(machine, workload, policy, backend=backend, events=True)
    backups = [round(ps * 1e-12, 6) for (ps,) in events(result, EventKind.DUPLICATE, "time_ps")]
    assert backups[:2] == [63.0, 66.0]


def test_samr_judges_from_the_first_look_on() -> None:
    """Algorithm 11 and equation 7.12 have no least time; a backup has that of Hadoop."""
    policy = make_policy("samr")

    def judged(now_s: float) -> tuple[list[int], list[bool], bool]:
        view = _view_of(sort()).during(at(now_s))
        state = policy.start(view)
        for node, (began_s, fraction) in enumerate([(0, 0.5), (0, 0.5), (0, 0.5), (10, 0.001)]):
            entered = [began_s * 10**12]
            state.attempts[4 * node] = Attempt(
                node, 4 * node, node, entered[0], fraction=fraction, entered_ps=entered
            )
        return (
            [a.task for a in policy.stragglers(view, state)],
            [policy.is_slow(view, state, node, MAP, 0) for node in range(4)],
            policy.back_up(view, state, 0, MAP) is not None,
        )

    # After 0.1 s the last one has 0.001 / 0.1 = 0.01 per second, the others 0.5 / 10.1 = 0.0495.
    # The average is 0.0396: 0.01 is less than 0.7 of it, and than 0.8 of it.
    slow = [False, False, False, True]
    assert judged(10.1) == ([3], slow, False)
    assert judged(69.9) == ([3], slow, False)
    assert judged(70.0) == ([3], slow, True)


def test_looks_that_nobody_asks_for_change_nothing() -> None:
    """SAMR looks every 100 ms; requests come with heartbeats, and find what the last look found."""
    looks = []

    class Eager(Samr):
        def report(self, view: Any, state: Any, *, in_full: bool) -> None:
            super().report(view, state, in_full=True)
            state.memo["stragglers"] = self.stragglers(view, state)
            looks.append(view.live.now_ps())

    machine, workload = cluster((1.0, 1.0, 0.2, 0.1)), sort(splits=16, iterations=2)
    params = {"least_running_s": 1.0, "average_over": "all"}
    found = []
    for policy in (Samr(**params), Eager(**params)):
        result = simulate(machine, workload, policy, events=True)
        found.append(events(result, EventKind.DUPLICATE, "time_ps", "task", "worker"))
    assert found[0] == found[1] != []
    assert looks[:3] == [10**11, 2 * 10**11, 3 * 10**11]


def test_late_compares_tasks_with_those_of_their_job() -> None:
    # Four map tasks each of two jobs, the second of which is five times as slow. The 25th
    # percentile of the rates of a job is interpolated at three quarters between its two slowest.
    policy: Any = make_policy("late")
    shape = {"jobs": 2, "small_splits": 4, "large_share": 0.0, "split_bytes": 40_000}
    view = _view_of(generate_workload("mapreduce_mix", shape)).during(at(10.0))
    state = policy.start(view)
    maps = [task for task, kind in enumerate(state.tasks.kind.tolist()) if kind == MAP]
    assert state.tasks.job[maps].tolist() == [0] * 4 + [1] * 4
    fractions = (0.5, 0.5, 0.5, 0.4, 0.1, 0.1, 0.1, 0.1)
    for place, (task, fraction) in enumerate(zip(maps, fractions, strict=True)):
        worker = 4 * (place // 2) + place % 2
        state.attempts[worker] = Attempt(task, worker, place // 2, 0, False, 0, fraction, [0])
    # 0.04 is below 0.04 + 0.75 * 0.01; equal ones are not below themselves. Of all eight together,
    # none would be: the two slowest are alike.
    assert [maps.index(a.task) for a in policy.slow_tasks(view, state, MAP)] == [3]
