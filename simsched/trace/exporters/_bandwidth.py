"""Bandwidth of each memory node over time."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from simsched.files.units import PER_PS
from simsched.trace.exporters._source import detail, events_of
from simsched.trace.flows import flow_times, spread
from simsched.trace.recording import Recording

ALL_MEMORY = "memory"  #: the one series of a recording that does not know where its paths lead

HALF_A_BYTE = 0.5


def node_bandwidth(
    recording: Recording, bins: int
) -> tuple[NDArray[np.int64], dict[str, NDArray[np.int64]]]:
    """Return edges of equal time bins (ps), and the bytes per second at each memory node in each.

    Details of the recording name the nodes and the node that each path leads to; without them all
    flows count as one series, `ALL_MEMORY`. There are no nodes when no flow is recorded.
    """
    begin, end, path, moved = flow_times(events_of(recording))
    last = int(recording.trace.events["time_ps"].max())
    # The last times of int64 are doubles that it cannot hold.
    edges = np.minimum(np.linspace(0, max(last, 1), bins + 1), np.nextafter(2.0**63, 0))
    if not len(begin):
        return edges.astype(np.int64), {}
    names = detail(recording, "memory_nodes", str)
    leads = np.array(detail(recording, "path_node", int) or [], np.int64)
    if names is None or not 0 <= path.min() <= path.max() < len(leads):
        names, node = [ALL_MEMORY], np.zeros(len(path), np.int64)
    else:
        node = leads[path]
    start_s, end_s = begin.astype(np.float64) * PER_PS, end.astype(np.float64) * PER_PS
    n_bytes = moved.astype(np.float64)
    result = {}
    for index, name in enumerate(names):
        if np.any(node == index):
            rates = spread(start_s, end_s, n_bytes, node == index, edges * PER_PS)
            rates[rates * np.diff(edges * PER_PS) < HALF_A_BYTE] = 0.0  # what rounding has left
            result[name] = np.rint(rates).astype(np.int64)
    return edges.astype(np.int64), result
