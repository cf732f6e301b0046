"""Rows of accesses that wait for other tasks; docs/semantics.md, rules L."""

from __future__ import annotations

from simsched.engine.reference.segments import Remaining
from simsched.engine.reference.tasks import Tasks


def row(tasks: Tasks, rest: Remaining) -> range:
    """Return the accesses that may come next: a row of which some may have been executed."""
    after, place = tasks.graph.access_after, rest.access
    if after is None or after[place] < 0:
        return range(place, place + 1)
    first, end = place, place + 1
    while first > rest.last - rest.count and after[first - 1] >= 0:
        first -= 1
    while end < rest.last and after[end] >= 0:
        end += 1
    return range(first, end)


def next_access(tasks: Tasks, rest: Remaining) -> int | None:
    """Return the access that comes next, or None if all that are left in the row have to wait."""
    after, may_come = tasks.graph.access_after, row(tasks, rest)
    if after is None or after[rest.access] < 0:
        return rest.access
    order = [(tasks.end_number[after[i]], i) for i in may_come if after[i] in tasks.end_number]
    n_executed = rest.access - may_come.start
    return sorted(order)[n_executed][1] if len(order) > n_executed else None


def awaited(tasks: Tasks, rest: Remaining) -> list[int]:
    """Return the tasks that have not ended and for which accesses of the row wait, in its order."""
    after = tasks.graph.access_after
    assert after is not None
    found = (int(after[access]) for access in row(tasks, rest))
    return [task for task in found if task not in tasks.end_number]
