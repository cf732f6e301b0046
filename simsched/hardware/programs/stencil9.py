"""Nine-point stencil on a plane."""

from __future__ import annotations

from simsched.hardware.program import Program, program
from simsched.hardware.programs._common import Seed, checked
from simsched.hardware.programs._grid import Stencil, Sweeps, grid_program
from simsched.workload.registry import Count

EDGE, CORNER = 4.0 / 20.0, 1.0 / 20.0


@program("stencil9", small={"rows": 53, "columns": 40, "leaf_rows": 4, "iterations": 5})
@checked
def stencil9(
    *,
    rows: Count = 1024,
    columns: Count = 512,
    leaf_rows: Count = 8,
    irregular: bool = False,
    iterations: Count = 500,
    seed: Seed = 0,
) -> Program:
    """Nine-point stencil on a plane, swept by a spawn tree over rows.

    Parameters
    ----------
    rows, columns : int
        Size of the plane; two copies of ``8 * rows * columns`` bytes.
    leaf_rows : int
        Most rows of a leaf; at least 3 when irregular.
    irregular : bool
        Divide by the irregular tree instead of in halves.
    iterations : int
        Number of sweeps.
    seed : int
        Of the initial values.

    Notes
    -----
    An operation is one element of the new copy, boundary included. The weights, 4/20 at the edges
    and 1/20 at the corners, are those of the Jacobi iteration with the compact Laplacian.

    References
    ----------
    The programs ``9P`` and ``9P-ir`` of Chen and Guo, *Task Scheduling for Multi-core and Parallel
    Architectures*, Springer 2017, chapter 4, which does not give the weights. Collatz,
    *The Numerical Treatment of Differential Equations*, Springer 1960, chapter V.
    """
    return grid_program(
        "stencil9",
        (rows, columns),
        Sweeps(leaf_rows, irregular, iterations),
        weights=(EDGE, CORNER),
        stencil=Stencil(
            1,
            (
                (EDGE, ((-1, 0), (0, -1), (0, 1), (1, 0))),
                (CORNER, ((-1, -1), (-1, 1), (1, -1), (1, 1))),
            ),
        ),
        seed=seed,
    )
