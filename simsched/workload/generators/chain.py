"""A chain of tasks: no parallelism at all, and no blocks."""

from __future__ import annotations

import numpy as np

from simsched.workload.builder import adjacency, build_graph, check_size
from simsched.workload.graph import Workload
from simsched.workload.registry import Cost, Count, generator


@generator("chain", small={"tasks": 12, "iterations": 2})
def chain(
    *,
    tasks: Count = 100,
    ops: Cost = 1e6,
    iterations: Count = 1,
) -> Workload:
    """Chain of tasks, each waiting for the one before.

    Parameters
    ----------
    tasks : int
        Length of the chain.
    ops : float
        Operations of each task.
    iterations : int
        How often the chain is repeated.
    """
    check_size("chain", tasks=tasks)
    number = np.arange(tasks, dtype=np.int64)
    successors = adjacency(number[:-1], number[1:], tasks)
    return Workload("chain", build_graph(np.full(tasks, ops), successors=successors), iterations)
