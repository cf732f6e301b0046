"""Unexpected exceptions during a run: the policy's, for lack of memory, or the program's own."""

from __future__ import annotations

import inspect
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from simsched.files.errors import ANY_ERROR, ModelError, PolicyError, SimschedError
from simsched.policy import Policy
from simsched.policy.contract.registry import called

PACKAGE = Path(__file__).resolve().parent.parent
NO_MEMORY = (
    "found more than the memory of this computer (or its limit) allows, "
    "accepted: a smaller workload, or fewer runs at a time (--jobs 1)"
)


@contextmanager
def explained(policy: Policy, name: str) -> Iterator[None]:
    """Turn what a policy's code has caused, and a lack of memory, into an error of the user's.

    An exception of a hook is the policy's, and so is one that has no other explanation than a value
    that a policy from outside the package has returned.
    """
    try:
        with called(type(policy), name):
            yield
    except SimschedError:
        raise
    except MemoryError as error:
        raise ModelError(NO_MEMORY) from error
    except ANY_ERROR as error:
        message = _blame(error, policy, name)
        if message is None:
            raise
        raise PolicyError(message) from error


def _blame(error: BaseException, policy: Policy, name: str) -> str | None:
    """Return what to say when the policy is to blame, None when it is not."""
    file = _source(type(policy))
    if file is None:
        return None
    what = f"{type(error).__name__}: {' '.join(str(error).split())}".rstrip(": ")
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if Path(frame.filename).resolve() == file]
    if own:
        return f"policy {name}: {file}:{own[-1].lineno}: {own[-1].name}: {what}"
    if file.is_relative_to(PACKAGE):
        return None
    if missing := _missing(error, frames, type(policy)):
        return f"policy {name}: {file}{missing}"
    return (
        f"policy {name}: {file}: the engine cannot use what a hook has returned: {what}; "
        "simsched.testing.check_policy names the rule"
    )


def _missing(error: BaseException, frames: traceback.StackSummary, cls: type[Policy]) -> str:
    """Return which method is missing, nothing when that is not the reason.

    It shows in the caller: nothing of the policy's file has been executed.
    """
    last = frames[-1]
    if isinstance(error, NotImplementedError) and Path(last.filename).resolve() == _source(Policy):
        return f": {missing_method(cls, last.name)}"
    return ""


def missing_method(cls: type[Policy], name: str) -> str:
    """Return what to say of a policy without a method that every policy needs."""
    return f"class {cls.__name__} has no method {name}, accepted: def {_signature(name)}"


def _signature(name: str) -> str:
    """Return how a method of policies is written."""
    return f"{name}({', '.join(inspect.signature(getattr(Policy, name)).parameters)})"


def _source(cls: type) -> Path | None:
    """Return the file that defines a class, if there is one."""
    try:
        return Path(inspect.getfile(cls)).resolve()
    except (OSError, TypeError):
        return None
