"""Tiled QR factorisation over flat trees, as a dataflow graph.

With W x W tiles of b x b elements, step k = 0 .. W - 1 creates

* ``geqrt(k)``, which factorises tile (k, k): 4 b^3 / 3 operations;
* ``unmqr(k, j)`` for j = k + 1 .. W - 1, which applies its reflectors to tile (k, j): 2 b^3;
* for i = k + 1 .. W - 1 in turn ``tsqrt(i, k)``, which eliminates tile (i, k) with the triangle of
  tile (k, k): 2 b^3; and ``tsmqr(i, k, j)`` for j = k + 1 .. W - 1, which applies its reflectors to
  tiles (k, j) and (i, j): 4 b^3.

Tasks are numbered in this order; there are ``W (W + 1) (2 W + 1) / 6``.

* *Blocks.* One per tile, row by row, of ``b^2 e`` bytes; tiles on the diagonal consist of two: the
  upper triangle, with which later tiles are eliminated, of ``b (b + 1) / 2 e`` bytes, and, after
  all tiles, what is below it and becomes reflectors, of ``b (b - 1) / 2 e`` bytes. So the one can
  be changed while the other is read. Then come the triangular factors of geqrt and tsqrt, one per
  tile on and below the diagonal, row by row, of ``b ib e`` bytes.
* *Edges.* A task starts after the last writers of all blocks that it accesses.
* *Bytes.* Always whole blocks: geqrt and tsqrt read and write what they factorise, and write their
  triangular factor; unmqr and tsmqr read reflectors and factor, then read and write their tiles.
* *Priorities.* ``3 W - (k + i + j)`` for a task of step k that writes tile (i, j).
* *Devices.* On devices for which the machine has no costs of its own, kernels reach parts of the
  device's speed (:mod:`simsched.workload.tile_kernels`); the initialisation cannot run there.
* *Initialisation.* One independent task per block of the matrix writes it.

References
----------
Buttari, Langou, Kurzak and Dongarra, *A class of parallel tiled linear algebra algorithms for
multicore architectures*, Parallel Computing 35(1), 2009, section 3.2 (algorithm, operations, names
of the kernels as in PLASMA).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import numpy as np

from simsched.workload.builder import (
    Accesses,
    accesses,
    after_last_writers,
    build_graph,
    check_size,
)
from simsched.workload.graph import (
    BoolArray,
    FloatArray,
    Int32Array,
    Int64Array,
    TaskGraph,
    Workload,
)
from simsched.workload.registry import Bounds, Cost, Count, Size, generator
from simsched.workload.tile_kernels import EFFICIENCY, Efficiency, cubes, device_efficiency

CLASSES = ("geqrt", "unmqr", "tsqrt", "tsmqr")
_GEQRT, _UNMQR, _TSQRT, _TSMQR = range(4)


@generator("qr", small={"tiles": 4, "tile_size": 32, "iterations": 2})
def qr(
    *,
    tiles: Annotated[int, Bounds(1, 1000)] = 16,
    tile_size: Annotated[int, Bounds(2, 100_000)] = 960,
    inner_block: Annotated[int, Bounds(1, 100_000)] = 32,
    element_bytes: Size = 8,
    init_ops_per_element: Cost = 2.0,
    efficiency: Efficiency = EFFICIENCY,
    iterations: Count = 1,
) -> Workload:
    """Tiled QR factorisation over flat trees, as a dataflow graph.

    Parameters
    ----------
    tiles : int
        Tiles in a row of the matrix.
    tile_size : int
        Elements in a row of a tile.
    inner_block : int
        Reflectors that are applied together: rows of a triangular factor.
    element_bytes : int
        Bytes of one element.
    init_ops_per_element : float
        Operations per element of the initialisation.
    efficiency : float
        Part of a device's speed that a product of tiles (gemm) reaches where the machine has no
        costs of its own; other kernels in proportion.
    iterations : int
        How often the factorisation is repeated.
    """
    n_tasks = tiles * (tiles + 1) * (2 * tiles + 1) // 6
    size = _block_bytes(tiles, tile_size, inner_block, element_bytes)
    check_size("qr", tasks=n_tasks, data_bytes=5 * n_tasks * tile_size**2 * element_bytes)
    kind, step, row, column = _enumerate(tiles)
    accessed = _accesses(tiles, size, kind, step, row, column)
    graph = build_graph(
        cubes(CLASSES)[kind] * float(tile_size) ** 3,
        task_class=kind,
        class_names=CLASSES,
        successors=after_last_writers(accessed),
        accessed=accessed,
        block_bytes=size,
        priority=3 * tiles - (step + row + column),
        device_efficiency=device_efficiency(CLASSES, efficiency),
    )
    matrix = tiles * tiles + tiles
    ops = size[:matrix] / element_bytes * init_ops_per_element
    return Workload("qr", graph, iterations, _initialisation(size, matrix, ops))


def _block_bytes(tiles: int, tile_size: int, inner_block: int, element_bytes: int) -> Int64Array:
    """Return the sizes of tiles, reflectors of the diagonal, and triangular factors."""
    sizes = np.full(tiles * tiles, tile_size**2, np.int64)
    sizes[:: tiles + 1] = tile_size * (tile_size + 1) // 2
    reflectors = np.full(tiles, tile_size * (tile_size - 1) // 2, np.int64)
    factors = np.full(tiles * (tiles + 1) // 2, tile_size * inner_block, np.int64)
    return np.concatenate((sizes, reflectors, factors)) * element_bytes


def _initialisation(size: Int64Array, matrix: int, ops: FloatArray) -> TaskGraph:
    """Return one task per block of the matrix, which writes it."""
    every = np.arange(matrix)
    return build_graph(
        ops,
        class_names=("initialise",),
        accessed=accesses(every, every, 0, size[:matrix], matrix),
        block_bytes=size,
    )


def _enumerate(tiles: int) -> tuple[Int32Array, Int64Array, Int64Array, Int64Array]:
    """Return class, step, row and column of the tile written by each task, in order."""
    parts = []
    for step in range(tiles):
        left = np.arange(step + 1, tiles)
        across = np.concatenate(([step], left))
        kind = np.full((1 + len(left), 1 + len(left)), _TSMQR)
        kind[0], kind[1:, 0] = _UNMQR, _TSQRT
        kind[0, 0] = _GEQRT
        rows, columns = np.meshgrid(across, across, indexing="ij")
        parts.append(np.stack([kind, np.full_like(kind, step), rows, columns]).reshape(4, -1))
    kind, steps, row, column = np.concatenate(parts, axis=1)
    return kind.astype(np.int32), steps, row, column


def _accesses(
    tiles: int,
    size: Int64Array,
    kind: Int32Array,
    step: Int64Array,
    row: Int64Array,
    column: Int64Array,
) -> Accesses:
    """Return what tasks read, then what they read and write, then what they write."""
    first_reflector = tiles * tiles
    first_factor = first_reflector + tiles
    factor = first_factor + row * (row + 1) // 2 + step
    is_panel = (kind == _GEQRT) | (kind == _TSQRT)
    reflectors = np.where(row == step, first_reflector + step, row * tiles + step)
    every = np.ones(len(kind), bool)
    columns: Sequence[tuple[BoolArray, Int64Array, bool, bool]] = (
        (~is_panel, reflectors, True, False),
        (~is_panel, factor, True, False),
        (kind == _GEQRT, first_reflector + step, True, True),
        ((kind == _TSQRT) | (kind == _TSMQR), step * tiles + column, True, True),
        (every, row * tiles + column, True, True),
        ((kind == _TSMQR) & (row == column), first_reflector + row, True, True),
        (is_panel, factor, False, True),
    )
    exists = np.stack([mask for mask, *_ in columns], axis=1)
    block = np.stack([blocks for _, blocks, *_ in columns], axis=1)[exists]
    task, place = np.nonzero(exists)
    reads, writes = (np.array([c[i] for c in columns])[place] for i in (2, 3))
    return accesses(task, block, size[block] * reads, size[block] * writes, len(kind))
