"""Times of work and iterations of traces written by hand."""

from __future__ import annotations

import numpy as np
import pytest

from simsched.trace.schema import EVENT_COLUMNS, EventKind, Trace
from simsched.trace.times import iteration_times, makespan_s, work_times

K = EventKind


def trace(*rows: tuple[int, EventKind, int, int, int]) -> Trace:
    """Return a trace of (time, kind, worker, task, iteration)."""
    columns = np.array([(*map(int, row), 0, 0) for row in rows], np.int64).T
    return Trace(
        {
            name: column.astype(dtype)
            for column, (name, dtype) in zip(columns, EVENT_COLUMNS.items(), strict=True)
        }
    )


def test_spawning_and_waiting_is_not_work() -> None:
    times = work_times(
        trace(
            (0, K.TASK_START, 0, 0, 1),
            (5, K.SPAWN, 0, 0, 1),
            (7, K.TASK_START, 0, 1, 1),  # child first
            (9, K.TASK_RESUME, 1, 0, 1),  # the continuation is stolen
            (9, K.SPAWN, 1, 0, 1),
            (10, K.TASK_START, 1, 2, 1),
            (17, K.TASK_END, 0, 1, 1),
            (18, K.PARK, 0, -1, 1),
            (30, K.TASK_END, 1, 2, 1),
            (31, K.TASK_RESUME, 1, 0, 1),  # its join
            (35, K.TASK_END, 1, 0, 1),
        )
    )
    task, seconds = times.by_task()
    assert task.tolist() == [0, 1, 2]
    assert seconds == pytest.approx([9e-12, 10e-12, 20e-12])
    assert times.by_worker(3) == pytest.approx([15e-12, 24e-12, 0.0])


def test_the_same_task_of_two_iterations_is_counted_twice() -> None:
    rows = [
        row
        for iteration in (0, 1, 2)
        for row in (
            (100 * iteration, K.ITERATION_START, -1, -1, iteration),
            (100 * iteration + 1, K.TASK_START, 0, 0, iteration),
            (100 * iteration + 10 * (iteration + 1), K.TASK_END, 0, 0, iteration),
            (100 * iteration + 90, K.ITERATION_END, -1, -1, iteration),
        )
    ]
    found = work_times(trace(*rows))
    task, seconds = found.by_task()
    assert task.tolist() == [0, 0, 0]
    assert seconds == pytest.approx([9e-12, 19e-12, 29e-12])
    later = found.of_iterations(found.iteration > 1)
    assert later.by_worker(1) == pytest.approx([29e-12])
    assert iteration_times(trace(*rows))[1] == pytest.approx((100e-12, 190e-12))
    assert makespan_s(trace(*rows)) == pytest.approx(190e-12)
