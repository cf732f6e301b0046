"""Convolution of a matrix, swept by a divide-and-conquer spawn tree.

One copy of a matrix with R rows of C elements is read, the other written. With element size e and
the filter's radius h:

* *Tasks.* Pieces of more than `leaf_bytes` (bytes of both copies) are halved; L leaves make 2 L - 1
  tasks.
* *Blocks.* The initialisation divides in the same way down to `block_bytes`; a block holds its rows
  of both copies, ``rows * 2 C e`` bytes.
* *Bytes.* A sweep writes ``R C e`` bytes and reads ``(R + H) C e``, and ``R C e`` more with
  `write_allocate`, with ``H = 2 h (L - 1)`` halo rows if no leaf has fewer than h rows.
* *Operations.* ``C * ops_per_element`` per row, in the leaves: a multiplication and an addition for
  every tap of the filter, ``2 (2 h + 1)^2``, unless `ops_per_element` is given.

The published input is 224K x 4K, 16 GB: 8,192 leaves of 28 rows, as for ``heat``. The size of the
filter is not stated; 3 x 3 keeps the convolution memory-bound, as it is said to be.

References
----------
Zhao et al., *Bandwidth and Locality Aware Task-stealing for Manycore Architectures with
Bandwidth-Asymmetric Memory*, ACM TACO 15(4), 2018, Table 2 (CONV, taken over from LAWS: Chen,
Guo, Guan, *LAWS: Locality-Aware Work-Stealing for Multi-socket Multi-core Architectures*, ICS
2014).
"""

from __future__ import annotations

from typing import Annotated

from simsched.workload.graph import Workload
from simsched.workload.registry import MIB, Bounds, Cost, Count, Size, generator
from simsched.workload.row_sweep import Rows, RowSweep, sweep_workload
from simsched.workload.spawn_tree import divide_in_halves


@generator(
    "conv",
    small={"rows": 64, "columns": 128, "leaf_bytes": 8192, "block_bytes": 16384, "iterations": 7},
)
def conv(
    seed: int,  # noqa: ARG001 - nothing is random here
    *,
    rows: Count = 1024,
    columns: Count = 512,
    element_bytes: Size = 8,
    radius: Annotated[int, Bounds(0, 1000)] = 1,
    leaf_bytes: Size = 2 * MIB,
    block_bytes: Size = 2 * MIB,
    write_allocate: bool = True,
    ops_per_element: Annotated[float, Bounds(0)] | None = None,
    init_ops_per_element: Cost = 2.0,
    iterations: Count = 1,
) -> Workload:
    """Convolution of a matrix with a square filter.

    Parameters
    ----------
    seed : int
        Unused: the workload is not random.
    rows, columns : int
        Size of the matrix.
    element_bytes : int
        Bytes of one element.
    radius : int
        Rows and columns on either side that the filter covers; it has ``(2 radius + 1)^2`` taps.
    leaf_bytes, block_bytes : int
        Largest leaf and block, in bytes of both copies.
    write_allocate : bool
        Whether stores first read what they overwrite, as cached stores do.
    ops_per_element : float, optional
        Operations per element; two per tap by default.
    init_ops_per_element : float
        Operations of the initialisation.
    iterations : int
        Number of sweeps.
    """
    ops = 2.0 * (2 * radius + 1) ** 2 if ops_per_element is None else ops_per_element
    sweep = RowSweep(columns, element_bytes, 2, radius, write_allocate, ops, 0.0)
    cutoff, block_cutoff = (
        divide_in_halves.cutoff(limit, sweep.row_bytes) for limit in (leaf_bytes, block_bytes)
    )
    divided = Rows(rows, divide_in_halves, cutoff, block_cutoff, block_cutoff)
    return sweep_workload("conv", divided, sweep, init_ops_per_element, iterations)
