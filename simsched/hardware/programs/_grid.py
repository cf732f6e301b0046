"""Rows of a grid, divided among the leaves of a spawn tree, for programs that sweep over them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from simsched.hardware.program import Program
from simsched.hardware.programs._common import DOUBLE_BYTES, refusal
from simsched.workload.graph import Workload
from simsched.workload.row_sweep import RowSweep
from simsched.workload.spawn_tree import (
    SpawnTree,
    divide_in_halves,
    divide_unevenly,
    first_touch_tree,
)

CLASSES = ("divide", "sweep", "initialise")
TOLERANCE = 1e-9  # data are between 0 and 1, and a row that is left out differs by 1e-3 or more


def row_tree(program: str, rows: int, leaf_rows: int, *, irregular: bool) -> SpawnTree:
    """Return the spawn tree over the rows; too small leaves of the irregular tree are refused."""
    division = divide_unevenly if irregular else divide_in_halves
    least = division.lowest_cutoff - 1
    if leaf_rows < least:
        raise refusal(program, "leaf_rows", leaf_rows, f"{least} or more when irregular")
    return division.grow(rows, leaf_rows + 1)


def sweep_graphs(
    name: str,
    tree: SpawnTree,
    columns: int,
    halo_rows: int,
    iterations: int,
    *,
    in_place: bool,
) -> Workload:
    """Return the workload, whose operations are elements and whose blocks are leaves.

    A row has `columns` doubles in each of two copies; `in_place` says whether a sweep reads what it
    overwrites.
    """
    sweep = RowSweep(
        columns,
        DOUBLE_BYTES,
        copies=2,
        halo_rows=halo_rows,
        write_allocate=in_place,
        ops_per_element=1.0,
        inner_ops=0.0,
        is_interleaved=True,
    )
    sizes = sweep.block_bytes(tree.bounds)
    return Workload(
        name,
        sweep.graph(tree, tree.bounds).with_classes(CLASSES),
        iterations,
        first_touch_tree(tree, tree.bounds, sizes, 2.0 * columns).with_classes(CLASSES),
    )


def row_program(
    workload: Workload, tree: SpawnTree, field: NDArray[np.float64], **given: Any
) -> Program:
    """Return the program, whose arguments are a task's first row and the one after its last."""
    rows = np.stack((tree.first, tree.last), axis=1)
    return Program(
        name=workload.name,
        workload=workload,
        args=rows,
        init_args=rows,
        arrays=(field,),
        blocks=(len(tree.leaves),),
        **given,
    )
