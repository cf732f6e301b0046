"""Work that is divided while a program runs, such as the independent iterations of a loop.

A :class:`Division` says how the costs of a graph's tasks follow from the units that the *parts* of
the program get. :func:`divided` returns the graph of one iteration.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np

from simsched.files.errors import GraphError
from simsched.workload.arrays import (
    FloatArray,
    GraphArrays,
    Int32Array,
    Int64Array,
    make_read_only,
)

Graph = TypeVar("Graph", bound=GraphArrays)


@dataclass(frozen=True, eq=False)
class Division:
    """Units of work, and what tasks cost by the number of units that their parts get.

    With u units, a task of a part has ``fixed_ops + unit_ops * max(u, least_units)`` operations in
    its body, and an access ``floor(unit_bytes * u)`` bytes; with none it has no operations and no
    bytes. Tasks of no part cost what the graph says.
    """

    #: Units of work in all.
    units: int
    #: Part of each task, numbered from 0; -1 for tasks whose costs do not depend on the division;
    #: shape (n_tasks,).
    part: Int32Array
    #: Operations that a task has whatever it gets, and per unit; a fixed infinity where the task
    #: cannot run; shape (n_kinds, n_tasks).
    fixed_ops: FloatArray
    unit_ops: FloatArray
    #: Bytes per unit; shape (n_accesses,).
    unit_read_bytes: FloatArray
    unit_written_bytes: FloatArray
    #: Fewer units take as long as these: what keeps a device busy as a whole; shape (n_kinds,
    #: n_tasks).
    least_units: FloatArray

    def __post_init__(self) -> None:
        make_read_only(self)

    @property
    def n_parts(self) -> int:
        """Number of parts."""
        return int(self.part.max(initial=-1)) + 1

    def equal_shares(self) -> Int64Array:
        """Return all units in equal shares, the first parts one more; shape (n_parts,)."""
        share, rest = divmod(self.units, self.n_parts)
        return share + (np.arange(self.n_parts, dtype=np.int64) < rest)

    def validate(self, graph: GraphArrays) -> None:
        """Check that the division fits a graph."""
        by_kind, accesses = graph.ops.shape, graph.access_block.shape
        for name, shape in (
            ("part", (graph.n_tasks,)),
            ("least_units", by_kind),
            ("fixed_ops", by_kind),
            ("unit_ops", by_kind),
            ("unit_read_bytes", accesses),
            ("unit_written_bytes", accesses),
        ):
            array = getattr(self, name)
            if array.shape != shape:
                raise GraphError(f"division: {name}: found shape {array.shape}, accepted {shape}")
            finite = name in ("part", "fixed_ops") or bool(np.isfinite(array).all())
            if name != "part" and (not finite or not bool((array >= 0).all())):
                raise GraphError(f"division: {name}: accepted numbers of 0 or more")
        if not 1 <= self.units <= 2**50:
            raise GraphError(f"division: units: found {self.units}, accepted 1 to 2**50")
        used = np.unique(self.part)
        if not len(used) or used[-1] < 0 or used[0] < -1 or len(used[used >= 0]) != self.n_parts:
            raise GraphError("division: part: accepted -1 and all numbers from 0 on")


def divided(graph: Graph, division: Division, units: Int64Array) -> Graph:
    """Return the graph of an iteration in which the parts get some units.

    `units` has those of each part.

    >>> from simsched.workload.registry import generate_workload
    >>> loop = generate_workload("divisible", {"units": 100, "cpu_ops": 3.0, "chunks": 2})
    >>> divided(loop.graph, loop.division, np.array([10, 0])).ops[0].tolist()
    [30.0, 0.0]
    """
    mine = division.part >= 0
    count = np.where(mine, units[division.part], 0).astype(np.float64)
    ops = division.fixed_ops + division.unit_ops * np.maximum(count, division.least_units)
    idle = (count == 0) & np.isfinite(division.fixed_ops)
    owner = np.repeat(np.arange(len(count)), np.diff(graph.access_ptr))
    read, written = (
        np.where(mine[owner], np.floor(each * count[owner]), given).astype(np.int64)
        for each, given in (
            (division.unit_read_bytes, graph.read_bytes),
            (division.unit_written_bytes, graph.written_bytes),
        )
    )
    return replace(
        graph,
        ops=np.where(mine, np.where(idle, 0.0, ops), graph.ops),
        read_bytes=read,
        written_bytes=written,
    )
