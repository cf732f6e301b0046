"""Manual scheduling: fixed lists."""

import numpy as np
import pytest

from simsched.engine.run import simulate
from simsched.machine.synthetic import make_machine
from simsched.policy import make_policy
from simsched.trace.run import Run
from simsched.trace.schema import EventKind
from simsched.workload.builder import adjacency, build_graph
from simsched.workload.graph import Workload


def started(
    workload: Workload, policy: str = "manual_static", **params: object
) -> dict[int, list[int]]:
    """Return the tasks of each worker in the order of their start."""
    run: Run = simulate(
        make_machine(domains=1, cores_per_domain=3),
        workload,
        make_policy(policy, params),
        events=True,
    )
    assert run.trace is not None
    events = run.trace.events
    chosen = events["kind"] == EventKind.TASK_START
    tasks: dict[int, list[int]] = {}
    for worker, task in zip(
        events["worker"][chosen].tolist(), events["task"][chosen].tolist(), strict=True
    ):
        tasks.setdefault(worker, []).append(task)
    return tasks


@pytest.mark.parametrize(
    ("assignment", "lists"),
    [
        ("block", {0: [0, 1, 2], 1: [3, 4], 2: [5, 6]}),
        ("cyclic", {0: [0, 3, 6], 1: [1, 4], 2: [2, 5]}),
    ],
)
def test_every_worker_runs_its_list_and_nothing_else(
    assignment: str, lists: dict[int, list[int]]
) -> None:
    # Very unequal tasks: nobody helps the worker that has the long ones.
    workload = Workload("uneven", build_graph([9e6, 8e6, 7e6, 1, 1, 1, 1]))
    assert started(workload, assignment=assignment) == lists


def test_lists_are_kept_where_a_loop_goes_on() -> None:
    # Lists 0, 1 | 2, 3 | 4, 5; tasks 2 and 3 wait for 1, the long one, and for the short 0.
    graph = build_graph([1e3, 9e6, 1e3, 1e3, 1e3, 1e3], successors=adjacency([1, 0], [2, 3], 6))
    assert started(Workload("loop", graph), "openmp_static")[1] == [3, 2]
    assert started(Workload("lists", graph))[1] == [2, 3]


def test_lists_are_in_the_order_of_dependences() -> None:
    # Task 0 waits for 2, which waits for 1; task 3 is of another worker.
    graph = build_graph(np.full(9, 1e3), successors=adjacency([2, 1], [0, 2], 9))
    assert started(Workload("backwards", graph))[0] == [1, 2, 0]
