"""Rows of sparse matrices: their non-zeros, and what they cost on processors and GPUs."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from simsched.workload.graph import Int64Array, Workload

NEAR = 8  #: non-zeros are near the diagonal within this part of the matrix's width
GRAPH500 = (0.57, 0.19, 0.19, 0.05)  #: probabilities of the quadrants of an R-MAT matrix


@dataclass(frozen=True, eq=False)
class SparseRows:
    """Non-zeros of the rows of a square matrix."""

    #: Non-zeros of each row, and those whose column is at most an eighth of the matrix's width from
    #: the diagonal; shape (n_rows,).
    nonzeros: Int64Array
    near: Int64Array


@dataclass(frozen=True)
class RowCosts:
    """What rows cost."""

    cpu_ops: float = 4.0
    gpu_ops: float = 100.0
    #: Rows that a GPU executes in lock step: each takes as long as the longest of them.
    warp_rows: int = 32
    #: Rows of average length whose time a GPU needs on top, whatever it gets.
    saturation_rows: float = 256.0
    nonzero_bytes: int = 8
    result_bytes: int = 4

    def on_cpu(self, nonzeros: Int64Array) -> float:
        """Return the operations of rows with these numbers of non-zeros on processors."""
        return self.cpu_ops * int(nonzeros.sum())

    def on_gpu(self, nonzeros: Int64Array) -> float:
        """Return the operations of rows on a GPU, in the order in which they are given."""
        if not len(nonzeros):
            return 0.0
        padded = np.zeros(-(-len(nonzeros) // self.warp_rows) * self.warp_rows, np.int64)
        padded[: len(nonzeros)] = nonzeros
        lock_step = self.warp_rows * int(padded.reshape(-1, self.warp_rows).max(axis=1).sum())
        fill = self.saturation_rows * (int(nonzeros.sum()) / len(nonzeros))
        return self.gpu_ops * (lock_step + fill)


@dataclass(frozen=True, eq=False)
class MatrixWorkload(Workload):
    """A program over the rows of a sparse matrix."""

    rows: SparseRows = field(kw_only=True)
    costs: RowCosts = field(kw_only=True)


def rmat_rows(rng: np.random.Generator, scale: int, edge_factor: int) -> SparseRows:
    """Return the rows of a random matrix with 2^scale rows, as Graph 500 generates its graphs.

    A row has `edge_factor` non-zeros in the mean.

    Every non-zero chooses a quadrant `scale` times; rows and columns are numbered at random
    afterwards, with the same numbers. Non-zeros that fall together count separately.
    """
    n, count = 2**scale, edge_factor * 2**scale
    row, column = np.zeros(count, np.int64), np.zeros(count, np.int64)
    for _ in range(scale):
        quadrant = rng.choice(4, count, p=GRAPH500)
        row, column = 2 * row + quadrant // 2, 2 * column + quadrant % 2
    number = rng.permutation(n)
    return _counted(number[row], number[column], n)


def band_rows(rng: np.random.Generator, scale: int, edge_factor: int) -> SparseRows:
    """Return the rows of a quasi-diagonal matrix with 2^scale rows.

    Non-zeros of a row are lognormal, with 1 as the deviation of their logarithm, their columns
    normal around the diagonal with a deviation of 1/64 of the width, clipped to the matrix.
    """
    n = 2**scale
    length = rng.lognormal(np.log(edge_factor) - 0.5, 1.0, n)
    row = np.repeat(np.arange(n), np.maximum(length.astype(np.int64), 1))
    column = np.clip(row + (rng.standard_normal(len(row)) * n / 64).astype(np.int64), 0, n - 1)
    return _counted(row, column, n)


def _counted(row: Int64Array, column: Int64Array, n: int) -> SparseRows:
    """Return the non-zeros of each row."""
    near = np.abs(row - column) <= n // NEAR
    return SparseRows(
        np.bincount(row, minlength=n).astype(np.int64),
        np.bincount(row[near], minlength=n).astype(np.int64),
    )
