"""Grids that are swept row by row from one copy to the other: the stencils that are measured.

The graph is the one of the workload of the same name:
:class:`~simsched.workload.row_sweep.RowSweep` with two copies over a tree of halves (or the
irregular tree), one block per leaf. A row of a block holds its two copies one after the other;
iteration t reads copy (t - 1) mod 2 and writes copy t mod 2.

The outermost elements keep their values, except that the first element of every line rises by
`RISE` per iteration. It does so in place, by twice as much every other iteration, and so tells when
a line was left out or computed twice, which the sweep from copy to copy would not.
"""

from __future__ import annotations

import math
import operator

import numpy as np

from simsched.hardware.program import Program, program
from simsched.hardware.programs._common import Seed, hashed_units, largest_error, untouched
from simsched.hardware.programs._grid import TOLERANCE, row_program, row_tree, sweep_graphs
from simsched.workload.graph import FloatArray
from simsched.workload.registry import Count
from simsched.workload.stencils import STENCILS, MeasuredStencil

RISE = 2.0**-10
CHECKED_ELEMENTS = 2**14  # that the check works on at a time, so that they stay in a cache


def grid(
    stencil: MeasuredStencil,
    *,
    rows: Count = 1024,
    lines: Count = 1,
    columns: Count = 512,
    leaf_rows: Count = 8,
    irregular: bool = False,
    iterations: Count = 500,
    seed: Seed = 0,
) -> Program:
    """Return a program that sweeps a plane or a volume from one copy to the other.

    Parameters
    ----------
    stencil : MeasuredStencil
        What a sweep computes.
    rows, lines, columns : int
        Size of the plane; two copies of ``8 * rows * columns`` bytes.
    leaf_rows : int
        Most rows of a leaf; at least 3 when irregular.
    irregular : bool
        Divide by the irregular tree instead of in halves.
    iterations : int
        Number of sweeps.
    seed : int
        Of the initial values.
    """
    shape = (rows, lines, columns) if "lines" in stencil.takes.split() else (rows, columns)
    name, row_elements = stencil.name, lines * columns
    tree = row_tree(name, rows, leaf_rows, irregular=irregular)
    field = untouched((rows, 2, *shape[1:]), np.float64)

    def check() -> float:
        expected = _swept(shape, iterations, stencil, seed)
        return max(largest_error(field[:, copy], expected[copy], TOLERANCE) for copy in (0, 1))

    return row_program(
        sweep_graphs(
            name, tree, row_elements, stencil.radius, iterations, in_place=stencil.is_wave
        ),
        tree,
        field,
        check=check,
        params=(rows, lines, columns, seed),
        constants=(RISE, *(weight for weight, _ in stencil.terms)),
    )


for _stencil in (row.measured for row in STENCILS if row.measured):
    globals()[_stencil.name] = program(small=_stencil.small)(
        _stencil.of(grid, _stencil, module=__name__)
    )


def _swept(
    shape: tuple[int, ...], iterations: int, stencil: MeasuredStencil, seed: int
) -> tuple[FloatArray, FloatArray]:
    """Return both copies after all sweeps."""
    begin = hashed_units(seed, math.prod(shape)).reshape(shape)
    copies = begin.copy(), begin.copy()
    copies[1][..., 0] -= RISE
    for iteration in range(1, iterations + 1):
        out = copies[iteration % 2]
        _sweep(copies[1 - iteration % 2], out, stencil)
        for axis in range(len(shape)):
            for edge in (slice(None, stencil.radius), slice(-stencil.radius, None)):
                face = (slice(None),) * axis + (edge,)
                out[face] = begin[face]
        out[..., 0] = begin[..., 0] + iteration * RISE
    return copies


def _sweep(now: FloatArray, out: FloatArray, stencil: MeasuredStencil) -> None:
    """Set all elements of `out` whose neighbours exist if lines follow each other without an end.

    The boundary is wrong afterwards. Whole ranges of elements are several times faster than the
    inner elements of each line.
    """
    steps = [math.prod(now.shape[axis + 1 :]) for axis in range(now.ndim)]
    terms = [
        (weight, [sum(map(operator.mul, place, steps)) for place in places])
        for weight, places in stencil.terms
    ]
    reach = max(abs(offset) for _, offsets in terms for offset in offsets)
    source, target = now.ravel(), out.ravel()
    for first in range(reach, now.size - reach, CHECKED_ELEMENTS):
        last = min(first + CHECKED_ELEMENTS, now.size - reach)
        result = -target[first:last] if stencil.is_wave else np.zeros(last - first)
        for weight, offsets in terms:
            total = source[first + offsets[0] : last + offsets[0]].copy()
            for offset in offsets[1:]:
                total += source[first + offset : last + offset]
            total *= weight
            result += total
        target[first:last] = result
