"""Heat distribution on a plate: a five-point stencil swept by a divide-and-conquer spawn tree.

With R rows, C columns, element size e, m copies and cut-off c (the smallest number of rows that is
divided: `cutoff_rows`, or 1 + the largest number of rows in `leaf_bytes`):

* *Tasks.* The root covers all rows. A piece of c rows or more is divided, the others are the L
  leaves. Division in halves gives 2 L - 1 tasks, with L = 2^k when R = 2^k n and n < c <= 2 n. The
  irregular tree is :func:`~simsched.workload.spawn_tree.unbalanced`.
* *Blocks.* The initialisation divides in the same way until a piece has at most `block_bytes`; each
  such piece is one block. A block holds its rows of all copies, ``rows * C * e * m`` bytes: the
  copies swap roles after every sweep, so that a row's traffic meets the same block in every
  iteration.
* *Bytes.* A leaf with rows f to l - 1 reads rows f - h to l + h - 1, clipped to the matrix, of one
  copy and writes its own rows of the other; each block is accessed once, in the order of rows. A
  sweep writes ``R C e`` bytes and reads ``(R + H) C e``, plus ``R C e`` with `write_allocate` and
  two copies. There are H = ``2 h (L - 1)`` halo rows if no leaf has fewer than h rows.
* *Operations.* ``C * ops_per_element`` per row, in the leaves.
* *Initialisation.* Leaves write all bytes of the blocks they cover.

The published case (224K x 4K, 16 GB, leaves of 2 MB) is 229,376 = 2^13 * 28 rows of 64 KiB: 28 rows
are 1.75 MiB, 56 are more than 2 MiB, hence 8,192 leaves and blocks and 16,383 tasks.

Leaves should not be smaller than blocks when caches are simulated: a cache remembers how much of a
block it holds, not which rows.

References
----------
Frigo et al., *The implementation of the Cilk-5 multithreaded language*, PLDI 1998 (program
``heat``). Zhao et al., *Bandwidth and Locality Aware Task-stealing for Manycore Architectures with
Bandwidth-Asymmetric Memory*, ACM TACO 15(4), 2018, Table 2. Chen and Guo, *Task Scheduling for
Multi-core and Parallel Architectures*, Springer 2017, Algorithms 1, 3.
"""

from __future__ import annotations

from simsched.workload.graph import Workload
from simsched.workload.registry import MIB, Cost, Count, Size, generator
from simsched.workload.row_sweep import (
    Copies,
    Cutoff,
    HaloRows,
    Rows,
    RowSweep,
    check_cutoff,
    sweep_workload,
)
from simsched.workload.spawn_tree import divide_in_halves, divide_unevenly


@generator(
    "heat",
    small={"rows": 64, "columns": 128, "leaf_bytes": 8192, "block_bytes": 16384, "iterations": 7},
)
def heat(
    seed: int,  # noqa: ARG001 - nothing is random here
    *,
    rows: Count = 1024,
    columns: Count = 512,
    element_bytes: Size = 8,
    copies: Copies = 2,
    irregular: bool = False,
    leaf_bytes: Size = 2 * MIB,
    cutoff_rows: Cutoff = None,
    block_bytes: Size = 2 * MIB,
    init_leaf_bytes: Size | None = None,
    halo_rows: HaloRows = 1,
    write_allocate: bool = True,
    ops_per_element: Cost = 10.0,
    init_ops_per_element: Cost = 2.0,
    inner_ops: Cost = 0.0,
    iterations: Count = 1,
) -> Workload:
    """Heat distribution: a matrix swept row-wise by a spawn tree, regular or irregular.

    Parameters
    ----------
    seed : int
        Unused: the workload is not random.
    rows, columns : int
        Size of the matrix.
    element_bytes : int
        Bytes of one element.
    copies : {2, 1}
        Two copies of the matrix, one read and one written, or one updated in place.
    irregular : bool
        Divide unevenly instead of in halves.
    leaf_bytes : int
        Largest leaf, in bytes of all copies.
    cutoff_rows : int, optional
        Pieces with fewer rows are leaves, whatever `leaf_bytes` says; 2 makes one leaf per row.
    block_bytes : int
        Largest block, in bytes of all copies.
    init_leaf_bytes : int, optional
        Largest leaf of the initialisation; one block each by default.
    halo_rows : int
        Rows that a leaf reads above and below its own.
    write_allocate : bool
        Whether stores to the second copy first read what they overwrite, as cached stores do.
    ops_per_element, init_ops_per_element : float
        Operations per element: 6 additions and 4 multiplications of a sweep; of the initialisation.
    inner_ops : float
        Operations of the body and of the join of a task that divides.
    iterations : int
        Number of sweeps.
    """
    sweep = RowSweep(
        columns, element_bytes, copies, halo_rows, write_allocate, ops_per_element, inner_ops
    )
    division = divide_unevenly if irregular else divide_in_halves
    if cutoff_rows is not None:
        check_cutoff("heat", division, cutoff_rows)
    divided = Rows(
        rows,
        division,
        cutoff_rows or division.cutoff(leaf_bytes, sweep.row_bytes),
        division.cutoff(block_bytes, sweep.row_bytes),
        division.cutoff(init_leaf_bytes or block_bytes, sweep.row_bytes),
    )
    return sweep_workload("heat", divided, sweep, init_ops_per_element, iterations)
