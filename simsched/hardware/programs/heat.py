"""Heat distribution on a plate: the program of the workload ``heat``."""

from __future__ import annotations

from simsched.hardware.program import Program, program
from simsched.hardware.programs._common import Seed, checked
from simsched.hardware.programs._grid import Stencil, Sweeps, grid_program
from simsched.workload.registry import Count

ACROSS_ROWS, ALONG_ROW = 0.2, 0.15


@program("heat", small={"rows": 61, "columns": 48, "leaf_rows": 5, "iterations": 5})
@checked
def heat(
    *,
    rows: Count = 1024,
    columns: Count = 512,
    leaf_rows: Count = 8,
    irregular: bool = False,
    iterations: Count = 500,
    seed: Seed = 0,
) -> Program:
    """Heat distribution: a five-point stencil swept by a spawn tree over rows.

    Parameters
    ----------
    rows, columns : int
        Size of the plate; two copies of ``8 * rows * columns`` bytes.
    leaf_rows : int
        Most rows of a leaf; at least 3 when irregular.
    irregular : bool
        Divide by the irregular tree instead of in halves.
    iterations : int
        Number of sweeps.
    seed : int
        Of the initial temperatures.

    Notes
    -----
    An operation is one element of the new copy, boundary included. A sweep moves a temperature
    towards its neighbours' with the weights of an explicit step in time, ``0.2`` across rows and
    ``0.15`` along them.

    References
    ----------
    Frigo, Leiserson and Randall, *The implementation of the Cilk-5 multithreaded language*, PLDI
    1998 (program ``heat``). Chen and Guo, *Task Scheduling for Multi-core and Parallel
    Architectures*, Springer 2017, Algorithms 1 and 3.
    """
    return grid_program(
        "heat",
        (rows, columns),
        Sweeps(leaf_rows, irregular, iterations),
        weights=(ACROSS_ROWS, ALONG_ROW),
        stencil=Stencil(
            1,
            (
                (1.0 - 2.0 * (ACROSS_ROWS + ALONG_ROW), ((0, 0),)),
                (ACROSS_ROWS, ((-1, 0), (1, 0))),
                (ALONG_ROW, ((0, -1), (0, 1))),
            ),
        ),
        seed=seed,
    )
