"""Graphs of other programs: what their attributes mean is said by the user."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, fields
from typing import Any

import networkx as nx
import numpy as np

from simsched.errors import GraphError, unknown_name
from simsched.workload.builder import accesses, adjacency, build_graph
from simsched.workload.graph import Workload
from simsched.workload.importers._attributes import Attributes
from simsched.workload.importers._naming import check_ends, check_named
from simsched.workload.importers._source import number

SECONDS = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}
UNITS = ("ops", *SECONDS)
DEFAULT_SPEED = 1e9


@dataclass(frozen=True)
class Mapping:
    """Which attribute means what, as in :func:`simsched.workload.importers.from_networkx`."""

    cost: str | None = None
    cost_unit: str | None = None
    reference_speed: float | None = None
    edge_bytes: str | None = None
    task_class: str | None = None

    @property
    def given(self) -> list[str]:
        """Names of the options that were given."""
        return [f.name for f in fields(self) if getattr(self, f.name) is not None]


def read_foreign(graph: nx.Graph[Any], mapping: Mapping, source: str) -> Workload:
    """Return the workload of a graph that is not in our own format.

    Parameters
    ----------
    graph : networkx.DiGraph or networkx.MultiDiGraph
        Nodes are tasks in the order of the graph, edges are dataflow.
    mapping : Mapping
        Which attribute means what.
    source : str
        What messages call the graph.

    Raises
    ------
    GraphError
        The mapping is incomplete or an attribute is missing or wrong.
    """
    nodes = [
        (node, Attributes(data, f"{source}: node {str(node)!r}"))
        for node, data in graph.nodes(data=True)
    ]
    factor = _ops_per_unit(mapping, [found for _, found in nodes], source)
    assert mapping.cost is not None
    check_ends(graph, mapping.cost, source)
    index = {node: i for i, (node, _) in enumerate(nodes)}
    labels = [_label(found, mapping.task_class) for _, found in nodes]
    classes = {name: i for i, name in enumerate(dict.fromkeys(labels))}
    edges = [(index[u], index[v]) for u, v in graph.edges()]
    sizes = _edge_sizes(graph, mapping.edge_bytes, source)
    moved = [(u, v, size) for (u, v), size in zip(edges, sizes, strict=True) if size]
    writes = [(u, b, 0, size) for b, (u, _, size) in enumerate(moved)]
    reads = [(v, b, size, 0) for b, (_, v, size) in enumerate(moved)]
    rows = np.array([*reads, *writes], dtype=np.int64).reshape(-1, 4).T
    result = build_graph(
        [number(found.number(mapping.cost) * factor, found.where) for _, found in nodes],
        task_class=[classes[label] for label in labels],
        class_names=list(classes),
        successors=adjacency([u for u, _ in edges], [v for _, v in edges], len(nodes)),
        accessed=accesses(rows[0], rows[1], rows[2], rows[3], len(nodes)),
        block_bytes=[size for _, _, size in moved],
    )
    check_named(result, [str(node) for node, _ in nodes], source)
    title = graph.graph.get("name")
    return Workload(
        name=title if isinstance(title, str) and title else "graph",
        graph=result,
        parameters={
            "cost": mapping.cost,
            "cost_unit": mapping.cost_unit,
            "ops_per_cost_unit": factor,
            "edge_bytes": mapping.edge_bytes,
            "edges_without_bytes": len(edges) - len(moved),
            "task_class": mapping.task_class,
        },
    )


def _ops_per_unit(mapping: Mapping, nodes: list[Attributes], source: str) -> float:
    """Return the operations of one unit of cost."""
    if mapping.cost is None:
        raise GraphError(
            f"{source}: found a graph of another program; name the node attribute that is the cost "
            f"with the option cost, FILE[cost=NAME, cost_unit=UNIT]; accepted: {_names(nodes)}"
        )
    if all(mapping.cost not in found.values for found in nodes):
        raise GraphError(
            f"{source}: option cost: found {mapping.cost!r}, which no node has; "
            f"accepted: {_names(nodes)}"
        )
    if mapping.cost_unit is None:
        raise GraphError(
            f"{source}: option cost_unit: missing, accepted: {', '.join(UNITS)} (the unit of the "
            f"attribute {mapping.cost!r})"
        )
    if mapping.cost_unit not in UNITS:
        found_unit = unknown_name("cost_unit", str(mapping.cost_unit), UNITS)
        raise GraphError(f"{source}: option {found_unit}")
    if mapping.cost_unit == "ops":
        if mapping.reference_speed is not None:
            raise GraphError(
                f"{source}: option reference_speed: found with a cost in ops, "
                f"accepted with a cost_unit of {', '.join(SECONDS)}"
            )
        return 1.0
    speed = number(mapping.reference_speed or DEFAULT_SPEED, f"{source}: option reference_speed")
    return SECONDS[str(mapping.cost_unit)] * speed


def _names(nodes: list[Attributes]) -> str:
    """Return the names of attributes that nodes have, the most frequent first."""
    counts = Counter(str(key) for found in nodes for key in found.values)
    return (
        ", ".join(name for name, _ in counts.most_common(12))
        or "none, the nodes have no attributes"
    )


def _label(found: Attributes, key: str | None) -> str:
    """Return the class of a task."""
    if key is None:
        return "task"
    value = found.get(key)
    if value is None or value == "":
        raise found.error(key, "the class of the task")
    return str(value)


def _edge_sizes(graph: nx.Graph[Any], key: str | None, source: str) -> list[int]:
    """Return the bytes of each edge, 0 where no attribute is named."""
    if key is None:
        return [0] * graph.number_of_edges()
    return [
        Attributes(data, f"{source}: edge {str(u)!r} -> {str(v)!r}").whole(key)
        for u, v, data in graph.edges(data=True)
    ]
