"""Wakes: when the policy is asked at times of its choice, in which order, and until when."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from simsched.engine.hooks import MORE_WAKES, WAKES_EACH
from simsched.engine.run import Run, simulate
from simsched.files.errors import PolicyError, StalledError
from simsched.machine.model import RuntimeCosts
from simsched.machine.synthetic import make_machine
from simsched.policy.contract.base import (
    AcquireOrder,
    AcquireStep,
    Exchange,
    HookView,
    Pace,
    Plan,
    PlanView,
    Pool,
    PoolGroup,
    Preempt,
    Transfer,
    Wake,
)
from simsched.policy.contract.executions import Duplicate, Kill
from simsched.policy.parts.placement import PlacedPolicy
from simsched.workload.builder import build_graph
from simsched.workload.graph import TaskGraph, Workload

US = 1_000_000  # picoseconds, and the time of 1000 operations at 1e9 per second


@dataclass(frozen=True, kw_only=True)
class Asking(PlacedPolicy):
    """`asks` says for which wakes each call of a hook asks; the state notes (time, tag)."""

    asks: Any = None

    def __post_init__(self) -> None:
        pass

    def start(self, view: PlanView) -> list[tuple[int, int]]:
        return []

    def plan(self, view: PlanView, state: Any, graph: TaskGraph) -> Plan:
        return Plan(acquire=(AcquireStep("worker", "own"),))

    def on_ready(self, view: HookView, state: Any, task: int, worker: int) -> tuple[Any, ...]:
        return self._asked(view, "on_ready", task)

    def on_wake(self, view: HookView, state: Any, tag: int) -> tuple[Any, ...]:
        assert view.live is not None
        state.append((view.live.now_ps(), tag))
        return self._asked(view, "on_wake", tag)

    def _asked(self, view: HookView, hook: str, what: int) -> tuple[Any, ...]:
        assert view.live is not None
        wakes: tuple[Any, ...] = self.asks(hook, what, view.live.now_ps())
        return wakes


def run(backend: str, policy: Any, us: list[float], iterations: int = 1) -> Run:
    graph = build_graph(np.array(us) * 1000.0)
    machine = make_machine(domains=1, cores_per_domain=2, costs=RuntimeCosts(barrier_ps=20 * US))
    return simulate(machine, Workload("w", graph, iterations), policy, backend=backend, events=True)


def test_wakes_come_by_time_then_rank_then_request(backend: str) -> None:
    wakes = (
        Wake(9 * US, 1),
        Wake(5 * US, 2, rank=3),
        Wake(5 * US, 3, rank=-3),
        Wake(5 * US, 4, rank=3),
        Wake(5 * US, 5),
        Wake(5 * US + 1, 6, rank=-9),
    )
    policy = Asking(asks=lambda hook, what, now: wakes if hook == "on_ready" else ())
    result = run(backend, policy, [20])
    five = [(5 * US, tag) for tag in (3, 5, 2, 4)]
    assert result.state == [*five, (5 * US + 1, 6), (9 * US, 1)]


def test_a_wake_for_now_comes_after_what_happens_now(backend: str) -> None:
    # Both tasks are ready at 0 and begin there; the wakes that the first one's push has asked for
    # come then. One that a wake asks for takes its place among those that are left.
    def asks(hook: str, what: int, now: int) -> tuple[Wake, ...]:
        if hook == "on_ready":
            return (Wake(now, 10, rank=1), Wake(now, 11)) if what == 0 else ()
        if what == 11:
            return Wake(now, 12), Wake(now, 13, rank=-5), Wake(now, 14, rank=2)
        return ()

    seen: list[list[int]] = []

    class Looking(Asking):
        def on_wake(self, view: HookView, state: Any, tag: int) -> tuple[Any, ...]:
            assert view.live is not None
            seen.append([view.live.running_task(worker) for worker in range(view.n_workers)])
            return super().on_wake(view, state, tag)

        def plan(self, view: PlanView, state: Any, graph: TaskGraph) -> Plan:
            return Plan(
                acquire=(AcquireStep("worker", "own"),), instance_of=np.arange(2, dtype=np.int32)
            )

    result = run(backend, Looking(asks=asks), [5, 5])
    assert result.state == [(0, tag) for tag in (11, 13, 12, 10, 14)]
    assert seen == [[0, 1]] * 5


@pytest.mark.parametrize("seed", range(20))
def test_any_number_of_wakes_comes_in_order(backend: str, seed: int) -> None:
    # The expected order is that of a stable sort.
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 300))
    wakes = [
        Wake(int(at), tag, int(rank))
        for tag, (at, rank) in enumerate(
            zip(rng.integers(0, 12, n) * 1000, rng.integers(-3, 4, n), strict=True)
        )
    ]
    policy = Asking(asks=lambda hook, what, now: tuple(wakes) if hook == "on_ready" else ())
    expected = sorted(wakes, key=lambda wake: (wake.at_ps, wake.rank))
    assert run(backend, policy, [20]).state == [(wake.at_ps, wake.tag) for wake in expected]


@pytest.mark.parametrize(
    ("wake", "message"),
    [
        (
            Wake(5 * US - 1),
            r"policy Asking: on_wake: Wake: at_ps: found 4999999, accepted 5000000 \(now\) or more",
        ),
        (Wake(-1), "Wake: at_ps: found -1, accepted 0 to"),
        (Wake(2**62 + 1), "at_ps: found 4611686018427387905, accepted"),
        (
            Wake(9 * US, 2**63),
            "Wake: tag: found 9223372036854775808, accepted -9223372036854775807",
        ),
        (Wake(9 * US, 0, -(2**63)), "Wake: rank: found -9223372036854775808"),
        (Wake(9e6), r"at_ps: found 9000000.0, accepted an integer"),  # type: ignore[arg-type]
        (Wake(9 * US, 0, 0.5), "rank: found 0.5, accepted an integer"),  # type: ignore[arg-type]
    ],
)
def test_wakes_that_cannot_be_are_refused(backend: str, wake: Wake, message: str) -> None:
    def asks(hook: str, what: int, now: int) -> tuple[Wake, ...]:
        return (wake,) if hook == "on_wake" else (Wake(5 * US),)

    with pytest.raises(PolicyError, match=message):
        run(backend, Asking(asks=asks), [20])


def test_a_policy_that_is_not_to_be_woken_asks_for_nothing(backend: str) -> None:
    @dataclass(frozen=True, kw_only=True)
    class Deaf(PlacedPolicy):
        def plan(self, view: PlanView, state: Any, graph: TaskGraph) -> Plan:
            return Plan(acquire=(AcquireStep("worker", "own"),))

        def on_idle(self, view: HookView, state: Any, worker: int) -> Wake:
            return Wake(10**9)

    message = "policy Deaf: on_idle: found a Wake, accepted none: there is no on_wake"
    with pytest.raises(PolicyError, match=message):
        run(backend, Deaf(), [1])


def test_a_policy_that_always_asks_for_now_is_given_up(
    backend: str,
) -> None:
    def asks(hook: str, what: int, now: int) -> tuple[Wake, ...]:
        return (Wake(now),) if now == 5 * US else (Wake(5 * US),)

    most = MORE_WAKES + 3 * WAKES_EACH  # a task and two workers
    message = f"policy Asking: on_wake: found more than {most} wakes at 5000000 ps, accepted up to"
    with pytest.raises(PolicyError, match=message):
        run(backend, Asking(asks=asks), [20])


@pytest.mark.parametrize("later_us", [11, 29, 30, 45])
def test_wakes_end_with_their_iteration(backend: str, later_us: int) -> None:
    # Tasks end at 10 us, the barrier at 30 us and the second iteration at 40 us: a wake for later
    # holds nothing up and does not come, and the second iteration asks anew.
    def asks(hook: str, what: int, now: int) -> tuple[Wake, ...]:
        return (Wake(now + later_us * US, 1), Wake(now + 5 * US, 2)) if hook == "on_ready" else ()

    result = run(backend, Asking(asks=asks), [10], iterations=2)
    assert result.state == [(5 * US, 2), (35 * US, 2)]
    assert result.summary.makespan_ps == 40 * US


def test_what_a_barrier_asks_for_is_forgotten_too(backend: str) -> None:
    @dataclass(frozen=True, kw_only=True)
    class Ticking(Asking):
        timer_period_s = 9e-6

        def on_timer(self, view: HookView, state: Any) -> tuple[Wake, ...]:
            assert view.live is not None
            return (Wake(view.live.now_ps() + 8 * US, view.live.now_ps() // US),)

    # The timer strikes at 9 us; 18 and 27 us are in the barrier, of which the first one's wake
    # comes before it ends. Of 36 us the wake would come after the end of the run.
    result = run(backend, Ticking(asks=lambda *_: ()), [10], iterations=2)
    assert result.state == [(26 * US, 18)]


def test_a_pending_wake_keeps_a_run_going(backend: str) -> None:
    # The only task waits in a pool from which nobody takes: without wakes that is a stall.
    @dataclass(frozen=True, kw_only=True)
    class Holding(Asking):
        def plan(self, view: PlanView, state: Any, graph: TaskGraph) -> Plan:
            return Plan(
                acquire=(AcquireStep("worker", "own"),),
                pool_groups=(PoolGroup("worker"), PoolGroup("held")),
                group_of=np.ones(1, np.int8),
            )

    def once(hook: str, what: int, now: int) -> tuple[Any, ...]:
        return (Wake(3 * US),) if hook == "on_ready" else ()

    def released(hook: str, what: int, now: int) -> tuple[Any, ...]:
        return (Wake(3 * US),) if hook == "on_ready" else (Transfer(1, 0, 0, 1, 1, 0),)

    with pytest.raises(StalledError, match="stalled at 3e-06 s"):
        run(backend, Holding(asks=once), [10])
    assert run(backend, Holding(asks=released), [10]).summary.makespan_ps == 13 * US


@dataclass(frozen=True, kw_only=True)
class Deciding(Asking):
    """Task 0 begins on worker 0; what is decided at 4 us is `decided`."""

    decided: Any = None

    def on_ready(self, view: HookView, state: Any, task: int, worker: int) -> tuple[Any, ...]:
        assert view.live is not None
        return (Wake(4 * US),) if view.live.now_ps() == 0 else ()

    def on_wake(self, view: HookView, state: Any, tag: int) -> tuple[Any, ...]:
        return (self.decided,)


@pytest.mark.parametrize(
    ("decided", "end_us"),
    [
        (Preempt(0, 1), 10),
        (Preempt(0), 10),
        (Kill(0), 14),
        (Duplicate(0, 1), 10),
        (Exchange(0, 1, 3 * US), 13),
        (Pace(0, 0.5), 16),
        (AcquireOrder((AcquireStep("worker", "own"),)), 10),
    ],
)
def test_a_wake_may_decide_what_a_timer_may(backend: str, decided: Any, end_us: int) -> None:
    result = run(backend, Deciding(decided=decided), [10])
    assert result.summary.makespan_ps == end_us * US


@pytest.mark.parametrize(
    ("decided", "message"),
    [
        (Preempt(1), "on_wake: worker 1 is not executing a task"),
        (Preempt(0, 0), "on_wake: worker 0 cannot take a task: it is not waiting"),
        (Kill(7), "on_wake: Kill: worker: found 7, accepted 0 to 1"),
        (Exchange(1, 1), "on_wake: Exchange: other: found 1, accepted another worker"),
        (Transfer(0, 9, 0, 0, 1, 0), "on_wake: Transfer: instance: found 9, accepted 0 to 1"),
        (Pool(0, 0), r"on_wake: found Pool\(group=0, instance=0\), accepted Preempt, Duplicate"),
    ],
)
def test_decisions_of_wakes_name_their_hook(backend: str, decided: Any, message: str) -> None:
    with pytest.raises(PolicyError, match=message):
        run(backend, Deciding(decided=decided), [10])
