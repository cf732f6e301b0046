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

from collections.abc import Collection, Iterable, Sequence

Edge = tuple[int, int]


def file_edges(
    declared: Collection[Edge],
    inputs: Sequence[Collection[str]],
    outputs: Sequence[Collection[str]],
) -> set[tuple[int, int, str]]:
    """Return (writer, reader, file) for every version of a file that a task waits for.

    Files are given for each task. Nothing follows where the declared edges have a cycle.
    """
    order = _Order(len(inputs), declared)
    if order.has_cycle:
        return set()
    reads = [set(files) for files in inputs]
    writers: dict[str, list[int]] = {}
    for task, files in enumerate(outputs):
        for file in dict.fromkeys(files):
            writers.setdefault(file, []).append(task)
    return {
        (writer, task, file)
        for task, files in enumerate(reads)
        for file in files
        for writer in _writers_for(task, file, writers.get(file, []), reads, order)
    }


def _writers_for(
    task: int, file: str, writers: list[int], reads: Sequence[set[str]], order: _Order
) -> Iterable[int]:
    """Return the writers of the version that a task reads."""
    others = [writer for writer in writers if writer != task]
    if len(others) == 1 and (others[0] in order.before[task]):
        return others
    known = set(others)
    if found := order.last_before(task, known):
        return found
    open_ones = known - order.behind(task, known)
    first = [writer for writer in open_ones if file not in reads[writer]]
    return first or (open_ones if len(writers) == 1 else ())


class _Order:
    """What is declared to be before what."""

    def __init__(self, n_tasks: int, declared: Collection[Edge]) -> None:
        self.before: list[set[int]] = [set() for _ in range(n_tasks)]
        self.after: list[list[int]] = [[] for _ in range(n_tasks)]
        for earlier, later in declared:
            self.before[later].add(earlier)
            self.after[earlier].append(later)
        #: Tasks of the longest chain before each one: who is before another one has fewer.
        self.level = [0] * n_tasks
        missing = [len(tasks) for tasks in self.before]
        ready = [task for task in range(n_tasks) if not missing[task]]
        for task in ready:  # it grows meanwhile
            for later in self.after[task]:
                self.level[later] = max(self.level[later], self.level[task] + 1)
                missing[later] -= 1
                if not missing[later]:
                    ready.append(later)
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
            for earlier in self.before[open_ones.pop()]:
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
                fresh = set(self.after[here]) - seen
                seen |= fresh
                open_ones += fresh
        return seen & among
