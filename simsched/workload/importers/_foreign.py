"""Graphs of other programs: what their attributes mean is said by the user."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass, fields
from typing import Any

import networkx as nx

from simsched.files.errors import GraphError, shown, unknown_name
from simsched.workload.builder import adjacency, build_graph, listed_accesses
from simsched.workload.graph import Workload
from simsched.workload.importers._attributes import Attributes, plain
from simsched.workload.importers._given_costs import DEFAULT_SPEED, TaskCost, given_ops
from simsched.workload.importers._naming import check_ends, check_named
from simsched.workload.importers._source import number

SECONDS = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}
UNITS = ("ops", *SECONDS)
ONLY_KIND = "cpu"  #: kind of processors for which the one cost of a graph holds
NO_DATA = -1  #: bytes of an edge that only orders its tasks, as SimGrid writes them

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
    task_cost: TaskCost | None = None

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
    free = _free_ends(graph)
    if meaning.task_cost is None:
        check_ends(graph, str(next(iter(costs.values()))), source, allowed=free)
    index = {node: i for i, (node, _) in enumerate(nodes)}
    labels = [_label(found, meaning.task_class) for found in tasks]
    classes = {name: i for i, name in enumerate(dict.fromkeys(labels))}
    edges = [(index[u], index[v]) for u, v in graph.edges()]
    sizes = _edge_sizes(graph, meaning.edge_bytes, source)
    moved = [(u, v, size) for (u, v), size in zip(edges, sizes, strict=True) if size]
    writes = [(u, b, 0, size, 0) for b, (u, _, size) in enumerate(moved)]
    reads = [(v, b, size, 0, 0) for b, (_, v, size) in enumerate(moved)]
    ops, about = _ops(meaning, costs, tasks, labels, {index[node] for node in free}, source)
    result = build_graph(
        ops,
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
            **about,
            "edge_bytes": meaning.edge_bytes,
            "edges_without_bytes": len(edges) - len(moved),
            "task_class": meaning.task_class,
        },
    )


def _free_ends(graph: nx.Graph[Any]) -> set[Any]:
    """Return the nodes that cost nothing unless they say so: the two that SimGrid adds itself."""
    directed: Any = graph
    return {
        node
        for node, degree in (("root", directed.in_degree), ("end", directed.out_degree))
        if node in graph and degree(node) == 0
    }


def _costs(meaning: Meaning, nodes: list[Attributes], source: str) -> dict[str, str | None]:
    """Return the attribute that is the cost for each kind of processor, None for no attribute."""
    if meaning.cost is None or meaning.cost == {}:
        if meaning.task_cost is not None:
            return {ONLY_KIND: None}
        raise GraphError(
            f"{source}: found a graph of another program; name the node attribute that is the cost "
            f"with the option cost, FILE[cost=NAME, cost_unit=UNIT]; accepted: {_names(nodes)}; or "
            "give one cost to all tasks, FILE[task_cost=1 ms]"
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


def _ops(
    meaning: Meaning,
    costs: dict[str, str | None],
    tasks: list[Attributes],
    labels: list[str],
    free: Collection[int],
    source: str,
) -> tuple[list[list[float]], dict[str, object]]:
    """Return the operations of all tasks for each kind of processor, and what they come from.

    Among several kinds there may be some that cannot run a task.
    """
    unit_s = _unit_s(meaning, costs, source)
    speeds = _speeds(meaning, costs, unit_s is None and meaning.task_cost is None, source)
    factors = {kind: 1.0 if unit_s is None else unit_s * speeds[kind] for kind in costs}
    several = isinstance(meaning.cost, Mapping)
    columns, given = [], 0
    for kind, key in costs.items():
        column = [0.0] * len(tasks)
        missing = []
        for i, found in enumerate(tasks):
            if key is None or (found.get(key) in (None, "") and meaning.task_cost is not None):
                missing.append(i)
            elif found.get(key) is not None or i not in free:
                cost = found.cost(key) if several else found.number(key)
                in_ops = cost * factors[kind]
                column[i] = cost if math.isinf(cost) else number(in_ops, found.where)
        if meaning.task_cost is not None:
            names = [labels[i] for i in missing]
            ops = given_ops(meaning.task_cost, names, labels, speeds[kind], source)
            for i, value in zip(missing, ops, strict=True):
                column[i] = value
        given = max(given, len(missing))
        columns.append(column)
    unnamed = meaning.cost is None
    about: dict[str, object] = {
        "cost": costs if several else meaning.cost,
        "cost_unit": meaning.cost_unit,
        "ops_per_cost_unit": None if unnamed else factors if several else factors[ONLY_KIND],
    }
    if meaning.task_cost is not None:
        about |= {"task_cost": meaning.task_cost, "tasks_of_task_cost": given}
    return columns, about


def _unit_s(meaning: Meaning, costs: dict[str, str | None], source: str) -> float | None:
    """Return the seconds of one unit of cost, None where costs are operations, or given."""
    unit = meaning.cost_unit
    if meaning.cost is None:
        if unit is not None:
            raise GraphError(f"{source}: option cost_unit: found {unit!r} without the option cost")
        return None
    if unit is None:
        named = " and ".join(map(repr, dict.fromkeys(costs.values())))
        raise GraphError(
            f"{source}: option cost_unit: missing, accepted: {', '.join(UNITS)} (the unit of the "
            f"attribute {named})"
        )
    if unit not in UNITS:
        found = unknown_name("unit", str(unit), UNITS)
        raise GraphError(f"{source}: option cost_unit: {found}")
    return SECONDS.get(unit)


def _speeds(
    meaning: Meaning, costs: Collection[str], unused: bool, source: str
) -> dict[str, float]:
    """Return the operations per second that turn times into operations for each kind."""
    speed = meaning.reference_speed
    if unused and speed is not None:
        raise GraphError(
            f"{source}: option reference_speed: found with a cost in ops, "
            f"accepted with a cost_unit of {', '.join(SECONDS)}"
        )
    given = dict(speed) if isinstance(speed, Mapping) else dict.fromkeys(costs, speed)
    for kind in given:
        if kind not in costs:
            problem = unknown_name("kind of processor", kind, costs)
            raise GraphError(f"{source}: option reference_speed.{kind}: {problem}")
    return {kind: _speed(given.get(kind), f"{source}: option reference_speed") for kind in costs}


def _speed(value: float | None, where: str) -> float:
    """Return operations per second; a speed of 0 would make all tasks free."""
    speed = number(DEFAULT_SPEED if value is None else value, where)
    if speed == 0:
        raise GraphError(f"{where}: found 0, accepted more than 0 ops/s")
    return speed


def _names(nodes: list[Attributes]) -> str:
    """Return the names of attributes that nodes have, the most frequent first."""
    counts = Counter(str(key) for found in nodes for key in found.values)
    return ", ".join(name for name, _ in counts.most_common(12)) or "none, there are no attributes"


def _label(found: Attributes, key: str | None) -> str:
    """Return the class of a task."""
    if key is None:
        return "task"
    value = found.get(key)
    if value is None or value == "":
        raise found.error(key, "the class of the task")
    return str(value)


def _edge_sizes(graph: nx.Graph[Any], key: str | None, source: str) -> list[int]:
    """Return the bytes of each edge, 0 where no attribute is named or an edge has none.

    They are rounded: generators of graphs reckon with fractions of bytes.
    """
    if key is None:
        return [0] * graph.number_of_edges()
    edges = [
        Attributes(data, f"{source}: edge {str(u)!r} -> {str(v)!r}")
        for u, v, data in graph.edges(data=True)
    ]
    if edges and all(found.get(key) is None for found in edges):
        raise GraphError(
            f"{source}: option edge_bytes: found {shown(key)}, which no edge has; "
            f"accepted: {_names(edges)}"
        )
    return [
        0 if found.get(key) is None or _is_no_data(found.get(key)) else found.size(key)
        for found in edges
    ]


def _is_no_data(value: object) -> bool:
    """Say whether an edge states that it carries nothing."""
    try:
        return float(str(value)) == NO_DATA
    except ValueError:
        return False
