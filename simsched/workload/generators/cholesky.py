"""Tiled Cholesky factorisation, right-looking, as a dataflow graph.

With W x W tiles of b x b elements, step k = 0 .. W - 1 creates

* ``potrf(k)``, which factorises tile (k, k): b^3 / 3 operations;
* ``trsm(i, k)`` for i = k + 1 .. W - 1, which solves tile (i, k): b^3 operations;
* ``update(i, j)`` for i = k + 1 .. W - 1 and j = k + 1 .. i, which subtracts the product of tiles
  (i, k) and (j, k) from tile (i, j): ``syrk`` with b^3 operations if i = j, else ``gemm`` with 2
  b^3.

Tasks are numbered in this order.

* *Edges.* A task starts after the last writers of all tiles that it accesses: ``(W^3 - W) / 2``
  edges among ``W (W + 1) (W + 2) / 6`` tasks.
* *Blocks.* One per tile of the lower triangle, row by row, of ``b^2 e`` bytes.
* *Bytes.* A task reads the tiles it needs, then reads and writes its own, always whole tiles:
  potrf 2, trsm and syrk 3, gemm 4 times ``b^2 e`` bytes.
* *Priorities.* What the program tells its runtime: ``2 W - 2 k`` for potrf(k), ``2 W - 2 k - i``
  for trsm(i, k) and update(i, i), ``2 W - 2 k - i - j`` for other update(i, j), those of StarPU's
  example.
* *Devices.* On devices for which the machine has no costs of its own, kernels reach parts of the
  device's speed (:mod:`simsched.workload.tile_kernels`); the initialisation cannot run there.
* *Initialisation.* One independent task per block writes it.

With ``costs: bench`` the graph is that of the benchmark with known makespans: the operations above
with b^3 = 1e6, times ``0.9 + 0.2 rnd()`` in the order of tasks (:mod:`simsched.workload.bench`),
and there are neither blocks nor an initialisation.

With ``costs: measured`` it is the program of StarPU (``cholesky_implicit``), for machines with
timings of its codelets: updates of a step are created column by column, and the matrix lies in
memory when the program starts, so there is no initialisation. It says of each tile when nobody will
write to it any more (:attr:`~simsched.workload.graph.TaskGraph.access_final`), and its kernel of
potrf is synchronous (:attr:`~simsched.workload.graph.TaskGraph.synchronous`).

References
----------
Buttari, Langou, Kurzak and Dongarra, *A class of parallel tiled linear algebra algorithms for
multicore architectures*, Parallel Computing 35(1), 2009. StarPU 1.4, examples/cholesky/
cholesky_implicit.c (priorities).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

import numpy as np

from simsched.workload.bench import bench_rng
from simsched.workload.builder import (
    Accesses,
    after_last_writers,
    build_graph,
    check_size,
    first_touch_loop,
    last_writes,
    updates,
)
from simsched.workload.graph import Int32Array, Int64Array, Workload
from simsched.workload.registry import Bounds, Cost, Count, Size, generator
from simsched.workload.tile_kernels import EFFICIENCY, Efficiency, cubes, device_efficiency

CLASSES = ("potrf", "trsm", "syrk", "gemm")
CODELETS = tuple(f"chol_model_{name}" for name in CLASSES)
_POTRF, _TRSM, _SYRK, _GEMM = range(4)
_BENCH_CUBE = 1e6


@generator("cholesky", small={"tiles": 5, "tile_size": 32, "iterations": 2})
def cholesky(
    *,
    tiles: Annotated[int, Bounds(1, 1500)] = 16,
    tile_size: Annotated[int, Bounds(1, 100_000)] = 256,
    element_bytes: Size = 8,
    init_ops_per_element: Cost = 2.0,
    costs: Literal["tile", "bench", "measured"] = "tile",
    efficiency: Efficiency = EFFICIENCY,
    iterations: Count = 1,
) -> Workload:
    """Tiled Cholesky factorisation, right-looking, as a dataflow graph.

    Parameters
    ----------
    tiles : int
        Tiles in a row of the matrix.
    tile_size : int
        Elements in a row of a tile.
    element_bytes : int
        Bytes of one element.
    init_ops_per_element : float
        Operations per element of the initialisation.
    costs : {"tile", "bench", "measured"}
        Costs and accesses of real tiles; the drawn costs of the benchmark without accesses; or the
        durations that the machine has for StarPU's codelets, and its program.
    efficiency : float
        Part of a device's speed that gemm reaches where the machine has no costs of its own.
    iterations : int
        How often the factorisation is repeated.
    """
    n_tasks, tile_bytes = tiles * (tiles + 1) * (tiles + 2) // 6, tile_size**2 * element_bytes
    check_size("cholesky", tasks=n_tasks, data_bytes=4 * n_tasks * tile_bytes)
    is_measured = costs == "measured"
    tasks = enumerate_tasks(tiles, by_column=is_measured)
    accessed = _accesses(tasks, tile_bytes)
    successors = after_last_writers(accessed)
    if costs == "bench":
        ops = _bench_costs(tasks.kind)
        graph = build_graph(ops, task_class=tasks.kind, class_names=CLASSES, successors=successors)
        return Workload("cholesky", graph, iterations)
    blocks = np.full(tiles * (tiles + 1) // 2, tile_bytes, dtype=np.int64)
    graph = build_graph(
        cubes(CLASSES)[tasks.kind] * float(tile_size) ** 3,
        task_class=tasks.kind,
        class_names=CLASSES,
        successors=successors,
        accessed=accessed,
        block_bytes=blocks,
        synchronous=(tasks.kind == _POTRF) & is_measured,
        priority=_priorities(tasks, tiles),
        access_final=last_writes(accessed) if is_measured else None,
        device_efficiency=None if is_measured else device_efficiency(CLASSES, efficiency),
        codelets=CODELETS if is_measured else None,
    )
    if is_measured:
        return Workload("cholesky", graph, iterations)
    init = first_touch_loop(blocks, tile_size * tile_size * init_ops_per_element)
    return Workload("cholesky", graph, iterations, init)


@dataclass(frozen=True)
class Tasks:
    """All tasks in order."""

    #: Class, an index into `CLASSES`; shape (n_tasks,).
    kind: Int32Array
    #: Step k, and row i and column j of the tile written; shape (n_tasks,).
    step: Int64Array
    row: Int64Array
    column: Int64Array


def enumerate_tasks(tiles: int, *, by_column: bool = False) -> Tasks:
    """Return the tasks of all steps; updates of a step come row by row or column by column."""
    all_rows, all_columns = np.tril_indices(tiles)  # row by row
    step_rows, step_columns, steps = [], [], []
    for step in range(tiles):
        below = np.arange(step + 1, tiles)
        updated = len(below) * (len(below) + 1) // 2
        rows, columns = all_rows[:updated], all_columns[:updated]
        if by_column:
            order = np.lexsort((rows, columns))
            rows, columns = rows[order], columns[order]
        step_rows.append(np.concatenate(([step], below, rows + step + 1)))
        step_columns.append(np.concatenate((np.full(1 + len(below), step), columns + step + 1)))
        steps.append(np.full(1 + len(below) + updated, step))
    row, column, step_of = (np.concatenate(part) for part in (step_rows, step_columns, steps))
    in_panel = column == step_of
    kind = np.where(
        in_panel, np.where(row == step_of, _POTRF, _TRSM), np.where(row == column, _SYRK, _GEMM)
    )
    return Tasks(kind.astype(np.int32), step_of, row, column)


def _bench_costs(kind: Int32Array) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Return the costs of the benchmark, in its order of operations."""
    base = np.array([_BENCH_CUBE, _BENCH_CUBE, _BENCH_CUBE, 2.0 * _BENCH_CUBE])[kind]
    ops = base * (0.9 + 0.2 * bench_rng(len(kind)))
    return np.where(kind == _POTRF, ops / 3.0, ops)


def _priorities(tasks: Tasks, tiles: int) -> Int64Array:
    """Return the priorities; a row or column of the panel counts once, and so does a diagonal."""
    row = np.where(tasks.kind == _POTRF, 0, tasks.row)
    column = np.where(tasks.kind == _GEMM, tasks.column, 0)
    return 2 * tiles - 2 * tasks.step - row - column


def _accesses(tasks: Tasks, tile_bytes: int) -> Accesses:
    step, row, column = tasks.step, tasks.row, tasks.column
    read = (
        (tasks.kind == _TRSM, _block(step, step)),
        (column != step, _block(row, step)),
        (tasks.kind == _GEMM, _block(column, step)),
    )
    return updates(read, _block(row, column), tile_bytes)


def _block(row: Int64Array, column: Int64Array) -> Int64Array:
    """Return the block of a tile of the lower triangle."""
    return row * (row + 1) // 2 + column
