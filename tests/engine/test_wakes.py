"""Wakes: when the policy is asked at times of its choice, in which order, and until when."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from simsched.engine.run import Run, simulate
from simsched.machine.model import RuntimeCosts
from simsched.machine.synthetic import make_machine
from simsched.policy.contract.base import AcquireStep, Plan, View, Wake
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

    def start(self, view: View) -> list[tuple[int, int]]:
        return []

    def plan(self, view: View, state: Any, graph: TaskGraph) -> Plan:
        return Plan(acquire=(AcquireStep("worker", "own"),))

    def on_ready(self, view: View, state: Any, task: int, worker: int) -> tuple[Any, ...]:
        return self._asked(view, "on_ready", task)

    def on_wake(self, view: View, state: Any, tag: int) -> tuple[Any, ...]:
        assert view.state is not None
        state.append((view.state.now_ps(), tag))
        return self._asked(view, "on_wake", tag)

    def _asked(self, view: View, hook: str, what: int) -> tuple[Any, ...]:
        assert view.state is not None
        wakes: tuple[Any, ...] = self.asks(hook, what, view.state.now_ps())
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
