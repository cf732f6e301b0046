"""Cholesky factorisation by quadrants, a spawn tree with syncs between phases of quadrants.

A matrix of T x T tiles, T = 2^k, is a tree of quadrants. With quadrants 00, 10, 11 of the lower
triangle, three functions divide until they reach tiles:

* ``factor(A)``: factor A00; then solve A10 with A00; then subtract A10 A10^T from A11; then factor
  A11.
* ``solve(A, L)``: solve A00 and A10 with L00; then subtract A00 L10^T from A01 and A10 L10^T from
  A11; then solve A01 and A11 with L11.
* ``multiply(A, B, R)``: subtract A00 B00^T, A00 B10^T, A10 B00^T, A10 B10^T from R00, R01, R10,
  R11; then the same with A01, A11 and B01, B11. If R is symmetric, R01 is left out.

* *Tasks.* Every call; ``T (T + 1) (T + 2) / 6`` of them work on tiles.
* *Edges.* From every child before a sync to every child after it, up to the next.
* *Blocks.* One per tile of the lower triangle, row by row, of ``b^2 e`` bytes.
* *Bytes and operations.* Only of calls on tiles, as in
  :mod:`~simsched.workload.generators.cholesky`.
* *Initialisation.* One independent task per block writes it.

The Cilk program works on sparse matrices and leaves out quadrants without elements; here the matrix
is dense. Its number of tiles and their size are not stated.

References
----------
Frigo et al., PLDI 1998 (program ``cholesky``). Book of docs/sources, section 3.8 (program
``Cholesky``, CPU-bound).
"""

from __future__ import annotations

from typing import Annotated

import numpy as np

from simsched.workload.builder import check_size, first_touch_loop
from simsched.workload.call_tree import CallTree
from simsched.workload.graph import Workload
from simsched.workload.registry import Bounds, Cost, Count, Size, generator

CLASSES = ("factor", "solve", "multiply")
_FACTOR, _SOLVE, _MULTIPLY = range(3)


@generator("cholesky_quadtree", small={"levels": 2, "tile_size": 16, "iterations": 2})
def cholesky_quadtree(
    *,
    levels: Annotated[int, Bounds(0, 7)] = 4,
    tile_size: Annotated[int, Bounds(1, 100_000)] = 32,
    element_bytes: Size = 8,
    init_ops_per_element: Cost = 2.0,
    inner_ops: Cost = 0.0,
    iterations: Count = 1,
) -> Workload:
    """Cholesky factorisation by quadrants: recursive calls with syncs between them.

    Parameters
    ----------
    levels : int
        How often the matrix is divided; it has ``2**levels`` tiles in a row.
    tile_size : int
        Elements in a row of a tile.
    element_bytes : int
        Bytes of one element.
    init_ops_per_element : float
        Operations per element of the initialisation.
    inner_ops : float
        Operations of the body of a call that divides.
    iterations : int
        How often the factorisation is repeated.
    """
    tile_bytes, tiles = tile_size**2 * element_bytes, 2**levels
    check_size("cholesky_quadtree", data_bytes=4 * tiles**3 * tile_bytes)
    program = _Program(tile_bytes, float(tile_size) ** 3, inner_ops)
    program.factor(None, 0, tiles)
    blocks = np.full(tiles * (tiles + 1) // 2, tile_bytes, dtype=np.int64)
    init = first_touch_loop(blocks, tile_size**2 * init_ops_per_element)
    return Workload("cholesky_quadtree", program.calls.graph(blocks), iterations, init)


class _Program:
    """The three functions; quadrants are given by their first tile row and column, and size."""

    def __init__(self, tile_bytes: int, cube: float, inner_ops: float) -> None:
        self.calls = CallTree(CLASSES)
        self.tile_bytes, self.cube, self.inner_ops = tile_bytes, cube, inner_ops

    def factor(self, caller: int | None, at: int, size: int) -> None:
        """Factor the quadrant of the diagonal at (at, at)."""
        if size == 1:
            self._tile(caller, _FACTOR, 1.0 / 3.0, [], (at, at))
            return
        me, half = self.calls.call(caller, _FACTOR, self.inner_ops), size // 2
        below = at + half
        self.factor(me, at, half)
        self.calls.sync(me)
        self.solve(me, (below, at), at, half)
        self.calls.sync(me)
        self.multiply(me, (below, at), (below, at), (below, below), half)
        self.calls.sync(me)
        self.factor(me, below, half)

    def solve(self, caller: int, a: tuple[int, int], at: int, size: int) -> None:
        """Solve the quadrant `a` with the factor at (at, at)."""
        if size == 1:
            self._tile(caller, _SOLVE, 1.0, [(at, at)], a)
            return
        me, half = self.calls.call(caller, _SOLVE, self.inner_ops), size // 2
        (row, column), below = a, at + half
        rows = (row, row + half)
        for down in rows:
            self.solve(me, (down, column), at, half)
        self.calls.sync(me)
        for down in rows:
            self.multiply(me, (down, column), (below, at), (down, column + half), half)
        self.calls.sync(me)
        for down in rows:
            self.solve(me, (down, column + half), below, half)

    def multiply(
        self, caller: int, a: tuple[int, int], b: tuple[int, int], r: tuple[int, int], size: int
    ) -> None:
        """Subtract from `r` the product of `a` and the transpose of `b`."""
        lower = r[0] == r[1]
        if size == 1:
            self._tile(caller, _MULTIPLY, 1.0 if lower else 2.0, [a] if lower else [a, b], r)
            return
        me, half = self.calls.call(caller, _MULTIPLY, self.inner_ops), size // 2
        for along in (0, half):
            for down, right in ((0, 0), (0, half), (half, 0), (half, half)):
                if lower and right > down:
                    continue
                self.multiply(
                    me,
                    (a[0] + down, a[1] + along),
                    (b[0] + right, b[1] + along),
                    (r[0] + down, r[1] + right),
                    half,
                )
            self.calls.sync(me)

    def _tile(
        self,
        caller: int | None,
        kind: int,
        cubes: float,
        read: list[tuple[int, int]],
        written: tuple[int, int],
    ) -> None:
        """Add a call on tiles."""
        me = self.calls.call(caller, kind, cubes * self.cube)
        for tile in read:
            self.calls.access(me, _block(tile), self.tile_bytes, 0)
        self.calls.access(me, _block(written), self.tile_bytes, self.tile_bytes)


def _block(tile: tuple[int, int]) -> int:
    """Return the block of a tile of the lower triangle."""
    row, column = tile
    return row * (row + 1) // 2 + column
