"""Tiled Cholesky factorisation as a data-flow program with private buffers.

W x W tiles of b x b elements of e bytes; only the lower triangle is used. What happens to tile (i,
j), i >= j:

* update(i, j, k), k = 0 .. j - 1, subtracts the product of tiles (i, k) and (j, k) (``syrk`` if i =
  j, else ``gemm``); then ``potrf`` (j) factorises it if i = j, ``trsm`` (i, j) solves it with tile
  (j, j) otherwise. The first of these reads the tile of the given matrix, the others the output of
  the one before.
* final(i, j) writes the solved tile to the global array of the result.
* A private buffer has one consumer, so each task that needs the tile has a proxy, which copies the
  tile from the result into a buffer for it. These tasks are trsm (i', j) with i' > j if i = j;
  otherwise update(i', i, j) with i' > i, update(i, j', j) with j < j' < i, and update(i, i, j).
* final(W - 1, W - 1) writes 4 bytes to the last task.

All buffers but that one have ``b^2 e`` bytes.

* *Buffers*, each with an edge, are in all ``b^2 e W^2 (W + 1) / 2 + 4`` bytes; the given matrix and
  the result are global arrays of ``b^2 e W (W + 1) / 2`` bytes each.
* *Creation.* The root creates the last task and one for each column, which creates the potrf, trsm,
  final and the updates 0 and 1 of its tiles. Update k creates update k + 2 of its tile, a final
  the proxies of its own.
* *Operations.* ``b^3 / 3`` (potrf), ``b^3`` (trsm, syrk), ``2 b^3`` (gemm), divided by
  `flops_per_op`. All of these, final and proxy copy a tile: ``copy_ops_per_element`` per element.

References
----------
Drebes et al., PACT 2016 (docs/sources/dataflow.md), sections 2, 4.4 and Fig. 6; tasks, proxies and
who creates them as in the benchmark `stream_df_cholesky` of the OpenStream distribution, whose last
final creates a task for the 4 bytes.
"""

from __future__ import annotations

from typing import Annotated

import numpy as np

from simsched.workload.builder import check_size, ranks
from simsched.workload.dataflow_program import Control, DataflowProgram
from simsched.workload.graph import Int64Array, Workload
from simsched.workload.registry import Bounds, Cost, Count, Size, generator

TOKEN_BYTES = 4


@generator("cholesky_dataflow", small={"tiles": 4, "tile_size": 16, "global_pieces": 2})
def cholesky_dataflow(
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
        Operations per element that is copied, by kernels, too.
    global_pieces : int
        Blocks of data into which each tile of the global matrix is divided, so that a policy can
        interleave it.
    control : {"parallel", "sequential"}
        Whether tasks create tasks, or the root creates all.
    """
    grid = _Triangle(tiles)
    n, n_updates = len(grid.row), len(grid.tile)
    elements = tile_size**2
    size, copying = elements * element_bytes, elements * copy_ops_per_element
    cube = float(tile_size) ** 3 / flops_per_op
    check_size(
        "cholesky_dataflow",
        tasks=2 + tiles + 2 * n + 3 * n_updates,
        data_bytes=3.0 * size * (n + n_updates),
    )
    program = DataflowProgram("private", control)
    given, result = (program.array(n, size, global_pieces) for _ in range(2))
    solved, update = np.empty(n, np.int64), np.empty(n_updates, np.int64)
    solved[grid.is_diagonal] = program.tasks("potrf", tiles, cube / 3 + copying)
    solved[~grid.is_diagonal] = program.tasks("trsm", n - tiles, cube + copying)
    update[grid.is_syrk] = program.tasks("syrk", n - tiles, cube + copying)
    update[~grid.is_syrk] = program.tasks("gemm", n_updates - n + tiles, 2 * cube + copying)
    final = program.tasks("final", n, copying)
    proxy = program.tasks("proxy", 2 * n_updates, copying)
    last = program.tasks("last", 1)
    is_first, is_last = grid.step == 0, grid.step == grid.column[grid.tile] - 1
    left = grid.column == 0
    program.use(solved[left], given[left], read=True)
    program.use(update[is_first], given[grid.tile[is_first]], read=True)
    program.buffer(update[~is_last], update[np.flatnonzero(~is_last) + 1], size)
    program.buffer(update[is_last], solved[grid.tile[is_last]], size)
    program.buffer(solved, final, size)
    program.use(final, result, written=True)
    program.use(proxy, result[grid.copied], read=True)
    program.buffer(proxy, np.concatenate([solved[grid.below], update[grid.reading]]), size)
    program.buffer(final[-1], last, TOKEN_BYTES)
    if program.is_parallel:
        program.create(program.root, last)
        _create(program, grid, solved, update, final, proxy)
    return Workload("cholesky_dataflow", program.graph())


class _Triangle:
    """Tiles of the lower triangle, row by row, and their updates, tile by tile."""

    def __init__(self, tiles: int) -> None:
        self.row, self.column = (axis.astype(np.int64) for axis in np.tril_indices(tiles))
        self.is_diagonal = self.row == self.column
        #: Tile and k of each update.
        self.tile = np.repeat(np.arange(len(self.column), dtype=np.int64), self.column)
        self.step = ranks(self.column)
        self.is_syrk = self.is_diagonal[self.tile]
        gemm, syrk = np.flatnonzero(~self.is_syrk), np.flatnonzero(self.is_syrk)
        #: Tiles solved by trsm, and updates, one entry for each solved tile that they read.
        self.below = np.flatnonzero(~self.is_diagonal)
        self.reading = np.concatenate([gemm, gemm, syrk])
        column = self.column[self.below]
        rows = np.concatenate([self.column[self.tile[gemm]], self.row[self.tile[gemm]]])
        rows = np.concatenate([rows, self.row[self.tile[syrk]]])
        #: Tile that each proxy copies: for trsm, as the second and as the first tile of gemm, syrk.
        self.copied = np.concatenate(
            [_number(column, column), _number(rows, self.step[self.reading])]
        )


def _create(
    program: DataflowProgram,
    grid: _Triangle,
    solved: Int64Array,
    update: Int64Array,
    final: Int64Array,
    proxy: Int64Array,
) -> None:
    """Say who creates what, in the order of the benchmark."""
    creators = program.tasks("create", int(grid.is_diagonal.sum()))
    program.create(program.root, creators)
    creator, diagonal, below = creators[grid.column], grid.is_diagonal, grid.below
    early = grid.step < 2
    syrk, gemm = np.flatnonzero(early & grid.is_syrk), np.flatnonzero(early & ~grid.is_syrk)
    program.create(creator[grid.tile[syrk]], update[syrk])
    program.create(creator[diagonal], final[diagonal])
    program.create(creator[diagonal], solved[diagonal])
    program.create(creator[grid.tile[gemm]], update[gemm])
    program.create(creator[below][:, None], np.column_stack([final[below], solved[below]]))
    late = np.flatnonzero(~early)
    program.create(update[late - 2], update[late])
    program.create(final[grid.copied], proxy)


def _number(row: Int64Array, column: Int64Array) -> Int64Array:
    """Return the number of a tile of the lower triangle."""
    return row * (row + 1) // 2 + column
