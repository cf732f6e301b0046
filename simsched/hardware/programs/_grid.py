"""Grids that are swept row by row by the leaves of a spawn tree, shared by the stencil programs.

The graph is the one of the workload ``heat``: :class:`~simsched.workload.row_sweep.RowSweep` with
two copies over a tree of halves (or the irregular tree), one block per leaf. A row of a block holds
its two copies one after the other; iteration t reads copy (t - 1) mod 2 and writes copy t mod 2.

The outermost elements keep their values, except that the first element of every line rises by
`RISE` per iteration. It does so in place, by twice as much every other iteration, and so tells when
a line was left out or computed twice, which the sweep from copy to copy would not.
"""

from __future__ import annotations

import math
import operator
from dataclasses import dataclass

import numpy as np

from simsched.files.errors import ConfigurationError
from simsched.hardware.program import Program
from simsched.hardware.programs._common import DOUBLE_BYTES, with_classes
from simsched.hardware.programs._counted import hashed_units, largest_error, untouched
from simsched.workload.graph import FloatArray, Int64Array, Workload
from simsched.workload.row_sweep import RowSweep
from simsched.workload.spawn_tree import (
    SpawnTree,
    divide_in_halves,
    divide_unevenly,
    first_touch_tree,
)

CLASSES = ("divide", "sweep", "initialise")
RISE = 2.0**-10
TOLERANCE = 1e-9  # data are between 0 and 1, and a row that is left out differs by 1e-3 or more
CHECKED_ELEMENTS = 2**14  # that the check works on at a time, so that they stay in a cache

Places = tuple[tuple[int, ...], ...]
"""Neighbours of an element, each as its distance along every axis."""


@dataclass(frozen=True)
class Stencil:
    """What a sweep computes, for the check.

    Parameters
    ----------
    radius : int
        Distance of the farthest neighbours along an axis; the outermost elements up to this depth
        are the boundary.
    terms : tuple of (float, tuple)
        Weights, each with the neighbours that it multiplies.
    is_wave : bool
        Whether the value of two iterations ago is subtracted.
    """

    radius: int
    terms: tuple[tuple[float, Places], ...]
    is_wave: bool = False


def neighbours(away: int) -> Places:
    """Return the six elements of a volume that are `away` elements away along one axis.

    Parameters
    ----------
    away : int
        Distance.
    """
    places = (tuple(away * (axis == other) for other in range(3)) for axis in range(3))
    return tuple(tuple(sign * step for step in place) for place in places for sign in (-1, 1))


@dataclass(frozen=True)
class Sweeps:
    """How the rows of a grid are divided and how often they are swept.

    Parameters
    ----------
    leaf_rows : int
        Most rows of a leaf.
    irregular : bool
        Divide by the irregular tree, not in halves.
    iterations : int
        Number of sweeps.
    """

    leaf_rows: int
    irregular: bool
    iterations: int

    def tree(self, name: str, rows: int) -> SpawnTree:
        """Return the spawn tree over the rows.

        Parameters
        ----------
        name : str
            Program, for the message.
        rows : int
            Number of rows.

        Raises
        ------
        ConfigurationError
            Leaves that are too small for the irregular tree.
        """
        division = divide_unevenly if self.irregular else divide_in_halves
        if self.leaf_rows + 1 < division.lowest_cutoff:
            raise ConfigurationError(
                f"program {name}: leaf_rows: found {self.leaf_rows}, "
                f"accepted {division.lowest_cutoff - 1} or more when irregular"
            )
        return division.grow(rows, self.leaf_rows + 1)

    def workload(
        self, name: str, tree: SpawnTree, columns: int, halo_rows: int, *, in_place: bool = False
    ) -> Workload:
        """Return the workload, whose operations are elements.

        Parameters
        ----------
        name : str
            Its name.
        tree : SpawnTree
            Division of the rows, also into blocks.
        columns : int
            Doubles of a row in one copy.
        halo_rows : int
            Rows that are read above and below a leaf.
        in_place : bool
            Whether a sweep reads what it overwrites.
        """
        sweep = RowSweep(
            columns,
            DOUBLE_BYTES,
            copies=2,
            halo_rows=halo_rows,
            write_allocate=in_place,
            ops_per_element=1.0,
            inner_ops=0.0,
        )
        sizes = np.diff(tree.bounds) * sweep.row_bytes
        return Workload(
            name,
            with_classes(sweep.graph(tree, tree.bounds), CLASSES),
            self.iterations,
            with_classes(first_touch_tree(tree, tree.bounds, sizes, 2.0 * columns), CLASSES),
        )


def rows_of(tree: SpawnTree) -> Int64Array:
    """Return the arguments of the tasks: their first row and the one after their last.

    Parameters
    ----------
    tree : SpawnTree
        Division of the rows.
    """
    return np.stack((tree.first, tree.last), axis=1)


def grid_program(
    name: str,
    shape: tuple[int, ...],
    sweeps: Sweeps,
    *,
    weights: tuple[float, ...],
    stencil: Stencil,
    seed: int,
) -> Program:
    """Return a program that sweeps a plane or a volume from one copy to the other.

    Parameters
    ----------
    name : str
        Name of the program.
    shape : tuple of int
        Rows and columns of a plane; rows, lines and elements of a line of a volume.
    sweeps : Sweeps
        Division and repetition.
    weights : tuple of float
        Weights in the order in which C takes them.
    stencil : Stencil
        The same for the check.
    seed : int
        Of the initial values.
    """
    rows, length = shape[0], shape[-1]
    columns = math.prod(shape[1:])
    tree = sweeps.tree(name, rows)
    field = untouched((rows, 2, *shape[1:]), np.float64)

    def check() -> float:
        expected = _swept(shape, sweeps.iterations, stencil, seed)
        return max(largest_error(field[:, copy], expected[copy], TOLERANCE) for copy in (0, 1))

    return Program(
        name=name,
        workload=sweeps.workload(name, tree, columns, stencil.radius, in_place=stencil.is_wave),
        args=rows_of(tree),
        init_args=rows_of(tree),
        arrays=(field,),
        block_array=np.zeros(len(tree.leaves), dtype=np.int32),
        block_offset_bytes=tree.bounds[:-1] * (2 * columns * DOUBLE_BYTES),
        check=check,
        params=(rows, columns // length, length, seed),
        constants=(RISE, *weights),
    )


def _swept(
    shape: tuple[int, ...], iterations: int, stencil: Stencil, seed: int
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


def _sweep(now: FloatArray, out: FloatArray, stencil: Stencil) -> None:
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
