"""What every policy has to execute of a program, whatever its runtime makes of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from simsched.policy import list_policies
from simsched.workload.graph import Workload


def versions(program: Workload) -> list[Workload]:
    """Return programs of which every policy executes at least one, maybe with additions.

    Each known policy says what it may leave out of a program
    (:meth:`simsched.policy.contract.base.Policy.least`), also of what others leave.
    """
    ways: dict[Callable[[Workload], Iterable[Workload]], None] = dict.fromkeys(
        info.cls.least for info in list_policies()
    )
    found = [program]
    for least in ways:
        found = [left for version in found for left in least(version)]
    return found
