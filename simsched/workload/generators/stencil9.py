"""Nine-point stencil of a plate, swept by a divide-and-conquer spawn tree.

Trees and bytes are those of :mod:`~simsched.workload.generators.heat`: the four diagonal neighbours
lie in the same halo rows as the others and add operations only. A block holds its rows of all
copies.

References
----------
Chen, Guo and Guan, *LAWS: Locality-aware work-stealing for multi-socket multi-core architectures*,
ICS 2014 (programs ``9P`` and ``9P-ir``); Chen and Guo, *Task Scheduling for Multi-core and
Parallel Architectures*, Springer 2017, chapter 4. Zhao et al., *Bandwidth and Locality Aware
Task-stealing for Manycore Architectures with Bandwidth-Asymmetric Memory*, ACM TACO 15(4), 2018,
Table 2 (program ``STEN``).
"""

from __future__ import annotations

from simsched.workload.graph import Workload
from simsched.workload.registry import Cost, Count, Size, generator
from simsched.workload.row_sweep import (
    Copies,
    Cutoff,
    HaloRows,
    RowSweep,
    divide_rows,
    sweep_workload,
)


@generator("stencil9", small={"rows": 64, "columns": 128, "iterations": 7})
def stencil9(
    seed: int,  # noqa: ARG001 - nothing is random here
    *,
    rows: Count = 1024,
    columns: Count = 512,
    element_bytes: Size = 8,
    copies: Copies = 2,
    irregular: bool = False,
    leaf_rows: Count = 8,
    cutoff_rows: Cutoff = None,
    block_rows: Count | None = None,
    halo_rows: HaloRows = 1,
    passes: Count = 1,
    write_allocate: bool = True,
    ops_per_element: Cost = 17.0,
    init_ops_per_element: Cost = 2.0,
    inner_ops: Cost = 0.0,
    iterations: Count = 1,
) -> Workload:
    """Nine-point stencil: a plate swept by a spawn tree, regular or irregular.

    Parameters
    ----------
    seed : int
        Unused: the workload is not random.
    rows, columns : int
        Size of the matrix.
    element_bytes : int
        Bytes of one element.
    copies : {2, 1}
        Two copies of the grid, one read and one written, or one updated in place.
    irregular : bool
        Divide unevenly instead of in halves.
    leaf_rows : int
        Most rows of a leaf; at least 3 when irregular.
    cutoff_rows : int, optional
        Pieces with fewer rows are leaves, whatever `leaf_rows` says.
    block_rows : int, optional
        Most rows of a block; a block per leaf by default.
    halo_rows : int
        Rows that a leaf reads above and below its own.
    passes : int
        How often a leaf goes over its rows in one iteration.
    write_allocate : bool
        Whether stores to the second copy first read what they overwrite, as cached stores do.
    ops_per_element, init_ops_per_element : float
        Operations per element: 8 additions and 9 multiplications of a pass; of the initialisation.
    inner_ops : float
        Operations of the body and of the join of a task that divides.
    iterations : int
        Number of sweeps.
    """
    divided = divide_rows(
        "stencil9",
        rows,
        irregular=irregular,
        leaf_rows=leaf_rows,
        cutoff_rows=cutoff_rows,
        block_rows=block_rows,
    )
    sweep = RowSweep(
        columns,
        element_bytes,
        copies,
        halo_rows,
        write_allocate,
        ops_per_element,
        inner_ops,
        passes,
    )
    return sweep_workload("stencil9", divided, sweep, init_ops_per_element, iterations)
