"""Kernels of dense tile algorithms: operations, and the part of a device's speed that they reach.

On a tile of b x b elements a kernel takes ``cubes * b^3`` operations. Where a machine has no costs
of its own for a kind of device, it takes as long there as ``efficiency * part`` of the device's
operations per second allow, `efficiency` being that of a product of tiles (gemm). Parts are rounded
from what shipped machines assume for their GPUs; panels, which have little parallelism, reach a
hundredth or a fiftieth, some times the speed of a core.

References
----------
Operations: Buttari, Langou, Kurzak and Dongarra, *A class of parallel tiled linear algebra
algorithms for multicore architectures*, Parallel Computing 35(1), 2009. Parts: assumed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, NamedTuple

import numpy as np

from simsched.workload.graph import FloatArray
from simsched.workload.registry import Bounds

#: Part of a device's operations per second that a product of tiles reaches; 0 to leave it alone.
Efficiency = Annotated[float, Bounds(0, 1)]
EFFICIENCY = 0.9


class TileKernel(NamedTuple):
    """A kernel on tiles."""

    #: Operations per cube of the elements in a row of a tile.
    cubes: float
    #: Efficiency on a device relative to that of gemm.
    part: float


KERNELS = {
    "gemm": TileKernel(2.0, 1.0),
    "syrk": TileKernel(1.0, 0.9),
    "trsm": TileKernel(1.0, 0.55),
    "trsm_ll": TileKernel(1.0, 0.55),
    "trsm_ru": TileKernel(1.0, 0.55),
    "potrf": TileKernel(1.0 / 3.0, 0.02),
    "getrf": TileKernel(2.0 / 3.0, 0.01),
    "geqrt": TileKernel(4.0 / 3.0, 0.01),
    "unmqr": TileKernel(2.0, 0.45),
    "tsqrt": TileKernel(2.0, 0.01),
    "tsmqr": TileKernel(4.0, 0.45),
}


def cubes(names: Sequence[str]) -> FloatArray:
    """Return operations per cube of the elements in a row of a tile, for each kernel."""
    return np.array([KERNELS[name].cubes for name in names])


def device_efficiency(names: Sequence[str], efficiency: float) -> FloatArray:
    """Return the part of a device's speed that each kernel reaches, given that of gemm."""
    return np.array([KERNELS[name].part * efficiency for name in names])
