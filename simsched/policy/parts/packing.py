"""Cache-friendly subtrees: how a spawn tree is packed, and how the packing is tuned."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum

import numpy as np
from numpy.typing import NDArray

from simsched.policy.parts.allocation import STRADDLES
from simsched.policy.parts.footprint import ROOT, cut_at, cut_by_footprint
from simsched.policy.parts.subgraphs import levels
from simsched.workload.graph import BoolArray, Int32Array, TaskGraph


def initial_roots(
    graph: TaskGraph, part: Int32Array, subtree_bytes: NDArray[np.generic], capacity_bytes: float
) -> BoolArray:
    """Return the roots of the largest subtrees whose data fit a shared cache (LAWS, section 3.3.1).

    A task is a root if its data fit and those of its parent do not. Readings: docs/sources/laws.md.
    """
    needed = np.where(part == STRADDLES, np.inf, subtree_bytes.astype(np.float64))
    roots: BoolArray = cut_by_footprint(graph, needed, capacity_bytes).of_task == ROOT
    return roots


def inside(graph: TaskGraph, roots: BoolArray) -> BoolArray:
    """Return the tasks below a root, roots excluded; shape (n_tasks,)."""
    below = np.zeros(graph.n_tasks, bool)
    for tasks in levels(graph)[1:]:
        parent = graph.parent[tasks]
        below[tasks] = below[parent] | roots[parent]
    return below


def smaller(graph: TaskGraph, roots: BoolArray) -> BoolArray:
    """Return the packing with the children of the roots as roots; roots without children stay."""
    is_leaf = np.diff(graph.child_ptr) == 0
    parent = graph.parent
    found: BoolArray = (roots & is_leaf) | ((parent >= 0) & roots[parent])
    return found


def larger(graph: TaskGraph, part: Int32Array, roots: BoolArray) -> BoolArray:
    """Return the packing with the parents of the roots as roots.

    A root whose parent belongs to several sockets, or that has none, stays. Where one of the new
    roots lies below another one (roots at different depths), the upper one counts.
    """
    parent = graph.parent
    moves = roots & (parent >= 0) & (part[parent] != STRADDLES)
    candidates = roots & ~moves
    candidates[parent[moves]] = True
    found: BoolArray = candidates & ~inside(graph, candidates)
    return found


def separable(graph: TaskGraph, roots: BoolArray) -> bool:
    """Return whether a subtree that has been begun needs nothing from outside.

    A socket that works on one subtree at a time would otherwise wait for tasks behind it.
    """
    return cut_at(graph, roots).separable


class Phase(Enum):
    """What the next iteration tries."""

    INITIAL = "the initial packing"
    DOWN = "smaller subtrees"
    UP = "larger subtrees"
    DONE = "the best packing"


@dataclass(eq=False)
class Tuner:
    """Search for the best size of cache-friendly subtrees, one packing per iteration.

    First the subtrees shrink, level by level, while each iteration is shorter than the one before.
    Only if the first smaller packing is not better do they grow in the same way from the initial
    one. The best packing is used from then on. A tie on the way down ends it, one on the way up
    goes on (LAWS, ICS 2014, section 3.3.2 and algorithm 1).
    """

    graph: TaskGraph  # the graph of an iteration
    part: Int32Array  # shape (n_tasks,): socket of each task
    #: shape (n_tasks,): the packing of the next iteration; at first the initial one
    roots: BoolArray
    phase: Phase = Phase.INITIAL
    best: BoolArray = field(init=False)
    best_s: float = field(init=False, default=float("inf"))

    def __post_init__(self) -> None:
        self.best = self.initial = self.roots

    @property
    def is_done(self) -> bool:
        return self.phase is Phase.DONE

    def record(self, duration_s: float) -> None:
        """Take the length of an iteration under `roots`, and choose `roots` for the next one."""
        if self.is_done:
            return
        is_up = self.phase is Phase.UP
        if duration_s < self.best_s or (is_up and duration_s == self.best_s):
            self.best, self.best_s = self.roots, duration_s
            go_on = self._go_up if is_up else self._go_down
            go_on()
        elif not is_up and self.best is self.initial:
            self.roots = self.initial
            self._go_up()
        else:
            self._finish()

    def _go_down(self) -> None:
        """Try smaller subtrees; if there are none, larger ones or none at all."""
        tried = smaller(self.graph, self.roots)
        if self._is_new(tried):
            self.phase, self.roots = Phase.DOWN, tried
        elif self.best is self.initial:
            self._go_up()
        else:
            self._finish()

    def _go_up(self) -> None:
        """Try larger subtrees; if there are none, finish."""
        tried = larger(self.graph, self.part, self.roots)
        if self._is_new(tried):
            self.phase, self.roots = Phase.UP, tried
        else:
            self._finish()

    def _is_new(self, tried: BoolArray) -> bool:
        """Return whether a packing is another one than the present one, and can be executed."""
        return not np.array_equal(tried, self.roots) and separable(self.graph, tried)

    def _finish(self) -> None:
        """Keep the best packing."""
        self.phase, self.roots = Phase.DONE, self.best
