"""Policies: what is placed where, which pools exist, who looks for work in which order.

All that the file of a policy needs comes from here. Classes of one's own derive from
:class:`Policy`, or from :class:`PlacedPolicy` to leave the choice of a placement to the user; see
docs/adding-a-policy.md.
"""

from simsched.policy.algorithms.work_stealing.random_stealing import RandomStealing
from simsched.policy.algorithms.work_stealing.work_sharing import WorkSharing
from simsched.policy.contract.base import (
    CHILD_FIRST,
    PARENT_FIRST,
    TAKES,
    AcquireOrder,
    AcquireStep,
    Counters,
    Device,
    Exchange,
    Monitor,
    Pace,
    Placement,
    Plan,
    Policy,
    Pool,
    PoolGroup,
    Preempt,
    Transfer,
    Update,
    View,
    param,
    view_before,
)
from simsched.policy.contract.blocks import BlockPools, PageBalancing
from simsched.policy.contract.executions import Duplicate, Kill, Progress
from simsched.policy.contract.registry import (
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
from simsched.policy.parts.placement import PlacedPolicy, placement, placement_rule

__all__ = [
    "CHILD_FIRST",
    "PARENT_FIRST",
    "TAKES",
    "AcquireOrder",
    "AcquireStep",
    "BlockPools",
    "Counters",
    "Device",
    "Duplicate",
    "Exchange",
    "Kill",
    "Monitor",
    "Pace",
    "PageBalancing",
    "PlacedPolicy",
    "Placement",
    "Plan",
    "Policy",
    "PolicyInfo",
    "Pool",
    "PoolGroup",
    "Preempt",
    "Progress",
    "RandomStealing",
    "Transfer",
    "Update",
    "View",
    "WorkSharing",
    "changed_policy",
    "list_policies",
    "make_policy",
    "param",
    "parse_policy_spec",
    "placement",
    "placement_rule",
    "policy_from_spec",
    "policy_info",
    "preset",
    "register",
    "spec_of",
    "view_before",
]
