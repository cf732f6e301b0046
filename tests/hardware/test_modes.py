"""Modes of the runtime and the simulated policies that schedule alike."""

from __future__ import annotations

import pytest

from simsched.files.errors import ConfigurationError
from simsched.hardware.mode import Mode, mode_of
from simsched.policy.contract.registry import make_policy

from .support import policy_of


@pytest.mark.parametrize(
    ("name", "mode"),
    [
        ("cilk_a", Mode()),
        ("cilk_interleave", Mode(placement="interleave")),
        ("pfws", Mode(order="parent_first", own_take="oldest")),
        ("random_stealing[spawn=parent_first]", Mode(order="parent_first")),
        ("random_stealing[placement=even]", Mode(placement="bind")),
        ("task_sharing", Mode(order="parent_first", pools="central")),
    ],
)
def test_policies_have_modes_and_back(name: str, mode: Mode) -> None:
    policy = make_policy(name)
    assert mode_of(policy) == mode
    assert policy_of(mode) == policy


@pytest.mark.parametrize(
    ("policy", "message"),
    [
        ("bats", "policy bats: the task runtime cannot schedule like that; accepted: random_steal"),
        ("cilk_h", "unknown placement 'membind_hbm'"),
        ("random_stealing[steal_take=newest]", "parameter steal_take: found 'newest', accepted"),
        ("random_stealing[roots=first]", "parameter roots: found 'first', accepted on hardware"),
        ("work_sharing[take=newest]", "parameter take: found 'newest', accepted on hardware"),
    ],
)
def test_policies_that_the_runtime_lacks(policy: str, message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        mode_of(make_policy(policy))


def test_the_default_is_the_most_common_one() -> None:
    assert policy_of(Mode()) == make_policy("random_stealing")
