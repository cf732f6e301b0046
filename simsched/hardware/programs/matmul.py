"""Product of two tiled matrices as a dataflow graph.

With T x T tiles of b x b elements:

* *Tasks.* ``multiply`` (k, i, j) adds the product of tiles (i, k) and (k, j) to tile (i, j) of the
  result: T^3 tasks, numbered with k outermost and j innermost, of ``b^3`` multiply-adds, which are
  the operations.
* *Edges.* (k, i, j) to (k + 1, i, j): T^2 (T - 1).
* *Blocks.* One per tile: the left factor's row by row, the right one's, the result's.
* *Bytes.* A task reads two tiles, and reads and writes one.
* *Initialisation.* One independent task per block writes it.

Every iteration adds the product once more.
"""

from __future__ import annotations

from typing import Annotated

import numpy as np

from simsched.hardware.program import Program, program
from simsched.hardware.programs._common import (
    DOUBLE_BYTES,
    Seed,
    hashed_units,
    largest_error,
    untouched,
)
from simsched.workload.builder import (
    accesses,
    adjacency,
    build_graph,
    check_size,
    first_touch_loop,
)
from simsched.workload.graph import FloatArray, Int64Array, TaskGraph, Workload
from simsched.workload.registry import Bounds, Count

CLASSES = ("multiply", "initialise")
TOLERANCE = 1e-10  # of the largest element; a product that is left out is a good part of it


@program(small={"tiles": 3, "tile_size": 13, "iterations": 2})
def matmul(
    *,
    tiles: Annotated[int, Bounds(1, 1000)] = 12,
    tile_size: Annotated[int, Bounds(1, 10_000)] = 96,
    iterations: Count = 1,
    seed: Seed = 0,
) -> Program:
    """Matrix multiplication: dataflow on the tiles of the result.

    Parameters
    ----------
    tiles : int
        Tiles in a row of each matrix.
    tile_size : int
        Elements in a row of a tile; three matrices of ``8 * (tiles * tile_size)**2`` bytes.
    iterations : int
        How often the product is added to the result.
    seed : int
        Of both factors.

    References
    ----------
    Golub and Van Loan, *Matrix Computations*, 4th edition 2013, section 1.3 (block algorithms).
    """
    n_tiles, tile_bytes = tiles * tiles, tile_size**2 * DOUBLE_BYTES
    check_size("matmul", tasks=tiles**3, data_bytes=4 * tiles**3 * tile_bytes)
    shape = (tiles, tiles, tile_size, tile_size)
    arrays = tuple(untouched(shape, np.float64) for _ in range(3))
    blocks = np.full(3 * n_tiles, tile_bytes, dtype=np.int64)
    init = first_touch_loop(blocks, float(tile_size**2))

    def check() -> float:
        elements = n_tiles * tile_size**2
        left, right = (
            _matrix(hashed_units(2 * seed + which, elements).reshape(shape) - 0.5)
            for which in (0, 1)
        )
        return largest_error(_matrix(arrays[2]), iterations * (left @ right), TOLERANCE)

    graph = _graph(tiles, tile_size, blocks)
    inner, row, column = (place.ravel() for place in np.indices((tiles,) * 3))
    return Program(
        name="matmul",
        workload=Workload("matmul", graph, iterations, init.with_classes(CLASSES)),
        args=np.stack((row, column, inner), axis=1),
        init_args=np.indices((3, n_tiles)).reshape(2, -1).T.copy(),
        arrays=arrays,
        blocks=(n_tiles,) * 3,
        check=check,
        params=(tiles, tile_size, seed),
    )


def _graph(tiles: int, tile_size: int, blocks: Int64Array) -> TaskGraph:
    n_tiles = tiles * tiles
    inner, row, column = (place.ravel() for place in np.indices((tiles,) * 3))
    task = np.arange(n_tiles * tiles, dtype=np.int64)
    factors = (row * tiles + inner, n_tiles + inner * tiles + column)
    touched = np.stack((*factors, 2 * n_tiles + row * tiles + column), axis=1)
    written = np.broadcast_to([0, 0, blocks[0]], touched.shape)
    return build_graph(
        np.full(len(task), float(tile_size) ** 3),
        class_names=CLASSES,
        successors=adjacency(task[:-n_tiles], task[n_tiles:], len(task)),
        accessed=accesses(
            np.repeat(task, 3), touched.ravel(), blocks[0], written.ravel(), len(task)
        ),
        block_bytes=blocks,
    )


def _matrix(tiled: FloatArray) -> FloatArray:
    order = tiled.shape[0] * tiled.shape[2]
    return tiled.transpose(0, 2, 1, 3).reshape(order, order)
