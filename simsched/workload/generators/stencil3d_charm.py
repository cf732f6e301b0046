"""Stencil3D as a chare program: a grid of chares that each sweep a block of their own many times.

With X x Y x Z chares of x x y x z elements of e bytes, and s sweeps per iteration:

* *Tasks.* One per chare, independent of each other; chare (i, j, k) is task ``(i Y + j) Z + k``.
* *Blocks.* Block c is what chare c updates: two copies of its elements, ``2 x y z e`` bytes. Block
  ``X Y Z + c`` is what its neighbours send it: one plane of elements for each of up to six
  neighbours (the grid is not periodic).
* *Bytes.* A sweep reads one copy and writes the other, and reads that first with `write_allocate`:
  ``3 x y z e`` bytes per sweep. The first sweep is one access, all others together another, so that
  a memory-side cache can hold what the first one has loaded. A chare further reads the planes that
  it was sent, and writes a plane to each neighbour (again with `write_allocate`), once per
  iteration.
* *Operations.* `ops_per_element` for each element and sweep: six additions and two multiplications.
* *Initialisation.* One task per chare writes its block and its planes.

References
----------
Chandrasekar et al., IPDPS Workshops 2017 (docs/sources/charm.md), section V-A.
"""

from __future__ import annotations

import numpy as np

from simsched.workload.builder import accesses, build_graph, check_size
from simsched.workload.graph import Int64Array, TaskGraph, Workload
from simsched.workload.registry import Cost, Count, Size, generator


@generator(
    "stencil3d_charm",
    small={
        "chares_x": 4,
        "chares_y": 3,
        "chares_z": 2,
        "elements_x": 16,
        "elements_y": 16,
        "elements_z": 16,
        "sweeps": 2,
        "iterations": 2,
    },
)
def stencil3d_charm(
    *,
    chares_x: Count = 4,
    chares_y: Count = 4,
    chares_z: Count = 4,
    elements_x: Count = 64,
    elements_y: Count = 64,
    elements_z: Count = 64,
    element_bytes: Size = 8,
    sweeps: Count = 20,
    write_allocate: bool = True,
    ops_per_element: Cost = 8.0,
    init_ops_per_element: Cost = 2.0,
    iterations: Count = 1,
) -> Workload:
    """Seven-point stencil in three dimensions over a grid of chares.

    Parameters
    ----------
    chares_x, chares_y, chares_z : int
        Chares in each direction.
    elements_x, elements_y, elements_z : int
        Elements of a chare in each direction.
    element_bytes : int
        Bytes of one element.
    sweeps : int
        Sweeps over its block that a chare does in each iteration.
    write_allocate : bool
        Whether stores first read what they overwrite, as cached stores do.
    ops_per_element : float
        Operations per element and sweep.
    init_ops_per_element : float
        Operations per element of the initialisation.
    iterations : int
        Number of iterations.
    """
    grid = (chares_x, chares_y, chares_z)
    shape = (elements_x, elements_y, elements_z)
    elements = elements_x * elements_y * elements_z
    n_chares = chares_x * chares_y * chares_z
    check_size(
        "stencil3d_charm", tasks=n_chares, data_bytes=3 * n_chares * elements * element_bytes
    )
    copy_bytes = elements * element_bytes
    chare, other, plane = _neighbours(grid, shape)
    sent_bytes = plane * element_bytes
    received = np.bincount(chare, weights=sent_bytes, minlength=n_chares).astype(np.int64)
    sizes = np.concatenate((np.full(n_chares, 2 * copy_bytes), np.maximum(received, 1)))
    every = np.arange(n_chares, dtype=np.int64)
    again = 1 if write_allocate else 0
    receives = every[received > 0]
    first = np.full(n_chares, copy_bytes)
    again_swept = every if sweeps > 1 else every[:0]
    later = (sweeps - 1) * first[again_swept]
    fetched = 1 + again
    read = (received[receives], fetched * first, fetched * later, again * sent_bytes)
    written = (np.zeros(len(receives), np.int64), first, later, sent_bytes)
    graph = build_graph(
        np.full(n_chares, ops_per_element * elements * sweeps),
        class_names=("update",),
        accessed=accesses(
            np.concatenate((receives, every, again_swept, chare)),
            np.concatenate((n_chares + receives, every, again_swept, n_chares + other)),
            np.concatenate(read),
            np.concatenate(written),
            n_chares,
        ),
        block_bytes=sizes,
    )
    return Workload(
        "stencil3d_charm",
        graph,
        iterations,
        _initialisation(sizes, elements * init_ops_per_element),
    )


def _neighbours(
    grid: tuple[int, int, int], shape: tuple[int, int, int]
) -> tuple[Int64Array, Int64Array, Int64Array]:
    """Return each pair of neighbouring chares, in both directions, with the elements of a plane."""
    number = np.arange(grid[0] * grid[1] * grid[2], dtype=np.int64).reshape(grid)
    volume = shape[0] * shape[1] * shape[2]
    pairs = []
    for axis, length in enumerate(shape):
        lower = np.delete(number, -1, axis).ravel()
        upper = np.delete(number, 0, axis).ravel()
        plane = np.full(len(lower), volume // length, dtype=np.int64)
        pairs += [(lower, upper, plane), (upper, lower, plane)]
    chare, other, plane = (np.concatenate(columns) for columns in zip(*pairs, strict=True))
    return chare, other, plane


def _initialisation(block_bytes: Int64Array, ops: float) -> TaskGraph:
    """Return tasks that write a chare's block and then its planes."""
    n_chares = len(block_bytes) // 2
    every = np.arange(n_chares, dtype=np.int64)
    written = accesses(
        np.concatenate((every, every)), np.arange(2 * n_chares), 0, block_bytes, n_chares
    )
    return build_graph(
        np.full(n_chares, ops),
        class_names=("initialise",),
        accessed=written,
        block_bytes=block_bytes,
    )
