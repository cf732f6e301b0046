"""The checks of traces find what is wrong with a trace."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from simsched.engine.run import simulate
from simsched.machine.synthetic import make_machine
from simsched.policy import make_policy
from simsched.trace.run import Run
from simsched.trace.schema import EventKind, Trace
from simsched.workload.builder import accesses, adjacency, build_graph
from simsched.workload.graph import Workload
from tests.engine.invariants import trace_violations

Columns = dict[str, np.ndarray]


@pytest.fixture
def sound() -> Run:
    """Task 0 spawns 1 and 2, then follow 3 and 4, one after the other; each reads a block."""
    graph = build_graph(
        np.full(5, 1000.0),
        children=adjacency([0, 0], [1, 2], 5),
        successors=adjacency([0, 3], [3, 4], 5),
        accessed=accesses(range(5), range(5), 1000, 0, 5),
        block_bytes=np.full(5, 1000),
    )
    workload = Workload("w", graph, iterations=2)
    return simulate(make_machine(), workload, make_policy("pfws"), workers=2, events=True)


def altered(run: Run, change: Callable[[Columns], Columns | None]) -> list[str]:
    assert run.trace is not None
    columns = {name: values.copy() for name, values in run.trace.events.items()}
    return trace_violations(replace(run, trace=Trace(change(columns) or columns)))


def first(columns: Columns, kind: EventKind, task: int) -> int:
    return int(np.flatnonzero((columns["kind"] == kind) & (columns["task"] == task))[0])


def moved(columns: Columns, row: int, to: int) -> Columns:
    """Return the columns with one row in another place, at the time of that place."""
    order = np.arange(len(columns["kind"])).tolist()
    order.insert(to, order.pop(row))
    return {
        name: values if name == "time_ps" else values[order] for name, values in columns.items()
    }


def test_what_an_engine_does_is_sound(sound: Run) -> None:
    assert trace_violations(sound) == []


def test_time_going_back_is_found(sound: Run) -> None:
    def change(columns: Columns) -> None:
        columns["time_ps"][-1] = 0

    assert altered(sound, change) == ["time goes back"]


@pytest.mark.parametrize(
    ("kind", "to_task", "message"),
    [
        (EventKind.TASK_START, 4, "iteration 1: task 4 starts or ends twice"),
        (EventKind.TASK_END, 4, "iteration 1: task 4 starts or ends twice"),
    ],
)
def test_a_task_that_runs_twice_is_found(
    sound: Run, kind: EventKind, to_task: int, message: str
) -> None:
    def change(columns: Columns) -> None:
        columns["task"][first(columns, kind, 3)] = to_task

    assert message in altered(sound, change)


def test_a_task_that_never_runs_is_found(sound: Run) -> None:
    def change(columns: Columns) -> Columns:
        keep = ~((columns["task"] == 4) & (columns["iteration"] == 2))
        return {name: values[keep] for name, values in columns.items()}

    assert "iteration 2: 4 starts and 4 ends of 5 tasks" in altered(sound, change)


@pytest.mark.parametrize(
    ("task", "to", "message"),
    [
        (4, (EventKind.TASK_START, 3), "task 4 starts before its predecessor 3 has ended"),
        (1, (EventKind.TASK_START, 0), "task 1 starts before its parent 0 has created it"),
    ],
)
def test_a_start_that_is_too_early_is_found(
    sound: Run, task: int, to: tuple[EventKind, int], message: str
) -> None:
    def change(columns: Columns) -> Columns:
        return moved(columns, first(columns, EventKind.TASK_START, task), first(columns, *to))

    assert f"iteration 1: {message}" in altered(sound, change)


def test_a_parent_that_ends_before_its_child_is_found(sound: Run) -> None:
    def change(columns: Columns) -> Columns:
        return moved(
            columns,
            first(columns, EventKind.TASK_END, 0),
            first(columns, EventKind.TASK_START, 2),
        )

    assert "iteration 1: task 0 ends before its child 2" in altered(sound, change)


def test_a_worker_in_two_tasks_is_found(sound: Run) -> None:
    def change(columns: Columns) -> None:
        here = {
            task: int(columns["worker"][first(columns, EventKind.TASK_START, task)])
            for task in (1, 2)
        }
        assert here[1] != here[2]
        columns["worker"][columns["task"] == 2] = here[1]

    assert any("is in task" in text for text in altered(sound, change))


def test_acting_for_another_workers_task_is_found(sound: Run) -> None:
    def change(columns: Columns) -> None:
        columns["worker"][first(columns, EventKind.ACCESS, 1)] ^= 1

    assert any("acts for task 1, which it is not in" in text for text in altered(sound, change))


def test_lost_bytes_are_found(sound: Run) -> None:
    def change(columns: Columns) -> None:
        columns["arg1"][first(columns, EventKind.FLOW_END, 2)] -= 1

    assert altered(sound, change) == ["task 2 moved 1999 bytes of 2000"]


def test_a_node_that_is_too_fast_is_found(sound: Run) -> None:
    moved_bytes = sound.summary.node_bytes * 100
    run = replace(sound, summary=replace(sound.summary, node_bytes=moved_bytes))
    assert trace_violations(run)[0] == "node dram0 delivers more than its bandwidth allows"


@pytest.mark.parametrize("more", [0, 2])
def test_a_preempted_flow_moves_no_more_than_was_wanted(sound: Run, more: int) -> None:
    def change(columns: Columns) -> None:
        end = first(columns, EventKind.FLOW_END, 2)
        columns["arg1"][end] += more
        # What follows the flow becomes a preemption at which the task is resumed at once.
        rows = {name: values[end] for name, values in columns.items()}
        for kind in (EventKind.TASK_RESUME, EventKind.PREEMPT):
            for name, value in rows.items():
                columns[name] = np.insert(columns[name], end, kind if name == "kind" else value)

    expected = ["task 2 moved 2002 bytes of 2000"] if more else []
    assert altered(sound, change) == expected
