"""Policies: what is placed where, which pools exist, who looks for work in which order.

Classes of one's own derive from :class:`Policy`, or from :class:`PlacedPolicy` to leave the choice
of a placement to the user; see docs/adding-a-policy.md.
"""

from simsched.policy.base import (
    CHILD_FIRST,
    PARENT_FIRST,
    AcquireStep,
    Counters,
    Placement,
    Plan,
    Policy,
    Pool,
    PoolGroup,
    Update,
    View,
    param,
)
from simsched.policy.placement import PlacedPolicy
from simsched.policy.registry import (
    PolicyInfo,
    changed_policy,
    list_policies,
    make_policy,
    parse_policy_spec,
    policy_from_spec,
    policy_info,
    preset,
    register,
    spec_of,
)

__all__ = [
    "CHILD_FIRST",
    "PARENT_FIRST",
    "AcquireStep",
    "Counters",
    "PlacedPolicy",
    "Placement",
    "Plan",
    "Policy",
    "PolicyInfo",
    "Pool",
    "PoolGroup",
    "Update",
    "View",
    "changed_policy",
    "list_policies",
    "make_policy",
    "param",
    "parse_policy_spec",
    "policy_from_spec",
    "policy_info",
    "preset",
    "register",
    "spec_of",
]
