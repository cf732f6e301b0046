"""Times at which the policy wants to be asked; docs/semantics.md, "Wakes"."""

from __future__ import annotations

from heapq import heappop, heappush, heapreplace
from typing import NamedTuple

from simsched.engine.reference.looks import last_before


class Request(NamedTuple):
    """One wake; they come in the order of the first three."""

    at_ps: int
    rank: int
    number: int  # of requests before it
    tag: int
    step_ps: int
    happened: int  # how many events had happened when it was asked for

    def rests(self, happened: int) -> bool:
        """Return whether it may be put off by its step: nothing has happened since."""
        return self.step_ps > 0 and self.happened == happened


class Wakes:
    """All wakes of one iteration, by time, rank and the order in which they were asked for."""

    def __init__(self) -> None:
        self._heap: list[Request] = []
        self._n_asked = 0

    def __bool__(self) -> bool:
        return bool(self._heap)

    def add(self, at_ps: int, rank: int, tag: int, step_ps: int, happened: int) -> None:
        """Add a wake."""
        heappush(self._heap, Request(at_ps, rank, self._n_asked, tag, step_ps, happened))
        self._n_asked += 1

    def first(self) -> Request:
        """Return the first wake; there is one."""
        return self._heap[0]

    def put_off(self, limit_ps: int) -> bool:
        """Put the first wake off to its last time before one; return whether it comes later.

        It keeps its number.
        """
        wake = self._heap[0]
        later_ps = last_before(limit_ps, wake.at_ps, wake.step_ps)
        heapreplace(self._heap, wake._replace(at_ps=later_ps))
        return later_ps > wake.at_ps

    def due_ps(self, happened: int) -> list[int]:
        """Return the times of the wakes that may not be put off."""
        return [wake.at_ps for wake in self._heap if not wake.rests(happened)]

    def take(self) -> int:
        """Remove the first wake and return its tag."""
        return heappop(self._heap).tag
