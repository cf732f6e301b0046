"""Successive over-relaxation of a plate, swept in place by a divide-and-conquer spawn tree.

In parallel, elements are updated in two colours of a checkerboard (red-black ordering): those of
one colour depend on the other colour only, so that the leaves of a half sweep need not wait for
each other. Each half sweep is an iteration of the workload: n iterations of the program are ``2 n``
of the workload.

Trees are those of :mod:`~simsched.workload.generators.heat`; a block holds its rows of all arrays.
The two arrays are the unknowns u, updated in place, and the right-hand side f, which is only read.
Elements lie in the order of rows, so every line of a row holds elements of both colours, and a half
sweep reads and writes all lines. With R rows, C columns, elements of e bytes, L leaves and one halo
row, it writes ``R C e`` bytes and reads ``(2 R + 2 (L - 1)) C e``, or ``(R + 2 (L - 1)) C e``
without f (one copy). It computes half of the ``R C`` elements.

The sources say neither in which order elements are updated nor how many arrays there are. With one
colour a sweep updates all elements in the order of rows, and leaves use what they happen to find in
their neighbours' rows (chaotic relaxation).

References
----------
Young, *Iterative Solution of Large Linear Systems*, Academic Press 1971, chapter 5. Chen and
Guo, *Task Scheduling for Multi-core and Parallel Architectures*, Springer 2017, chapters 3 and 4
(programs ``SOR`` and ``SOR-ir``).
"""

from __future__ import annotations

from typing import Annotated

from simsched.workload.graph import Workload
from simsched.workload.registry import Bounds, Cost, Count, Size, generator
from simsched.workload.row_sweep import (
    Copies,
    Cutoff,
    HaloRows,
    RowSweep,
    divide_rows,
    sweep_workload,
)

Colours = Annotated[int, Bounds(1, 2)]


@generator("sor", small={"rows": 64, "columns": 128, "iterations": 7})
def sor(
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
    colours: Colours = 2,
    ops_per_element: Cost = 7.0,
    init_ops_per_element: Cost = 2.0,
    inner_ops: Cost = 0.0,
    iterations: Count = 1,
) -> Workload:
    """Successive over-relaxation: a plate swept in place by a spawn tree, regular or irregular.

    Parameters
    ----------
    seed : int
        Unused: the workload is not random.
    rows, columns : int
        Size of the matrix.
    element_bytes : int
        Bytes of one element.
    copies : {2, 1}
        Unknowns and right-hand side, or unknowns only.
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
    colours : {2, 1}
        Half sweeps of an iteration, one for each colour; or one sweep in the order of rows.
    ops_per_element, init_ops_per_element : float
        Operations per element that is updated, 5 additions and 2 multiplications; of the
        initialisation.
    inner_ops : float
        Operations of the body and of the join of a task that divides.
    iterations : int
        Number of iterations of all colours; the workload has `colours` times as many.
    """
    divided = divide_rows(
        "sor",
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
        True,
        ops_per_element / colours,
        inner_ops,
    )
    return sweep_workload("sor", divided, sweep, init_ops_per_element, colours * iterations)
