"""Groups of cores of one speed, and the division of classes of tasks among them."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations, combinations_with_replacement

import numpy as np
from numpy.typing import ArrayLike

from simsched.policy.contract.base import PlanView
from simsched.workload.graph import FloatArray, Int32Array

#: Most candidates that `cut_points` looks at one by one.
MAX_CANDIDATES = 3_000_000


@dataclass(frozen=True, eq=False)
class CoreGroups:
    """Workers by the speed of the cores on which they start; group 0 is the fastest."""

    of_worker: Int32Array  # shape (n_workers,): group of each worker
    size: Int32Array  # shape (n_groups,): number of workers
    ops_per_s: FloatArray  # shape (n_groups,): speed of a core, falling
    clock_hz: FloatArray  # shape (n_groups,): clock of the group's first core

    @property
    def n(self) -> int:
        return len(self.size)

    @property
    def fastest_worker(self) -> int:
        """The first worker of the fastest group."""
        return int(self.of_worker.argmin())


def core_groups(view: PlanView) -> CoreGroups:
    """Return the groups of the workers of a run."""
    machine = view.machine
    kinds = machine.thread_group[view.worker_thread]
    cores = [machine.core_groups[kind] for kind in kinds.tolist()]
    speed = np.array([core.ops_per_s for core in cores])
    found, first, inverse, count = np.unique(
        -speed, return_index=True, return_inverse=True, return_counts=True
    )
    per_cycle = np.array([cores[worker].ops_per_cycle for worker in first.tolist()])
    return CoreGroups(inverse.astype(np.int32), count.astype(np.int32), -found, -found / per_cycle)


def preference(group: int, n_groups: int) -> list[int]:
    """Return the order in which a core of a group looks at the groups: help the weaker first.

    >>> preference(1, 3)
    [1, 2, 0]
    """
    return [*range(group, n_groups), *range(group - 1, -1, -1)]


def n_candidates(items: int, n_groups: int) -> int:
    """Return the number of ways to cut a row of items into non-empty parts for all groups."""
    return math.comb(items - 1, n_groups - 1)


def cut_points(times: ArrayLike, size: ArrayLike) -> list[int]:
    """Return where a row of items is cut so that the slowest group needs least time.

    A group needs ``sum of its times / size``. All ways to cut the row into non-empty parts are
    compared; of equal ones the last in lexicographic order remains. Parts may be empty if there are
    fewer items than groups. With more than `MAX_CANDIDATES` ways, the smallest time is found by
    bisection instead, each group taking what it can.

    >>> cut_points([[6.0, 12.0, 24.0], [1.0, 2.0, 4.0]], [1, 1, 1])  # 6, 2 and 0; not 6, 0 and 4
    [1, 2]
    """
    table, cores = np.asarray(times, np.float64), np.asarray(size, np.float64)
    items, groups = table.shape
    before = np.vstack([np.zeros(groups), np.cumsum(table, axis=0)]) / cores
    if groups == 1:
        return []
    ways: Iterator[tuple[int, ...]]
    if items < groups:
        ways = combinations_with_replacement(range(items + 1), groups - 1)
    elif n_candidates(items, groups) > MAX_CANDIDATES:
        return _bisect(before)
    else:
        ways = combinations(range(1, items), groups - 1)
    cuts = np.fromiter((cut for way in ways for cut in way), np.int32).reshape(-1, groups - 1)
    longest = np.zeros(len(cuts))
    for group in range(groups):
        first = cuts[:, group - 1] if group > 0 else 0
        end = cuts[:, group] if group < groups - 1 else items
        # What no core can do takes for ever: inf - inf. Such a run is refused when it comes to it.
        with np.errstate(invalid="ignore"):
            longest = np.maximum(longest, before[end, group] - before[first, group])
    best = len(longest) - 1 - int(longest[::-1].argmin())
    return [int(cut) for cut in cuts[best]]


def _bisect(before: FloatArray) -> list[int]:
    """Return the cuts of the smallest longest time; `before` are sums of times by core."""
    low, high = 0.0, float(before[-1].max())
    for _ in range(200):
        middle = (low + high) / 2
        if middle in (low, high):
            break
        low, high = (low, middle) if _cuts_within(before, middle) else (middle, high)
    cuts = _cuts_within(before, high)
    assert cuts is not None
    return cuts


def _cuts_within(before: FloatArray, limit: float) -> list[int] | None:
    """Return cuts with which no group needs more than a time, or None."""
    items, groups = len(before) - 1, before.shape[1]
    cuts, first = [], 0
    for group in range(groups):
        most = int(np.searchsorted(before[:, group], before[first, group] + limit, "right")) - 1
        end = min(most, items - (groups - 1 - group))  # the groups behind need an item each
        if end <= first or (group == groups - 1 and end < items):
            return None
        cuts.append(end)
        first = end
    return cuts[:-1]
