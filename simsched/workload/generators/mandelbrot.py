"""Mandelbrot set, an image whose rows a divide-and-conquer spawn tree computes.

With R rows, C columns and at most m iterations per point:

* *Tasks.* Pieces of more than `leaf_rows` rows are halved; L leaves make 2 L - 1 tasks.
* *Operations.* ``ops_per_step`` for each iteration of ``z^2 + c`` of a point, from z = 0 until |z|
  > 2 or m iterations: those of the image itself. Rows through the set cost many times as much as
  others, so that leaves are uneven.
* *Blocks.* One per leaf: its rows of `pixel_bytes` per point.
* *Bytes.* A leaf writes its block.

References
----------
Book of docs/sources, section 3.8 (program ``Mandelbrot``, CPU-bound; neither size nor region are
stated: the defaults hold the whole set).
"""

from __future__ import annotations

from typing import Annotated

import numpy as np

from simsched.files.errors import ConfigurationError
from simsched.workload.builder import accesses, build_graph, check_size
from simsched.workload.graph import Int64Array, Workload
from simsched.workload.registry import Bounds, Cost, Count, Size, generator
from simsched.workload.spawn_tree import divide_in_halves

MAX_STEPS = 2**34
POINT_STEPS = 8  #: steps that take as long as what else is done for a point
SLICE = 2**16  #: points at a time, so that any image takes little memory
Coordinate = Annotated[float, Bounds(-4, 4)]


@generator("mandelbrot", small={"rows": 32, "columns": 32, "most_steps": 50, "leaf_rows": 2})
def mandelbrot(
    *,
    rows: Count = 256,
    columns: Count = 256,
    most_steps: Count = 500,
    leaf_rows: Count = 1,
    left: Coordinate = -2.0,
    right: Coordinate = 1.0,
    bottom: Coordinate = -1.5,
    top: Coordinate = 1.5,
    pixel_bytes: Size = 4,
    ops_per_step: Cost = 10.0,
    iterations: Count = 1,
) -> Workload:
    """Mandelbrot set: rows of an image, as uneven as the image is.

    Parameters
    ----------
    rows, columns : int
        Size of the image.
    most_steps : int
        Most iterations of a point.
    leaf_rows : int
        Most rows of a leaf.
    left, right, bottom, top : float
        Region of the complex plane; points are in the middle of their pixels.
    pixel_bytes : int
        Bytes of a point of the image.
    ops_per_step : float
        Operations of an iteration of a point: 3 multiplications, 5 additions, a comparison, a
        branch.
    iterations : int
        How often the image is computed.
    """
    points = rows * columns
    if points * (most_steps + POINT_STEPS) > MAX_STEPS:
        raise ConfigurationError(
            f"workload mandelbrot: found {rows} x {columns} points of {most_steps} steps, accepted "
            f"at most {MAX_STEPS} steps altogether, {POINT_STEPS} more counted for every point"
        )
    check_size("mandelbrot", tasks=2 * (rows // leaf_rows) - 1, data_bytes=points * pixel_bytes)
    tree = divide_in_halves.grow(rows, leaf_rows + 1)
    leaves, bounds = tree.leaves, tree.bounds
    across, up = (right - left) / columns, (top - bottom) / rows
    done = np.zeros(tree.n_tasks, dtype=np.int64)
    for begin in range(0, points, SLICE):
        row, column = np.divmod(np.arange(begin, min(begin + SLICE, points)), columns)
        place = left + (column + 0.5) * across + 1j * (bottom + (row + 0.5) * up)
        leaf = leaves[np.searchsorted(bounds, row, side="right") - 1]
        np.add.at(done, leaf, escape_steps(place, most_steps))
    blocks = np.diff(bounds) * (columns * pixel_bytes)
    graph = build_graph(
        done * ops_per_step,
        task_class=tree.task_class,
        class_names=("divide", "compute"),
        children=tree.children,
        accessed=accesses(leaves, np.arange(len(blocks)), 0, blocks, tree.n_tasks),
        block_bytes=blocks,
    )
    return Workload("mandelbrot", graph, iterations)


def escape_steps(points: np.ndarray, most_steps: int) -> Int64Array:
    """Return the iterations of each point until it has left the disc of radius 2, or the most.

    >>> escape_steps(np.array([0.0, 2.0, 1.0 + 1.0j]), 100).tolist()
    [100, 2, 2]
    """
    steps = np.full(len(points), most_steps, dtype=np.int64)
    inside, z = np.arange(len(points)), np.zeros(len(points), dtype=np.complex128)
    for step in range(1, most_steps + 1):
        z = z * z + points[inside]
        out = z.real * z.real + z.imag * z.imag > 4.0
        steps[inside[out]] = step
        inside, z = inside[~out], z[~out]
        if not len(inside):
            break
    return steps
