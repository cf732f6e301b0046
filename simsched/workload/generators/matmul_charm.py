"""Dense matrix product as a chare program: an array of chares that share panels of both operands.

C = A B with matrices of order n and elements of e bytes; chare (i, j) of an array with R rows and S
columns computes block (i, j) of C with one call of a tuned matrix product (dgemm).

* *Tasks.* One per chare, ``R S`` independent tasks in row-major order.
* *Blocks.* Panel i of A: the rows ``n i // R`` to ``n (i + 1) // R - 1``; panel j of B: columns in
  the same way; block (i, j) of C. They are numbered in this order, ``R + S + R S`` in all, and hold
  ``3 n^2 e`` bytes.
* *Bytes.* dgemm keeps a block of A of `row_block` x `depth_block` elements in the core's cache and
  streams B and C past it. For p rows and q columns it reads its panel of A once, that of B
  ``ceil(p / row_block)`` times, and reads and writes its block of C ``ceil(n / depth_block)``
  times. The first pass over a panel or block is one access, all others together another, so that a
  memory-side cache can hold what the first one has loaded.
* *Operations.* ``p q n`` multiply-adds of `ops_per_multiply_add` each. A tuned product does about
  20 floating-point operations per cycle on Knights Landing; machines here count 8 for compiled
  code, hence 0.8.
* *Initialisation.* One task per block writes it.

That the library copies what it streams into buffers of its own is left out.

References
----------
Chandrasekar et al., IPDPS Workshops 2017 (docs/sources/charm.md), section V-B. K. Goto, R. A. van
de Geijn, *Anatomy of high-performance matrix multiplication*, ACM TOMS 34(3), 2008 (what is kept
and what is streamed).
"""

from __future__ import annotations

import numpy as np

from simsched.files.errors import ConfigurationError
from simsched.workload.builder import accesses, build_graph, check_size, first_touch_loop
from simsched.workload.graph import Int64Array, Workload
from simsched.workload.registry import Cost, Count, Size, generator


@generator(
    "matmul_charm",
    small={"order": 96, "chare_rows": 8, "chare_columns": 3, "row_block": 5, "depth_block": 40},
)
def matmul_charm(
    *,
    order: Count = 2048,
    chare_rows: Count = 16,
    chare_columns: Count = 8,
    element_bytes: Size = 8,
    row_block: Count = 120,
    depth_block: Count = 336,
    ops_per_multiply_add: Cost = 0.8,
    init_ops_per_element: Cost = 2.0,
    iterations: Count = 1,
) -> Workload:
    """Matrix product over a two-dimensional array of chares.

    Parameters
    ----------
    order : int
        Rows and columns of the matrices.
    chare_rows, chare_columns : int
        Shape of the array of chares; neither more than `order`.
    element_bytes : int
        Bytes of one element.
    row_block, depth_block : int
        Rows of A, and columns of A, that dgemm keeps in the cache.
    ops_per_multiply_add : float
        Operations of a multiplication and an addition.
    init_ops_per_element : float
        Operations per element of the initialisation.
    iterations : int
        How often the product is computed.
    """
    for name, value in (("chare_rows", chare_rows), ("chare_columns", chare_columns)):
        if value > order:
            raise ConfigurationError(
                f"workload matmul_charm: {name}: found {value}, accepted at most order, "
                f"which is {order}"
            )
    n_tasks = chare_rows * chare_columns
    check_size("matmul_charm", tasks=n_tasks, data_bytes=order**3 * element_bytes)
    row, column = np.divmod(np.arange(n_tasks, dtype=np.int64), chare_columns)
    height, width = _parts(order, chare_rows), _parts(order, chare_columns)
    rows, columns = height[row], width[column]
    line = order * element_bytes
    result_bytes = rows * columns * element_bytes
    sizes = np.concatenate((height * line, width * line, result_bytes))
    result = chare_rows + chare_columns + np.arange(n_tasks)
    passes = np.column_stack(
        (
            np.ones(n_tasks, np.int64),
            -(-rows // row_block),
            np.full(n_tasks, -(-order // depth_block)),
        )
    )
    once = np.column_stack((rows * line, columns * line, result_bytes))
    read = np.stack((once, (passes - 1) * once), axis=2)
    written = read * np.array([0, 0, 1])[:, None]
    block = np.column_stack((row, chare_rows + column, result))
    block = np.broadcast_to(block[:, :, None], read.shape)
    task = np.broadcast_to(np.arange(n_tasks)[:, None, None], read.shape)
    some = read > 0
    graph = build_graph(
        ops_per_multiply_add * rows * columns * order,
        class_names=("multiply",),
        accessed=accesses(task[some], block[some], read[some], written[some], n_tasks),
        block_bytes=sizes,
    )
    init = first_touch_loop(sizes, sizes / element_bytes * init_ops_per_element)
    return Workload("matmul_charm", graph, iterations, init)


def _parts(order: int, parts: int) -> Int64Array:
    return np.diff(order * np.arange(parts + 1, dtype=np.int64) // parts)
