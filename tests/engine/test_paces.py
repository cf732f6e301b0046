"""Workers that compute at a part of their speed; every time follows from the law by hand."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from benchmarks.policies import CentralQueue
from simsched.engine.run import simulate
from simsched.files.errors import PolicyError
from simsched.machine.synthetic import make_machine
from simsched.policy.contract.base import AcquireStep, HookView, Pace, Plan, PlanView
from simsched.trace.run import Run
from simsched.trace.schema import EventKind
from simsched.workload.builder import accesses, build_graph
from simsched.workload.graph import TaskGraph, Workload

US = 1_000_000  # picoseconds, and the time of 1000 operations at 1e9 per second


@dataclass(frozen=True, kw_only=True)
class Paced(CentralQueue):
    """Task t belongs to worker `owner[t]`; paces at microseconds, at starts and ends of tasks."""

    timer_period_s = 1e-6
    owner: tuple[int, ...] = ()
    at_us: tuple[tuple[int, Any], ...] = ()
    at_start: tuple[tuple[int, Any], ...] = ()
    at_end: tuple[tuple[int, Any], ...] = ()
    at_ready: tuple[tuple[int, Any], ...] = ()

    def __post_init__(self) -> None:
        pass

    def plan(self, view: PlanView, state: Any, graph: TaskGraph) -> Plan:
        step = AcquireStep("worker", "own", "oldest")
        return Plan(acquire=(step,), instance_of=np.array(self.owner, np.int32))

    def on_ready(self, view: HookView, state: Any, task: int, worker: int) -> tuple[Any, ...]:
        return tuple(d for number, d in self.at_ready if number == task)

    def on_start(self, view: HookView, state: Any, task: int, worker: int) -> tuple[Any, ...]:
        return tuple(d for number, d in self.at_start if number == task)

    def on_finish(self, view: HookView, state: Any, task: int, worker: int) -> tuple[Any, ...]:
        return tuple(d for number, d in self.at_end if number == task)

    def on_timer(self, view: HookView, state: Any) -> tuple[Any, ...]:
        assert view.live is not None
        return tuple(d for us, d in self.at_us if us * US == view.live.now_ps())


def run(backend: str, graph: TaskGraph, policy: Paced) -> Run:
    machine = make_machine(domains=1, cores_per_domain=2)
    return simulate(machine, Workload("w", graph), policy, backend=backend, events=True)


def ends_us(result: Run) -> list[float]:
    assert result.trace is not None
    events = result.trace.events
    chosen = events["kind"] == EventKind.TASK_END
    order = np.argsort(events["task"][chosen])
    found: list[float] = (events["time_ps"][chosen][order] / US).tolist()
    return found


def test_a_task_goes_on_at_the_new_pace(backend: str) -> None:
    # 4000 of 10000 operations at 4 us, 3000 more at 10 us, the other 3000 at full speed.
    policy = Paced(owner=(0,), at_us=((4, Pace(0, 0.5)), (10, Pace(0, 1.0))))
    result = run(backend, build_graph([10_000.0]), policy)
    assert ends_us(result) == [13.0]
    assert result.trace is not None
    events = result.trace.events
    chosen = events["kind"] == EventKind.PACE
    assert events["arg0"][chosen].tolist() == [500_000_000, 1_000_000_000]
    assert events["worker"][chosen].tolist() == [0, 0]


def test_a_pace_at_the_start_holds_for_the_task_and_those_after_it(backend: str) -> None:
    policy = Paced(owner=(0, 0, 1), at_start=((0, Pace(0, 0.25)),))
    assert ends_us(run(backend, build_graph([1000.0] * 3), policy)) == [4.0, 8.0, 1.0]
    policy = Paced(owner=(0, 0, 1), at_ready=((0, Pace(0, 0.25)),))
    assert ends_us(run(backend, build_graph([1000.0] * 3), policy)) == [4.0, 8.0, 1.0]


def test_the_end_of_a_task_changes_the_pace_of_another(backend: str) -> None:
    # Both at half their speed until the first ends at 4 us; the other has 3000 of 5000 left then.
    both = ((0, Pace(0, 0.5)), (1, Pace(1, 0.5)))
    policy = Paced(owner=(0, 1), at_start=both, at_end=((0, Pace(1, 1.0)),))
    assert ends_us(run(backend, build_graph([2000.0, 5000.0]), policy)) == [4.0, 7.0]


def test_memory_flows_keep_their_rate(backend: str) -> None:
    graph = build_graph([1.0], accessed=accesses([0], [0], 40_000, 0, 1), block_bytes=[40_000])
    plain = ends_us(run(backend, graph, Paced(owner=(0,))))
    policy = Paced(owner=(0,), at_start=((0, Pace(0, 0.5)),))
    assert ends_us(run(backend, graph, policy)) == plain


@pytest.mark.parametrize(
    ("decision", "message"),
    [
        (Pace(0, 0.0), r"on_start: Pace: part: found 0.0, accepted 1e-09 to 1"),
        (Pace(0, 1.5), r"on_start: Pace: part: found 1.5, accepted 1e-09 to 1"),
        (Pace(0, float("nan")), r"on_start: Pace: part: found nan"),
        (Pace(2, 0.5), r"on_start: Pace: worker: found 2, accepted 0 to 1"),
    ],
)
def test_bad_paces(backend: str, decision: Pace, message: str) -> None:
    with pytest.raises(PolicyError, match=message):
        run(backend, build_graph([1.0]), Paced(owner=(0,), at_start=((0, decision),)))
