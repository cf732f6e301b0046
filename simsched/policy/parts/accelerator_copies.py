"""Copies between host and accelerator: how many share a link, in what pieces they go."""

from __future__ import annotations

import math

import numpy as np

from simsched.machine.model import Machine
from simsched.policy.parts.accelerator import Layout
from simsched.workload.graph import BoolArray, Int64Array, TaskGraph

#: Of the source's server, where a machine states no link: what PCI-e delivers and what one copy
#: from pageable memory takes.
EFFECTIVE_BYTES_PER_S, COPY_BYTES_PER_S = 12160e6, 3150e6


def batch_copies(effective_bytes_per_s: float, copy_bytes_per_s: float) -> int:
    """Return how many batch copies may run at once in a direction; one place is for queries.

    ``floor(BW_peak / BW_memcpy) - 1`` (equation 8.7).

    >>> batch_copies(12160e6, 3150e6)
    2
    """
    return math.floor(effective_bytes_per_s / copy_bytes_per_s) - 1


def most_batch_copies(machine: Machine, layout: Layout) -> tuple[int, int]:
    """Return how many batch copies may run at once into the device and out of it, at least one."""
    host, most = int(machine.touch_order[0, 0]), [1, 1]
    for direction in (0, 1):
        domains = layout.domain[layout.direction == direction]
        if not len(domains):
            continue
        path = machine.paths[max(0, int(domains[0]))][host]
        link, one = EFFECTIVE_BYTES_PER_S, COPY_BYTES_PER_S
        if path.links:
            link = machine.link_rate(path)
            cap = path.write_core_cap if direction else path.core_cap_bytes_per_s
            one = min(link, cap[0])
        most[direction] = max(1, batch_copies(link, one))
    return most[0], most[1]


def pinned_copies(layout: Layout) -> BoolArray:
    """Return which tasks are copies of pinned memory."""
    known = layout.applications
    if known is None or "pinned" not in known.feature_names:
        return np.zeros(len(layout.domain), bool)
    pinned: BoolArray = known.features[:, known.feature_names.index("pinned")] > 0
    return pinned


def pieces(layout: Layout, graph: TaskGraph) -> tuple[BoolArray, Int64Array]:
    """Return which tasks go on with the copy of their predecessor, and each one's next piece."""
    source = np.repeat(np.arange(graph.n_tasks), np.diff(graph.succ_ptr))
    joined = layout.direction[source] >= 0
    for column in (layout.direction, layout.application, layout.query, graph.task_class):
        joined &= column[source] == column[graph.succ]
    follows, next_piece = np.zeros(graph.n_tasks, bool), np.full(graph.n_tasks, -1, np.int64)
    follows[graph.succ[joined]] = True
    next_piece[source[joined]] = graph.succ[joined]
    return follows, next_piece
