"""SLAW: bounds on stacks and fresh tasks, and how workers choose their spawn order."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from simsched.engine.run import simulate
from simsched.machine.synthetic import make_machine
from simsched.policy import make_policy
from simsched.policy.algorithms.work_stealing.slaw import Slaw, SlawState
from simsched.policy.contract.base import CHILD_FIRST, PARENT_FIRST, PlanView
from simsched.trace.run import Run
from simsched.trace.schema import EventKind
from simsched.workload.builder import adjacency, build_graph
from simsched.workload.graph import TaskGraph, Workload
from simsched.workload.spawn_tree import equal_parts, grow

MACHINE = make_machine(domains=2, cores_per_domain=2)
ALONE = make_machine(domains=1, cores_per_domain=1)


def chain(depth: int, twigs: int = 1) -> TaskGraph:
    """A chain of tasks, each of which spawns `twigs` leaves and then the next one."""
    parent: list[int] = []
    child: list[int] = []
    n = 1
    for _ in range(depth):
        top = n - 1
        parent += [top] * (twigs + 1)
        child += range(n, n + twigs + 1)
        n += twigs + 1
    return build_graph(np.full(n, 1e3), children=adjacency(parent, child, n))


def wide(degree: int) -> TaskGraph:
    children = np.arange(1, degree + 1)
    return build_graph(
        np.full(degree + 1, 1e3), children=adjacency(np.zeros(degree), children, degree + 1)
    )


def run(graph: TaskGraph, machine: Any = MACHINE, policy: str = "slaw", **params: Any) -> Run:
    return simulate(machine, Workload("program", graph), make_policy(policy, params), events=True)


def events(done: Run) -> Iterator[tuple[int, int, int, int, int]]:
    """Yield kind, worker, task and arguments of every event."""
    assert done.trace is not None
    columns = (done.trace.events[name] for name in ("kind", "worker", "task", "arg0", "arg1"))
    yield from zip(*(column.tolist() for column in columns), strict=True)


def orders(done: Run) -> list[int]:
    """Return the spawn order of all children, in the order of their creation."""
    return [order for kind, _, _, _, order in events(done) if kind == EventKind.SPAWN]


def deepest_stack(done: Run) -> int:
    """Return the largest number of tasks that one worker has nested, from the trace alone."""
    frames = {0: 1}
    for kind, _, task, child, order in events(done):
        if kind == EventKind.SPAWN:
            frames[child] = frames[task] + 1 if order == CHILD_FIRST else 1
        elif kind == EventKind.STEAL:
            frames[task] = 1
    return max(frames.values())


def most_fresh(done: Run, worker: int | None = None) -> int:
    """Return the largest number of tasks created parent first (by one worker) and not taken."""
    creator: dict[int, int] = {}
    most = 0
    for kind, by, task, child, order in events(done):
        if kind == EventKind.SPAWN and order == PARENT_FIRST:
            creator[child] = by
            most = max(most, sum(worker in (None, other) for other in creator.values()))
        elif kind == EventKind.ACQUIRE:
            creator.pop(task, None)
    return most


@pytest.mark.parametrize("limit", [1, 4, 20])
@pytest.mark.parametrize("machine", [ALONE, MACHINE])
def test_no_stack_is_higher_than_the_limit(limit: int, machine: Any) -> None:
    graph = chain(60)
    assert deepest_stack(run(graph, ALONE, "cilk_a")) == 61
    assert deepest_stack(run(graph, machine, initial="child_first", stack_limit=limit)) <= limit


def test_the_limit_of_the_stack_comes_before_that_of_fresh_tasks() -> None:
    # No fresh task is wanted, but a full stack makes them all the same.
    done = run(wide(20), ALONE, fresh_limit=0, stack_limit=1)
    assert orders(done) == [PARENT_FIRST] * 20
    assert most_fresh(done) == 20


@pytest.mark.parametrize("limit", [0, 3, 10])
def test_there_are_no_more_fresh_tasks_than_the_limit(limit: int) -> None:
    done = run(wide(40), ALONE, fresh_limit=limit, interval_tasks=1000)
    assert orders(done)[:limit] == [PARENT_FIRST] * limit
    assert most_fresh(done) == limit
    assert most_fresh(run(wide(40), ALONE, "pfws")) == 40


def test_the_limit_of_fresh_tasks_is_one_for_each_worker() -> None:
    tree = grow(256, equal_parts(2, 2))
    graph = build_graph(np.full(tree.n_tasks, 1e3), children=tree.children)
    done = run(graph, fresh_limit=5, interval_tasks=1000)
    assert 5 <= most_fresh(done) <= 4 * 5
    assert all(most_fresh(done, worker) <= 5 for worker in range(4))


def test_child_first_alone_makes_no_fresh_tasks() -> None:
    done = run(chain(60), initial="child_first", interval_tasks=1000)
    assert set(orders(done)) == {CHILD_FIRST}
    assert most_fresh(done) == 0


def state_of_two() -> tuple[Slaw, PlanView, SlawState]:
    """Two workers in the middle of a program, intervals of four tasks."""
    graph = wide(20)
    policy = Slaw(interval_tasks=4, steals_per_task=0.5, initial="child_first")
    workload = Workload("wide", graph)
    threads = MACHINE.place_workers(2)
    view = PlanView(MACHINE, workload, threads, threads, np.random.default_rng(0))
    state = policy.start(view)
    policy.plan(view, state, graph)
    return policy, view, state


@pytest.mark.parametrize(
    ("steals", "mode"), [(0, CHILD_FIRST), (2, CHILD_FIRST), (3, PARENT_FIRST)]
)
def test_steals_in_an_interval_decide_the_next(steals: int, mode: int) -> None:
    policy, view, state = state_of_two()
    for _ in range(steals):
        policy.on_acquire(view, state, 0, 1, 0, 0)  # the continuation, from worker 0
    spawned = [policy.on_spawn(view, state, 0, child, 0) for child in range(1, 6)]
    assert spawned == [CHILD_FIRST] * 4 + [mode]
    assert state.mode == [mode, CHILD_FIRST]
    assert (state.created[0], state.stolen[0]) == (1, 0)


def test_a_worker_that_is_not_robbed_goes_over_to_child_first() -> None:
    assert orders(run(wide(20), ALONE, interval_tasks=8)) == [PARENT_FIRST] * 8 + [CHILD_FIRST] * 12


def test_a_stolen_continuation_begins_a_stack() -> None:
    policy, view, state = state_of_two()
    policy.on_spawn(view, state, 0, 1, 0)
    policy.on_spawn(view, state, 1, 2, 0)
    assert state.depth[:3] == [1, 2, 3]
    policy.on_acquire(view, state, 1, 0, 0, 0)  # its own, still on its stack
    assert state.depth[1] == 2
    policy.on_acquire(view, state, 1, 1, 0, 0)
    assert state.depth[1] == 1
