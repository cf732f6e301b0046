"""Independent tasks that each move bytes of one block: a load on memory controllers.

* *Bytes.* Task t reads ``floor((0.5 + rnd()) * 1e6)`` bytes of block ``t mod blocks``, drawn in
  the order of tasks (:mod:`simsched.workload.bench`).
* *Initialisation.* One independent task per block writes it.

In the published benchmarks of flows the worker decides on the controller, not the task; their
numbers are :func:`~simsched.workload.bench.bench_flows`.
"""

from __future__ import annotations

import numpy as np

from simsched.workload.bench import bench_costs
from simsched.workload.builder import accesses, build_graph, check_size, first_touch_loop
from simsched.workload.graph import Workload
from simsched.workload.registry import MIB, Count, Size, generator


@generator("flows", small={"tasks": 40})
def flows(
    *,
    tasks: Count = 1000,
    blocks: Count = 8,
    block_bytes: Size = 2 * MIB,
    iterations: Count = 1,
) -> Workload:
    """Independent tasks that each read one block and compute nothing.

    Parameters
    ----------
    tasks : int
        How many.
    blocks : int
        How many blocks they share in turn.
    block_bytes : int
        Size of a block.
    iterations : int
        How often the graph is repeated.
    """
    check_size("flows", tasks=max(tasks, blocks), data_bytes=blocks * block_bytes)
    number = np.arange(tasks, dtype=np.int64)
    sizes = np.full(blocks, block_bytes, dtype=np.int64)
    read = np.floor(bench_costs(tasks)).astype(np.int64)
    graph = build_graph(
        np.zeros(tasks),
        accessed=accesses(number, number % blocks, read, 0, tasks),
        block_bytes=sizes,
    )
    return Workload("flows", graph, iterations, first_touch_loop(sizes, 0.0))
