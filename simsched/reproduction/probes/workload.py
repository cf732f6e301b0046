"""What task graphs say: counts, bytes and parameters."""

from __future__ import annotations

from typing import Any

import numpy as np

from simsched.reproduction.probes import chosen, probe, workload_of
from simsched.workload.graph import Int32Array, TaskGraph


@probe("workload_count")
def workload_count(*, workload: str, what: str, parameters: dict[str, Any] | None = None) -> float:
    """Return how many parts of one sort a workload's task graph has.

    Parameters
    ----------
    what : {"tasks", "leaves", "edges", "blocks", "levels", "iterations"}
        The parts; levels are those of the spawn tree.
    """
    found = workload_of(workload, parameters)
    graph = found.graph
    counts = {
        "tasks": graph.n_tasks,
        "leaves": len(graph.leaves),
        "edges": graph.n_edges,
        "blocks": graph.n_blocks,
        "levels": _levels(graph),
        "iterations": found.iterations,
    }
    return float(chosen("what", what, counts))


@probe("tree_levels")
def tree_levels(
    *, workload: str, root_level: int = 0, parameters: dict[str, Any] | None = None
) -> float:
    """Return how many levels a spawn tree has, counted from 0.

    Parameters
    ----------
    root_level : int
        Level of the recursion's root: 1 when level 0 is the program that starts the recursion.
    """
    return float(_levels(workload_of(workload, parameters).graph) + root_level)


@probe("workload_bytes")
def workload_bytes(*, workload: str, what: str, parameters: dict[str, Any] | None = None) -> float:
    """Return bytes of a workload: of all its data, or read, written or moved in an iteration.

    Parameters
    ----------
    what : {"data", "read", "written", "moved", "largest_block"}
        Which bytes.
    """
    graph = workload_of(workload, parameters).graph
    read, written = int(graph.read_bytes.sum()), int(graph.written_bytes.sum())
    found = {
        "data": int(graph.block_bytes.sum()),
        "read": read,
        "written": written,
        "moved": read + written,
        "largest_block": int(graph.block_bytes.max(initial=0)),
    }
    return float(chosen("what", what, found))


def _levels(graph: TaskGraph) -> int:
    """Return the number of levels of the spawn tree."""
    at: Int32Array = np.arange(graph.n_tasks, dtype=np.int32)
    levels = 0
    while len(at):
        levels += 1
        at = graph.parent[at]
        at = at[at >= 0]
    return levels
