"""Graphs of other programs: what their attributes mean is said by the user."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from simsched.files.errors import GraphError, shown, unknown_name
from simsched.names.parameters import OpsPerS
from simsched.workload.arrays import FloatArray, Int64Array
from simsched.workload.builder import accesses, adjacency, build_graph
from simsched.workload.graph import Workload
from simsched.workload.importers._attributes import plain
from simsched.workload.importers._columns import NamedGraph, Rows
from simsched.workload.importers._given_costs import DEFAULT_SPEED, TaskCost, given_ops, ops_per_s
from simsched.workload.importers._naming import check_ends, check_named
from simsched.workload.importers._source import number

SECONDS = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}
UNITS = ("ops", *SECONDS)
ONLY_KIND = "cpu"  #: kind of processors for which the one cost of a graph holds
NO_DATA = -1  #: bytes of an edge that only orders its tasks, as SimGrid writes them

Cost = str | Mapping[str, str]
Speed = OpsPerS | Mapping[str, OpsPerS]


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


def read_foreign(graph: NamedGraph, meaning: Meaning, source: str) -> Workload:
    """Return the workload of a graph that is not in our own format.

    Nodes are tasks in the order of the graph, edges are dataflow.
    """
    names, nodes = graph.names(), graph.nodes(source)
    for option in ("edge_bytes", "task_class"):
        value = getattr(meaning, option)
        if value is not None and not isinstance(value, str):
            raise GraphError(f"{source}: option {option}: found {value!r}, accepted an attribute")
    costs = _costs(meaning, nodes, source)
    free = _free_ends(graph)
    if meaning.task_cost is None:
        check_ends(graph, str(next(iter(costs.values()))), source, allowed=free)
    labels = _labels(nodes, meaning.task_class)
    classes = {name: i for i, name in enumerate(dict.fromkeys(labels))}
    sources, targets = graph.ends()
    moved = _edge_sizes(graph.edges(source), meaning.edge_bytes, source)
    carrying = np.flatnonzero(moved)
    block, block_bytes = np.arange(len(carrying)), moved[carrying]
    nothing = np.zeros_like(block_bytes)
    ops, about = _ops(meaning, costs, nodes, labels, free, source)
    result = build_graph(
        ops,
        kinds=list(costs),
        task_class=[classes[label] for label in labels],
        class_names=list(classes),
        successors=adjacency(sources, targets, len(names)),
        accessed=accesses(
            np.concatenate((targets[carrying], sources[carrying])),
            np.concatenate((block, block)),
            np.concatenate((block_bytes, nothing)),
            np.concatenate((nothing, block_bytes)),
            len(names),
        ),
        block_bytes=block_bytes,
        task_names=[str(plain(name)) for name in names],
    )
    check_named(result, list(map(str, names)), source)
    title = graph.about.get("name")
    return Workload(
        name=title if isinstance(title, str) and title else "graph",
        graph=result,
        parameters={
            **about,
            "edge_bytes": meaning.edge_bytes,
            "edges_without_bytes": len(sources) - len(carrying),
            "task_class": meaning.task_class,
        },
    )


def _free_ends(graph: NamedGraph) -> set[int]:
    """Return the nodes that cost nothing unless they say so: the two that SimGrid adds itself."""
    sources, targets = graph.ends()
    found = [(graph.index.get(name), ends) for name, ends in (("root", targets), ("end", sources))]
    return {node for node, ends in found if node is not None and not np.any(ends == node)}


def _costs(meaning: Meaning, nodes: Rows, source: str) -> dict[str, str | None]:
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
        if not isinstance(key, str) or key not in nodes.columns:
            raise GraphError(
                f"{source}: option {option}: found {key!r}, which no node has; "
                f"accepted: {_names(nodes)}"
            )
    return costs


def _ops(
    meaning: Meaning,
    costs: dict[str, str | None],
    tasks: Rows,
    labels: list[str],
    free: Collection[int],
    source: str,
) -> tuple[list[FloatArray], dict[str, object]]:
    """Return the operations of all tasks for each kind of processor, and what they come from.

    Among several kinds there may be some that cannot run a task.
    """
    unit_s = _unit_s(meaning, costs, source)
    speeds = _speeds(meaning, costs, unit_s is None and meaning.task_cost is None, source)
    factors = {kind: 1.0 if unit_s is None else unit_s * speeds[kind] for kind in costs}
    several = isinstance(meaning.cost, Mapping)
    columns, given = [], 0
    for kind, key in costs.items():
        values = tasks.values(key)
        unsaid = () if meaning.task_cost is None else (None, "")
        missing = [i for i, value in enumerate(values) if value in unsaid]
        without = {*missing, *(i for i in free if values[i] is None)}
        stated = [i for i in range(len(tasks)) if i not in without]
        column = np.zeros(len(tasks))
        column[stated] = _in_ops(tasks.among(stated), key, factors[kind], infinite=several)
        if meaning.task_cost is not None:
            names = [labels[i] for i in missing]
            column[missing] = given_ops(meaning.task_cost, names, labels, speeds[kind], source)
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


def _in_ops(tasks: Rows, key: str | None, factor: float, *, infinite: bool) -> FloatArray:
    """Return what tasks state as their cost in operations."""
    found = tasks.numbers(key, infinite=infinite)
    with np.errstate(over="ignore"):
        ops = found * factor
    for row in np.flatnonzero(np.isinf(ops) & np.isfinite(found)).tolist():
        number(float(ops[row]), tasks.where(row))
    return ops


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
    said = {kind: each for kind, each in given.items() if each is not None}
    where = f"{source}: option reference_speed"
    return {kind: ops_per_s(said.get(kind, DEFAULT_SPEED), where) for kind in costs}


def _names(rows: Rows) -> str:
    """Return the names of attributes that nodes have, the most frequent first."""
    return ", ".join(rows.columns.most_frequent(12)) or "none, there are no attributes"


def _labels(tasks: Rows, key: str | None) -> list[str]:
    """Return the class of each task."""
    if key is None:
        return ["task"] * len(tasks)
    values = tasks.values(key)
    for row, value in enumerate(values):
        if value is None or value == "":
            raise tasks.attributes(row, {}).error(key, "the class of the task")
    return list(map(str, values))


def _edge_sizes(edges: Rows, key: str | None, source: str) -> Int64Array:
    """Return the bytes of each edge, 0 where no attribute is named or an edge has none.

    They are rounded: generators of graphs reckon with fractions of bytes.
    """
    found = np.zeros(len(edges), dtype=np.int64)
    if key is None:
        return found
    values = edges.values(key)
    if values and all(value is None for value in values):
        raise GraphError(
            f"{source}: option edge_bytes: found {shown(key)}, which no edge has; "
            f"accepted: {_names(edges)}"
        )
    stated = [i for i, value in enumerate(values) if not _is_no_data(value)]
    if len(stated) == len(edges):
        return edges.sizes(key)
    found[stated] = edges.among(stated).sizes(key)
    return found


def _is_no_data(value: object) -> bool:
    """Say whether an edge states that it carries nothing, or does not state what it carries."""
    try:
        return value is None or float(value) == NO_DATA  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        return False
