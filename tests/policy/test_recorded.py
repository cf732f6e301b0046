"""The policy that repeats a recorded schedule."""

from __future__ import annotations

import numpy as np
import pytest

from simsched.engine.run import simulate
from simsched.files.errors import ConfigurationError, GraphError, PolicyError
from simsched.machine.synthetic import make_machine
from simsched.policy import make_policy
from simsched.policy.algorithms.static.recorded import Recorded
from simsched.trace.schema import EventKind
from simsched.workload.builder import adjacency, build_graph
from simsched.workload.graph import Workload

MACHINE = make_machine(domains=1, cores_per_domain=2)
US = 10**6


def started(workload: Workload, policy: Recorded, backend: str) -> list[tuple[int, int, int]]:
    """Task, worker and time in microseconds of every start."""
    run = simulate(MACHINE, workload, policy, backend=backend, events=True)
    events = run.trace.events
    rows = events["kind"] == EventKind.TASK_START
    columns = (events[name][rows].tolist() for name in ("task", "worker", "time_ps"))
    return sorted((task, worker, time // US) for task, worker, time in zip(*columns, strict=True))


def test_workers_and_order_are_those_of_the_record(backends: list[str]) -> None:
    # Ready at once: 0, 2, 3; task 1 after task 3. Worker 0 is to run 1 before 0.
    edges = adjacency([3], [1], 4)
    workload = Workload("w", build_graph([1e3, 1e3, 1e3, 5e3], successors=edges))
    for backend in backends:
        strict = Recorded(worker=(0, 0, 1, 1), after=(1, -1, 3, -1))
        assert started(workload, strict, backend) == [(0, 0, 6), (1, 0, 5), (2, 1, 5), (3, 1, 0)]
        free = Recorded(worker=(0, 0, 1, 1), after=(1, -1, 3, -1), overtake=True)
        assert started(workload, free, backend) == [(0, 0, 0), (1, 0, 6), (2, 1, 0), (3, 1, 1)]
        dealt = started(workload, Recorded(), backend)
        assert dealt == [(0, 0, 0), (1, 1, 5), (2, 0, 1), (3, 1, 0)]


def test_a_dependence_that_the_program_has_is_not_added_again() -> None:
    edges = adjacency([0, 0], [2, 1], 3)
    workload = Workload("w", build_graph([1e3] * 3, successors=edges))
    run = simulate(MACHINE, workload, Recorded(worker=(0, 0, 0), after=(-1, 0, 1)))
    graph = run.workload.graph
    assert graph.succ_ptr.tolist() == [0, 2, 3, 3]
    assert graph.succ.tolist() == [2, 1, 2]
    assert workload.graph.n_edges == 2


def test_dependences_of_the_program_come_first() -> None:
    workload = Workload("w", build_graph([1e3] * 3, successors=adjacency([0], [2], 3)))
    run = simulate(MACHINE, workload, Recorded(worker=(0, 0, 0), after=(-1, 0, 1)))
    assert run.workload.graph.succ.tolist() == [2, 1, 2]


def test_children_go_to_their_recorded_workers(backends: list[str]) -> None:
    graph = build_graph([1e3, 1e3, 1e3], children=adjacency([0, 0], [1, 2], 3))
    for backend in backends:
        policy = Recorded(worker=(1, 0, 1), after=(-1, 2, -1))
        found = started(Workload("w", graph), policy, backend)
        assert found == [(0, 1, 0), (1, 0, 2), (2, 1, 1)]
        found = started(Workload("w", graph), Recorded(worker=(1, 0, 1)), backend)
        assert found == [(0, 1, 0), (1, 0, 1), (2, 1, 1)]


def test_an_order_against_the_dependences_is_refused() -> None:
    workload = Workload("w", build_graph([1e3, 1e3], successors=adjacency([1], [0], 2)))
    with pytest.raises(GraphError, match="cycle"):
        simulate(MACHINE, workload, Recorded(worker=(0, 0), after=(-1, 0)))


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"worker": (0,)}, "worker: found 1 entries, accepted 2"),
        ({"after": (-1, 0, 1)}, "after: found 3 entries, accepted 2"),
        ({"after": (-1, 2)}, "after: task 1: found 2, accepted -1 to 1"),
        ({"worker": (0, 2)}, "instance_of: task 1: found 2, accepted -1 to 1"),
    ],
)
def test_wrong_records_are_refused(params: dict[str, tuple[int, ...]], message: str) -> None:
    workload = Workload("w", build_graph(np.array([1e3, 1e3])))
    with pytest.raises(PolicyError, match=message):
        simulate(MACHINE, workload, make_policy("recorded", params))


def test_parameters_are_tuples() -> None:
    with pytest.raises(ConfigurationError, match=r"worker: found .*, accepted a tuple"):
        make_policy("recorded", {"worker": [0, 1]})
