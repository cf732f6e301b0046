"""Accesses that wait for the end of other tasks, and their shares of the operations."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simsched.engine.conformance import compare
from simsched.files.errors import GraphError, PolicyError, StalledError
from simsched.machine.synthetic import make_machine
from simsched.policy.contract.base import Preempt
from simsched.policy.contract.executions import Duplicate, Kill, Progress
from simsched.trace.run import Run
from simsched.trace.schema import EventKind, Loss
from simsched.workload.builder import accesses, build_graph
from simsched.workload.graph import TaskGraph, Workload
from simsched.workload.importers.networkx_graph import from_networkx, to_networkx

from .instances import random_machine, random_workload
from .test_duplicates import COSTS, US, Deciding, Speculating, rows, run, uneven


def shuffle() -> TaskGraph:
    """Two maps of 4 and 10 us; a reduce of 3000 operations for each output and 1000 at the end."""
    return build_graph(
        [4000.0, 10_000.0, 7000.0],
        accessed=accesses([2, 2, 2], [0, 1, 2], 0, 0, 3),
        block_bytes=[10, 10, 10],
        access_share=[3 / 7, 3 / 7, 1 / 7],
        access_after=[0, 1, -1],
    )


def test_a_reduce_that_has_begun_waits_for_the_maps(backend: str) -> None:
    result = run(backend, uneven(1.0, 1.0, 1.0), shuffle(), Deciding(owner=(0, 1, 2)))
    assert rows(result, EventKind.TASK_START, "time_ps", "task") == [(0, 0), (0, 1), (0, 2)]
    assert rows(result, EventKind.TASK_AWAIT, "time_ps", "worker", "task", "arg0") == [
        (0, 2, 2, 0),
        (7 * US, 2, 2, 1),
    ]
    # It computes from 4 to 7 us and from 10 to 14 us.
    assert rows(result, EventKind.TASK_END, "time_ps", "task")[-1] == (14 * US, 2)
    assert result.summary.worker_busy_ps.tolist() == [4 * US, 10 * US, 7 * US]


def test_nothing_is_waited_for_that_has_ended(backend: str) -> None:
    graph = replace(shuffle(), arrival_ps=np.array([0, 0, 12 * US]))
    result = run(backend, uneven(1.0, 1.0, 1.0), graph, Deciding(owner=(0, 1, 2)))
    assert rows(result, EventKind.TASK_AWAIT, "task") == []
    assert result.summary.makespan_ps == 19 * US


def test_a_row_goes_by_the_ends_of_the_tasks(backend: str) -> None:
    # Maps end at 10, 4 and 6 us. The reduce has accesses of 1, 1, 1, 2 and 3 us, the first four of
    # which wait for maps 0, 1, 0, 2; so they begin at 4, 6, 10 and 11 us, and the last at 12 us.
    graph = build_graph(
        [10_000.0, 4000.0, 6000.0, 8000.0],
        accessed=accesses([3, 3, 3, 3, 3], [0, 1, 2, 3, 4], 0, 0, 4),
        block_bytes=[10] * 5,
        access_share=[1 / 8, 1 / 8, 1 / 8, 2 / 8, 3 / 8],
        access_after=[0, 1, 0, 2, -1],
    )
    result = run(backend, uneven(1.0, 1.0, 1.0, 1.0), graph, Deciding(owner=(0, 1, 2, 3)))
    assert rows(result, EventKind.TASK_AWAIT, "time_ps", "arg0") == [
        (0, 0),
        (5 * US, 0),
        (8 * US, 0),
    ]
    assert rows(result, EventKind.ACCESS, "time_ps", "arg0") == [
        (4 * US, 1),
        (6 * US, 3),
        (10 * US, 0),
        (11 * US, 2),
        (12 * US, 4),
    ]
    assert result.summary.makespan_ps == 15 * US


def test_a_new_row_begins_with_the_first_end_again(backend: str) -> None:
    # Both maps have ended when the second row begins; in it too, map 1 comes first.
    graph = build_graph(
        [4000.0, 2000.0, 5000.0],
        accessed=accesses([2] * 5, [0, 1, 2, 0, 1], 0, 0, 3),
        block_bytes=[10] * 3,
        access_after=[0, 1, -1, 0, 1],
    )
    result = run(backend, uneven(1.0, 1.0, 1.0), graph, Deciding(owner=(0, 1, 2)))
    assert rows(result, EventKind.ACCESS, "time_ps", "arg0") == [
        (2 * US, 1),
        (4 * US, 0),
        (5 * US, 2),
        (6 * US, 1),
        (7 * US, 0),
    ]


def test_who_waits_leaves_the_core_to_others(backend: str) -> None:
    # Two threads of one core compute at 0.5 each: the map has the core for itself while the reduce
    # waits, and the other way round.
    machine = make_machine(domains=1, cores_per_domain=1, smt_throughput=(1.0, 1.0))
    graph = build_graph(
        [4000.0, 2000.0],
        accessed=accesses([1], [0], 0, 0, 2),
        block_bytes=[10],
        access_after=[0],
    )
    result = run(backend, machine, graph, Deciding(owner=(0, 1)))
    assert result.summary.makespan_ps == 6 * US


def test_progress_and_loss_while_waiting(backend: str) -> None:
    seen: dict[int, list[Progress | None]] = {}
    policy = Deciding(owner=(0, 1, 2), at_us=((2, Kill(2)), (8, Duplicate(2, 0))), seen=seen)
    result = run(backend, uneven(1.0, 1.0, 1.0, costs=COSTS), shuffle(), policy)
    assert seen[US][2] == Progress(2, 0, 0, 0.0)
    assert seen[5 * US][2] == Progress(2, 2 * US + 300, 0, pytest.approx(1 / 3))
    assert seen[9 * US][2] == Progress(2, 2 * US + 300, 1, 0.0)
    # The duplicate starts with the first access, whose task has ended: until 11 us + 20 ps.
    assert seen[9 * US][0] == Progress(2, 8 * US + 20, 0, pytest.approx(0.99998 / 3))
    assert rows(result, EventKind.KILL, "time_ps", "worker", "arg0", "arg1") == [
        (2 * US, 2, Loss.KILLED, 2 * US),
        (14 * US, 0, Loss.ENDED, 6 * US - 20),
    ]


def test_a_waiting_task_cannot_be_preempted(backend: str) -> None:
    policy = Deciding(owner=(0, 1, 2), at_us=((2, Preempt(2)),))
    with pytest.raises(PolicyError, match="on_timer: worker 2 is not executing a task"):
        run(backend, uneven(1.0, 1.0, 1.0), shuffle(), policy)


def test_a_duplicate_that_waits_is_killed_by_the_original(backend: str) -> None:
    graph = build_graph(
        [9000.0, 2000.0, 3000.0],
        accessed=accesses([2, 2], [0, 0], 0, 0, 3),
        block_bytes=[10],
        access_share=[0.0, 1.0],
        access_after=[1, 0],
    )
    policy = Deciding(owner=(0, 1, 2), at_us=((3, Duplicate(2, 1)),))
    result = run(backend, uneven(1.0, 1.0, 1.5), graph, policy)
    assert rows(result, EventKind.TASK_END, "time_ps", "worker")[-1] == (11 * US, 2)
    assert rows(result, EventKind.KILL, "time_ps", "worker", "arg1") == [(11 * US, 1, 8 * US)]


def test_all_workers_waiting_is_a_stall(backend: str) -> None:
    graph = replace(shuffle(), arrival_ps=np.array([US, 0, 0]))
    message = "task 2 waits before an access for the end of task 0"
    with pytest.raises(StalledError, match=message):
        run(backend, uneven(1.0, 1.0), graph, Deciding(owner=(0, 1, 0)))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"access_after": [3, -1, -1]}, "access 0: access_after: found 3, accepted -1 to 2"),
        ({"access_after": [2, -1, -1]}, "access 0 of task 2: access_after: found its own task"),
        ({"access_share": [0.5, 0.5, 0.5]}, "task 2: access_share: .*sum to 1.5, accepted a sum"),
        ({"access_share": [1.5, -0.5, 0.0]}, "access 0: access_share: found 1.5, accepted 0 to 1"),
        ({"access_share": [1.0]}, r"access_share: found shape \(1,\), accepted \(3,\)"),
    ],
)
def test_graphs_that_cannot_be_are_refused(change: dict[str, Any], message: str) -> None:
    arrays = {
        name: np.array(value, np.int32 if name == "access_after" else np.float64)
        for name, value in change.items()
    }
    with pytest.raises(GraphError, match=message):
        replace(shuffle(), **arrays).validate()


def test_a_cycle_of_waits_is_described() -> None:
    graph = replace(
        shuffle(),
        succ_ptr=np.array([0, 0, 0, 1]),
        succ=np.array([0], np.int32),
    )
    with pytest.raises(GraphError, match="task 0 starts after task 2"):
        graph.validate()


def test_networkx_keeps_waits_and_shares() -> None:
    graph = from_networkx(to_networkx(Workload("w", shuffle()))).graph
    assert graph.access_after is not None
    assert graph.access_share is not None
    assert graph.access_after.tolist() == [0, 1, -1]
    assert graph.access_share.tolist() == [3 / 7, 3 / 7, 1 / 7]
    found = to_networkx(Workload("w", shuffle()))
    found.remove_node(0)
    fewer = from_networkx(found).graph
    assert fewer.access_after is not None
    assert fewer.access_after.tolist() == [-1, 0, -1]


def with_waits(workload: Workload, seed: int) -> Workload:
    """Return the program with random shares, and accesses that wait for tasks before theirs."""
    rng, graph = np.random.default_rng(seed), workload.graph
    share = np.zeros(graph.n_accesses)
    after = np.full(graph.n_accesses, -1, np.int32)
    for task in range(graph.n_tasks):
        first, join, end = (
            graph.access_ptr[task],
            graph.join_access[task],
            graph.access_ptr[task + 1],
        )
        for low, high in ((first, join), (join, end)):
            drawn = rng.random(high - low)
            share[low:high] = drawn / max(drawn.sum(), 1e-9)
        if task > 0:
            waits = rng.integers(0, 3, end - first) == 0
            after[first:end] = np.where(waits, rng.integers(0, task, end - first), -1)
    changed = replace(
        graph,
        access_share=share if rng.integers(2) else None,
        access_after=after,
    )
    return replace(workload, graph=changed, init=None)


SEEDS = st.integers(0, 2**32)


@settings(max_examples=25)
@given(SEEDS, SEEDS, SEEDS)
def test_backends_agree_on_random_instances(machine: int, workload: int, policy: int) -> None:
    program = with_waits(random_workload(workload), policy)
    case = compare(random_machine(machine), program, Speculating(choice=policy))
    assert case.difference == ""


def test_random_instances_do_wait() -> None:
    """Guards the test above: some of its programs run to their end and wait."""
    waits = 0
    for seed in range(40):
        try:
            done: Run = run(
                "native",
                random_machine(seed),
                with_waits(random_workload(seed), seed).graph,
                Speculating(choice=seed),
            )
        except (GraphError, StalledError):
            continue
        waits += len(rows(done, EventKind.TASK_AWAIT, "task"))
    assert waits > 10
