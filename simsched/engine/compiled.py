"""Compiled hooks as Python calls them: what `simsched_hooks.h` declares, in ctypes."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping
from ctypes import CFUNCTYPE, c_int32, c_int64, c_void_p
from typing import Any

from simsched.files.errors import PolicyError
from simsched.policy.contract.base import EngineState, PlanView, Policy, Pool, Preempt
from simsched.policy.contract.compiled import COMPILED_HOOKS, Compiled, is_compiled
from simsched.policy.contract.records import said_of, told

AS_PLANNED = -1  #: the answer that decides nothing
_LENGTH = CFUNCTYPE(c_int64, c_void_p, c_int32, c_int32)
_OF_ONE = CFUNCTYPE(c_int32, c_void_p, c_int32)

#: What each hook returns, and how many numbers it gets.
_TYPES: dict[str, tuple[type | None, int]] = {
    "on_spawn": (c_int32, 3),
    "on_ready": (c_int64, 2),
    "on_acquire": (None, 4),
    "on_start": (None, 2),
    "on_idle": (c_int32, 1),
    "on_finish": (None, 2),
}


class _View(ctypes.Structure):
    """What a compiled hook may look at."""

    _fields_ = (
        ("now_ps", c_int64),
        ("queue_length", _LENGTH),
        ("running_task", _OF_ONE),
        ("is_waiting", _OF_ONE),
        ("block_home", _OF_ONE),
    )


def decision(hook: str, answer: Any, *given: int) -> Any:
    """Return what a hook in Python would for the answer of a compiled one to some numbers."""
    if answer is None or answer == AS_PLANNED:
        return None
    if hook == "on_ready":
        return Pool(answer >> 32, answer & 0xFFFFFFFF)
    return Preempt(answer, given[-1]) if hook == "on_idle" else answer


def asked_for(policy: Policy, view: PlanView, state: Any) -> dict[str, Compiled]:
    """Return the compiled functions of a policy by hook, as it names them now."""
    found: dict[str, Compiled] = {}
    for hook in compiled_hooks(policy):
        with said_of(hook):
            function: object = getattr(policy, hook)(view, state)
            if not isinstance(function, Compiled):
                raise PolicyError(f"found {told(function)}, accepted a Compiled")
            found[hook] = function
    return found


def compiled_hooks(policy: Policy) -> frozenset[str]:
    """Return which hooks of a policy are compiled functions."""
    return frozenset(hook for hook in COMPILED_HOOKS if is_compiled(type(policy), hook))


class Callees:
    """A policy whose compiled hooks can be called like those in Python."""

    def __init__(self, policy: Policy, functions: Mapping[str, Compiled], live: EngineState):
        self._policy = policy
        view = _View(
            0,
            _LENGTH(_answered(live.queue_length, 0)),
            _OF_ONE(_answered(live.running_task, -1)),
            _OF_ONE(_answered(live.is_waiting, 0)),
            _OF_ONE(_answered(live.block_home, -1)),
        )
        for hook, function in functions.items():
            vars(self)[hook] = _caller(hook, function, view, live)

    def __getattr__(self, name: str) -> Any:
        """Return what only the policy has."""
        return getattr(self._policy, name)

    def answer(self, hook: str, answer: int) -> None:
        """Let a hook answer this from now on."""
        vars(self)[hook] = lambda _view, _state, *given: decision(hook, answer, *given)


def _answered(ask: Callable[..., int], otherwise: int) -> Callable[..., int]:
    """Return a look at live state for C, which cannot hear errors."""

    def answer(_view: int, *indices: int) -> int:
        try:
            return int(ask(*indices))
        except PolicyError:
            return otherwise

    return answer


def _caller(hook: str, function: Compiled, view: _View, live: EngineState) -> Callable[..., Any]:
    """Return a hook in Python that calls a compiled one."""
    result, n_numbers = _TYPES[hook]
    prototype = CFUNCTYPE(result, c_void_p, c_void_p, *[c_int32] * n_numbers)
    called, memory, seen = prototype(function.address), function.memory_address, ctypes.byref(view)

    def call(_view: object, _state: object, *given: int) -> Any:
        view.now_ps = live.now_ps()
        return decision(hook, called(seen, memory, *given), *given)

    return call
