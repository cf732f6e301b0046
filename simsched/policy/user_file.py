"""Policies from a file outside the package."""

from __future__ import annotations

import copyreg
import sys
from dataclasses import fields
from typing import Any

from simsched.errors import ConfigurationError
from simsched.policy.base import Policy
from simsched.user_code import load_user_file, split_file_spec


def policy_classes(spec: str) -> dict[str, type[Policy]]:
    """Return the policy classes that a file defines, by name, in the order of the file.

    Their instances can be pickled: another process loads the file again, from the same place.

    Parameters
    ----------
    spec : str
        ``path.py``, also with a name behind a colon, which does not matter here.

    Raises
    ------
    ConfigurationError
        When the file is missing or does not run, has no policy, or files are forbidden.
    """
    module = load_user_file("policy", spec)
    found = {
        value.__name__: value
        for value in vars(module).values()
        if isinstance(value, type)
        and issubclass(value, Policy)
        and value.__module__ == module.__name__
    }
    if not found:
        raise ConfigurationError(
            f"{module.__file__}: found no policy, accepted a class derived from "
            "simsched.policy.Policy"
        )
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
    return policy_classes(spec)[split_file_spec(spec)[1]](**values)
