"""Policies from a file outside the package."""

from __future__ import annotations

import copyreg
import sys
from dataclasses import fields
from types import ModuleType
from typing import Any

from simsched.names.user_code import load_user_file, split_file_spec
from simsched.policy.contract.base import Policy


def policy_classes(module: ModuleType) -> dict[str, type[Policy]]:
    """Return the policy classes that a user's file defines, by name, in the order of the file.

    Their instances can be pickled: another process loads the file again, from the same place.
    """
    found = {
        value.__name__: value
        for value in vars(module).values()
        if isinstance(value, type)
        and issubclass(value, Policy)
        and value.__module__ == module.__name__
    }
    for cls in found.values():
        copyreg.pickle(cls, _reduce)
    return found


def _reduce(policy: Policy) -> tuple[Any, ...]:
    """Return how to make an equal policy in another process."""
    cls = type(policy)
    module = sys.modules[cls.__module__]
    values = {f.name: getattr(policy, f.name) for f in fields(policy)}
    return _rebuild, (f"{module.__file__}:{cls.__name__}", values)


def _rebuild(spec: str, values: dict[str, Any]) -> Policy:
    """Return the policy that :func:`_reduce` has described."""
    return policy_classes(load_user_file("policy", spec))[split_file_spec(spec)[1]](**values)
