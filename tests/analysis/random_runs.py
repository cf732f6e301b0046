"""Runs of random programs under random policies."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from hypothesis import reject

from simsched.engine.run import simulate
from simsched.files.errors import SimschedError
from simsched.trace.run import Run
from tests.engine.instances import (
    HookPolicy,
    RandomPolicy,
    WakingPolicy,
    random_machine,
    random_workload,
)
from tests.engine.test_duplicates import Speculating

POLICIES = (RandomPolicy, HookPolicy, WakingPolicy, Speculating)


def on_both(policy: type[Any], seed: int) -> list[Run]:
    """Runs of one program on both engines; what is refused is no example."""
    machine, workload = random_machine(seed), random_workload(seed)
    if policy is Speculating:
        workload = replace(workload, init=None)
    try:
        return [
            simulate(machine, workload, policy(choice=seed), seed=seed, backend=name, events=True)
            for name in ("simpy", "native")
        ]
    except SimschedError:
        reject()
