"""Parameters of policies for several sockets, off their defaults, on both engines."""

from typing import Any

import pytest

from simsched.policy import make_policy
from simsched.testing import check_policy


@pytest.mark.slow
@pytest.mark.parametrize(
    ("policy", "params"),
    [
        ("cab_fto", {"subtree_affinity": "home_socket", "boundary_level": 3}),
        ("cab_fto", {"heads_only": False, "exclusive": False, "root_level": 0}),
        ("cab_gto_profile", {"subtree_affinity": "home_socket"}),
        ("cats_numa_init", {"subtree_affinity": "home_socket"}),
        ("cab_gto_compile", {"every_socket": False}),
        ("slaw", {"stack_limit": 2, "fresh_limit": 3, "interval_tasks": 4, "steals_per_task": 0.0}),
        ("slaw", {"initial": "child_first", "interval_tasks": 2}),
        ("mts", {"thief": "head_worker", "victim": "nearest", "batch": 3}),
        ("hws", {"limit": 1}),
        ("pws", {"spawn": "parent_first"}),
        ("openmp_dynamic", {"chunk": 4}),
        ("openmp_guided", {"chunk": 3}),
        ("manual_static", {"assignment": "cyclic"}),
    ],
)
def test_the_contract_holds_off_the_defaults(
    policy: str, params: dict[str, Any], backends: list[str]
) -> None:
    check_policy(make_policy(policy, params), backends=backends)
