"""Fast Fourier transform, recursive, a spawn tree whose second phase combines.

With N = 2^k points, leaves of n = 2^j (`leaf_points`) and radix R, at most n:

* *Tasks.* A call on m > n points transforms r parts, ``r = min(R, m / n)`` (points i, i + r, ...,
  stored one after the other), and then combines them in one pass, log2 r levels at once: m / r
  groups of r points, which are divided in halves until a leaf has n points. Calls on equally many
  points are a stage; with s stages there are ``(2 s + 1) N / n`` tasks.
* *Edges.* Combining starts after all parts: r per call that divides.
* *Blocks.* One per n points of e bytes.
* *Bytes.* A leaf that transforms reads and writes its block; one that combines reads n / r points
  of each of its r parts, then writes them. Every stage moves ``N e`` bytes each way.
* *Operations.* 10 per pair and level (`ops_per_pair`), a complex product, a sum and a difference:
  ``5 N log2 N`` altogether.
* *Initialisation.* One independent task per block writes it.

References
----------
Cooley and Tukey, *An algorithm for the machine calculation of complex Fourier series*, Mathematics
of Computation 19, 1965. Frigo et al., PLDI 1998, program ``fft`` of Cilk (``factor`` takes 16 or 8
of a power of two at a time; later as ``fft`` of the Barcelona OpenMP Tasks Suite). Book of
docs/sources, section 3.8 (program ``FFT``, CPU-bound; no size is stated).
"""

from __future__ import annotations

from typing import Annotated

import numpy as np

from simsched.files.errors import ConfigurationError
from simsched.workload.builder import check_size, first_touch_loop
from simsched.workload.call_tree import CallTree
from simsched.workload.graph import Workload
from simsched.workload.registry import Bounds, Cost, Count, Size, generator

CLASSES = ("divide", "transform", "spread", "combine")
_DIVIDE, _TRANSFORM, _SPREAD, _COMBINE = range(4)


@generator("fft", small={"points": 256, "leaf_points": 32, "iterations": 2})
def fft(
    *,
    points: Annotated[int, Bounds(2, 2**30)] = 1 << 16,
    leaf_points: Annotated[int, Bounds(2, 2**30)] = 256,
    radix: Annotated[int, Bounds(2, 64)] = 16,
    point_bytes: Size = 16,
    ops_per_pair: Cost = 10.0,
    init_ops_per_point: Cost = 2.0,
    iterations: Count = 1,
) -> Workload:
    """Fast Fourier transform: parts are transformed, then combined in parallel.

    Parameters
    ----------
    points : int
        Number of points N, a power of two.
    leaf_points : int
        Most points of a leaf, a power of two.
    radix : int
        Most parts that are combined in one pass, a power of two.
    point_bytes : int
        Bytes of one point, 16 for two doubles.
    ops_per_pair : float
        Operations for a pair of points on one level.
    init_ops_per_point : float
        Operations per point of the initialisation.
    iterations : int
        How often the points are transformed.
    """
    for key, count in (("points", points), ("leaf_points", leaf_points), ("radix", radix)):
        if count & (count - 1):
            raise ConfigurationError(f"workload fft: {key}: found {count}, accepted powers of two")
    leaf = min(leaf_points, points)
    depth = (points // leaf).bit_length() - 1
    check_size(
        "fft", tasks=(2 * depth + 1) << depth, data_bytes=2 * (depth + 1) * points * point_bytes
    )
    program = _Program(leaf, radix, point_bytes, ops_per_pair)
    program.transform(None, 0, points)
    blocks = np.full(points // leaf, leaf * point_bytes, dtype=np.int64)
    init = first_touch_loop(blocks, leaf * init_ops_per_point)
    return Workload("fft", program.calls.graph(blocks), iterations, init)


class _Program:
    """Transforming and combining."""

    def __init__(self, leaf: int, radix: int, point_bytes: int, ops_per_pair: float) -> None:
        self.calls = CallTree(CLASSES)
        self.leaf, self.radix = leaf, min(radix, leaf)
        self.point_bytes, self.ops_per_pair = point_bytes, ops_per_pair

    def transform(self, caller: int | None, first: int, points: int) -> None:
        """Transform `points` points from `first` on."""
        if points == self.leaf:
            levels = points.bit_length() - 1
            me = self.calls.call(caller, _TRANSFORM, points // 2 * levels * self.ops_per_pair)
            moved = points * self.point_bytes
            self.calls.access(me, first // self.leaf, moved, moved)
            return
        me = self.calls.call(caller, _DIVIDE)
        parts = min(self.radix, points // self.leaf)
        apart = points // parts
        for part in range(parts):
            self.transform(me, first + part * apart, apart)
        self.calls.sync(me)
        self.combine(me, first, apart, parts, apart)

    def combine(self, caller: int, first: int, groups: int, parts: int, apart: int) -> None:
        """Combine the groups of points that begin with first, first + 1, ... and are so far apart.

        A group has a point of each part.
        """
        if groups * parts == self.leaf:
            pairs = self.leaf // 2 * (parts.bit_length() - 1)
            me = self.calls.call(caller, _COMBINE, pairs * self.ops_per_pair)
            moved = groups * self.point_bytes
            # Pieces of blocks, each of which one access with both would count twice.
            blocks = [(first + part * apart) // self.leaf for part in range(parts)]
            for block in blocks:
                self.calls.access(me, block, moved, 0)
            for block in blocks:
                self.calls.access(me, block, 0, moved)
            return
        me = self.calls.call(caller, _SPREAD)
        self.combine(me, first, groups // 2, parts, apart)
        self.combine(me, first + groups // 2, groups // 2, parts, apart)
