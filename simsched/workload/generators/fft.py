"""Fast Fourier transform, recursive by halves, a spawn tree whose second phase combines.

With N = 2^k points and leaves of n = 2^j (`leaf_points`), d = k - j:

* *Tasks.* A call on more than n points transforms both halves (even and odd points, stored one
  after the other) and then combines them; combining divides its pairs in halves until n / 2 are
  left: ``d 2^(d + 1) + 2^d`` tasks altogether.
* *Edges.* Combining starts after both halves: two per call that divides.
* *Blocks.* One per n points of e bytes.
* *Bytes.* A leaf that transforms reads and writes its block; one that combines reads n / 2 points
  of each of its two halves, then writes them. Every level moves ``N e`` bytes each way.
* *Operations.* 10 per pair and level (`ops_per_pair`), a complex product, a sum and a difference:
  ``5 N log2 N`` altogether.
* *Initialisation.* One independent task per block writes it.

References
----------
Cooley and Tukey, *An algorithm for the machine calculation of complex Fourier series*, Mathematics
of Computation 19, 1965. Frigo et al., PLDI 1998 (program ``fft``). Book of docs/sources, section
3.8 (program ``FFT``, CPU-bound; no size is stated).
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
    point_bytes: Size = 16,
    ops_per_pair: Cost = 10.0,
    init_ops_per_point: Cost = 2.0,
    iterations: Count = 1,
) -> Workload:
    """Fast Fourier transform: halves are transformed, then combined in parallel.

    Parameters
    ----------
    points : int
        Number of points N, a power of two.
    leaf_points : int
        Most points of a leaf, a power of two.
    point_bytes : int
        Bytes of one point, 16 for two doubles.
    ops_per_pair : float
        Operations for a pair of points on one level.
    init_ops_per_point : float
        Operations per point of the initialisation.
    iterations : int
        How often the points are transformed.
    """
    for key, count in (("points", points), ("leaf_points", leaf_points)):
        if count & (count - 1):
            raise ConfigurationError(f"workload fft: {key}: found {count}, accepted powers of two")
    leaf = min(leaf_points, points)
    depth = (points // leaf).bit_length() - 1
    check_size(
        "fft", tasks=(2 * depth + 1) << depth, data_bytes=2 * (depth + 1) * points * point_bytes
    )
    program = _Program(leaf, point_bytes, ops_per_pair)
    program.transform(None, 0, points)
    blocks = np.full(points // leaf, leaf * point_bytes, dtype=np.int64)
    init = first_touch_loop(blocks, leaf * init_ops_per_point)
    return Workload("fft", program.calls.graph(blocks), iterations, init)


class _Program:
    """Transforming and combining."""

    def __init__(self, leaf: int, point_bytes: int, ops_per_pair: float) -> None:
        self.calls = CallTree(CLASSES)
        self.leaf, self.point_bytes, self.ops_per_pair = leaf, point_bytes, ops_per_pair

    def transform(self, caller: int | None, first: int, points: int) -> None:
        """Transform `points` points from `first` on."""
        if points == self.leaf:
            levels = points.bit_length() - 1
            me = self.calls.call(caller, _TRANSFORM, points // 2 * levels * self.ops_per_pair)
            moved = points * self.point_bytes
            self.calls.access(me, first // self.leaf, moved, moved)
            return
        me, half = self.calls.call(caller, _DIVIDE), points // 2
        self.transform(me, first, half)
        self.transform(me, first + half, half)
        self.calls.sync(me)
        self.combine(me, first, half, half)

    def combine(self, caller: int, first: int, pairs: int, apart: int) -> None:
        """Combine the pairs of points first, first + 1, ... with those `apart` further on."""
        if 2 * pairs == self.leaf:
            me = self.calls.call(caller, _COMBINE, pairs * self.ops_per_pair)
            moved = pairs * self.point_bytes
            # Halves of blocks, each of which one access with both would count twice.
            halves = (first // self.leaf, (first + apart) // self.leaf)
            for block in halves:
                self.calls.access(me, block, moved, 0)
            for block in halves:
                self.calls.access(me, block, 0, moved)
            return
        me = self.calls.call(caller, _SPREAD)
        self.combine(me, first, pairs // 2, apart)
        self.combine(me, first + pairs // 2, pairs // 2, apart)
