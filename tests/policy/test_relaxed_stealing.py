"""Relaxed work stealing: who executes what is kept from the first iteration on."""

from __future__ import annotations

import numpy as np
import pytest

from simsched.engine.conformance import compare
from simsched.engine.run import simulate
from simsched.machine.synthetic import make_machine
from simsched.policy import make_policy
from simsched.trace.run import Run
from simsched.trace.schema import EventKind
from simsched.workload.registry import generate_workload, make_small_workload

LEAVES = {"depth": 5, "leaf_ops": 1e6, "iterations": 4}


def executed(run: Run, iteration: int) -> dict[int, int]:
    assert run.trace is not None
    events = run.trace.events
    chosen = (events["kind"] == EventKind.TASK_START) & (events["iteration"] == iteration)
    return dict(
        zip(events["task"][chosen].tolist(), events["worker"][chosen].tolist(), strict=True)
    )


def run(name: str, workers: int, **params: object) -> Run:
    machine = make_machine(domains=2, cores_per_domain=4)
    workload = generate_workload("fork_join", {**LEAVES, **params})
    return simulate(
        machine, workload, make_policy(name), workers=workers, events=True, seed=3, backend="native"
    )


def test_iterations_repeat_the_first_one() -> None:
    # Random stealing gives nearly every leaf to another worker each time. What is kept is even, but
    # for steals where an iteration begins: a worker whose first task has not come yet takes one.
    kept, drawn = run("relws", 8), run("cilk_a", 8)
    for found, least, most in ((kept, 0.6, 1.0), (drawn, 0.0, 0.5)):
        first = executed(found, 1)
        same = [
            np.mean([first[task] == worker for task, worker in executed(found, later).items()])
            for later in (2, 3, 4)
        ]
        assert least <= np.mean(same) <= most


def test_a_single_worker_executes_all() -> None:
    found = run("relws", 1)
    assert set(executed(found, 4).values()) == {0}


@pytest.mark.parametrize("workload", ["heat", "cholesky", "ge"])
def test_both_backends_agree(workload: str) -> None:
    machine = make_machine(domains=2, cores_per_domain=3)
    case = compare(machine, make_small_workload(workload), make_policy("relws"), workers=5)
    assert case.difference == ""
