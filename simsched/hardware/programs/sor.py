"""Red-black successive over-relaxation on a plate."""

from __future__ import annotations

from typing import Annotated

import numpy as np

from simsched.hardware.program import Program, program
from simsched.hardware.programs._common import Seed, hashed_units, largest_error, untouched
from simsched.hardware.programs._grid import TOLERANCE, row_program, row_tree, sweep_graphs
from simsched.workload.graph import FloatArray
from simsched.workload.registry import Bounds, Count

CHECKED_ROWS = 32  # even; that the check updates at a time, so that they stay in a cache


@program(small={"rows": 58, "columns": 45, "leaf_rows": 5, "iterations": 3})
def sor(
    *,
    rows: Count = 1024,
    columns: Count = 512,
    leaf_rows: Count = 8,
    irregular: bool = False,
    omega: Annotated[float, Bounds(0.0, 2.0)] = 1.5,
    iterations: Count = 400,
    seed: Seed = 0,
) -> Program:
    """Successive over-relaxation of a plate in two colours, swept by a spawn tree over rows.

    Parameters
    ----------
    rows, columns : int
        Size of the plate, ``8 * rows * columns`` bytes.
    leaf_rows : int
        Most rows of a leaf; at least 3 when irregular.
    irregular : bool
        Divide by the irregular tree instead of in halves.
    omega : float
        Relaxation factor, 0 to 2.
    iterations : int
        Number of iterations of two half sweeps, each an iteration of the workload.
    seed : int
        Of the initial values.

    Notes
    -----
    An operation is one element of the colour that is updated, boundary included. A half sweep
    updates the elements of one colour of a checkerboard in place, from their four neighbours of the
    other colour; the boundary is fixed. A row holds its elements of one colour, then those of the
    other (one element of padding when the number of columns is odd): the graph is that of ``heat``
    with half the columns, where both colours take the place of the two copies.

    References
    ----------
    Young, *Iterative Solution of Large Linear Systems*, Academic Press 1971, chapter 5. The
    programs ``SOR`` and ``SOR-ir`` of Chen and Guo, *Task Scheduling for Multi-core and Parallel
    Architectures*, Springer 2017.
    """
    half = (columns + 1) // 2
    tree = row_tree("sor", rows, leaf_rows, irregular=irregular)
    field = untouched((rows, 2, half), np.float64)

    def check() -> float:
        found = np.empty((rows, 2 * half))
        for parity in (0, 1):
            for column in (0, 1):
                found[parity::2, column::2] = field[parity::2, (parity + column) % 2]
        expected = _relaxed(rows, columns, omega, iterations, seed)
        return largest_error(found[:, :columns], expected, TOLERANCE)

    return row_program(
        sweep_graphs("sor", tree, half, 1, 2 * iterations, in_place=True),
        tree,
        field,
        check=check,
        params=(rows, columns, seed),
        constants=(1.0 - omega, omega / 4.0),
    )


def _relaxed(rows: int, columns: int, omega: float, iterations: int, seed: int) -> FloatArray:
    """Return the plate after all iterations."""
    plate = hashed_units(seed, rows * columns).reshape(rows, columns)
    for _ in range(iterations):
        for colour in (0, 1):
            for first in range(0, rows - 2, CHECKED_ROWS):
                _relax(plate[first : first + CHECKED_ROWS + 2], colour, omega)
    return plate


def _relax(plate: FloatArray, colour: int, omega: float) -> None:
    """Update the inner elements of one colour; the first row is an even one."""
    for row in (1, 2):  # rows of one parity at a time, whose elements are equally spaced
        column = 1 + (row + 1 + colour) % 2
        own = plate[row:-1:2, column:-1:2]
        below, right = row + 2 * own.shape[0], column + 2 * own.shape[1]
        around = plate[row - 1 : below - 1 : 2, column:right:2]
        around = around + plate[row + 1 : below + 1 : 2, column:right:2]
        around += plate[row:below:2, column - 1 : right - 1 : 2]
        around += plate[row:below:2, column + 1 : right + 1 : 2]
        around *= omega / 4.0
        own *= 1.0 - omega
        own += around
