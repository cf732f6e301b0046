"""What Tarazu knows of the shuffle, and what nodes may run while it is critical."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from simsched.engine.run import simulate
from simsched.machine import load_machine
from simsched.policy import make_policy
from simsched.policy.algorithms.mapreduce.tarazu import Tarazu, outputs
from simsched.policy.parts.mapreduce_tracker import Attempt
from simsched.workload.builder import build_graph
from simsched.workload.graph import Workload
from simsched.workload.mapreduce_job import MAP, REDUCE
from simsched.workload.registry import generate_workload
from tests.policy.test_mapreduce import _view_of, sort


def reduce(task: int, worker: int, phase: int, fraction: float, *, begun: bool = True) -> Attempt:
    return Attempt(task, worker, worker // 4, 0, False, phase, fraction, [0] if begun else [])


def test_outputs_are_delivered_to_the_reduce_tasks_of_their_job() -> None:
    # Two jobs: 8 map tasks (0 to 7) and reduce tasks 8 and 9; the same again from task 10.
    shape = {"jobs": 2, "small_splits": 8, "large_share": 0.0, "split_bytes": 40_000}
    state = make_policy("calb").start(_view_of(generate_workload("mapreduce_mix", shape)))
    assert state.tasks.kind.tolist() == ([MAP] * 8 + [REDUCE] * 2) * 2
    state.n_ended = Counter({(MAP, 0): 4, (MAP, 1): 5})
    assert outputs(state) == ([4, 5], [0, 0])  # no reduce task has begun
    state.attempts = {2: reduce(8, 2, 0, 0.25), 3: reduce(18, 3, 0, 0.0, begun=False)}
    assert outputs(state) == ([4, 5], [2, 0])  # a quarter of eight
    state.attempts[3] = reduce(18, 3, 0, 0.5)
    assert outputs(state) == ([4, 5], [2, 4])
    # Of two attempts the one counts that has got further; who sorts has copied everything.
    state.attempts |= {6: reduce(8, 6, 0, 0.125), 7: reduce(19, 7, 1, 0.0)}
    assert outputs(state) == ([4, 5], [2, 5])
    # A reduce task that has ended has copied everything, too: a mean of (1 + 1 / 4) / 2.
    state.n_ended[REDUCE, 0] = 1
    state.n_ended[MAP, 0] = 8
    assert outputs(state) == ([8, 5], [5, 5])


def test_jobs_without_reduce_tasks_have_no_shuffle() -> None:
    state = make_policy("calb").start(_view_of(Workload("maps", build_graph([1.0] * 3))))
    state.n_ended = Counter({(MAP, 0): 1, (MAP, 2): 1})
    assert outputs(state) == ([1, 1], [1, 1])


def test_calb_stops_stealing_until_the_shuffle_is_below_the_threshold() -> None:
    """A heartbeat without the end of a map task says nothing: the lag cannot have grown."""
    # With a threshold of 0.05 the shuffle of 24 map tasks is low at a lag of 1.2 or less.
    policy = make_policy("calb", {"growing_periods": 2, "shuffle_threshold": 0.05})
    state = policy.start(_view_of(sort()))
    seen = [
        (1, 1, True),  # lag, computed, whether nodes may steal then
        (1, 1, True),
        (1, 1, True),
        (2, 2, False),  # the lag has grown between two ends of map tasks, twice in a row
        (2, 2, False),
        (2, 3, False),  # that it no longer grows says nothing about how much is under way
        (2, 4, False),
        (2, 5, False),
        (1, 5, True),
        (2, 6, True),  # as large as at the last end: has not grown
        (1, 6, True),
        (1, 7, True),
        (2, 8, True),
        (3, 9, False),
    ]
    for lag, computed, stealing in seen:
        policy.note_lag(state, lag, computed, 24)
        assert state.stealing == stealing
    state.start_iteration()
    assert (state.lag, state.computed, state.grown, state.stealing) == (0, 0, 0, True)


def test_lags_that_grow_below_the_threshold_do_not_stop_stealing() -> None:
    policy = make_policy("calb", {"shuffle_threshold": 0.125})
    state = policy.start(_view_of(sort()))
    stealing = []
    for lag in (1, 2, 3, 4):
        policy.note_lag(state, lag, lag, 24)
        stealing.append(state.stealing)
    assert stealing == [True, True, True, False]  # three of 24 may be under way


@pytest.mark.parametrize("name", ["plb", "hadoop_default"])
def test_a_reduce_task_that_has_failed_is_the_first(name: str) -> None:
    """Task 26 is the third of eight, node 2's own; nodes 0 and 2 ask."""
    policy = make_policy(name)
    for node in (0, 2):
        view = _view_of(sort())
        state = policy.start(view)
        for task in range(24, 32):
            state.waiting.add(REDUCE, 0, task)
        assert policy.pick(view, state, 0, REDUCE) == 24
        state.failed[26] = None
        assert policy.pick(view, state, node, REDUCE) == 26
        state.failed = {0: None}  # a map task is for other slots
        assert policy.pick(view, state, 0, REDUCE) == 24


@pytest.mark.parametrize("name", ["calb", "cas"])
def test_without_stealing_backups_of_map_tasks_are_local(name: str) -> None:
    policy = make_policy(name)
    state = policy.start(_view_of(sort()))
    state.replicas[0] = (1,)
    assert policy.may_run(state, 0, 0)
    state.stealing = False
    assert policy.may_run(state, 0, 0) == (name == "cas")
    assert policy.may_run(state, 0, 1)
    assert policy.may_run(state, 24, 0)  # a reduce task


@pytest.mark.parametrize("seed", [0, 1])
def test_backups_are_for_nodes_that_find_nothing_waiting(seed: int) -> None:
    """Without stealing nodes find no local map tasks while others wait; they stay idle then."""
    asked: list[tuple[bool, int]] = []

    class Watched(Tarazu):
        def back_up(self, view: Any, state: Any, node: int, kind: int) -> Attempt | None:
            asked.append((state.stealing, len(list(state.waiting.of_kind(kind)))))
            return super().back_up(view, state, node, kind)

        def pick(self, view: Any, state: Any, node: int, kind: int) -> int | None:
            found = super().pick(view, state, node, kind)
            refused.append(found is None)
            return found

    refused: list[bool] = []
    machine = load_machine("samr_cluster_slow")
    workload = generate_workload("sort_mapreduce", {"reduces": 14, "slowstart": 0.05}, seed)
    policy = Watched(cas=False, plb=False, replication=1)
    simulate(machine, workload, policy, seed=seed)
    assert any(refused)
    assert any(not stealing for stealing, _ in asked)
    assert all(waiting == 0 for _, waiting in asked)
