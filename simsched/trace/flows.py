"""Memory flows in a trace, and what passes of them in bins of time."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from simsched.trace.schema import EventKind, Trace


def flow_times(
    trace: Trace,
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Return begin and end (ps) of the memory flows of a trace, their paths and the bytes moved.

    A worker's flow starts when its access starts or, for a later flow of an access, when the one
    before has ended.
    """
    events = trace.events
    chosen = np.isin(events["kind"], [EventKind.ACCESS, EventKind.FLOW_END, EventKind.TASK_RESUME])
    order = np.flatnonzero(chosen)
    order = order[np.argsort(events["worker"][order], kind="stable")]
    time, kind = events["time_ps"][order], events["kind"][order]
    ends = np.flatnonzero(kind == EventKind.FLOW_END)
    path, moved = (events[name][order][ends].astype(np.int64) for name in ("arg0", "arg1"))
    return time[np.maximum(ends - 1, 0)].astype(np.int64), time[ends].astype(np.int64), path, moved


def spread(
    begin: NDArray[np.float64],
    end: NDArray[np.float64],
    amount: NDArray[np.float64],
    chosen: NDArray[np.bool_],
    edges: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Return the summed rate of amounts that are spread evenly over intervals, per bin.

    The `chosen` intervals count; bins are equal, `edges` are one more than bins.
    """
    begin, end, amount = begin[chosen], end[chosen], amount[chosen]
    length = np.maximum(end - begin, 1e-12)
    rate = amount / length
    # What has passed by an edge is a sum of ramps: rate * (edge - begin) - rate * (edge - end).
    total = np.zeros(len(edges))
    for instants, sign in ((begin, 1.0), (begin + length, -1.0)):
        order = np.argsort(instants, kind="stable")
        instants, rates = instants[order], sign * rate[order]
        passed = np.searchsorted(instants, edges, side="right")
        slope = np.concatenate([[0.0], np.cumsum(rates)])[passed]
        offset = np.concatenate([[0.0], np.cumsum(rates * instants)])[passed]
        total += slope * edges - offset
    result: NDArray[np.float64] = np.maximum(np.diff(total), 0.0) / np.diff(edges)
    return result
