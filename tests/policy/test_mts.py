"""Multi-threaded shepherds: a stack per socket, batches between sockets."""

from collections import Counter
from typing import Any

import numpy as np
import pytest

from simsched.engine.run import Run, simulate
from simsched.machine import load_machine
from simsched.machine.synthetic import make_machine
from simsched.policy import make_policy
from simsched.testing import rehearse
from simsched.trace.schema import EventKind
from simsched.workload.builder import adjacency, build_graph
from simsched.workload.graph import Workload

OPTERON = load_machine("amd_4x_opteron8380")
#: t0 starts t1, which spawns t2 and t3; t2 spawns t4 and t5, t3 spawns t6 and t7.
EXAMPLE = Workload(
    "example",
    build_graph(np.full(8, 1e6), children=adjacency([0, 1, 1, 2, 2, 3, 3], np.arange(1, 8), 8)),
)
#: A task with 40 children.
FAN = Workload("fan", build_graph(np.full(41, 1e5), children=adjacency([0] * 40, range(1, 41), 41)))


def run(workload: Workload, machine: Any = OPTERON, **params: Any) -> Run:
    return simulate(machine, workload, make_policy("mts", params), events=True)


def column(done: Run, kind: EventKind, name: str) -> list[int]:
    assert done.trace is not None
    events = done.trace.events
    return events[name][events["kind"] == kind].tolist()


def test_one_worker_goes_depth_first_from_the_last_child() -> None:
    done = run(EXAMPLE, make_machine(domains=1, cores_per_domain=1))
    assert column(done, EventKind.TASK_START, "task") == [0, 1, 3, 7, 6, 2, 5, 4]


def test_all_tasks_go_through_the_queues_of_sockets() -> None:
    done = run(FAN)
    assert set(column(done, EventKind.TASK_READY, "arg0")) == {1}
    assert set(column(done, EventKind.TASK_READY, "arg1")) == {0, 1, 2, 3}


@pytest.mark.parametrize(("batch", "most"), [(0, 4), (1, 1), (7, 7)])
def test_thieves_take_the_oldest_tasks_for_all_workers_of_their_socket(
    batch: int, most: int
) -> None:
    done = run(FAN, batch=batch)
    assert done.trace is not None
    events = done.trace.events
    stolen = events["kind"] == EventKind.STEAL
    ready = events["kind"] == EventKind.TASK_READY
    # What comes with the stolen task enters the queue of the thief's socket in the same instant.
    moved = [
        1
        + np.count_nonzero(
            ready & (events["time_ps"] == time) & (events["arg1"] == worker // 4) & (worker > 3)
        )
        for time, worker in zip(
            events["time_ps"][stolen].tolist(), events["worker"][stolen].tolist(), strict=True
        )
    ]
    assert max(moved) == most


def test_a_batch_serves_the_largest_socket() -> None:
    plan = rehearse(make_policy("mts"), OPTERON, FAN).plans[0]
    assert [step.batch for step in plan.acquire] == [1, 4]
    few = rehearse(make_policy("mts"), OPTERON, FAN, workers=6).plans[0]
    assert few.acquire[1].batch == 2


def test_the_nearest_socket_is_tried_first() -> None:
    # A square of sockets: 0 and 3 are two hops apart.
    step = rehearse(make_policy("mts_nearest"), OPTERON, FAN).plans[0].acquire[1]
    assert step.rank is not None
    assert step.rank[0].tolist() == [0, 1, 1, 2]
    assert step.rank[15].tolist() == [2, 1, 1, 0]
    assert rehearse(make_policy("mts_random"), OPTERON, FAN).plans[0].acquire[1].rank is None


def test_only_head_workers_steal_if_they_are_said_to() -> None:
    thieves = Counter(column(run(FAN, thief="head_worker"), EventKind.STEAL, "worker"))
    assert set(thieves) <= {0, 4, 8, 12}
    assert not set(column(run(FAN), EventKind.STEAL, "worker")) <= {0, 4, 8, 12}
