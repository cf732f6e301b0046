"""Policies that never rest: what promises to decide nothing are held against."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

from simsched.policy.contract.base import Policy
from simsched.policy.contract.decisions import Rest, Wake

ASKING = ("on_ready", "on_start", "on_idle", "on_finish", "on_landing", "on_timer", "on_wake")


def restless(policy: Policy) -> Policy:
    """Return a policy that decides the same but promises nothing.

    Engines then ask it at every period of its timer and at every one of its wakes.

    Parameters
    ----------
    policy : Policy
        The policy.

    Returns
    -------
    Policy
        Of a class of its own, derived from that of the policy.
    """
    cls = type(policy)

    def kept(name: str) -> Callable[..., Any]:
        hook = getattr(cls, name)

        @functools.wraps(hook)
        def call(self: Policy, *given: Any) -> Any:
            return _without_promises(hook(self, *given))

        return call

    hooks = {name: kept(name) for name in ASKING if policy.overrides(name)}
    same: Policy = object.__new__(
        type(cls.__name__, (cls,), {**hooks, "__module__": cls.__module__})
    )
    vars(same).update(vars(policy))
    return same


def _without_promises(answer: Any) -> Any:
    """Return what a hook has decided, without rests and steps of wakes."""
    if isinstance(answer, Wake):
        return replace(answer, step_ps=0)
    if isinstance(answer, Iterable):
        return tuple(_without_promises(one) for one in answer if not isinstance(one, Rest))
    return answer
