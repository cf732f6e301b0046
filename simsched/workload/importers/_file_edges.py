"""Edges between tasks that follow from the files that they read and write.

A task waits for the version of a file that it reads. Which one that is follows from the edges that
are declared:

* Of the writers before the reader the last ones count, those that no other writer is behind.
* Writers behind the reader overwrite the file later and count for others.
* If none is before it, the writers count that are in no declared order with it and do not read the
  file themselves, which would be updates in an order that nobody tells. The only writer of a file
  counts all the same.

So files that are updated in place, or overwritten, make no cycle and add no order of their own.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from simsched.workload.arrays import BoolArray, Int64Array
from simsched.workload.listed import adjacency

Uses = tuple[Int64Array, Int64Array]  #: tasks and files, each pair once, ascending


def file_edges(
    declared: Int64Array, reads: Uses, writes: Uses, n_tasks: int
) -> tuple[Int64Array, Int64Array]:
    """Return an edge and its file for every version of a file that a task waits for.

    Edges are numbers, the earlier task in the upper half and the later one in the lower; those that
    are declared ascend. Nothing follows where they have a cycle.
    """
    readers, read = reads
    by_file = np.argsort(writes[1], kind="stable")
    writers, written = writes[0][by_file], writes[1][by_file]
    first = np.searchsorted(written, read, side="left")
    last = np.searchsorted(written, read, side="right")
    own = _are_among((read << 32) | readers, (written << 32) | writers)
    others = last - first - own
    # Most files have one other writer, which is declared to be before the reader.
    rows = np.flatnonzero(others == 1)
    place = first[rows]
    place += writers[place] == readers[rows]
    edges = (writers[place] << 32) | readers[rows]
    declared_too = _are_among(edges, declared)
    edges, rows = edges[declared_too], rows[declared_too]
    unsure = others > 0
    unsure[rows] = False
    open_rows = np.flatnonzero(unsure)
    if not len(open_rows):
        return edges, read[rows]
    order = _Order(n_tasks, declared)
    if order.has_cycle:
        return edges[:0], read[:0]
    found, found_rows = [edges], [rows]
    are_read = (readers << 32) | read
    for row in open_rows.tolist():
        among = writers[first[row] : last[row]].tolist()
        before = list(_writers_for(int(readers[row]), int(read[row]), among, are_read, order))
        found.append((np.array(before, dtype=np.int64) << 32) | readers[row])
        found_rows.append(np.full(len(before), row))
    return np.concatenate(found), read[np.concatenate(found_rows)]


def _are_among(edges: Int64Array, ascending: Int64Array) -> BoolArray:
    """Return which of some numbers are among others that ascend."""
    if not len(ascending):
        return np.zeros(len(edges), dtype=np.bool_)
    place = np.searchsorted(ascending, edges)
    found: BoolArray = ascending[np.minimum(place, len(ascending) - 1)] == edges
    return found


def _writers_for(
    task: int, file: int, writers: list[int], are_read: Int64Array, order: _Order
) -> Iterable[int]:
    """Return the writers of the version that a task reads."""
    known = {writer for writer in writers if writer != task}
    if found := order.last_before(task, known):
        return found
    open_ones = np.array(sorted(known - order.behind(task, known)), dtype=np.int64)
    first = open_ones[~_are_among((open_ones << 32) | file, are_read)]
    chosen: list[int] = (first if len(first) or len(writers) > 1 else open_ones).tolist()
    return chosen


class _Lists:
    """Targets of each source, those of all in one list."""

    def __init__(self, sources: Int64Array, targets: Int64Array, count: int) -> None:
        ptr, target = adjacency(sources, targets, count)
        self._ptr: list[int] = ptr.tolist()
        self._target: list[int] = target.tolist()

    def of(self, source: int) -> list[int]:
        """Return the targets of a source."""
        return self._target[self._ptr[source] : self._ptr[source + 1]]


class _Order:
    """What is declared to be before what."""

    def __init__(self, n_tasks: int, declared: Int64Array) -> None:
        earlier, later = declared >> 32, declared & 0xFFFFFFFF
        self._before = _Lists(later, earlier, n_tasks)
        self._after = _Lists(earlier, later, n_tasks)
        #: Tasks of the longest chain before each one: who is before another one has fewer.
        self.level = [0] * n_tasks
        missing = np.bincount(later, minlength=n_tasks).tolist()
        ready = [task for task in range(n_tasks) if not missing[task]]
        for task in ready:  # it grows meanwhile
            for behind in self._after.of(task):
                self.level[behind] = max(self.level[behind], self.level[task] + 1)
                missing[behind] -= 1
                if not missing[behind]:
                    ready.append(behind)
        self.has_cycle = len(ready) < n_tasks

    def last_before(self, task: int, among: set[int]) -> set[int]:
        """Return those of some tasks before a task that no other of them is behind."""
        found = self._first_met(task, among, through=False)
        if len(found) > 1:
            for later in list(found):
                found -= self._first_met(later, found, through=True)
        return found

    def _first_met(self, task: int, among: set[int], *, through: bool) -> set[int]:
        """Return which of some tasks are met on the way back from one, also behind each other."""
        floor = min((self.level[other] for other in among), default=0)
        met, seen, open_ones = set(), {task}, [task]
        while open_ones:
            for earlier in self._before.of(open_ones.pop()):
                if earlier in seen or self.level[earlier] < floor:
                    continue
                seen.add(earlier)
                if earlier in among:
                    met.add(earlier)
                if through or earlier not in among:
                    open_ones.append(earlier)
        return met

    def behind(self, task: int, among: set[int]) -> set[int]:
        """Return which of some tasks are behind a task."""
        highest = max((self.level[other] for other in among), default=-1)
        seen, open_ones = {task}, [task]
        while open_ones:
            here = open_ones.pop()
            if self.level[here] < highest:
                fresh = set(self._after.of(here)) - seen
                seen |= fresh
                open_ones += fresh
        return seen & among
