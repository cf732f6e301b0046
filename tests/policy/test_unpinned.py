"""Stealing by workers that the operating system moves."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from simsched.engine.run import simulate
from simsched.machine.synthetic import make_machine
from simsched.policy import make_policy
from simsched.testing import small_workloads
from simsched.trace.run import Run
from simsched.trace.schema import EventKind

US = 1_000_000  # picoseconds


def run(policy: str, seed: int = 0, **parameters: Any) -> Run:
    machine = make_machine(
        domains=2,
        cores_per_domain=2,
        caches=[("L2", 10**6, 30e9, 10_000, 1)],
        dram_bandwidth_bytes_per_s=2e9,
    )
    workload = small_workloads()["tree"]
    return simulate(machine, workload, make_policy(policy, parameters), seed=seed, events=True)


def exchanges(result: Run) -> list[tuple[int, int, int]]:
    assert result.trace is not None
    events = result.trace.events
    chosen = events["kind"] == EventKind.EXCHANGE
    columns = (events[name][chosen].tolist() for name in ("time_ps", "arg0", "arg1"))
    return list(zip(*columns, strict=True))


def same(first: Run, second: Run) -> bool:
    assert first.trace is not None
    assert second.trace is not None
    return all(
        np.array_equal(column, second.trace.events[name])
        for name, column in first.trace.events.items()
    )


def test_two_workers_swap_at_every_multiple_of_the_period() -> None:
    found = exchanges(run("cilk", exchange_period_s=3e-4))
    assert len(found) > 10
    assert [time for time, _, _ in found] == [300 * US * (i + 1) for i in range(len(found))]
    assert all(first != second for _, first, second in found)
    assert {worker for _, *pair in found for worker in pair} == {0, 1, 2, 3}


@pytest.mark.parametrize("period_s", [0.0, 1.0])
def test_without_a_move_it_is_cilk_a(period_s: float) -> None:
    # In the second case the run is over before the first move.
    assert same(run("cilk", exchange_period_s=period_s), run("cilk_a"))


def test_moves_cost_what_the_caches_held() -> None:
    seeds = range(5)
    pinned = [run("cilk_a", seed).summary for seed in seeds]
    moved = [run("cilk", seed, exchange_period_s=3e-4).summary for seed in seeds]
    assert sum(s.cache_missing_bytes.sum() for s in moved) > sum(
        s.cache_missing_bytes.sum() for s in pinned
    )


def test_the_default_is_the_assumption() -> None:
    assert make_policy("cilk").parameters()["exchange_period_s"] == 0.01
    assert "exchange_period_s" not in make_policy("cilk_a").parameters()


@pytest.mark.parametrize("kind", ["dram", "hbm"])
def test_one_thread_executes_everything(kind: str) -> None:
    machine = make_machine(domains=2, cores_per_domain=2, hbm_per_domain=True)
    workload = small_workloads()["tree"]
    done = simulate(machine, workload, make_policy(f"cilk_{kind}_1t"), events=True)
    assert done.trace is not None
    assert set(done.trace.events["worker"][done.trace.events["kind"] == EventKind.TASK_END]) == {0}
    alone = simulate(machine, workload, make_policy(f"cilk_{kind}_1t"), workers=1)
    assert done.makespan_s == alone.makespan_s


def test_nobody_is_moved_to_a_core_that_has_failed() -> None:
    policy, seats = make_policy("cilk"), np.array([0, 1], np.int32)
    for failed, moves in ((1, 0), (2, 1)):  # worker 2 is not there: both are alive
        live = SimpleNamespace(has_failed=failed.__eq__)
        view = SimpleNamespace(n_workers=2, rng=np.random.default_rng(0), live=live)
        assert len(policy.on_timer(view, seats)) == moves
        assert seats.tolist() == ([1, 0] if moves else [0, 1])
