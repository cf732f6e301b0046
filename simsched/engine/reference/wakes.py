"""Times at which the policy wants to be asked; docs/semantics.md, "Wakes"."""

from __future__ import annotations

from heapq import heappop, heappush


class Wakes:
    """All wakes of one iteration, by time, rank and the order in which they were asked for."""

    def __init__(self) -> None:
        self._heap: list[tuple[int, int, int, int]] = []
        self._n_asked = 0

    def __bool__(self) -> bool:
        return bool(self._heap)

    def add(self, at_ps: int, rank: int, tag: int) -> None:
        """Add a wake."""
        heappush(self._heap, (at_ps, rank, self._n_asked, tag))
        self._n_asked += 1

    def first_ps(self) -> int:
        """Return the time of the first wake; there is one."""
        return self._heap[0][0]

    def take(self) -> int:
        """Remove the first wake and return its tag."""
        return heappop(self._heap)[3]
