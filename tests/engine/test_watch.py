"""Hooks that do not end are told once; those that do are not."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from simsched.engine import watch
from simsched.engine.run import simulate
from simsched.policy.algorithms.work_stealing.random_stealing import RandomStealing
from simsched.testing import small_cases

CASE = next(case for case in small_cases() if case.name.startswith("chain on"))
#: What the policy does in its hooks; no parameters, which are numbers and text.
planning: Callable[[], object] = int
finishing: Callable[[], object] = int


@dataclass(frozen=True, kw_only=True)
class Looking(RandomStealing):
    """Does in its plan and in a hook what a test wants."""

    def plan(self, view: Any, state: Any, graph: Any) -> Any:
        planning()
        return super().plan(view, state, graph)

    def on_finish(self, view: Any, state: Any, task: int, worker: int) -> None:
        finishing()


def _run(backend: str) -> str:
    return str(simulate(CASE.machine, CASE.workload, Looking(), backend=backend).summary)


def _looks(times: int) -> Callable[[], object]:
    """Return what makes the watch look at this thread so often, from inside the hook."""

    def look() -> None:
        (one,) = (each for each in watch._watched if each.thread == threading.get_ident())
        for _ in range(times):
            watch._look(one, sys._current_frames()[one.thread])

    return look


def test_a_hook_that_two_looks_find_is_told_once_with_the_simulated_time(
    backend: str, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.modules[__name__], "finishing", _looks(3))
    _run(backend)
    (line,) = capfd.readouterr().err.splitlines()
    assert line.startswith("simsched: policy Looking: on_finish has been running for more than 0 s")
    assert " s of simulated time; now at " in line
    assert f"{__file__}:" in line


def test_a_plan_is_told_without_a_time(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.modules[__name__], "planning", _looks(2))
    _run("native")
    (line,) = capfd.readouterr().err.splitlines()
    assert line.startswith(
        "simsched: policy Looking: plan has been running for more than 0 s; now at "
    )


def test_hooks_that_end_are_not_told_and_results_are_the_same(
    backend: str, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = _run(backend)
    monkeypatch.setattr(sys.modules[__name__], "finishing", _looks(1))
    assert _run(backend) == expected
    assert capfd.readouterr().err == ""


def test_a_thread_of_its_own_looks(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watch, "LOOK_S", 0.01)
    monkeypatch.setattr(watch, "_watcher", None)  # the process's may be asleep

    def wait() -> None:
        (one,) = (each for each in watch._watched if each.thread == threading.get_ident())
        while not one.told:  # for ever where nobody looks, until the test's time is over
            time.sleep(0.001)

    monkeypatch.setattr(sys.modules[__name__], "planning", wait)
    _run("native")
    assert "plan has been running" in capfd.readouterr().err
