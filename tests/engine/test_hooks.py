"""Fine hooks that choose the spawn order and observe what is taken from pools."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from benchmarks.policies import CentralQueue
from simsched.engine.run import simulate
from simsched.files.errors import PolicyError
from simsched.machine.synthetic import make_machine
from simsched.policy.contract.base import (
    CHILD_FIRST,
    PARENT_FIRST,
    AcquireStep,
    HookView,
    Plan,
    PlanView,
    Policy,
    Pool,
    PoolGroup,
    Transfer,
    Wake,
)
from simsched.trace.run import Run
from simsched.trace.schema import EventKind
from simsched.workload.builder import adjacency, build_graph
from simsched.workload.graph import TaskGraph, Workload

#: The example of the book: 0 creates 1; 1 creates 2 and 3; 2 creates 4, 5; 3 creates 6, 7.
EXAMPLE = build_graph(
    np.full(8, 1000.0),
    children=adjacency([0, 1, 1, 2, 2, 3, 3], [1, 2, 3, 4, 5, 6, 7], 8),
)


@dataclass(frozen=True, kw_only=True)
class Spawning(CentralQueue):
    """Asks `answers` for the order of every child; the plan says child first."""

    answers: Any = None
    take: str = "newest"

    def __post_init__(self) -> None:
        pass

    def start(self, view: PlanView) -> list[tuple[int, ...]]:
        return []

    def plan(self, view: PlanView, state: Any, graph: TaskGraph) -> Plan:
        return Plan(
            acquire=(
                AcquireStep("worker", "own", self.take),
                AcquireStep("worker", "anywhere", "oldest"),
            ),
            spawn_order=CHILD_FIRST,
            roots="first",
        )

    def on_spawn(
        self, view: HookView, state: Any, parent: int, child: int, worker: int
    ) -> int | None:
        assert parent == EXAMPLE.parent[child]
        answer: int | None = self.answers(child)
        return answer


def run(backend: str, policy: Policy, cores: int = 1, seed: int = 0) -> Run:
    machine = make_machine(domains=1, cores_per_domain=cores)
    workload = Workload("example", EXAMPLE)
    return simulate(machine, workload, policy, backend=backend, seed=seed, events=True)


def column(result: Run, kind: EventKind, *names: str) -> list[tuple[int, ...]]:
    assert result.trace is not None
    events = result.trace.events
    chosen = events["kind"] == kind
    return list(zip(*(events[name][chosen].tolist() for name in names), strict=True))


@pytest.mark.parametrize(
    ("answers", "take", "order"),
    [
        (lambda child: None, "newest", [0, 1, 2, 4, 5, 3, 6, 7]),
        (lambda child: CHILD_FIRST, "newest", [0, 1, 2, 4, 5, 3, 6, 7]),
        (lambda child: PARENT_FIRST, "oldest", [0, 1, 2, 3, 4, 5, 6, 7]),
        # Above the leaves parent first: 2 and 3 wait in the pool, 3 is the newest.
        (lambda child: PARENT_FIRST if child < 4 else None, "newest", [0, 1, 3, 6, 7, 2, 4, 5]),
    ],
)
def test_the_spawn_order_is_chosen_at_run_time(
    backend: str, answers: Any, take: str, order: list[int]
) -> None:
    result = run(backend, Spawning(answers=answers, take=take))
    assert [task for (task,) in column(result, EventKind.TASK_START, "task")] == order
    asked = {child: answers(child) for child in range(1, 8)}
    for child, spawned in column(result, EventKind.SPAWN, "arg0", "arg1"):
        assert spawned == (CHILD_FIRST if asked[child] is None else asked[child])


def test_an_order_that_does_not_exist_is_refused(backend: str) -> None:
    with pytest.raises(PolicyError, match="on_spawn: task 1: found 2, accepted CHILD_FIRST"):
        run(backend, Spawning(answers=lambda child: 2))


def test_an_error_in_on_spawn_comes_out(backend: str) -> None:
    def fail(child: int) -> int:
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        run(backend, Spawning(answers=fail))


@dataclass(frozen=True, kw_only=True)
class Watching(Spawning):
    """Notes what is taken from where, and how many entries are left there."""

    def on_spawn(
        self, view: HookView, state: Any, parent: int, child: int, worker: int
    ) -> int | None:
        return PARENT_FIRST

    def on_acquire(
        self, view: HookView, state: Any, task: int, worker: int, group: int, instance: int
    ) -> None:
        assert view.live is not None
        assert not view.live.is_waiting(worker)
        seen.append((view.live.now_ps(), task, worker, (group << 32) + instance))
        left.append(view.live.queue_length(group, instance))


seen: list[int] = []
left: list[int] = []


@pytest.mark.parametrize("cores", [1, 3])
def test_every_acquisition_is_observed(backend: str, cores: int) -> None:
    seen.clear()
    left.clear()
    result = run(backend, Watching(take="oldest"), cores)
    assert seen == column(result, EventKind.ACQUIRE, "time_ps", "task", "worker", "arg0")
    assert len(seen) >= 8
    if cores == 1:  # 2 is taken while 3 waits, 3 before 4 and 5, and so on
        assert left == [0, 0, 1, 2, 3, 2, 1, 0]


@dataclass(frozen=True, kw_only=True)
class Ticking(Spawning):
    """Has a timer that would never ring."""

    timer_period_s = float("inf")

    def on_timer(self, view: HookView, state: Any) -> None:
        return None


def test_a_period_without_end_is_refused(backend: str) -> None:
    with pytest.raises(PolicyError, match=r"timer_period_s: found inf, accepted .* 0 to 1e\+06"):
        run(backend, Ticking())


@dataclass(frozen=True, kw_only=True)
class Starting(Spawning):
    """Notes when bodies begin; each beginning sends what waits in the pool to the next worker."""

    def on_start(
        self, view: HookView, state: Any, task: int, worker: int
    ) -> tuple[Transfer, ...] | None:
        assert view.live is not None
        assert view.live.running_task(worker) == -1  # it has not begun to compute
        seen.append((view.live.now_ps(), task, worker))
        return (Transfer(0, worker, 0, (worker + 1) % view.n_workers, 1, 0),)


def test_every_beginning_is_observed(backend: str) -> None:
    seen.clear()
    result = run(backend, Starting(answers=lambda child: PARENT_FIRST, take="oldest"), cores=2)
    assert seen == column(result, EventKind.TASK_START, "time_ps", "task", "worker")
    assert len(seen) == 8


def test_what_a_beginning_sends_is_there_at_once(backend: str) -> None:
    # All tasks are in the pool of worker 0; the first beginning sends the oldest one, 1, to worker
    # 1 before anything has been computed: both execute, although nobody steals.
    @dataclass(frozen=True, kw_only=True)
    class Sharing(Starting):
        def plan(self, view: PlanView, state: Any, graph: TaskGraph) -> Plan:
            return Plan(acquire=(AcquireStep("worker", "own", "oldest"),), roots="first")

    machine = make_machine(domains=1, cores_per_domain=2)
    workload = Workload("independent", build_graph(np.full(3, 1000.0)))
    result = simulate(machine, workload, Sharing(), backend=backend, events=True)
    starts = column(result, EventKind.TASK_START, "time_ps", "task", "worker")
    assert [start[1:] for start in starts] == [(0, 0), (1, 1), (2, 0)]
    assert starts[0][0] == starts[1][0]


def test_transfers_to_nowhere_are_refused_when_a_body_begins(backend: str) -> None:
    @dataclass(frozen=True, kw_only=True)
    class Astray(Starting):
        def on_start(
            self, view: HookView, state: Any, task: int, worker: int
        ) -> tuple[Transfer, ...] | None:
            return (Transfer(0, 9, 0, 0, 1, 0),)

    with pytest.raises(PolicyError, match="on_start: Transfer: instance: found 9, accepted 0 to 0"):
        run(backend, Astray(answers=lambda child: None))


@dataclass(frozen=True, kw_only=True)
class Clocked(CentralQueue):
    """Nobody takes a task before the policy's own clock has struck three times."""

    def start(self, view: PlanView) -> Any:
        return {"struck": 0}

    def plan(self, view: PlanView, state: Any, graph: TaskGraph) -> Plan:
        groups = PoolGroup("worker"), PoolGroup("queued")
        return Plan(
            acquire=(AcquireStep("worker", "own", "oldest"),), pool_groups=groups, roots="first"
        )

    def on_ready(
        self, view: HookView, state: Any, task: int, worker: int
    ) -> tuple[Pool | Wake, ...]:
        return (Pool(1, 0), Wake(2000)) if task == 0 else (Pool(1, 0),)

    def on_wake(self, view: HookView, state: Any, tag: int) -> tuple[Transfer | Wake, ...]:
        assert view.live is not None
        seen.append(view.live.now_ps())
        state["struck"] += 1
        if state["struck"] < 3:
            return (Wake(seen[-1] + 2000),)
        return (Transfer(1, 0, 0, 1, 5, 0),)


def test_wakes_are_a_clock(backend: str) -> None:
    # The policy is woken after 2, 4 and 6 ns, although nothing else is pending. Then all tasks go
    # to worker 1 at once.
    seen.clear()
    machine = make_machine(domains=1, cores_per_domain=2)
    workload = Workload("independent", build_graph(np.full(3, 1000.0)))
    result = simulate(machine, workload, Clocked(), backend=backend, events=True)
    assert seen == [2000, 4000, 6000]
    starts = column(result, EventKind.TASK_START, "time_ps", "task", "worker")
    assert [start[1:] for start in starts] == [(0, 1), (1, 1), (2, 1)]
    assert starts[0][0] == 6000


def test_transfers_to_nowhere_are_refused_at_a_landing(backend: str) -> None:
    @dataclass(frozen=True, kw_only=True)
    class Lost(Clocked):
        def on_wake(self, view: HookView, state: Any, tag: int) -> tuple[Transfer | Wake, ...]:
            return (Transfer(1, 0, 0, 1, 5, 1),)

        def on_landing(
            self, view: HookView, state: Any, group: int, instance: int
        ) -> tuple[Transfer, ...] | None:
            return (Transfer(0, 9, 0, 0, 1, 0),)

    machine = make_machine(domains=1, cores_per_domain=2)
    workload = Workload("independent", build_graph(np.full(3, 1000.0)))
    with pytest.raises(
        PolicyError, match="on_landing: Transfer: instance: found 9, accepted 0 to 1"
    ):
        simulate(machine, workload, Lost(), backend=backend)
