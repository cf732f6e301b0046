"""What a policy is told of an iteration that has ended."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

Int32Array = NDArray[np.int32]
Int64Array = NDArray[np.int64]
FloatArray = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Counters:
    """What an iteration has measured, as far as the plan asked for it.

    Parameters
    ----------
    iteration : int
        The iteration that has just ended; 0 is the initialisation.
    duration_s : float
        Its length.
    group_bytes : ndarray of int64, shape (n_groups, n_memory_kinds, 2)
        Bytes moved per counter group, memory kind (order of `PlanView.memory_kinds`) and local (0)
        or remote (1).
    group_missing_bytes : ndarray of int64, shape (n_groups, n_cache_levels)
        Bytes per counter group that accesses wanted from each cache level and that the instance of
        the accessing core did not hold: what a counter of misses shows, times the size of a line.
    samples : ndarray of int64, shape (n_blocks, n_samples)
        For every sampled page, in how many polling loops it was accessed.
    block_home : ndarray of int32, shape (n_blocks,)
        Present home of each block; -1 when it has none yet.
    node_used_bytes : ndarray of int64, shape (n_nodes,)
        Bytes of blocks on each node.
    executed_by : ndarray of int32, shape (n_tasks,)
        Worker on which each task ended.
    executed_ps : ndarray of int64, shape (n_tasks,) or (0,)
        Time that each task has been executed, on whatever cores; empty unless the plan asks for it.
        What it waited for, and what its worker paid for, is not part of it.
    node_load : ndarray of float64, shape (n_nodes,)
        Bytes that flows of the iteration have moved on each node, over its bandwidth and the time:
        accesses and copies, more than their bytes where remote or written ones cost more. Of the
        node, a cache in front of it and a controller that it shares, the fullest counts.
    link_load : ndarray of float64, shape (n_links,)
        The same of links; with messages of cache coherence.
    part_units : ndarray of int64, shape (n_parts,)
        Units that each part had of work that the policy divides; empty for other programs.
    part_s : ndarray of float64, shape (n_parts,)
        Time from the start of the iteration to the end of the last task of each part.
    """

    iteration: int
    duration_s: float
    group_bytes: Int64Array
    group_missing_bytes: Int64Array
    samples: Int64Array
    block_home: Int32Array
    node_used_bytes: Int64Array
    executed_by: Int32Array
    executed_ps: Int64Array
    node_load: FloatArray = field(default_factory=lambda: np.empty(0))
    link_load: FloatArray = field(default_factory=lambda: np.empty(0))
    part_units: Int64Array = field(default_factory=lambda: np.empty(0, np.int64))
    part_s: NDArray[np.float64] = field(default_factory=lambda: np.empty(0))
