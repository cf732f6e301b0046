"""The battery: every registered policy passes it, and broken ones do not."""

from dataclasses import dataclass, replace
from typing import Any
from zlib import crc32

import numpy as np
import pytest

from simsched.policy import list_policies, make_policy, param, policy_info
from simsched.policy.algorithms.work_stealing.random_stealing import RandomStealing
from simsched.policy.contract.base import AcquireStep, Counters, Plan, PlanView, Update
from simsched.testing import check_policy, small_cases, small_workloads
from simsched.testing.battery import (
    check_decisions,
    check_docstring,
    check_parameters,
    check_traces,
    fits,
)
from simsched.workload.graph import TaskGraph, Workload

CASES = {case.name: case for case in small_cases()}
POLICIES = [info.name for info in list_policies()]
CLASS_STEP, PRESET_STEP = 5, 20  # 8 programs in 5 settings, of which 5 takes each program once
CASE = CASES["tree on four_domains_hbm with 3 workers"]


@pytest.mark.parametrize("name", POLICIES)
def test_registered_policies_keep_the_contract_in_some_cases(
    name: str, backends: list[str]
) -> None:
    """A class runs each program once, on machines in turn; a preset runs two of the programs.

    All run on one engine: tests/engine/test_conformance.py compares the engines.
    """
    step = PRESET_STEP if policy_info(name).is_preset else CLASS_STEP
    cases = list(CASES.values())[crc32(name.encode()) % step :: step]
    check_policy(make_policy(name), backends=backends[-1:], cases=cases)


@pytest.mark.slow
@pytest.mark.parametrize("name", POLICIES)
def test_registered_policies_keep_the_contract(name: str, backends: list[str]) -> None:
    check_policy(make_policy(name), backends=backends)


def test_a_class_runs_every_program_and_every_setting() -> None:
    names = list(CASES)
    for start in range(CLASS_STEP):
        chosen = [name.split(" on ") for name in names[start::CLASS_STEP]]
        assert sorted(program for program, _ in chosen) == sorted(small_workloads())
        assert {setting for _, setting in chosen} == {name.split(" on ")[1] for name in names}


def test_cases_are_valid_and_have_different_names() -> None:
    assert len(CASES) == len(list(small_cases()))
    for case in CASES.values():
        case.workload.validate()


@dataclass(frozen=True, kw_only=True)
class Sound(RandomStealing):
    """A policy.

    Notes
    -----
    None.

    References
    ----------
    None.
    """


@dataclass(frozen=True, kw_only=True)
class Undescribed(Sound):
    """A policy.

    Notes
    -----
    None.

    References
    ----------
    None.
    """

    secret: int = param(1)


def test_a_trial_may_do_without_documentation(backends: list[str]) -> None:
    check_policy(Undescribed(), backends=backends, cases=[CASE], documented=False)
    with pytest.raises(AssertionError, match="does not describe parameter secret"):
        check_policy(Undescribed(), backends=backends, cases=[CASE])


class Thawed(Sound):
    __setattr__ = object.__setattr__


@dataclass(frozen=True, kw_only=True)
class Meddler(Sound):
    def place(self, view: PlanView, state: Any) -> Any:
        ops = view.workload.graph.ops
        ops.flags.writeable = True
        ops[0, 0] += 1
        return super().place(view, state)


@dataclass(frozen=True, kw_only=True)
class Moody(Sound):
    def plan(self, view: PlanView, state: Any, graph: TaskGraph) -> Plan:
        fresh = np.random.default_rng()
        return replace(
            super().plan(view, state, graph),
            spawn_order=fresh.integers(0, 2, graph.n_tasks, np.uint8),
        )


@dataclass(frozen=True, kw_only=True)
class Short(Sound):
    def plan(self, view: PlanView, state: Any, graph: TaskGraph) -> Plan:
        return replace(super().plan(view, state, graph), group_of=np.zeros(3, np.int8))


@dataclass(frozen=True, kw_only=True)
class Lost(Sound):
    def plan(self, view: PlanView, state: Any, graph: TaskGraph) -> Plan:
        return replace(super().plan(view, state, graph), acquire=(AcquireStep("attic"),))


@dataclass(frozen=True, kw_only=True)
class Restless(Sound):
    def on_iteration(self, view: PlanView, state: Any, counters: Counters) -> Update:
        return Update(move_block=np.zeros(2, np.int32), move_node=np.arange(2, dtype=np.int32))


@dataclass(frozen=True, kw_only=True)
class Forgetful(Sound):
    def prepare(self, view: PlanView) -> Workload:
        return replace(
            view.workload, graph=replace(view.workload.graph, ops=-view.workload.graph.ops)
        )


def test_a_sound_policy_passes() -> None:
    check_parameters(Sound())
    check_docstring(Sound)
    check_decisions(Sound(), CASE)


@pytest.mark.parametrize(
    ("policy", "message"),
    [
        (Meddler(), "was changed"),
        (Moody(), "same seed gives different decisions"),
        (Short(), r"plan: group_of: found shape \(3,\)"),
        (Lost(), "plan: .*unknown pool group 'attic'"),
        (Restless(), "on_iteration: move_block: found block 0 more than once"),
        (Forgetful(), "tree on four_domains_hbm with 3 workers, seed 0: policy Forgetful: "),
    ],
)
def test_broken_decisions_are_found(policy: RandomStealing, message: str) -> None:
    case = replace(CASE, workload=_copy(CASE.workload))
    with pytest.raises(AssertionError, match=message):
        check_decisions(policy, case)


def test_an_assignable_parameter_is_found() -> None:
    with pytest.raises(AssertionError, match="can be assigned"):
        check_parameters(Thawed())


def test_missing_documentation_is_found() -> None:
    with pytest.raises(AssertionError, match="no section Notes"):
        check_docstring(Meddler)
    with pytest.raises(AssertionError, match="does not describe parameter secret"):
        check_docstring(Undescribed)


def _copy(workload: Workload) -> Workload:
    """Return a workload with operations of its own, which a test may spoil."""
    return replace(workload, graph=replace(workload.graph, ops=workload.graph.ops.copy()))


def _fail(*_: object) -> Any:
    return 1 // 0


RAISING = ("prepare", "start", "place", "plan", "on_iteration", "on_ready", "on_finish", "on_timer")


@pytest.mark.parametrize("hook", RAISING)
def test_what_a_hook_raises_is_told_with_the_case(hook: str, backends: list[str]) -> None:
    def raising(self: Any, view: Any, *more: Any) -> Any:
        return _fail(view)

    own = {hook: raising, "timer_period_s": 1e-6, "on_timer": lambda self, view, state: ()}
    broken = dataclass(frozen=True, kw_only=True)(type("Broken", (Sound,), {**own, hook: raising}))
    in_a_run = hook in ("on_ready", "on_finish", "on_timer")
    assert not in_a_run or fits(broken(), CASE)
    with pytest.raises(AssertionError) as told:
        check_traces(broken(), CASE, backends) if in_a_run else fits(broken(), CASE)
    text = str(told.value)
    seed = "1, simpy" if in_a_run else "0"
    where = f"{CASE.name}, seed {seed}: policy Broken: {hook}: {__file__}:"
    assert text.startswith(where)
    assert text.endswith(": ZeroDivisionError: integer division or modulo by zero")
    assert isinstance(told.value.__cause__, ZeroDivisionError)


@dataclass(frozen=True, kw_only=True)
class Asking(Sound):
    def on_ready(self, view: Any, state: Any, task: int, worker: int) -> None:
        view.live.progress(99)


def test_a_question_about_nothing_is_told_with_hook_and_case(backends: list[str]) -> None:
    with pytest.raises(
        AssertionError, match=r"seed 1, simpy: policy Asking: on_ready: .*: progress"
    ):
        check_policy(Asking(), backends=backends, cases=[CASE], documented=False)


@dataclass(frozen=True, kw_only=True)
class Unmade(Sound):
    wanted: int = param(1, low=1)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.wanted == 1:
            raise KeyError("wanted")


def test_a_default_that_cannot_be_made_is_told() -> None:
    with pytest.raises(
        AssertionError, match=r"Unmade: cannot be made without arguments: .*KeyError: 'wanted'"
    ):
        check_parameters(Unmade(wanted=2))
