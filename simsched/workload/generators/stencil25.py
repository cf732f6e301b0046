"""Twenty-five-point stencil of a volume, swept by a divide-and-conquer spawn tree.

Trees and bytes are those of :mod:`~simsched.workload.generators.heat`, the rows being planes of
`lines` times `columns` elements. With X planes of P bytes in each copy, L leaves and h halo planes,
none of them beyond the neighbouring leaf, a sweep writes ``X P`` bytes and reads ``(X + 2 h (L -
1)) P``, plus ``X P`` with `write_allocate` and two copies. A block holds its planes of all copies.

The sources do not give the shape: four neighbours in each of six directions are the usual one.

References
----------
Chen, Guo and Guan, *LAWS: Locality-aware work-stealing for multi-socket multi-core architectures*,
ICS 2014 (programs ``25P`` and ``25P-ir``); Chen and Guo, *Task Scheduling for Multi-core and
Parallel Architectures*, Springer 2017, chapter 4.
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


@generator("stencil25", small={"rows": 64, "lines": 8, "columns": 16, "iterations": 7})
def stencil25(
    seed: int,  # noqa: ARG001 - nothing is random here
    *,
    rows: Count = 8096,
    lines: Count = 64,
    columns: Count = 64,
    element_bytes: Size = 8,
    copies: Copies = 2,
    irregular: bool = False,
    leaf_rows: Count = 8,
    cutoff_rows: Cutoff = None,
    block_rows: Count | None = None,
    halo_rows: HaloRows = 4,
    passes: Count = 1,
    write_allocate: bool = True,
    ops_per_element: Cost = 29.0,
    init_ops_per_element: Cost = 2.0,
    inner_ops: Cost = 0.0,
    iterations: Count = 1,
) -> Workload:
    """Twenty-five-point stencil: a volume swept plane by plane, regular or irregular.

    Parameters
    ----------
    seed : int
        Unused: the workload is not random.
    rows, lines, columns : int
        Size of the volume; a row is a plane of `lines` times `columns` elements.
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
        Planes that a leaf reads on either side of its own.
    passes : int
        How often a leaf goes over its rows in one iteration.
    write_allocate : bool
        Whether stores to the second copy first read what they overwrite, as cached stores do.
    ops_per_element, init_ops_per_element : float
        Operations per element: 24 additions and 5 multiplications of a pass; of the initialisation.
    inner_ops : float
        Operations of the body and of the join of a task that divides.
    iterations : int
        Number of sweeps.
    """
    divided = divide_rows(
        "stencil25",
        rows,
        irregular=irregular,
        leaf_rows=leaf_rows,
        cutoff_rows=cutoff_rows,
        block_rows=block_rows,
    )
    sweep = RowSweep(
        lines * columns,
        element_bytes,
        copies,
        halo_rows,
        write_allocate,
        ops_per_element,
        inner_ops,
        passes,
    )
    return sweep_workload("stencil25", divided, sweep, init_ops_per_element, iterations)
