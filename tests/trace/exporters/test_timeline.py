"""Intervals add up to the counters that the engines keep."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simsched.trace.exporters._timeline import Activity, Timeline, timeline
from simsched.trace.run import Run
from simsched.trace.schema import EVENT_COLUMNS, EventKind, Trace

from .runs import hides_a_cost, random_run

SEEDS = st.integers(0, 10**6)
#: What workers pay for getting to a task and for leaving it.
PAID = (Activity.POP, Activity.STEAL, Activity.SWITCH, Activity.TAKE, Activity.DUPLICATE)


def sums(found: Timeline, n_workers: int, *activities: Activity) -> np.ndarray:
    rows = found.intervals.chosen(np.isin(found.intervals.activity, activities))
    result = np.zeros(n_workers, np.int64)
    np.add.at(result, rows.worker, rows.end_ps - rows.start_ps)
    return result


def busy(found: Timeline, n_workers: int) -> np.ndarray:
    inside = found.intervals.chosen(found.intervals.inside)
    result = sums(found, n_workers, Activity.TASK)
    np.subtract.at(result, inside.worker, inside.end_ps - inside.start_ps)
    return result


def trace(*rows: tuple[int, ...]) -> Trace:
    """Events given as (time, kind, worker, task, arg0, arg1)."""
    table = np.array([(*row[:4], 1, *row[4:]) for row in rows], np.int64)
    return Trace(
        {name: table[:, i].astype(kind) for i, (name, kind) in enumerate(EVENT_COLUMNS.items())}
    )


def check_counters(run: Run) -> None:
    assert run.trace is not None
    found, n = timeline(run.trace), len(run.worker_thread)
    assert found.set_aside == {}
    spawn = sums(found, n, Activity.SPAWN, Activity.RELEASE)
    acquire = sums(found, n, *PAID)
    assert sums(found, n, Activity.MIGRATE).tolist() == run.summary.worker_migrate_ps.tolist()
    if hides_a_cost(run):
        moved = busy(found, n) - run.summary.worker_busy_ps
        assert np.all(moved >= 0)
        assert np.all(spawn + moved <= run.summary.worker_spawn_ps)
        return
    assert busy(found, n).tolist() == run.summary.worker_busy_ps.tolist()
    # What is still being paid when the last task ends is cut off there.
    cut = run.summary.worker_spawn_ps - spawn + run.summary.worker_acquire_ps - acquire
    assert np.all(spawn <= run.summary.worker_spawn_ps)
    assert np.all(acquire <= run.summary.worker_acquire_ps)
    ends = np.zeros(n, np.int64)
    np.maximum.at(ends, found.intervals.worker, found.intervals.end_ps)
    assert np.all((cut == 0) | (ends == found.end_ps) | (acquire + spawn == 0))


@settings(max_examples=80)
@given(SEEDS, st.sampled_from(["native", "simpy"]))
def test_intervals_add_up_to_the_counters(seed: int, backend: str) -> None:
    run = random_run(seed, backend)
    if run is not None:
        check_counters(run)


# Lock waits before a join, costs cut off, creations that others wait for (11, 14).
@pytest.mark.parametrize("seed", [8, 11, 14, 53, 135, 243])
def test_intervals_of_runs_that_are_hard_to_read(seed: int) -> None:
    run = random_run(seed, "native")
    assert run is not None
    check_counters(run)


@settings(max_examples=40)
@given(SEEDS)
def test_a_worker_does_one_thing_at_a_time(seed: int) -> None:
    run = random_run(seed, "native")
    if run is None or run.trace is None:
        return
    rows = timeline(run.trace).intervals
    rows = rows.chosen(np.lexsort((rows.event, rows.worker)))
    outer = rows.chosen(~rows.inside)
    same = outer.worker[1:] == outer.worker[:-1]
    assert np.all(outer.start_ps[1:][same] >= outer.end_ps[:-1][same])
    around = np.maximum.accumulate(np.where(rows.inside, 0, np.arange(len(rows))))
    assert np.all(rows.start_ps >= rows.start_ps[around])
    assert np.all(rows.end_ps[rows.inside] <= rows.end_ps[around][rows.inside])


def test_rows_in_the_wrong_order_are_sorted_and_counted() -> None:
    run = random_run(4, "native")
    assert run is not None
    assert run.trace is not None
    order = np.argsort(run.trace.events["time_ps"] // 3000 % 7, kind="stable")
    mixed = Trace({name: column[order] for name, column in run.trace.events.items()})
    found, expected = timeline(mixed), timeline(run.trace)
    assert list(found.set_aside) == ["rows earlier than the row before (sorted)"]
    n = len(run.worker_thread)
    assert busy(found, n).tolist() == busy(expected, n).tolist()


def test_tasks_that_overlap_on_one_worker_are_counted() -> None:
    start, end = EventKind.TASK_START, EventKind.TASK_END
    found = timeline(
        trace(
            (0, start, 0, 0, 0, 0),
            (10, start, 0, 1, 0, 0),
            (20, end, 0, 0, 0, 0),
            (30, end, 0, 1, 0, 0),
            (40, start, 0, 2, 0, 0),
        )
    )
    assert found.set_aside == {
        "stretches in a task that nothing ends (cut at the next one)": 3,
        "ends of tasks that their worker was not in": 2,
    }
    assert np.all(found.intervals.end_ps >= found.intervals.start_ps)


def test_a_trace_without_tasks_has_no_intervals() -> None:
    found = timeline(trace((5, EventKind.TIMER, -1, -1, 0, 0)))
    assert len(found.intervals) == 0
    assert found.end_ps == 5


def test_costs_end_where_the_next_thing_begins() -> None:
    start, spawn, ready = EventKind.TASK_START, EventKind.SPAWN, EventKind.TASK_READY
    rows = timeline(
        trace(
            (0, start, 0, 0, 0, 0),
            (10, spawn, 0, 0, 1, 1),
            (15, ready, 0, 1, 0, 0),
            (18, spawn, 0, 0, 2, 1),  # after a wait for a lock
            (21, ready, 0, 2, 0, 0),
            (25, EventKind.ACCESS, 0, 0, 7, 64),  # another one, then the join
            (40, EventKind.TASK_END, 0, 0, 0, 0),
            (40, ready, 0, 3, 0, 0),
            (44, EventKind.PARK, 0, -1, 0, 0),
            (50, start, 1, 4, 0, 0),
            (60, spawn, 1, 4, 5, 1),
            (65, ready, 1, 5, 0, 0),  # then a join that only computes
            (80, EventKind.TASK_END, 1, 4, 0, 0),
        )
    ).intervals
    spans = zip(rows.activity, rows.start_ps, rows.end_ps, rows.inside, strict=True)
    assert [(Activity(a).name, int(b), int(e), bool(i)) for a, b, e, i in spans] == [
        ("TASK", 0, 40, False),
        ("SPAWN", 10, 18, True),
        ("SPAWN", 18, 25, True),
        ("RELEASE", 40, 44, False),
        ("TASK", 50, 80, False),
        ("SPAWN", 60, 65, True),
    ]
    assert rows.extra[0] == 64
    assert rows.arg[1:3].tolist() == [1, 2]


def test_steals_that_cost_nothing_are_kept() -> None:
    rows = timeline(
        trace(
            (5, EventKind.ACQUIRE, 0, 3, 2, 0),
            (5, EventKind.STEAL, 0, 3, 2, 1),
            (5, EventKind.TASK_START, 0, 3, 0, 0),
            (9, EventKind.TASK_END, 0, 3, 0, 0),
            (9, EventKind.ACQUIRE, 0, 4, (1 << 32) + 1, 0),
            (9, EventKind.STEAL, 0, 4, 1, 2),
        )
    ).intervals
    steals = rows.chosen(rows.activity == Activity.STEAL)
    assert steals.arg.tolist() == [2, -1]  # the second pool belongs to a domain
    assert steals.extra.tolist() == [1, 2]


def test_steals_that_nobody_has_paid_for_are_there() -> None:
    # The transfer of task 4 lies between the taking of task 3 and its start.
    rows = timeline(
        trace(
            (5, EventKind.ACQUIRE, 0, 3, 0, 1),
            (6, EventKind.STEAL, 0, 4, 1, 2),
            (7, EventKind.TASK_START, 0, 3, 0, 0),
            (9, EventKind.TASK_END, 0, 3, 0, 0),
        )
    ).intervals
    steals = rows.chosen(rows.activity == Activity.STEAL)
    moments = zip(
        steals.task, steals.start_ps, steals.end_ps, steals.arg, steals.extra, strict=True
    )
    assert [tuple(map(int, row)) for row in moments] == [(4, 6, 6, 1, 2)]
    assert Activity.POP in rows.activity
