"""Copies of blocks that no worker makes: those of copy engines, to devices and back."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simsched.trace.exporters._source import detail, events_of
from simsched.trace.recording import Recording
from simsched.trace.schema import NONE, EventKind

Int64Array = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Copies:
    """Copies of blocks to nodes in the order in which they begin; `names` are those of nodes."""

    start_ps: Int64Array
    end_ps: Int64Array
    block: Int64Array
    node: Int64Array
    names: tuple[str, ...]

    def under_way(self, node: int) -> tuple[Int64Array, Int64Array]:
        """Return when the number of copies to a node changes, and what it is from then on."""
        rows = self.node == node
        begins, ends = self.start_ps[rows], self.end_ps[rows]
        time, place = np.unique(np.concatenate([begins, ends]), return_inverse=True)
        change = np.zeros(len(time), np.int64)
        np.add.at(change, place, np.repeat([1, -1], len(begins)))
        return time, np.cumsum(change)


def engine_copies(recording: Recording) -> Copies:
    """Return the copies that belong to no worker.

    A block goes to a node once at a time, so its next end there is the end of the copy. Copies that
    never end are left out.
    """
    events = events_of(recording).events
    wanted = [EventKind.MIGRATE_START, EventKind.MIGRATE_END]
    rows = np.flatnonzero((events["worker"] == NONE) & np.isin(events["kind"], wanted))
    rows = rows[np.lexsort((rows, events["arg1"][rows], events["arg0"][rows]))]
    begins = events["kind"][rows] == EventKind.MIGRATE_START
    follows = np.zeros(len(rows), bool)
    follows[:-1] = begins[:-1] & ~begins[1:]
    for name in ("arg0", "arg1"):
        follows[:-1] &= np.diff(events[name][rows]) == 0
    first, last = rows[follows], rows[np.flatnonzero(follows) + 1]
    order = np.argsort(first)
    first, last = first[order], last[order]
    time, block, node = (events[n].astype(np.int64) for n in ("time_ps", "arg0", "arg1"))
    known = detail(recording, "memory_nodes", str) or []
    n_nodes = int(node[first].max(initial=-1)) + 1
    names = (*known, *(f"node {number}" for number in range(len(known), n_nodes)))
    return Copies(time[first], time[last], block[first], node[first], names)
