"""Account of the work that a policy divides; docs/semantics.md, rules U."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from simsched.files.errors import PolicyError
from simsched.files.units import PER_PS
from simsched.policy.contract.records import told
from simsched.trace.schema import Summary
from simsched.workload.division import Division, divided
from simsched.workload.graph import TaskGraph, Workload

Int64Array = NDArray[np.int64]


@dataclass(eq=False)
class Account:
    """Which part has had how many units in every iteration, and how long it took."""

    graph: TaskGraph
    division: Division
    invocations: int
    remaining: int = field(init=False)
    units: list[Int64Array] = field(default_factory=list)
    part_ps: list[Int64Array] = field(default_factory=list)
    _end_ps: list[int] = field(init=False)
    _part: list[int] = field(init=False)

    def __post_init__(self) -> None:
        self.remaining = self.division.units
        self._part = self.division.part.tolist()
        self._end_ps = [0] * self.division.n_parts

    @property
    def is_done(self) -> bool:
        """Whether all work of all invocations has been given out."""
        return self.remaining == 0 and self.invocations <= 1

    def begin(self) -> int:
        """Return how much the next iteration may have; all of it where an invocation begins."""
        if self.remaining == 0:
            self.remaining = self.division.units
            self.invocations -= 1
        return self.remaining

    def give(self, units: object) -> TaskGraph:
        """Return the graph of the next iteration, in which the parts get these units."""
        given = checked_units(units, self.division.n_parts, self.remaining)
        self.remaining -= int(given.sum())
        self.units.append(given)
        self._end_ps = [-1] * self.division.n_parts
        return divided(self.graph, self.division, given)

    def note_end(self, task: int, now_ps: int) -> None:
        """Note the end of a task."""
        part = self._part[task]
        if part >= 0:
            self._end_ps[part] = now_ps

    def close(self, start_ps: int) -> None:
        """Note how long the parts of the iteration that began at a time have taken."""
        self.part_ps.append(np.array(self._end_ps, np.int64) - start_ps)

    @property
    def part_s(self) -> NDArray[np.float64]:
        """What each part took in the last iteration, in seconds."""
        return self.part_ps[-1].astype(np.float64) * PER_PS

    def complete(self, summary: Summary) -> Summary:
        """Return the counters of a run with what the parts had and took."""
        summary.part_units = np.array(self.units, np.int64)
        summary.part_ps = np.array(self.part_ps, np.int64)
        return summary


def account_of(workload: Workload, *, divides: bool) -> Account | None:
    """Return the account of a program whose policy divides its work, None for others."""
    if workload.division is None or not divides:
        return None
    return Account(workload.graph, workload.division, workload.iterations)


def checked_units(units: object, n_parts: int, remaining: int) -> Int64Array:
    """Return what a policy gives to the parts as an array; refuse what is not so many units."""
    try:
        given = np.asarray(units)
    except ValueError:  # rows of different lengths
        given = np.asarray(None)
    if given.shape != (n_parts,) or given.dtype.kind not in "iu":
        accepted = f"whole numbers for {n_parts} parts"
        raise PolicyError(f"divide: found {told(units)}, accepted {accepted}")
    if int(given.min()) < 0 or not 1 <= sum(given.tolist()) <= remaining:
        raise PolicyError(
            f"divide: found {given.tolist()}, accepted 0 or more each, 1 to {remaining} together"
        )
    return given.astype(np.int64)
