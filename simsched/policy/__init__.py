"""Policies: what is placed where, which pools exist, who looks for work in which order."""

from simsched.policy.base import Policy, param
from simsched.policy.registry import (
    PolicyInfo,
    list_policies,
    make_policy,
    parse_policy_spec,
    policy_from_spec,
    policy_info,
    preset,
    register,
)

__all__ = [
    "Policy",
    "PolicyInfo",
    "list_policies",
    "make_policy",
    "param",
    "parse_policy_spec",
    "policy_from_spec",
    "policy_info",
    "preset",
    "register",
]
