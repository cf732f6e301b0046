"""Hooks that do not end are told once; those that do are not."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from simsched.engine import watch
from simsched.engine.run import BACKENDS, simulate
from simsched.policy.algorithms.work_stealing.random_stealing import RandomStealing
from simsched.testing import small_cases

CASE = next(case for case in small_cases() if case.name.startswith("chain on"))
LOOK_S = 0.02


@dataclass(frozen=True, kw_only=True)
class Slow(RandomStealing):
    """Spends time in a hook in Python, or in the plan."""

    planning_s: float = 0.0
    finishing_s: float = 0.0

    def plan(self, view: Any, state: Any, graph: Any) -> Any:
        _spend(self.planning_s)
        return super().plan(view, state, graph)

    def on_finish(self, view: Any, state: Any, task: int, worker: int) -> None:
        _spend(self.finishing_s)


def _spend(duration_s: float) -> None:
    end = time.monotonic() + duration_s
    while time.monotonic() < end:
        pass


@pytest.fixture(autouse=True, scope="module")
def _often() -> Iterator[None]:
    """Look often, and in one thread of these tests, as the process's may be asleep."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(watch, "LOOK_S", LOOK_S)
        patch.setattr(watch, "_watcher", None)
        yield


def _run(policy: Slow, backend: str) -> str:
    return str(simulate(CASE.machine, CASE.workload, policy, backend=backend).summary)


def test_a_long_hook_is_told_once_with_the_simulated_time(
    capfd: pytest.CaptureFixture[str],
) -> None:
    for backend in BACKENDS:
        _run(Slow(finishing_s=0.3), backend)
        (line,) = capfd.readouterr().err.splitlines()
        assert line.startswith(
            "simsched: policy Slow: on_finish has been running for more than 0 s"
        )
        assert " s of simulated time; now at " in line
        assert f"{__file__}:" in line


def test_a_long_plan_is_told_without_a_time(capfd: pytest.CaptureFixture[str]) -> None:
    _run(Slow(planning_s=0.3), "native")
    (line,) = capfd.readouterr().err.splitlines()
    assert line.startswith(
        "simsched: policy Slow: plan has been running for more than 0 s; now at "
    )


def test_hooks_that_end_are_not_told_and_results_are_the_same(
    capfd: pytest.CaptureFixture[str],
) -> None:
    for backend in BACKENDS:
        quick, slow = _run(Slow(), backend), _run(Slow(finishing_s=LOOK_S / 10), backend)
        assert quick == slow
    assert capfd.readouterr().err == ""
