"""Errors of task graphs in the names that the source file uses."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path

import numpy as np

from simsched.files.errors import GraphError
from simsched.files.units import plural
from simsched.workload.graph import TaskGraph
from simsched.workload.importers._columns import NamedGraph

SHOWN_TASKS = 8


def check_named(graph: TaskGraph, names: Sequence[str], source: Path | str) -> None:
    """Validate a graph and report a cycle with the names of its tasks."""
    try:
        graph.validate()
    except GraphError as error:
        cycle = _cycle(graph)
        if not cycle:
            raise GraphError(f"{source}: {error}") from error
        tasks = [" ".join(names[t].split()) for t in cycle[:SHOWN_TASKS]]
        dots = ["..."] if len(cycle) > SHOWN_TASKS else []
        way = " -> ".join([*tasks, *dots, tasks[0]])
        raise GraphError(
            f"{source}: found a cycle of {plural(len(cycle), 'task')}: {way}; "
            "accepted an acyclic graph"
        ) from error


def check_ends(graph: NamedGraph, key: str, source: str, allowed: Collection[int] = ()) -> None:
    """Check that both ends of every edge are nodes with attributes, not only mentioned there.

    Readers add missing ends as nodes without attributes; every other node has the attribute `key`.
    Those that are `allowed` need none.
    """
    bare = graph.of_nodes.bare(len(graph))
    if not bare.any() or bare.all():
        return
    bare[list(allowed)] = False
    sources, targets = graph.ends()
    wrong = np.flatnonzero(bare[sources] | bare[targets])
    if len(wrong):
        edge = int(wrong[0])
        end = sources[edge] if bare[sources[edge]] else targets[edge]
        raise GraphError(
            f"{graph.edges(source).where(edge)}: node {str(graph.names()[end])!r}: found no "
            "attributes, as where a node is only an end of edges; accepted a node with the "
            f"attribute {key!r}"
        )


def _cycle(graph: TaskGraph) -> list[int]:
    """Return the tasks of a cycle through dataflow edges and the spawn tree, if there is one."""
    import networkx as nx

    every = np.arange(graph.n_tasks)
    links: nx.DiGraph[int] = nx.DiGraph()
    for ptr, index in ((graph.succ_ptr, graph.succ), (graph.child_ptr, graph.child)):
        sources = np.repeat(every, np.diff(ptr)).tolist()
        links.add_edges_from(zip(sources, index.tolist(), strict=True))
    try:
        return [edge[0] for edge in nx.find_cycle(links)]
    except nx.NetworkXNoCycle:
        return []
