"""Devices: what fits at the same time, who waits, who gives a share back, and held-back tasks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

from benchmarks.policies import CentralQueue
from simsched.engine.run import simulate
from simsched.files.errors import PolicyError
from simsched.machine.synthetic import make_machine
from simsched.policy.contract.base import (
    PARENT_FIRST,
    AcquireStep,
    Device,
    HookView,
    Plan,
    PlanView,
    Pool,
    PoolGroup,
    Preempt,
    Transfer,
)
from simsched.trace.run import Run
from simsched.trace.schema import EventKind
from simsched.workload.builder import adjacency, build_graph
from simsched.workload.graph import TaskGraph, Workload

US = 1_000_000  # picoseconds, and the time of 1000 operations at 1e9 per second
HIGH, LOW, HELD = 1, 2, 3


@dataclass(frozen=True, kw_only=True)
class Shared(CentralQueue):
    """Tasks enter pools of one device; `group` says which, 0 being the worker's own pool."""

    group: tuple[int, ...] = ()
    capacity: int = 10
    groups: tuple[PoolGroup, ...] = (
        PoolGroup("worker"),
        PoolGroup("high", "machine", device="gpu"),
        PoolGroup("low", "machine", device="gpu"),
        PoolGroup("held", "machine"),
    )
    steps: tuple[AcquireStep, ...] = (
        AcquireStep("worker", "own"),
        AcquireStep("high", "own", "oldest"),
        AcquireStep("low", "own", "oldest"),
    )

    def __post_init__(self) -> None:
        pass

    def plan(self, view: PlanView, state: Any, graph: TaskGraph) -> Plan:
        return Plan(
            acquire=self.steps,
            pool_groups=self.groups,
            group_of=np.array(self.group, np.int8),
            spawn_order=PARENT_FIRST,
            devices=(Device("gpu", self.capacity),),
        )


def run(
    backend: str,
    policy: Shared,
    us: list[float],
    occupancy: list[int] | None,
    arrival_us: list[float] | None = None,
    children: Any = None,
    workers: int = 4,
) -> Run:
    graph = build_graph(
        np.array(us) * 1000.0,
        arrival_ps=None if arrival_us is None else np.array(arrival_us) * US,
        occupancy=occupancy,
        children=children,
    )
    machine = make_machine(domains=1, cores_per_domain=workers)
    return simulate(machine, Workload("w", graph), policy, backend=backend, events=True)


def times(result: Run, kind: EventKind) -> dict[int, float]:
    """Return when each task did something first, in us."""
    assert result.trace is not None
    events, found = result.trace.events, {}
    for i in np.flatnonzero(events["kind"] == kind).tolist():
        found.setdefault(int(events["task"][i]), events["time_ps"][i] / US)
    return found


def starts(result: Run) -> list[float]:
    return [time for _, time in sorted(times(result, EventKind.TASK_START).items())]


def test_what_comes_next_waits_until_it_fits_and_is_not_overtaken(backend: str) -> None:
    # 6 + 3 fit; 5 waits for the 6; the 1 behind it fits all the time and waits with it.
    result = run(backend, Shared(group=(LOW,) * 4), [10, 20, 5, 1], [6, 3, 5, 1])
    assert starts(result) == [0, 0, 10, 10]


def test_several_start_when_one_gives_its_share_back(backend: str) -> None:
    result = run(backend, Shared(group=(LOW,) * 4), [10, 5, 5, 5], [10, 4, 4, 4])
    assert starts(result) == [0, 10, 10, 15]


def test_tasks_without_occupancy_take_one_and_those_with_none_always_fit(backend: str) -> None:
    result = run(backend, Shared(group=(LOW,) * 3, capacity=2), [10, 10, 10], None)
    assert starts(result) == [0, 0, 10]
    result = run(backend, Shared(group=(LOW,) * 3, capacity=2), [10, 10, 10], [2, 0, 0])
    assert starts(result) == [0, 0, 0]


def test_an_earlier_step_that_waits_for_room_keeps_later_ones_waiting(backend: str) -> None:
    # The large task of high priority arrives at 1 and waits until 10; the small ones wait with it.
    result = run(
        backend, Shared(group=(LOW, LOW, HIGH)), [10, 3, 4], [6, 2, 8], arrival_us=[0, 2, 1]
    )
    assert starts(result) == [0, 10, 10]


def test_a_suspended_task_occupies_nothing(backend: str) -> None:
    # The parent fills the device, spawns two that fill it too, and waits for them.
    tree = adjacency([0, 0], [1, 2], 3)
    result = run(backend, Shared(group=(LOW,) * 3), [10, 5, 5], [10, 10, 10], children=tree)
    assert starts(result) == [0, 10, 15]


@dataclass(frozen=True, kw_only=True)
class Preempting(Shared):
    """The task of worker `victim` goes back into its pool at 2 us."""

    timer_period_s = 2e-6
    victim: int = 0

    def on_timer(self, view: HookView, state: Any) -> tuple[Preempt, ...]:
        assert view.live is not None
        if view.live.now_ps() != 2 * US:
            return ()
        running = [w for w in range(view.n_workers) if view.live.running_task(w) == 0]
        return tuple(Preempt(worker) for worker in running)


def test_a_preempted_task_gives_its_share_back(backend: str) -> None:
    # Task 0 has done 2 of 10 us; tasks 1 and 2 come before it in the pool, 1 does not fit with it.
    result = run(backend, Preempting(group=(LOW,) * 3), [10, 5, 5], [10, 6, 4])
    assert starts(result) == [0, 2, 2]
    assert times(result, EventKind.TASK_RESUME)[0] == 7


@dataclass(frozen=True, kw_only=True)
class Holding(Shared):
    """Ready tasks are held back; `ready` and `finish` say what to release."""

    ready: Callable[[int], tuple[Any, ...] | None] = field(default=lambda _: None)
    finish: Callable[[int], tuple[Any, ...] | None] = field(default=lambda _: None)

    def on_ready(self, view: HookView, state: Any, task: int, worker: int) -> Any:
        return self.ready(task)

    def on_finish(self, view: HookView, state: Any, task: int, worker: int) -> Any:
        return self.finish(task)


def release(task: int, delay_us: float) -> Transfer:
    return Transfer(HELD, 0, LOW, 0, 1, round(delay_us * 1_000_000), task=task)


def test_tasks_are_held_back_and_released_by_hooks(backend: str) -> None:
    def ready(task: int) -> tuple[Any, ...]:
        # Task 0 goes on at once, 1 and 2 stay, 3 goes with a delay of 2.5 us.
        more = {0: (release(0, 0.0),), 3: (release(3, 2.5),)}
        return Pool(HELD, 0), *more.get(task, ())

    def finish(task: int) -> tuple[Any, ...] | None:
        return {0: (release(2, 0.0), release(1, 1.0)), 3: ()}.get(task)

    policy = Holding(group=(LOW,) * 4, ready=ready, finish=finish)
    result = run(backend, policy, [10, 5, 5, 1], [5, 5, 5, 5])
    assert starts(result) == [0, 11, 10, 2.5]


def test_a_transfer_of_on_ready_follows_the_push_of_its_task(backend: str) -> None:
    # The plan's pool is kept, and the oldest entry of it, the task itself, moves on.
    policy = Holding(
        group=(HELD, HELD),
        ready=lambda _: (Transfer(HELD, 0, LOW, 0, 1, 0),),
    )
    assert starts(run(backend, policy, [3, 3], [10, 10])) == [0, 3]


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (
            (Preempt(0),),
            r"on_ready: found Preempt.*accepted a Pool, then Transfer, Move, Pace or Wake",
        ),
        ((Transfer(9, 0, LOW, 0, 1, 0),), "on_ready: Transfer: group: found 9, accepted 0 to"),
    ],
)
def test_other_decisions_of_on_ready_are_refused(
    backend: str, answer: tuple[Any, ...], message: str
) -> None:
    policy = Holding(group=(LOW,), ready=lambda _: answer)
    with pytest.raises(PolicyError, match=message):
        run(backend, policy, [1], [1])


def test_other_decisions_of_on_finish_are_refused(backend: str) -> None:
    policy = Holding(group=(LOW,), finish=lambda _: (Pool(0, 0),))
    with pytest.raises(
        PolicyError, match=r"on_finish: found Pool.*accepted Transfer, Move, Pace or Wake"
    ):
        run(backend, policy, [1], [1])
    policy = Holding(group=(LOW,), finish=lambda _: (Transfer(0, 0, 7, 0, 1, 0),))
    with pytest.raises(PolicyError, match="on_finish: Transfer: to_group: found 7, accepted 0 to"):
        run(backend, policy, [1], [1])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"capacity": 5}, "device gpu: task 1 occupies 6, accepted at most its capacity, 5"),
        ({"capacity": 0}, r"devices\[0\]: capacity: found 0, accepted an integer from 1"),
        (
            {"groups": (PoolGroup("worker"), PoolGroup("high", device="gpo"))},
            "pool group high: .*'gpo'.*gpu",
        ),
        (
            {
                "groups": (
                    PoolGroup("worker"),
                    PoolGroup("high", "domain", device="gpu"),
                    PoolGroup("low", "machine", device="gpu"),
                )
            },
            "device gpu: found pool groups with scopes 'domain' and 'machine', accepted one scope",
        ),
        (
            {"steps": (AcquireStep("worker", "own"), AcquireStep("low", "anywhere"))},
            r"acquire\[1\]: pool group low leads to a device, accepted where 'own'",
        ),
    ],
)
def test_plans_that_cannot_be_are_refused(change: dict[str, Any], message: str) -> None:
    with pytest.raises(PolicyError, match=message):
        run("native", Shared(group=(0, 0), **change), [1, 1], [1, 6])
