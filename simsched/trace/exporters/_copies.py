"""Copies of blocks that no worker makes: those of copy engines, to devices and back."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simsched.trace.exporters._source import detail, events_of
from simsched.trace.flows import copy_rows
from simsched.trace.recording import Recording
from simsched.trace.schema import NONE

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
    """Return the copies that belong to no worker; those that never end are left out."""
    trace = events_of(recording)
    rows = copy_rows(trace)
    own = trace.events["worker"][rows.first] == NONE
    first, last, node = rows.first[own], rows.last[own], rows.target[own]
    time, block = (trace.events[name].astype(np.int64) for name in ("time_ps", "arg0"))
    known = detail(recording, "memory_nodes", str) or []
    n_nodes = int(node.max(initial=-1)) + 1
    names = (*known, *(f"node {number}" for number in range(len(known), n_nodes)))
    return Copies(time[first], time[last], block[first], node, names)
