"""Tiled Cholesky factorisation as a data-flow program with private buffers.

W x W tiles of b x b elements of e bytes; only the lower triangle is used. A tile (i, j) passes from
task to task:

* init(i, j) copies it from the global matrix; update(i, j, k), k = 0 .. j - 1, subtracts the
  product of tiles (i, k) and (j, k) (``syrk`` if i = j, else ``gemm``); ``potrf`` (j) factorises it
  if i = j, ``trsm`` (i, j) solves it with tile (j, j) otherwise.
* A private buffer has one consumer, so proxy(i, j) copies the finished tile once for each: trsm(i',
  j) with i' > j if i = j; otherwise the updates (i, i, j), (i, j', j) with j < j' < i and (i', i,
  j) with i' > i. Its last copy goes to final(i, j), which writes the global matrix and 4 bytes to
  the last task.

All buffers but tokens have ``b^2 e`` bytes.

* *Tasks.* W potrf, W (W - 1) / 2 trsm and as many syrk, W (W - 1) (W - 2) / 6 gemm; init, proxy and
  final W (W + 1) / 2 each; one that creates for every group of 4 x 4 tiles, the last, the root.
* *Creation.* The root creates the creating tasks and the last; these create init, the
  updates, potrf or trsm, proxy and final of their tiles. The source says nothing about it.
* *Operations.* ``b^3 / 3`` (potrf), ``b^3`` (trsm, syrk), ``2 b^3`` (gemm), divided by
  `flops_per_op`; ``copy_ops_per_element`` per element that init, proxy and final write.

References
----------
A. Drebes, A. Pop, K. Heydemann, A. Cohen, N. Drach, *Scalable Task Parallelism for NUMA*, PACT
2016, section 4.4 and Fig. 6; chains and proxies as in the benchmark of the OpenStream distribution,
December 2015.
"""

from __future__ import annotations

from typing import Annotated

import numpy as np

from simsched.workload.builder import check_size, ranks
from simsched.workload.dataflow_program import Control, DataflowProgram
from simsched.workload.graph import Int64Array, Workload
from simsched.workload.registry import Bounds, Cost, Count, Size, generator

GROUP, TOKEN_BYTES = 4, 4


@generator("cholesky_dataflow", small={"tiles": 4, "tile_size": 16, "global_pieces": 2})
def cholesky_dataflow(
    seed: int,  # noqa: ARG001 - nothing is random here
    *,
    tiles: Annotated[int, Bounds(1, 400)] = 16,
    tile_size: Annotated[int, Bounds(1, 100_000)] = 256,
    element_bytes: Size = 8,
    flops_per_op: Annotated[float, Bounds(1e-3)] = 4.0,
    copy_ops_per_element: Cost = 2.0,
    global_pieces: Count = 8,
    control: Control = "parallel",
) -> Workload:
    """Tiled Cholesky factorisation with private buffers and a copy of each tile per consumer.

    Parameters
    ----------
    seed : int
        Unused: the workload is not random.
    tiles : int
        Tiles in a row of the matrix.
    tile_size : int
        Elements in a row of a tile.
    element_bytes : int
        Bytes of one element.
    flops_per_op : float
        Floating-point operations of one operation: kernels of tuned libraries multiply and add on
        vectors.
    copy_ops_per_element : float
        Operations per element that is copied.
    global_pieces : int
        Blocks of data into which each tile of the global matrix is divided, so that a policy can
        interleave it.
    control : {"parallel", "sequential"}
        Whether tasks create tasks, or the root creates all.
    """
    n, elements = tiles * (tiles + 1) // 2, tile_size**2
    size, cube = elements * element_bytes, float(tile_size) ** 3 / flops_per_op
    n_updates = tiles * (tiles * tiles - 1) // 6
    check_size("cholesky_dataflow", tasks=4 * n + n_updates, data_bytes=4.0 * size * n_updates)
    program = DataflowProgram("private", control)
    row, column = (axis.astype(np.int64) for axis in np.tril_indices(tiles))
    matrix = program.array(n, size, global_pieces)
    copying = elements * copy_ops_per_element
    first = program.tasks("init", n, copying)
    solved = np.empty(n, np.int64)
    diagonal = row == column
    solved[diagonal] = program.tasks("potrf", tiles, cube / 3)
    solved[~diagonal] = program.tasks("trsm", n - tiles, cube)
    tile, step = _updates(column)
    is_syrk = diagonal[tile]
    update = np.empty(len(tile), np.int64)
    update[is_syrk] = program.tasks("syrk", int(is_syrk.sum()), cube)
    update[~is_syrk] = program.tasks("gemm", int((~is_syrk).sum()), 2 * cube)
    consumers = tiles - column  # of a finished tile: W - 1 - j of the factorisation, and final
    proxy = program.tasks("proxy", n, consumers * copying)
    final = program.tasks("final", n, copying)
    last = program.tasks("last", 1)
    is_first, is_last = step == 0, step == column[tile] - 1
    program.buffer(first[column == 0], solved[column == 0], size)
    program.buffer(first[tile[is_first]], update[is_first], size)
    program.buffer(update[~is_last], update[np.flatnonzero(~is_last) + 1], size)
    program.buffer(update[is_last], solved[tile[is_last]], size)
    program.buffer(solved, proxy, size)
    below = np.flatnonzero(~diagonal)
    program.buffer(proxy[_tile(column[below], column[below])], solved[below], size)
    program.buffer(proxy[_tile(row[tile], step)], update, size)
    gemm = np.flatnonzero(~is_syrk)
    program.buffer(proxy[_tile(column[tile[gemm]], step[gemm])], update[gemm], size)
    program.buffer(proxy, final, size)
    program.buffer(final, np.broadcast_to(last, (n,)), TOKEN_BYTES)
    program.use(first, matrix, read=True)
    program.use(final, matrix, written=True)
    if program.is_parallel:
        groups = -(-tiles // GROUP)
        group = (row // GROUP) * groups + column // GROUP
        used, of_tile = np.unique(group, return_inverse=True)
        creators = program.tasks("create", len(used))
        program.create(program.root, creators)
        program.create(program.root, last)
        made = np.concatenate([first, update, solved, proxy, final])
        owner = np.concatenate([np.arange(n), tile, np.arange(n), np.arange(n), np.arange(n)])
        program.create(creators[of_tile][owner], made)
    return Workload("cholesky_dataflow", program.graph())


def _updates(column: Int64Array) -> tuple[Int64Array, Int64Array]:
    """Return tile and step of every update, tile by tile."""
    tile = np.repeat(np.arange(len(column), dtype=np.int64), column)
    return tile, ranks(column)


def _tile(row: Int64Array, column: Int64Array) -> Int64Array:
    """Return the number of a tile of the lower triangle."""
    return row * (row + 1) // 2 + column
