"""Several simulations at a time in one process: the same results as one after the other."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from simsched.engine.run import simulate
from simsched.machine import load_machine
from simsched.policy.algorithms.work_stealing.random_stealing import RandomStealing
from simsched.trace.run import Run
from simsched.workload.presets import make_workload


@dataclass(frozen=True, kw_only=True)
class Hooked(RandomStealing):
    """Random stealing whose every decision passes through Python."""

    def on_ready(self, view: Any, state: Any, task: int, worker: int) -> None: ...

    def on_finish(self, view: Any, state: Any, task: int, worker: int) -> None: ...


CASES = [
    (machine, workload, policy, seed)
    for machine, workload in (
        ("knl_snc4_flat", ("heat", {"rows": 4096, "columns": 4096, "iterations": 3})),
        ("opteron48", ("layered_random", {})),
        ("opteron48", ("fork_join", {"depth": 8})),
    )
    for policy in (RandomStealing(), Hooked(), "bats", "work_sharing")
    for seed in (0, 1)
]


def run(case: tuple[Any, ...]) -> Run:
    machine, (name, parameters), policy, seed = case
    from simsched.policy import make_policy

    chosen = make_policy(policy) if isinstance(policy, str) else policy
    return simulate(
        load_machine(machine),
        make_workload(name, parameters, seed),
        chosen,
        workers=16,
        seed=seed,
        events=True,
    )


def assert_equal(found: Run, expected: Run) -> None:
    for field in fields(expected.summary):
        one, other = (getattr(item.summary, field.name) for item in (found, expected))
        np.testing.assert_array_equal(one, other, err_msg=field.name)
    assert found.trace is not None
    assert expected.trace is not None
    assert list(found.trace.events) == list(expected.trace.events)
    for name, column in expected.trace.events.items():
        np.testing.assert_array_equal(found.trace.events[name], column, err_msg=name)


def test_runs_in_threads_equal_runs_one_after_the_other() -> None:
    serial = [run(case) for case in CASES]
    assert len({item.summary.makespan_ps for item in serial}) > len(CASES) / 2
    together = threading.Barrier(4)

    def meet(case: tuple[Any, ...]) -> Run:
        together.wait(timeout=60)  # so that four are really under way at a time
        return run(case)

    with ThreadPoolExecutor(4) as threads:
        concurrent = list(threads.map(meet, CASES))
    for found, expected in zip(concurrent, serial, strict=True):
        assert_equal(found, expected)


def test_one_machine_workload_and_policy_serve_several_threads() -> None:
    machine, workload = load_machine("opteron48"), make_workload("fork_join", {"depth": 9})
    policy = Hooked()
    expected = simulate(machine, workload, policy, events=True)
    with ThreadPoolExecutor(4) as threads:
        futures = [
            threads.submit(simulate, machine, workload, policy, events=True) for _ in range(8)
        ]
    for future in futures:
        assert_equal(future.result(), expected)
