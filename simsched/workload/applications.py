"""Whose tasks are whose, where several programs share a device."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class Applications:
    """Applications that share a device, their queries, and what is known of tasks beforehand.

    Parameters
    ----------
    names : tuple of str
        One per application; instances of a program have names of their own.
    critical : ndarray of bool, shape (n_applications,)
        Latency-critical services; the others are batch jobs.
    target_s : float
        Latency that a query of a critical application must not exceed, in seconds.
    of_task : ndarray of int32, shape (n_tasks,)
        Application of each task.
    query : ndarray of int32, shape (n_tasks,)
        Query that each task belongs to, numbered over all critical applications; -1 for batch.
    feature_names : tuple of str
        What a runtime sees of a kernel or copy when it is submitted.
    features : ndarray of float64, shape (n_tasks, n_features)
        Their values.
    pinned : ndarray of bool, shape (n_blocks,)
        Buffers that the application has allocated as pinned memory.
    """

    names: tuple[str, ...]
    critical: NDArray[np.bool_]
    target_s: float
    of_task: NDArray[np.int32]
    query: NDArray[np.int32]
    feature_names: tuple[str, ...]
    features: NDArray[np.float64]
    pinned: NDArray[np.bool_]

    @property
    def n_queries(self) -> int:
        """Number of queries."""
        return int(self.query.max(initial=-1)) + 1
