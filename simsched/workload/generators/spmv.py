"""Product of a sparse matrix and a vector, irregular by its rows.

* *Matrix.* ``rmat``: 2^scale rows of a Graph 500 matrix, whose rows differ by orders of magnitude;
  ``band``: a quasi-diagonal one (:mod:`simsched.workload.sparse_rows`).
* *Tasks.* `chunks` chunks of consecutive rows with as equal numbers of rows as possible, for
  policies that do not divide the rows themselves.
* *Blocks.* The matrix, `nonzero_bytes` per non-zero, and the result, 4 bytes per row. A chunk reads
  its part of the one and writes its part of the other.
* *Operations.* ``cpu_ops`` per non-zero on processors. A GPU executes 32 rows in lock step, each as
  long as the longest of them: ``gpu_ops`` per non-zero of that length, for each row; and the time
  of `saturation_rows` rows of average length on top.

References
----------
F. Zhang et al., *FinePar: irregularity-aware fine-grained workload partitioning on integrated
architectures*, CGO 2017. Graph 500 benchmark specification (R-MAT parameters).
"""

from __future__ import annotations

from typing import Annotated, Literal

import numpy as np

from simsched.workload.builder import accesses, build_graph, check_size
from simsched.workload.draws import stream
from simsched.workload.graph import Workload
from simsched.workload.registry import Bounds, Cost, Count, Size, generator
from simsched.workload.sparse_rows import MatrixWorkload, RowCosts, band_rows, rmat_rows

RESULT_BYTES = 4


@generator("spmv", small={"scale": 9, "chunks": 8})
def spmv(
    seed: int,
    *,
    matrix: Literal["rmat", "band"] = "rmat",
    scale: Annotated[int, Bounds(4, 22)] = 14,
    edge_factor: Annotated[int, Bounds(1, 256)] = 16,
    chunks: Count = 16,
    cpu_ops: Cost = 4.0,
    gpu_ops: Cost = 100.0,
    saturation_rows: Cost = 256.0,
    nonzero_bytes: Size = 8,
) -> Workload:
    """Product of a sparse matrix and a vector whose rows differ in length.

    Parameters
    ----------
    seed : int
        Seed of the matrix.
    matrix : {"rmat", "band"}
        Random with few long rows, or quasi-diagonal.
    scale : int
        Logarithm of the number of rows.
    edge_factor : int
        Mean number of non-zeros of a row.
    chunks : int
        Chunks of rows.
    cpu_ops, gpu_ops : float
        Operations per non-zero.
    saturation_rows : float
        Rows whose time a GPU needs on top.
    nonzero_bytes : int
        Bytes of a non-zero with its column.
    """
    check_size("spmv", edges=edge_factor * 2**scale)
    rng = stream(seed, "matrix")
    rows = (rmat_rows if matrix == "rmat" else band_rows)(rng, scale, edge_factor)
    costs = RowCosts(
        cpu_ops, gpu_ops, 32, saturation_rows, nonzero_bytes, result_bytes=RESULT_BYTES
    )
    parts = np.array_split(rows.nonzeros, min(chunks, len(rows.nonzeros)))
    tasks = np.arange(len(parts))
    read = np.array([int(part.sum()) * nonzero_bytes for part in parts])
    written = np.array([len(part) * RESULT_BYTES for part in parts])
    nothing = np.zeros(len(parts), np.int64)
    graph = build_graph(
        [[costs.on_cpu(part) for part in parts], [costs.on_gpu(part) for part in parts]],
        kinds=("cpu", "gpu"),
        class_names=("rows",),
        accessed=accesses(
            np.repeat(tasks, 2),
            np.tile([0, 1], len(parts)),
            np.column_stack([read, nothing]).ravel(),
            np.column_stack([nothing, written]).ravel(),
            len(parts),
        ),
        block_bytes=[int(read.sum()), int(written.sum())],
    )
    return MatrixWorkload("spmv", graph, rows=rows, costs=costs)
