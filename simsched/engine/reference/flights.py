"""Entries on their way from one pool to another; docs/semantics.md, rules TR."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Flight:
    """Entries that arrive together; none at all is an answer that brings nothing."""

    time_ps: int
    group: int
    instance: int
    entries: tuple[int, ...]
    asker: int | None  # the worker that waits for them


class Flights:
    """All flights of one iteration, by number in the order of their departure."""

    def __init__(self) -> None:
        self._flights: dict[int, Flight] = {}
        self._departed = 0

    def depart(self, flight: Flight) -> None:
        """Add a flight."""
        self._flights[self._departed] = flight
        self._departed += 1

    def land(self, number: int) -> Flight:
        """Remove and return a flight."""
        return self._flights.pop(number)

    def times(self, *, loaded: bool) -> list[tuple[int, int]]:
        """Return (time, number) of the flights with entries, or of those without."""
        return [(f.time_ps, n) for n, f in self._flights.items() if bool(f.entries) == loaded]
