"""A queue of ready tasks by priority."""

from __future__ import annotations

from bisect import insort
from collections.abc import Callable


class TaskQueue:
    """Ready tasks, most urgent first, of equal ones the one that came first."""

    def __init__(self) -> None:
        self._entries: list[tuple[int, int, int]] = []  # (-priority, number, task)
        self._n_pushed = 0

    def __len__(self) -> int:
        return len(self._entries)

    def push(self, task: int, priority: int = 0) -> None:
        """Add a task behind those that are as urgent."""
        insort(self._entries, (-priority, self._n_pushed, task))
        self._n_pushed += 1

    def first(self) -> int | None:
        """Return the task that `pop` would remove; None when there is none."""
        return self._entries[0][2] if self._entries else None

    def pop(
        self, accepts: Callable[[int], bool] | None = None, *, newest: bool = False
    ) -> int | None:
        """Remove and return the first task that is accepted; None when there is none.

        With `newest` the one that came last of those that are as urgent.
        """
        found = None
        for place, (urgency, _, task) in enumerate(self._entries):
            if found is not None and urgency != self._entries[found][0]:
                break
            if accepts is None or accepts(task):
                found = place
                if not newest:
                    break
        return None if found is None else self._entries.pop(found)[2]

    def pop_smallest(self, measure: Callable[[int], tuple[int, int, int]]) -> int | None:
        """Remove and return the task that measures least among the most urgent ones.

        Of several the first; the search ends where the measure is 0.
        """
        best, least = None, (0, 0, 0)
        for place, (urgency, _, task) in enumerate(self._entries):
            if urgency != self._entries[0][0]:
                break
            size = measure(task)
            if best is None or size < least:
                best, least = place, size
            if size == (0, 0, 0):
                break
        return None if best is None else self._entries.pop(best)[2]
