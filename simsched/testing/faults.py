"""What a policy's code raises while it is checked, as one error that says where that was."""

from __future__ import annotations

import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from types import CodeType

from simsched.engine.watch import watched
from simsched.files.errors import ANY_ERROR, SimschedError
from simsched.policy.contract.base import Policy, own_name
from simsched.policy.contract.class_checks import methods_of, told_name


@contextmanager
def told_of(policy: Policy, where: str) -> Iterator[None]:
    """Turn whatever is raised inside, but a lack of memory, into an AssertionError.

    It begins with `where` and names the policy, the method that the battery or an engine has
    called, and the line.
    """
    cls = type(policy)
    name = told_name(cls)
    try:
        with watched(policy):
            yield
    except MemoryError:
        raise
    except ANY_ERROR as error:
        if isinstance(error, SimschedError):
            said = str(error).removeprefix(f"policy {own_name(cls)}: ")
        else:
            said = f"{type(error).__name__}: {' '.join(str(error).split())}".rstrip(": ")
        hook, place = _raised_in(cls, error)
        if hook and not said.startswith(f"{hook}: "):
            said = f"{hook}: {place}: {said}"
        raise AssertionError(f"{where}: policy {name}: {said}") from error


def _raised_in(cls: type[Policy], error: BaseException | None) -> tuple[str, str]:
    """Return the method of a policy in which something was raised, and the last line of its file.

    It is the outermost one: hooks may call each other. Nothing where it was raised elsewhere.
    """
    methods = methods_of(cls, Policy)
    frames: list[tuple[CodeType, int]] = []
    while error is not None:  # others may have told it again
        frames += [(frame.f_code, line) for frame, line in traceback.walk_tb(error.__traceback__)]
        error = error.__cause__
    for code, _ in frames:
        if code in methods:
            file = code.co_filename
            last = [line for each, line in frames if each.co_filename == file][-1]
            return methods[code], f"{file}:{last}"
    return "", ""
