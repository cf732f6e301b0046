"""Whose code a policy is."""

from __future__ import annotations

from typing import Any, Generic

from simsched.names.typed_in import parts_of
from simsched.policy.contract.base import Policy
from simsched.policy.parts.placement import PlacedPolicy


def code_of(policy: Policy) -> list[Any]:
    """Return the classes of a policy, and what its placement is made of."""
    code: list[Any] = [cls for cls in type(policy).__mro__ if cls not in (Generic, object)]
    if isinstance(policy, PlacedPolicy):
        code += parts_of(policy.chosen_placement())
    return code


def is_shipped(policy: Policy) -> bool:
    """Return whether all code of a policy is the package's own."""
    code = filter(callable, code_of(policy))
    return all(str(part.__module__).startswith("simsched.") for part in code)
