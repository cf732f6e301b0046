"""Tiled two-dimensional stencil: some time steps of a grid of tiles as a dataflow graph.

With W x H tiles (columns x rows) and T steps, task (t, i, j) has the number ``t W H + i W + j``:
steps, then rows i, then columns j.

* *Edges.* Task (t, i, j) starts after (t - 1, i, j) and (t - 1) of the tiles (i - 1, j), (i + 1,
  j), (i, j - 1), (i, j + 1) that exist. The successors of a task ascend.
* *Blocks.* One per tile of r x c elements of e bytes, with two copies: ``2 r c e`` bytes. A step
  reads one copy and writes the other.
* *Bytes.* A task reads ``r c e`` and writes ``r c e`` bytes of its own block, and reads the border
  of each neighbour: ``c e`` bytes above and below, ``r e`` left and right.
* *Operations.* ``r c * ops_per_element`` per task.
* *Initialisation.* One independent task per block writes it.

With ``costs: bench`` the graph is that of the benchmark with known makespans: costs are ``(0.5 +
rnd()) * 1e6`` operations in the order of tasks (:mod:`simsched.workload.bench`), and there are
neither blocks nor an initialisation.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from simsched.workload.bench import bench_costs
from simsched.workload.builder import Adjacency, accesses, build_graph, check_size, first_touch_loop
from simsched.workload.graph import Int64Array, Workload
from simsched.workload.registry import Cost, Count, Size, generator

# The tile itself and its neighbours in the order of their numbers: row and column offsets.
_STAR = ((-1, 0), (0, -1), (0, 0), (0, 1), (1, 0))


@generator(
    "stencil2d",
    small={
        "width": 4,
        "height": 3,
        "steps": 3,
        "tile_rows": 16,
        "tile_columns": 16,
        "iterations": 2,
    },
)
def stencil2d(
    *,
    width: Count = 16,
    height: Count = 16,
    steps: Count = 10,
    tile_rows: Count = 256,
    tile_columns: Count = 256,
    element_bytes: Size = 8,
    ops_per_element: Cost = 5.0,
    init_ops_per_element: Cost = 2.0,
    costs: Literal["tile", "bench"] = "tile",
    iterations: Count = 1,
) -> Workload:
    """Tiled five-point stencil: time steps of a grid of tiles as a dataflow graph.

    Parameters
    ----------
    width, height : int
        Tiles in a row and in a column.
    steps : int
        Time steps in one graph.
    tile_rows, tile_columns : int
        Elements of a tile.
    element_bytes : int
        Bytes of one element.
    ops_per_element, init_ops_per_element : float
        Operations per element of a step (4 additions, 1 multiplication) and of the initialisation.
    costs : {"tile", "bench"}
        Costs and accesses of real tiles, or the drawn costs of the benchmark without accesses.
    iterations : int
        How often the graph is repeated.
    """
    n_tasks, n_tiles = steps * width * height, width * height
    check_size(
        "stencil2d",
        tasks=n_tasks,
        data_bytes=2 * n_tasks * tile_rows * tile_columns * element_bytes,
    )
    tile, neighbour, place = _star(width, height)
    successors = _successors(tile, neighbour, n_tiles, steps)
    if costs == "bench":
        graph = build_graph(bench_costs(n_tasks), successors=successors)
        return Workload("stencil2d", graph, iterations)
    elements = tile_rows * tile_columns
    blocks = np.full(n_tiles, 2 * elements * element_bytes, dtype=np.int64)
    read = np.array([tile_columns, tile_rows, elements, tile_rows, tile_columns]) * element_bytes
    written = np.array([0, 0, elements, 0, 0]) * element_bytes
    accessed = accesses(
        (tile + np.arange(steps)[:, None] * n_tiles).ravel(),
        np.tile(neighbour, steps),
        np.tile(read[place], steps),
        np.tile(written[place], steps),
        n_tasks,
    )
    graph = build_graph(
        np.full(n_tasks, elements * ops_per_element),
        class_names=("update",),
        successors=successors,
        accessed=accessed,
        block_bytes=blocks,
    )
    init = first_touch_loop(blocks, 2 * elements * init_ops_per_element)
    return Workload("stencil2d", graph, iterations, init)


def _star(width: int, height: int) -> tuple[Int64Array, Int64Array, Int64Array]:
    """Return tiles, their neighbours and the places of these in `_STAR`, neighbours ascending."""
    row, column = np.divmod(np.arange(width * height, dtype=np.int64), width)
    rows = np.stack([row + down for down, _ in _STAR], axis=1)
    columns = np.stack([column + right for _, right in _STAR], axis=1)
    exists = (rows >= 0) & (rows < height) & (columns >= 0) & (columns < width)
    tile, place = np.nonzero(exists)
    return tile, (rows * width + columns)[exists], place


def _successors(tile: Int64Array, neighbour: Int64Array, n_tiles: int, steps: int) -> Adjacency:
    """Return the edges of all steps; those of one step repeat."""
    counts = np.zeros(steps * n_tiles, dtype=np.int64)
    counts[:-n_tiles] = np.tile(np.bincount(tile, minlength=n_tiles), steps - 1)
    first = np.arange(1, steps, dtype=np.int32)[:, None] * np.int32(n_tiles)
    index = (neighbour.astype(np.int32) + first).ravel()
    return Adjacency(np.append(0, np.cumsum(counts)), index)
