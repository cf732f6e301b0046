"""Topology-aware stealing from victims only."""

from typing import Any

import numpy as np
import pytest

from simsched.engine.run import simulate
from simsched.machine.synthetic import make_machine
from simsched.policy import make_policy
from simsched.policy.algorithms.work_stealing.tatl import queue_thresholds
from simsched.testing import small_machines
from simsched.trace.run import Run
from simsched.trace.schema import EventKind
from simsched.workload.builder import adjacency, build_graph
from simsched.workload.graph import Workload

COSTS = small_machines()["two_domains"].costs
MACHINE = make_machine(domains=2, cores_per_domain=2, costs=COSTS)


def flat(children: int) -> Workload:
    """One task with many children of a millisecond."""
    tasks = np.arange(1, children + 1)
    graph = build_graph(
        np.where(np.arange(children + 1) > 0, 1e6, 1e3),
        children=adjacency(np.zeros(children, int), tasks, children + 1),
    )
    return Workload("flat", graph)


def run(children: int, **params: Any) -> Run:
    policy = make_policy("tatl", params)
    return simulate(MACHINE, flat(children), policy, events=True, backend="simpy")


@pytest.mark.parametrize(
    ("capacity", "pushing", "popping", "expected"),
    [
        (64, 0.0, 0.0, (1, 64)),
        (64, 1.5, 0.0, (1, 63)),  # 62.5 rounded up
        (8, 3.0, 2.0, (2, 7)),
        (8, 0.0, 3.0, (3, 8)),  # never beyond the capacity
        (4, 9.0, 9.0, (3, 4)),  # s stays below S
    ],
)
def test_thresholds(
    capacity: int, pushing: float, popping: float, expected: tuple[int, int]
) -> None:
    assert queue_thresholds(capacity, pushing, popping) == expected


def test_a_queue_that_never_reaches_its_maximum_is_invisible() -> None:
    busy = run(20, capacity=64).summary.worker_busy_ps
    assert np.count_nonzero(busy) == 1
    busy = run(20, capacity=16).summary.worker_busy_ps
    assert np.count_nonzero(busy) == 4


def test_a_victim_stays_one_down_to_the_minimum() -> None:
    # The queue reaches 16 and is then emptied by all workers down to one entry.
    found = run(16, capacity=16)
    assert found.trace is not None
    events = found.trace.events
    stolen = int((events["kind"] == EventKind.TRANSFER).sum())
    assert stolen >= 8
    assert found.summary.makespan_ps * 1e-12 < 16e-3 / 2


def test_victims_of_the_own_domain_come_first() -> None:
    found = run(64, capacity=8)
    assert found.trace is not None
    events = found.trace.events
    started = events["kind"] == EventKind.TASK_START
    by_worker = np.bincount(events["worker"][started], minlength=4)
    # The first victim is worker 0: worker 1 is the only one of its domain. All take part.
    assert by_worker.min() > 0


@pytest.mark.parametrize("backend", ["simpy", "native"])
def test_the_last_entry_of_a_victim_can_be_stolen(backend: str) -> None:
    # Leaves of 10, 10 and 1 s make a victim of a queue of 3. The thief takes the last one, and
    # after 1 s, while the owner executes the first one, the other one of 10 s: 11 s. A queue that
    # called itself a thief as soon as one entry was left would keep that, and it would be 20 s.
    graph = build_graph([0.0, 10e9, 10e9, 1e9], children=adjacency([0, 0, 0], [1, 2, 3], 4))
    machine = make_machine(domains=1, cores_per_domain=2)
    policy = make_policy("tatl", {"capacity": 3})
    found = simulate(machine, Workload("three", graph), policy, backend=backend)
    assert found.makespan_s == pytest.approx(11.0)


def test_no_probe_fails() -> None:
    assert int(run(64, capacity=8).summary.failed_probes.sum()) == 0


def test_waiting_thieves_steal_when_a_queue_becomes_a_victim() -> None:
    # Each knows what the others of the same moment take: the four entries that make a victim are
    # stolen at once. It stays one until its owner has executed a task, so each of the eight others
    # is stolen when it is pushed. A push takes 150 ns, the root computes for 1 us before the first.
    policy = make_policy("tatl", {"capacity": 4})
    machine = make_machine(domains=4, cores_per_domain=4, costs=COSTS)
    found = simulate(machine, flat(12), policy, events=True, backend="simpy")
    assert found.trace is not None
    events = found.trace.events
    is_steal = events["kind"] == EventKind.TRANSFER
    assert events["arg1"][is_steal].tolist() == [1] * 12
    acquired_ps = 20_000
    pushes = [acquired_ps + 1_000_000 + 150_000 * push for push in (4, 4, 4, *range(4, 13))]
    assert events["time_ps"][is_steal].tolist() == pushes
    # The root, which the first worker executes, and its children.
    assert found.state.pushed[0] == found.state.popped[0] == 1 + 12
