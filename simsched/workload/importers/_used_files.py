"""Files of a workflow in columns: their sizes, and which tasks read and write them."""

from __future__ import annotations

from array import array

import numpy as np

from simsched.workload.arrays import Int64Array
from simsched.workload.builder import Accesses, accesses

WRITTEN, LISTED, READ = range(3)  #: where a size is stated, that which counts first


class Files:
    """Files by name; what is said of them has one entry in columns for each statement."""

    def __init__(self) -> None:
        self.index: dict[str, int] = {}
        self._users, self._used, self._writes = array("i"), array("i"), array("b")
        self._sized, self._places, self._bytes = array("i"), array("b"), array("q")

    def number(self, name: str) -> int:
        """Return the number of a file."""
        return self.index.setdefault(name, len(self.index))

    def use(self, task: int, name: str, *, written: bool) -> None:
        """Add that a task reads or writes a file; tasks come in the order of their numbers."""
        self._users.append(task)
        self._used.append(self.number(name))
        self._writes.append(written)

    def state(self, name: str, place: int, size_bytes: int) -> None:
        """Add a size that is stated where a file is written, listed or read."""
        self._sized.append(self.number(name))
        self._places.append(place)
        self._bytes.append(size_bytes)

    def sizes(self) -> Int64Array:
        """Return the bytes of each file: of the first place that states any, the largest."""
        largest = np.zeros((3, len(self.index)), dtype=np.int64)
        np.maximum.at(largest, (np.asarray(self._places), np.asarray(self._sized)), self._bytes)
        written, listed, read = largest
        return np.where(written > 0, written, np.where(listed > 0, listed, read))

    def used(self, written: bool) -> tuple[Int64Array, Int64Array]:
        """Return tasks and files for what is read or written, each pair once, by task and file."""
        chosen = np.asarray(self._writes) == written
        users, used = np.asarray(self._users)[chosen], np.asarray(self._used)[chosen]
        keys = np.unique((users.astype(np.int64) << 32) | used)
        return keys >> 32, keys & 0xFFFFFFFF

    def accesses(self, size_bytes: Int64Array, n_tasks: int) -> tuple[Int64Array, Accesses]:
        """Return the bytes of each block, and accesses: a task reads its files, then writes some.

        Files of size zero are no blocks; others are in the order in which they are first accessed.
        """
        step = 2 * np.asarray(self._users, dtype=np.int64) + np.asarray(self._writes)
        used = np.asarray(self._used, dtype=np.int64)
        _, first = np.unique(step * len(self.index) + used, return_index=True)
        first = first[size_bytes[used[first]] > 0]
        first = first[np.lexsort((first, step[first]))]
        file, step = used[first], step[first]
        files, begin, place = np.unique(file, return_index=True, return_inverse=True)
        order = np.argsort(begin)
        block = np.empty_like(order)
        block[order] = np.arange(len(order))
        moved, writes = size_bytes[file], step % 2
        rows = accesses(step // 2, block[place], moved * (1 - writes), moved * writes, n_tasks)
        return size_bytes[files[order]], rows

    def counts(self, size_bytes: Int64Array) -> dict[str, object]:
        """Return how many files there are, and what is odd about them."""
        sized, stated = np.asarray(self._sized), np.asarray(self._bytes)
        least = np.full(len(self.index), np.iinfo(np.int64).max)
        most = np.zeros_like(least)
        np.minimum.at(least, sized, stated)
        np.maximum.at(most, sized, stated)
        return {
            "files": len(self.index),
            "files_of_size_zero": int(np.sum(size_bytes == 0)),
            "files_unused": len(self.index) - len(set(self._used)),
            "files_of_several_sizes": int(np.sum(least < most)),
        }
