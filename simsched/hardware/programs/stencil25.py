"""Twenty-five-point stencil in a volume: a wave, four elements far in every direction."""

from __future__ import annotations

from simsched.hardware.program import Program, program
from simsched.hardware.programs._common import Seed, checked
from simsched.hardware.programs._grid import Stencil, Sweeps, grid_program, neighbours
from simsched.workload.registry import Count

RADIUS = 4
# Second derivative, exact for polynomials of degree 9: elements 0, 1, 2, 3 and 4 away.
DERIVATIVE = (-205.0 / 72.0, 8.0 / 5.0, -1.0 / 5.0, 8.0 / 315.0, -1.0 / 560.0)
SPEED_SQUARED = 0.1  # elements per step, squared; the scheme is stable below 0.2


@program(
    "stencil25", small={"rows": 27, "lines": 11, "columns": 14, "leaf_rows": 5, "iterations": 4}
)
@checked
def stencil25(
    *,
    rows: Count = 256,
    lines: Count = 64,
    columns: Count = 64,
    leaf_rows: Count = 8,
    irregular: bool = False,
    iterations: Count = 120,
    seed: Seed = 0,
) -> Program:
    """Twenty-five-point stencil in a volume, swept by a spawn tree over its rows, which are layers.

    Parameters
    ----------
    rows, lines, columns : int
        Size of the volume; two copies of ``8 * rows * lines * columns`` bytes.
    leaf_rows : int
        Most rows of a leaf, which also reads four above and below; at least 3 when irregular.
    irregular : bool
        Divide by the irregular tree instead of in halves.
    iterations : int
        Number of sweeps.
    seed : int
        Of the initial values.

    Notes
    -----
    An operation is one element of the new copy, boundary included. A sweep is a step of the wave
    equation, of second order in time and of eighth order in space: ``2 u - v + c² L u`` with the
    field u, the field v one step earlier, which it replaces, and the Laplacian L as a star of 25
    points. The outermost four elements on every side are fixed.

    References
    ----------
    Micikevicius, *3D finite difference computation on GPUs using CUDA*, GPGPU-2, 2009. The programs
    ``25P`` and ``25P-ir`` of Chen and Guo, *Task Scheduling for Multi-core and Parallel
    Architectures*, Springer 2017, chapter 4, which does not give the shape.
    """
    middle = 2.0 + 3.0 * SPEED_SQUARED * DERIVATIVE[0]
    others = tuple(SPEED_SQUARED * weight for weight in DERIVATIVE[1:])
    star = tuple((weight, neighbours(away + 1)) for away, weight in enumerate(others))
    return grid_program(
        "stencil25",
        (rows, lines, columns),
        Sweeps(leaf_rows, irregular, iterations),
        weights=(middle, *others),
        stencil=Stencil(RADIUS, ((middle, ((0, 0, 0),)), *star), is_wave=True),
        seed=seed,
    )
