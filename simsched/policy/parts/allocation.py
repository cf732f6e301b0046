"""Dividing a spawn tree among sockets by the part of the data that each task works on."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from simsched.policy.parts.subgraphs import levels
from simsched.workload.graph import Int32Array, TaskGraph

STRADDLES = -1  #: part of a task whose data belong to several parts


def allocate(graph: TaskGraph, n_parts: int) -> Int32Array:
    """Return the part of the data that each task works on (LAWS, section 3.2, equation 1).

    A task is taken to divide its range evenly among its children. Part i is [i / n, (i + 1) / n). A
    task whose range lies inside one part belongs to it, with its whole subtree. Ranges are rational
    numbers, and only tasks that cross a border have their children looked at.
    """
    part = np.full(graph.n_tasks, STRADDLES, np.int32)
    top = np.flatnonzero(graph.parent < 0)
    crossing = _divide(part, top, Fraction(0), Fraction(1), n_parts)
    while crossing:
        below = []
        for task, start, end in crossing:
            children = graph.child[graph.child_ptr[task] : graph.child_ptr[task + 1]]
            if len(children):
                below += _divide(part, children, start, end, n_parts)
            else:
                part[task] = _larger_share(start, end, n_parts)
        crossing = below
    for tasks in levels(graph)[1:]:
        above = part[graph.parent[tasks]]
        inherits = above != STRADDLES
        part[tasks[inherits]] = above[inherits]
    return part


def _divide(
    part: Int32Array, tasks: NDArray[np.integer], start: Fraction, end: Fraction, n_parts: int
) -> list[tuple[int, Fraction, Fraction]]:
    """Allocate tasks that share a range evenly; return those that cross a border, with ranges."""
    n = len(tasks)
    base = int(start * n_parts)
    borders = [Fraction(k, n_parts) for k in range(base + 1, n_parts) if Fraction(k, n_parts) < end]
    place = [(border - start) * n / (end - start) for border in borders]
    part[tasks] = base + np.searchsorted([-(-p // 1) for p in place], np.arange(n), side="right")
    crossing = sorted({int(p) for p in place if p.denominator > 1})
    part[tasks[crossing]] = STRADDLES
    width = (end - start) / n if n else Fraction(0)
    return [(int(tasks[i]), start + i * width, start + (i + 1) * width) for i in crossing]


def _larger_share(start: Fraction, end: Fraction, n_parts: int) -> int:
    """Return the part that holds most of a range, the first of equal ones."""
    candidates = range(int(start * n_parts), n_parts)
    return max(
        candidates,
        key=lambda i: min(end, Fraction(i + 1, n_parts)) - max(start, Fraction(i, n_parts)),
    )
