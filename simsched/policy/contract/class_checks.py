"""What is wrong with a policy class before any of its methods is called."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import Field
from types import CodeType
from typing import Any

from simsched.files.errors import ConfigurationError, nearest_hint
from simsched.names.parameters import of_field
from simsched.policy.contract.compiled import COMPILED_HOOKS


def mistake(cls: type, contract: type) -> str | None:
    """Return what a policy class has that nobody will ever look at, or nobody can call.

    Parameters
    ----------
    cls : type
        Of the policy.
    contract : type
        The class with all hooks.

    Returns
    -------
    str or None
        What was found, and what is accepted.
    """
    own = [each for each in cls.__mro__ if each not in contract.__mro__]
    hooks = sorted(name for name in vars(contract) if name.startswith("on_"))
    for each in own:
        for name, value in vars(each).items():
            if isinstance(value, Field):
                return (
                    f"parameter {name}: found class {each.__name__} without a decorator, accepted "
                    "@dataclass(frozen=True, kw_only=True) above it"
                )
            if name.startswith("on_") and callable(value) and name not in hooks:
                return (
                    f"method {name}: found no such hook{nearest_hint(name, hooks)}; "
                    f"accepted: {', '.join(hooks)}"
                )
            if getattr(value, "is_compiled", False) and name not in COMPILED_HOOKS:
                return (
                    f"method {name}: found a compiled hook, accepted one in Python; "
                    f"compiled can be: {', '.join(COMPILED_HOOKS)}"
                )
            called = vars(contract).get(name)
            if inspect.isfunction(called) and not _can_take(value, _n_arguments(called)):
                return f"method {name}: found {_written(value)}, accepted {_written(called)}"
    timed = cls.on_timer is not contract.on_timer  # type: ignore[attr-defined]
    if timed and not any("timer_period_s" in vars(each) for each in own):
        return "on_timer is never called: timer_period_s is missing, accepted: seconds above 0"
    return None


def _can_take(value: object, n_arguments: int) -> bool:
    """Say whether a method takes so many arguments; what is no plain function may take any."""
    if not inspect.isfunction(value) or hasattr(value, "is_compiled") or value.__name__[:2] == "__":
        return True
    most, spare = _n_arguments(value), len(value.__defaults__ or ())
    is_open = value.__code__.co_flags & inspect.CO_VARARGS
    return most - spare <= n_arguments and (n_arguments <= most or bool(is_open))


def _n_arguments(function: Callable[..., Any]) -> int:
    """Return how many arguments a function takes by position."""
    return function.__code__.co_argcount


def _written(function: Callable[..., Any]) -> str:
    """Return the names of the arguments of a function as in its definition."""
    return f"({', '.join(inspect.signature(function).parameters)})"


def check_declared(cls: type, name: str) -> None:
    """Raise ConfigurationError if a parameter in the body of a class is declared wrongly."""
    for key, value in vars(cls).items():
        found = of_field(key, value).mistake if isinstance(value, Field) else None
        if found is not None:
            raise ConfigurationError(f"policy {name}: parameter {key}: {found}")


def check_class(cls: type, contract: type, name: str) -> None:
    """Raise ConfigurationError if there is a :func:`mistake` in the class of a policy."""
    found = mistake(cls, contract)
    if found is not None:
        raise ConfigurationError(f"policy {name}: {found}")


def methods_of(cls: type, contract: type) -> dict[CodeType, str]:
    """Return the names of a policy's methods that the contract has, by their code."""
    found = {}
    for name in ("__post_init__", *vars(contract)):
        for each in cls.__mro__[: cls.__mro__.index(contract)]:
            code = getattr(vars(each).get(name), "__code__", None)
            if code is not None:
                found[code] = name
    return found


def told_name(cls: type) -> str:
    """Return the name under which a class itself is registered, or its own."""
    return vars(cls).get("name") or cls.__name__
