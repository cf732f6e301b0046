"""Graphs of other programs: what their attributes mean is said by the user."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

import networkx as nx

from simsched.files.errors import GraphError, unknown_name
from simsched.workload.builder import adjacency, build_graph, listed_accesses
from simsched.workload.graph import Workload
from simsched.workload.importers._attributes import Attributes, plain
from simsched.workload.importers._naming import check_ends, check_named
from simsched.workload.importers._source import number

SECONDS = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}
UNITS = ("ops", *SECONDS)
DEFAULT_SPEED = 1e9
ONLY_KIND = "cpu"  #: kind of processors for which the one cost of a graph holds


Cost = str | Mapping[str, str]
Speed = float | Mapping[str, float]


@dataclass(frozen=True)
class Meaning:
    """Which attribute means what, as in :func:`simsched.workload.importers.from_networkx`."""

    cost: Cost | None = None
    cost_unit: str | None = None
    reference_speed: Speed | None = None
    edge_bytes: str | None = None
    task_class: str | None = None

    @property
    def given(self) -> list[str]:
        """Names of the options that were given."""
        return [f.name for f in fields(self) if getattr(self, f.name) is not None]


def read_foreign(graph: nx.Graph[Any], meaning: Meaning, source: str) -> Workload:
    """Return the workload of a graph that is not in our own format.

    Nodes are tasks in the order of the graph, edges are dataflow.
    """
    nodes = [
        (node, Attributes(data, f"{source}: node {str(node)!r}"))
        for node, data in graph.nodes(data=True)
    ]
    tasks = [found for _, found in nodes]
    for option in ("edge_bytes", "task_class"):
        value = getattr(meaning, option)
        if value is not None and not isinstance(value, str):
            raise GraphError(f"{source}: option {option}: found {value!r}, accepted an attribute")
    costs = _costs(meaning, tasks, source)
    factors = _ops_per_unit(meaning, costs, source)
    check_ends(graph, next(iter(costs.values())), source)
    index = {node: i for i, (node, _) in enumerate(nodes)}
    labels = [_label(found, meaning.task_class) for found in tasks]
    classes = {name: i for i, name in enumerate(dict.fromkeys(labels))}
    edges = [(index[u], index[v]) for u, v in graph.edges()]
    sizes = _edge_sizes(graph, meaning.edge_bytes, source)
    moved = [(u, v, size) for (u, v), size in zip(edges, sizes, strict=True) if size]
    writes = [(u, b, 0, size, 0) for b, (u, _, size) in enumerate(moved)]
    reads = [(v, b, size, 0, 0) for b, (_, v, size) in enumerate(moved)]
    several = isinstance(meaning.cost, Mapping)
    result = build_graph(
        [
            [_ops(found, key, factors[kind], several) for found in tasks]
            for kind, key in costs.items()
        ],
        kinds=list(costs),
        task_class=[classes[label] for label in labels],
        class_names=list(classes),
        successors=adjacency([u for u, _ in edges], [v for _, v in edges], len(nodes)),
        accessed=listed_accesses([*reads, *writes], len(nodes)),
        block_bytes=[size for _, _, size in moved],
        task_names=[str(plain(node)) for node, _ in nodes],
    )
    check_named(result, [str(node) for node, _ in nodes], source)
    title = graph.graph.get("name")
    return Workload(
        name=title if isinstance(title, str) and title else "graph",
        graph=result,
        parameters={
            "cost": costs if several else meaning.cost,
            "cost_unit": meaning.cost_unit,
            "ops_per_cost_unit": factors if several else factors[ONLY_KIND],
            "edge_bytes": meaning.edge_bytes,
            "edges_without_bytes": len(edges) - len(moved),
            "task_class": meaning.task_class,
        },
    )


def _costs(meaning: Meaning, nodes: list[Attributes], source: str) -> dict[str, str]:
    """Return the attribute that is the cost for each kind of processor."""
    if meaning.cost is None or meaning.cost == {}:
        raise GraphError(
            f"{source}: found a graph of another program; name the node attribute that is the cost "
            f"with the option cost, FILE[cost=NAME, cost_unit=UNIT]; accepted: {_names(nodes)}"
        )
    several = isinstance(meaning.cost, Mapping)
    costs: dict[Any, Any] = (
        dict(meaning.cost) if isinstance(meaning.cost, Mapping) else {ONLY_KIND: meaning.cost}
    )
    for kind, key in costs.items():
        if not isinstance(kind, str):
            raise GraphError(f"{source}: option cost: found {kind!r}, accepted kinds of processors")
        option = f"cost.{kind}" if several else "cost"
        if not isinstance(key, str) or all(key not in found.values for found in nodes):
            raise GraphError(
                f"{source}: option {option}: found {key!r}, which no node has; "
                f"accepted: {_names(nodes)}"
            )
    return costs


def _ops_per_unit(meaning: Meaning, costs: dict[str, str], source: str) -> dict[str, float]:
    """Return the operations of one unit of cost for each kind of processor."""
    unit, speed = meaning.cost_unit, meaning.reference_speed
    if unit is None:
        named = " and ".join(map(repr, dict.fromkeys(costs.values())))
        raise GraphError(
            f"{source}: option cost_unit: missing, accepted: {', '.join(UNITS)} (the unit of the "
            f"attribute {named})"
        )
    if unit not in UNITS:
        found = unknown_name("unit", str(unit), UNITS)
        raise GraphError(f"{source}: option cost_unit: {found}")
    if unit == "ops":
        if speed is not None:
            raise GraphError(
                f"{source}: option reference_speed: found with a cost in ops, "
                f"accepted with a cost_unit of {', '.join(SECONDS)}"
            )
        return dict.fromkeys(costs, 1.0)
    given = dict(speed) if isinstance(speed, Mapping) else dict.fromkeys(costs, speed)
    for kind in given:
        if kind not in costs:
            problem = unknown_name("kind of processor", kind, costs)
            raise GraphError(f"{source}: option reference_speed.{kind}: {problem}")
    return {
        kind: SECONDS[str(unit)] * _speed(given.get(kind), f"{source}: option reference_speed")
        for kind in costs
    }


def _speed(value: float | None, where: str) -> float:
    """Return operations per second; a speed of 0 would make all tasks free."""
    speed = number(DEFAULT_SPEED if value is None else value, where)
    if speed == 0:
        raise GraphError(f"{where}: found 0, accepted more than 0 ops/s")
    return speed


def _ops(found: Attributes, key: str, factor: float, several: bool) -> float:
    """Return the operations of a task; among several kinds there may be some that cannot run it."""
    cost = found.cost(key) if several else found.number(key)
    return cost if math.isinf(cost) else number(cost * factor, found.where)


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
