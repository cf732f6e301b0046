"""Gauss-Seidel iteration in one to three dimensions as a data-flow program with private buffers.

In it a block uses what the present sweep has left of its low neighbours: a wave through the grid.
Tasks, buffers, creation and operations: :mod:`simsched.workload.dataflow_stencil`.

T(L, c) is at depth ``2 (L - 1) + c_1 + ... + c_d + 1`` below the initial tasks. In one dimension,
at most R tasks can run at the same time.

References
----------
A. Drebes, A. Pop, K. Heydemann, A. Cohen, N. Drach, *Scalable Task Parallelism for NUMA*, PACT
2016, section 4.3, Table 3 and Fig. 4; dependences and creation as in the benchmark of the
OpenStream distribution, December 2015.
"""

from __future__ import annotations

from simsched.workload.dataflow_program import Control, Extent, Version
from simsched.workload.dataflow_stencil import stencil_grid, stencil_workload
from simsched.workload.graph import Workload
from simsched.workload.registry import Cost, Count, Size, generator


@generator(
    "seidel",
    small={
        "size_x": 64,
        "block_x": 16,
        "size_y": 24,
        "block_y": 8,
        "sweeps": 3,
        "global_pieces": 2,
    },
)
def seidel(
    seed: int,  # noqa: ARG001 - nothing is random here
    *,
    size_x: Extent = 2**22,
    size_y: Extent | None = None,
    size_z: Extent | None = None,
    block_x: Extent = 2**16,
    block_y: Extent | None = None,
    block_z: Extent | None = None,
    sweeps: Count = 10,
    element_bytes: Size = 8,
    ops_per_element: Cost | None = None,
    copy_ops_per_element: Cost = 2.0,
    global_pieces: Count = 8,
    version: Version = "private",
    control: Control = "parallel",
) -> Workload:
    """Gauss-Seidel iteration on blocks in one, two or three dimensions, with private buffers.

    Parameters
    ----------
    seed : int
        Unused: the workload is not random.
    size_x, size_y, size_z : int
        Elements of the matrix along each dimension; leave out `size_z`, or it and `size_y`.
    block_x, block_y, block_z : int
        Elements of a block along each dimension.
    sweeps : int
        Sweeps over the matrix (the paper's iterations).
    element_bytes : int
        Bytes of one element.
    ops_per_element, copy_ops_per_element : float
        Operations per element of a sweep, by default two per point of the star and one, and of the
        initial and final copies.
    global_pieces : int
        Blocks of data into which each block of the global matrix is divided, so that a policy can
        interleave it.
    version : {"private", "shared"}
        Private buffers, or updates of the global matrix in place.
    control : {"parallel", "sequential"}
        Whether tasks create tasks, or the root creates all.
    """
    grid = stencil_grid("seidel", (size_x, size_y, size_z), (block_x, block_y, block_z))
    return stencil_workload(
        "seidel",
        grid,
        in_place=True,
        sweeps=sweeps,
        element_bytes=element_bytes,
        ops_per_element=ops_per_element,
        copy_ops_per_element=copy_ops_per_element,
        global_pieces=global_pieces,
        version=version,
        control=control,
    )
