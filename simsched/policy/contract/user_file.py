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
    """Return the policy classes that a user's file defines, by their names there, in its order.

    Their instances can be pickled: another process loads the file again, from the same place.
    """
    found: dict[str, type[Policy]] = {}
    for name, value in vars(module).items():
        is_policy = isinstance(value, type) and issubclass(value, Policy)
        if is_policy and value.__module__ == module.__name__ and value not in found.values():
            found[name] = value
    for cls in found.values():
        copyreg.pickle(cls, _reduce)
    return found


def name_in_module(cls: type[Policy]) -> str:
    """Return how a class is called where it was made: functions can give several one name."""
    known = vars(sys.modules[cls.__module__]).items()
    return next((name for name, value in known if value is cls), cls.__name__)


def _reduce(policy: Policy) -> tuple[Any, ...]:
    """Return how to make an equal policy in another process."""
    cls = type(policy)
    module = sys.modules[cls.__module__]
    values = {f.name: getattr(policy, f.name) for f in fields(policy)}
    return _rebuild, (f"{module.__file__}:{name_in_module(cls)}", values)


def _rebuild(spec: str, values: dict[str, Any]) -> Policy:
    """Return the policy that :func:`_reduce` has described."""
    return policy_classes(load_user_file("policy", spec))[split_file_spec(spec)[1]](**values)
