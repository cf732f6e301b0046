"""Whose tasks are whose, where several programs share a device."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class Applications:
    """Applications that share a device, their queries, and what is known of tasks beforehand."""

    #: One per application; instances of a program have names of their own.
    names: tuple[str, ...]
    #: Latency-critical services; the others are batch jobs; shape (n_applications,).
    critical: NDArray[np.bool_]
    #: Latency that a query of a critical application must not exceed, in seconds.
    target_s: float
    #: Application of each task; shape (n_tasks,).
    of_task: NDArray[np.int32]
    #: Query that each task belongs to, numbered over all critical applications; -1 for batch; shape
    #: (n_tasks,).
    query: NDArray[np.int32]
    #: What a runtime sees of a kernel or copy when it is submitted.
    feature_names: tuple[str, ...]
    features: NDArray[np.float64]
    #: Buffers that the application has allocated as pinned memory; shape (n_blocks,).
    pinned: NDArray[np.bool_]

    @property
    def n_queries(self) -> int:
        """Number of queries."""
        return int(self.query.max(initial=-1)) + 1
