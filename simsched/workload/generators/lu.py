"""Tiled LU factorisation without pivoting, right-looking, as a dataflow graph.

With W x W tiles of b x b elements, step k = 0 .. W - 1 creates

* ``getrf(k)``, which factorises tile (k, k): 2 b^3 / 3 operations;
* for i = k + 1 .. W - 1 in turn ``trsm_ll(k, i)``, which solves tile (k, i) of the row, and
  ``trsm_ru(i, k)``, which solves tile (i, k) of the column: b^3 operations each;
* ``gemm(i, j)`` for i, j = k + 1 .. W - 1, row by row, which subtracts the product of tiles (i, k)
  and (k, j) from tile (i, j): 2 b^3 operations.

Tasks are numbered in this order.

* *Edges.* A task starts after the last writers of all tiles that it accesses; there are ``W (W + 1)
  (2 W + 1) / 6`` tasks.
* *Blocks.* One per tile, row by row, of ``b^2 e`` bytes.
* *Bytes.* A task reads the tiles it needs, then reads and writes its own, always whole tiles.
* *Priorities.* 1 for what the next step waits for: getrf(k), trsm_ll(k, k + 1), trsm_ru(k + 1, k)
  and gemm(k + 1, k + 1); 0 for the others.
* *Devices.* On devices for which the machine has no costs of its own, kernels reach parts of the
  device's speed (:mod:`simsched.workload.tile_kernels`); the initialisation cannot run there.
* *Initialisation.* One independent task per block writes it.

With ``costs: measured`` it is StarPU's program (``lu_implicit``) for machines with timings of its
codelets, and the matrix lies in memory when the program starts: there is no initialisation. It says
of each tile when nobody will write to it any more, the kernel of getrf is synchronous, and the
priority of a task of step k that writes tile (i, j) is 3 W - (k + i + j).

References
----------
Buttari, Langou, Kurzak and Dongarra, *A class of parallel tiled linear algebra algorithms for
multicore architectures*, Parallel Computing 35(1), 2009. StarPU 1.4, examples/lu/xlu_implicit.c
(order of creation, priorities).
"""

from __future__ import annotations

from typing import Annotated, Literal

import numpy as np

from simsched.workload.builder import (
    after_last_writers,
    build_graph,
    check_size,
    first_touch_loop,
    last_writes,
    updates,
)
from simsched.workload.graph import Int32Array, Int64Array, Workload
from simsched.workload.registry import Bounds, Cost, Count, generator
from simsched.workload.tile_kernels import EFFICIENCY, Efficiency, cubes, device_efficiency

CLASSES = ("getrf", "trsm_ll", "trsm_ru", "gemm")
_GETRF, _TRSM_LL, _TRSM_RU, _GEMM = range(4)
ELEMENT_BYTES = {"single": 4, "double": 8}


@generator("lu", small={"tiles": 4, "tile_size": 32, "iterations": 2})
def lu(
    *,
    tiles: Annotated[int, Bounds(1, 1000)] = 16,
    tile_size: Annotated[int, Bounds(1, 100_000)] = 960,
    precision: Literal["single", "double"] = "double",
    init_ops_per_element: Cost = 2.0,
    costs: Literal["tile", "measured"] = "tile",
    efficiency: Efficiency = EFFICIENCY,
    iterations: Count = 1,
) -> Workload:
    """Tiled LU factorisation without pivoting, right-looking, as a dataflow graph.

    Parameters
    ----------
    tiles : int
        Tiles in a row of the matrix.
    tile_size : int
        Elements in a row of a tile.
    precision : {"single", "double"}
        Elements of 4 or 8 bytes, and which codelets are meant.
    init_ops_per_element : float
        Operations per element of the initialisation.
    costs : {"tile", "measured"}
        Operations of real tiles, or the durations that the machine has for StarPU's codelets.
    efficiency : float
        Part of a device's speed that gemm reaches where the machine has no costs of its own.
    iterations : int
        How often the factorisation is repeated.
    """
    n_tasks = tiles * (tiles + 1) * (2 * tiles + 1) // 6
    tile_bytes = tile_size**2 * ELEMENT_BYTES[precision]
    check_size("lu", tasks=n_tasks, data_bytes=4 * n_tasks * tile_bytes)
    kind, step, row, column = _enumerate(tiles)
    is_gemm, is_trsm = kind == _GEMM, (kind == _TRSM_LL) | (kind == _TRSM_RU)
    read = (
        (is_trsm, step * tiles + step),
        (is_gemm, row * tiles + step),
        (is_gemm, step * tiles + column),
    )
    accessed = updates(read, row * tiles + column, tile_bytes)
    blocks = np.full(tiles * tiles, tile_bytes, dtype=np.int64)
    is_measured = costs == "measured"
    urgent = (row <= step + 1) & (column <= step + 1)
    codelets = [f"starpu_{precision[0]}lu_lu_model_{name}" for name in CLASSES]
    graph = build_graph(
        cubes(CLASSES)[kind] * float(tile_size) ** 3,
        task_class=kind,
        class_names=CLASSES,
        successors=after_last_writers(accessed),
        accessed=accessed,
        block_bytes=blocks,
        synchronous=(kind == _GETRF) & is_measured,
        priority=3 * tiles - (step + row + column) if is_measured else urgent,
        access_final=last_writes(accessed) if is_measured else None,
        device_efficiency=None if is_measured else device_efficiency(CLASSES, efficiency),
        codelets=codelets if is_measured else None,
    )
    if is_measured:
        return Workload("lu", graph, iterations)
    init = first_touch_loop(blocks, tile_size * tile_size * init_ops_per_element)
    return Workload("lu", graph, iterations, init)


def _enumerate(tiles: int) -> tuple[Int32Array, Int64Array, Int64Array, Int64Array]:
    """Return class, step, row and column of the tile written by each task, in order."""
    parts = []
    for step in range(tiles):
        left = np.arange(step + 1, tiles)
        here = np.full(len(left), step)
        panel = np.full(2 * len(left), _TRSM_LL)
        panel[1::2] = _TRSM_RU
        part = np.empty((4, (1 + len(left)) ** 2), np.int64)
        part[0] = np.concatenate(([_GETRF], panel, np.full(len(left) ** 2, _GEMM)))
        part[1] = step
        part[2] = np.concatenate(
            ([step], np.stack([here, left], 1).ravel(), np.repeat(left, len(left)))
        )
        part[3] = np.concatenate(
            ([step], np.stack([left, here], 1).ravel(), np.tile(left, len(left)))
        )
        parts.append(part)
    kind, steps, row, column = np.concatenate(parts, axis=1)
    return kind.astype(np.int32), steps, row, column
