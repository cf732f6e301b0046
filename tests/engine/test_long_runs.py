"""Runs of more than a day of simulated time: nothing hangs on how precise seconds are."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from simsched.engine.run import simulate
from simsched.machine import load_machine
from simsched.policy import list_policies, make_policy
from simsched.workload.builder import accesses, adjacency, build_graph
from simsched.workload.graph import Workload

LONG_S = (30_000.0, 50_000.0, 100_000.0)
PERIOD_S = 500.0  #: of all clocks of policies: a real one would strike millions of times
CLOCKS = (
    *("exchange_period_s", "slice_s", "balance_s", "helper_period_s", "look_s", "period_s"),
    *("heartbeat_s", "sample_s"),
)


def chain(seconds: tuple[float, ...], ops_per_s: float) -> Workload:
    """Tasks that update one block, one after the other."""
    every = np.arange(len(seconds))
    graph = build_graph(
        np.array(seconds) * ops_per_s,
        successors=adjacency(every[:-1], every[1:], len(seconds)),
        accessed=accesses(every, 0 * every, 64, 64, len(seconds)),
        block_bytes=[64],
    )
    return Workload("chain", graph)


@pytest.mark.parametrize("name", [info.name for info in list_policies()])
def test_a_chain_of_two_days_ends_when_its_tasks_have_been_executed(
    backend: str, name: str
) -> None:
    policy: Any = make_policy(name)
    if policy.timer_period_s > 0.0:
        clocks = {clock: PERIOD_S for clock in CLOCKS if clock in policy.parameters()}
        policy = make_policy(name, clocks)
    machine = load_machine("knl_snc4_hybrid")  # it has all kinds of memory that policies ask for
    program = chain(LONG_S, machine.core_groups[0].ops_per_s)
    result = simulate(machine, program, policy, workers=4, backend=backend, progress_limit_s=2e6)
    # Who is told of ready tasks by a clock begins each up to a period late; budgets of GPU time,
    # a tenth of it by default, make tasks wait ten times as long as those before take.
    late_s = len(LONG_S) * PERIOD_S + 1.0 if policy.timer_period_s > 0.0 else 1.0
    if getattr(policy, "reservation", "none") != "none":
        late_s = 10.0 * sum(LONG_S) + 1.0
    assert sum(LONG_S) <= result.makespan_s <= sum(LONG_S) + late_s


@pytest.mark.parametrize("first_s", [1.0, 4_097.0, 10_000.0, 70_000.3])
@pytest.mark.parametrize(
    "name",
    [
        *("eager", "prio", "ws", "lws", "dm", "dmda", "dmdar", "dmdas"),
        *("random", "heteroprio", "heft"),
    ],
)
def test_a_task_is_found_however_late_it_is_pushed(backend: str, name: str, first_s: float) -> None:
    machine = load_machine("toy_1fast_3slow")
    fastest = max(group.ops_per_s for group in machine.core_groups)
    slowest = min(group.ops_per_s for group in machine.core_groups)
    program = chain((first_s, 1.0), fastest)
    policy = make_policy(name)
    result = simulate(machine, program, policy, backend=backend, progress_limit_s=2e6)
    makespan_s = result.makespan_s
    assert first_s + 1.0 <= makespan_s * (1 + 1e-12)
    assert makespan_s <= (first_s + 1.0) * (fastest / slowest) + 1e-3
