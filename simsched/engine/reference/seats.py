"""What comes with a hardware thread, and the swapping of it; docs/semantics.md, rules X."""

from __future__ import annotations

from dataclasses import replace

from simsched.engine.interface.problem import Problem

#: Fields of a problem that belong to the thread of each worker, with the axis of the workers.
SEAT = {
    "worker_core": 0,
    "worker_module": 0,
    "worker_domain": 0,
    "worker_kind": 0,
    "worker_rate": 0,
    "cache_instance": 1,
}


def own_seats(problem: Problem) -> Problem:
    """Return the problem with arrays of its own for what may be swapped."""
    return replace(problem, **{name: getattr(problem, name).copy() for name in SEAT})


def swap_seats(problem: Problem, first: int, second: int) -> None:
    """Give each of two workers what came with the other's thread."""
    for name, axis in SEAT.items():
        array = getattr(problem, name)
        rows = array if axis == 0 else array.T
        rows[[first, second]] = rows[[second, first]]
