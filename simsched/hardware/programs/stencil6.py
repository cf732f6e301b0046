"""Six-point stencil in a volume."""

from __future__ import annotations

from simsched.hardware.program import Program, program
from simsched.hardware.programs._common import Seed, checked
from simsched.hardware.programs._grid import Stencil, Sweeps, grid_program, neighbours
from simsched.workload.registry import Count

WEIGHT = 1.0 / 6.0


@program(
    "stencil6", small={"rows": 23, "lines": 10, "columns": 13, "leaf_rows": 4, "iterations": 5}
)
@checked
def stencil6(
    *,
    rows: Count = 256,
    lines: Count = 64,
    columns: Count = 64,
    leaf_rows: Count = 8,
    irregular: bool = False,
    iterations: Count = 300,
    seed: Seed = 0,
) -> Program:
    """Six-point stencil in a volume, swept by a spawn tree over its rows, which are layers.

    Parameters
    ----------
    rows, lines, columns : int
        Size of the volume; two copies of ``8 * rows * lines * columns`` bytes.
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
    An operation is one element of the new copy, boundary included. An element becomes the mean of
    its six neighbours: the Jacobi iteration with the seven-point Laplacian.

    References
    ----------
    The programs ``6P`` and ``6P-ir`` of Chen and Guo, *Task Scheduling for Multi-core and Parallel
    Architectures*, Springer 2017, chapter 4, which does not give the weights.
    """
    return grid_program(
        "stencil6",
        (rows, lines, columns),
        Sweeps(leaf_rows, irregular, iterations),
        weights=(WEIGHT,),
        stencil=Stencil(1, ((WEIGHT, neighbours(1)),)),
        seed=seed,
    )
