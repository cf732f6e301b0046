"""Tiled matrix product, one task per tile of the result, as StarPU's example does it.

C = A B with C of X x Y tiles. A is divided into Y panels of rows, B into X panels of columns;
``gemm(x, y)`` multiplies panel y of A with panel x of B: ``2 w h z`` operations for a tile of w
columns and h rows and panels of length z.

* *Tasks.* ``X Y``, in the order x = 0 .. X - 1, and y = 0 .. Y - 1 for each. No edges.
* *Blocks.* Y panels of A, X panels of B, X Y tiles of C in the order of the tasks.
* *Bytes.* A task reads a panel of A and one of B, and writes its tile of C; with `accumulate` it
  reads the tile too.
* *Initialisation.* One independent task per block writes it.

With ``costs: measured`` it is StarPU's program (``sgemm``, ``dgemm``) for machines with timings of
its codelet, and the matrices lie in memory when the program starts: there is no initialisation. It
says of each tile when nobody will write to it any more.

References
----------
StarPU, examples/mult/xgemm.c.
"""

from __future__ import annotations

from typing import Annotated, Literal

import numpy as np

from simsched.workload.builder import (
    accesses,
    build_graph,
    check_size,
    first_touch_loop,
    last_writes,
)
from simsched.workload.generators.lu import ELEMENT_BYTES
from simsched.workload.graph import Workload
from simsched.workload.registry import Bounds, Cost, Count, generator
from simsched.workload.tile_kernels import EFFICIENCY, Efficiency, device_efficiency


@generator("gemm", small={"tiles_x": 4, "tiles_y": 3, "tile_size": 32, "depth": 64})
def gemm(
    *,
    tiles_x: Annotated[int, Bounds(1, 10_000)] = 4,
    tiles_y: Annotated[int, Bounds(1, 10_000)] = 4,
    tile_size: Annotated[int, Bounds(1, 100_000)] = 960,
    depth: Annotated[int, Bounds(1, 10_000_000)] = 3840,
    precision: Literal["single", "double"] = "double",
    accumulate: bool = False,
    init_ops_per_element: Cost = 2.0,
    costs: Literal["tile", "measured"] = "tile",
    efficiency: Efficiency = EFFICIENCY,
    iterations: Count = 1,
) -> Workload:
    """Tiled matrix product, one task per tile of the result, as StarPU's example does it.

    Parameters
    ----------
    tiles_x, tiles_y : int
        Tiles of the result in a row and in a column.
    tile_size : int
        Elements in a row and in a column of a tile of the result.
    depth : int
        Columns of A and rows of B.
    precision : {"single", "double"}
        Elements of 4 or 8 bytes, and which codelet is meant.
    accumulate : bool
        Whether the product is added to what the result holds before.
    init_ops_per_element : float
        Operations per element of the initialisation.
    costs : {"tile", "measured"}
        Operations of real tiles, or the durations that the machine has for StarPU's codelet.
    efficiency : float
        Part of a device's speed that is reached where the machine has no costs of its own.
    iterations : int
        How often the product is repeated.
    """
    n_tasks, element = tiles_x * tiles_y, ELEMENT_BYTES[precision]
    panel_bytes, tile_bytes = tile_size * depth * element, tile_size**2 * element
    check_size("gemm", tasks=n_tasks, data_bytes=n_tasks * (2 * panel_bytes + 2 * tile_bytes))
    sizes = [panel_bytes] * (tiles_x + tiles_y) + [tile_bytes] * n_tasks
    blocks = np.array(sizes, dtype=np.int64)
    every = np.arange(n_tasks, dtype=np.int64)
    own = tiles_x + tiles_y + every
    touched = np.stack([every % tiles_y, tiles_y + every // tiles_y, own], axis=1)
    read = np.tile([panel_bytes, panel_bytes, tile_bytes * accumulate], n_tasks)
    written = np.tile([0, 0, tile_bytes], n_tasks)
    accessed = accesses(np.repeat(every, 3), touched.ravel(), read, written, n_tasks)
    graph = build_graph(
        np.full(n_tasks, 2.0 * tile_size**2 * depth),
        class_names=("gemm",),
        accessed=accessed,
        block_bytes=blocks,
        access_final=last_writes(accessed) if costs == "measured" else None,
        device_efficiency=None if costs == "measured" else device_efficiency(["gemm"], efficiency),
        codelets=(f"starpu_{precision[0]}gemm_gemm",) if costs == "measured" else None,
    )
    if costs == "measured":
        return Workload("gemm", graph, iterations)
    init = first_touch_loop(blocks, blocks / element * init_ops_per_element)
    return Workload("gemm", graph, iterations, init)
