"""Tiled Cholesky factorisation: the program of the workload ``cholesky``."""

from __future__ import annotations

from typing import Annotated

import numpy as np
from scipy.linalg import cholesky as factorise

from simsched.hardware.program import Program, program
from simsched.hardware.programs._common import (
    Seed,
    hashed_units,
    largest_error,
    untouched,
)
from simsched.workload import generate_workload
from simsched.workload.generators.cholesky import CLASSES as TILE_CLASSES
from simsched.workload.generators.cholesky import enumerate_tasks
from simsched.workload.graph import FloatArray, Workload
from simsched.workload.registry import Bounds

CLASSES = (*TILE_CLASSES, "initialise")
TOLERANCE = 1e-12  # of the largest element, about sqrt(n); a missing update changes 1e-7 of it


@program(small={"tiles": 4, "tile_size": 13})
def cholesky(
    *,
    tiles: Annotated[int, Bounds(1, 1000)] = 24,
    tile_size: Annotated[int, Bounds(1, 10_000)] = 96,
    seed: Seed = 0,
) -> Program:
    """Tiled Cholesky factorisation, right-looking, of a lower triangle in place, as dataflow.

    Parameters
    ----------
    tiles : int
        Tiles in a row of the matrix.
    tile_size : int
        Elements in a row of a tile; ``8 * tile_size**2 * tiles * (tiles + 1) / 2`` bytes.
    seed : int
        Of the matrix.

    Notes
    -----
    Operations are floating-point operations, of the initialisation elements. The matrix is random
    and diagonally dominant, hence positive definite.

    References
    ----------
    Buttari, Langou, Kurzak and Dongarra, *A class of parallel tiled linear algebra algorithms for
    multicore architectures*, Parallel Computing 35(1), 2009.
    """
    generated = generate_workload(
        "cholesky", {"tiles": tiles, "tile_size": tile_size, "init_ops_per_element": 1.0}
    )
    assert generated.init is not None
    tasks = enumerate_tasks(tiles)
    row, column = np.tril_indices(tiles)
    lower = untouched((len(row), tile_size, tile_size), np.float64)

    def check() -> float:
        order = tiles * tile_size
        made = np.tril(hashed_units(seed, order * order).reshape(order, order) - 0.5)
        made[np.diag_indices(order)] += order
        return largest_error(np.tril(_matrix(lower)), factorise(made, lower=True), TOLERANCE)

    return Program(
        name="cholesky",
        workload=Workload(
            "cholesky",
            generated.graph.with_classes(CLASSES),
            init=generated.init.with_classes(CLASSES),
        ),
        args=np.stack((tasks.step, tasks.row, tasks.column), axis=1),
        init_args=np.stack((np.zeros_like(row), row, column), axis=1),
        arrays=(lower,),
        blocks=(len(row),),
        check=check,
        params=(tiles, tile_size, seed),
    )


def _matrix(lower: FloatArray) -> FloatArray:
    """Return the tiles of a lower triangle, whose columns are contiguous, as a matrix."""
    n_tiles, tile_size, _ = lower.shape
    tiles = (int(np.sqrt(8 * n_tiles + 1)) - 1) // 2
    matrix = np.zeros((tiles, tile_size, tiles, tile_size))
    row, column = np.tril_indices(tiles)
    matrix[row, :, column, :] = lower.transpose(0, 2, 1)
    return matrix.reshape(tiles * tile_size, tiles * tile_size)
