"""Task graphs as NetworkX graphs and back.

Our own graphs carry every array of a workload, so that the way through NetworkX, GraphML or DOT
loses nothing. All attributes are numbers or strings, as GraphML needs; docs/task-graph-files.md
lists them. Other graphs need to be told which attribute means what, see :func:`from_networkx`.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Sequence
from typing import Any

import networkx as nx
import numpy as np
from numpy.typing import NDArray

from simsched.files.errors import GraphError
from simsched.workload.builder import MAX_INDEX, adjacency, build_graph, distinct, listed_accesses
from simsched.workload.graph import TaskGraph, Workload
from simsched.workload.importers._attributes import Attributes, plain
from simsched.workload.importers._foreign import Cost, Meaning, Speed, read_foreign
from simsched.workload.importers._given_costs import TaskCost
from simsched.workload.importers._naming import check_ends, check_named

FORMAT = 1
STAGES = ("iteration", "init")
RELATIONS = ("dataflow", "spawn")
#: Attributes that a node has where its graph has them.
OF_TASKS, OF_ACCESSES = (
    ("detached", "occupancy", "synchronous", "priority"),
    ("access_share", "access_after", "access_final"),
)

#: What is taken for attributes of graphs, nodes and edges that are left out. Nodes are numbered in
#: their order then.
OF_GRAPHS = {"block_bytes": "[]", "parameters": "{}", "iterations": 1}
OF_NODES = {"stage": "iteration", "task_class": "task", "creation_ops": 0.0, "arrival_ps": 0}
OF_EDGES = {"relation": "dataflow", "order": 0}


def to_networkx(source: TaskGraph | Workload) -> nx.DiGraph[Any]:
    """Return a directed graph that holds a whole task graph or workload.

    Parameters
    ----------
    source : TaskGraph or Workload
        A graph is taken for a workload of that one graph, run once.

    Returns
    -------
    networkx.DiGraph or networkx.MultiDiGraph
        The latter if two tasks are joined by several edges. Attributes are those of the module's
        description.

    Raises
    ------
    GraphError
        For iterations that differ.
    """
    workload = (source if isinstance(source, Workload) else Workload("graph", source)).drawn()
    if workload.varying is not None:
        raise GraphError(
            f"workload {workload.name}: found iterations that differ, accepted equal ones"
        )
    stages = [("iteration", workload.graph)]
    if workload.init is not None:
        stages.append(("init", workload.init))
    parallel = any(_has_parallel_edges(graph) for _, graph in stages)
    result: nx.DiGraph[Any] = nx.MultiDiGraph() if parallel else nx.DiGraph()
    result.graph.update(
        simsched_format=FORMAT,
        name=workload.name,
        iterations=workload.iterations,
        block_bytes=json.dumps(workload.graph.block_bytes.tolist()),
        parameters=json.dumps(workload.parameters, default=str),
    )
    for stage, graph in stages:
        prefix = "" if stage == "iteration" else "init_"
        result.graph[f"{prefix}kinds"] = json.dumps(list(graph.kinds))
        result.graph[f"{prefix}class_names"] = json.dumps(list(graph.class_names))
        if graph.alternate_block is not None:
            numbers = graph.alternate_block.tolist()
            result.graph[f"{prefix}alternate_block"] = json.dumps(numbers)
        _add_nodes(result, graph, stage)
        _add_edges(result, graph, stage)
    return result


def from_networkx(
    graph: nx.Graph[Any],
    *,
    cost: Cost | None = None,
    cost_unit: str | None = None,
    reference_speed: Speed | None = None,
    edge_bytes: str | None = None,
    task_class: str | None = None,
    task_cost: TaskCost | None = None,
    source: str = "graph",
) -> Workload:
    """Return the workload that a NetworkX graph describes.

    A graph that :func:`to_networkx` made needs no options. For any other, nodes are tasks, edges
    are dataflow, and what the attributes mean has to be said; nothing is guessed from their names.

    Parameters
    ----------
    graph : networkx.DiGraph or networkx.MultiDiGraph
        The graph.
    cost : str or mapping of str to str, optional
        Node attribute with the cost of a task; often called cost, weight, duration, flops or size.
        It holds for processors of kind "cpu". A mapping has an attribute for each kind of
        processor, named as machines name it; infinity means that a task cannot run there.
    cost_unit : {"ops", "s", "ms", "us", "ns"}, optional
        Its unit.
    reference_speed : float or mapping of str to float, optional
        Operations per second that turn times into operations, 10**9 by default; only with a unit of
        time. A mapping has speeds for some of the kinds of processors.
    edge_bytes : str, optional
        Edge attribute with the bytes that go from a task to its successor: one block per edge,
        written by the one and read by the other. Without it no data are moved, nor by edges that
        lack it or state -1. Fractions of bytes are rounded.
    task_class : str, optional
        Node attribute with the class of a task; all are of class "task" without it.
    task_cost : str or mapping of str to str, optional
        Cost with its unit, such as "1 ms" or "2e6 ops", of tasks without the attribute `cost`, or
        of all without that option. A mapping has one for each class. Without it every task needs a
        cost of its own, but for "root" and "end" where nothing is before or behind them, as SimGrid
        writes them: they cost nothing.
    source : str
        What error messages call the graph.

    Returns
    -------
    Workload
        One iteration, for a graph that is not simsched's.

    Raises
    ------
    GraphError
        The graph is undirected, has no tasks, lacks an attribute or has a value that is not
        accepted.
    """
    if not graph.is_directed():
        raise GraphError(f"{source}: found an undirected graph, accepted a directed one")
    if len(graph) == 0:
        raise GraphError(f"{source}: found no nodes, accepted at least one")
    options = Meaning(cost, cost_unit, reference_speed, edge_bytes, task_class, task_cost)
    if "simsched_format" not in graph.graph:
        graph = _without_quotes(graph)
    if "simsched_format" not in graph.graph:
        return read_foreign(graph, options, source)
    if options.given:
        raise GraphError(
            f"{source}: found the option {options.given[0]}, "
            "accepted none: the graph is simsched's own"
        )
    return _read_own(graph, source)


def _read_own(graph: nx.Graph[Any], source: str) -> Workload:
    """Return the workload of a graph in our own format."""
    top = Attributes({**OF_GRAPHS, **graph.graph}, f"{source}: graph")
    if top.whole("simsched_format") != FORMAT:
        raise top.error("simsched_format", f"{FORMAT}")
    blocks = top.json_numbers("block_bytes")
    check_ends(graph, "ops_KIND", source)
    nodes: dict[str, list[tuple[int, Any, Attributes]]] = {stage: [] for stage in STAGES}
    for place, (node, data) in enumerate(graph.nodes(data=True)):
        found = Attributes({"task": place, **OF_NODES, **data}, f"{source}: node {str(node)!r}")
        nodes[found.choice("stage", STAGES)].append((found.whole("task"), node, found))
    if not nodes["iteration"]:
        raise GraphError(f"{source}: found no node of stage 'iteration', accepted at least one")
    stages = {
        stage: _read_stage(graph, entries, top, blocks, "" if stage == "iteration" else "init_")
        for stage, entries in nodes.items()
        if entries
    }
    title = top.get("name")
    workload = Workload(
        name="graph" if title is None else str(title),
        graph=stages["iteration"],
        iterations=top.whole("iterations", least=1, most=MAX_INDEX),
        init=stages.get("init"),
        parameters=top.json_object("parameters"),
    )
    try:
        workload.validate()
    except GraphError as error:
        raise GraphError(f"{source}: {error}") from error
    return workload


def _without_quotes(graph: nx.Graph[Any]) -> nx.Graph[Any]:
    """Return a copy without pydot's quotation marks and graph attributes one level below."""
    result = graph.copy()
    below = result.graph.get("graph")
    if isinstance(below, dict):
        result.graph.update(below)
    attributes = [result.graph]
    attributes += [data for _, data in result.nodes(data=True)]
    attributes += [data for *_, data in result.edges(data=True)]
    for data in attributes:
        data.update({key: plain(value) for key, value in data.items()})
    return result


def _read_stage(
    graph: nx.Graph[Any],
    entries: list[tuple[int, Any, Attributes]],
    top: Attributes,
    blocks: list[int],
    prefix: str,
) -> TaskGraph:
    """Return the graph of one stage from its nodes, which are sorted by number."""
    entries.sort(key=lambda entry: entry[0])
    for (number, _, _), (other, _, again) in itertools.pairwise(entries):
        if number == other:
            raise again.error("task", "a number that no other node of the stage has")
    index = {node: i for i, (_, node, _) in enumerate(entries)}
    tasks = [found for _, _, found in entries]
    kinds = _kinds(tasks, top, f"{prefix}kinds")
    _check_costs(tasks, kinds)
    names = _class_names(tasks, top, f"{prefix}class_names")
    class_index = {name: i for i, name in enumerate(names)}
    rows = [
        (i, block, read, written, join)
        for i, task in enumerate(tasks)
        for join, key in enumerate(("accesses", "join_accesses"))
        for block, read, written in task.accesses(key, len(blocks))
    ]
    links = _read_edges(graph, index, top.where)
    result = build_graph(
        [[task.cost(f"ops_{kind}") for task in tasks] for kind in kinds],
        join_ops=[[task.cost_or_0(f"join_ops_{kind}") for task in tasks] for kind in kinds],
        kinds=kinds,
        task_class=[class_index[task.choice("task_class", class_index)] for task in tasks],
        class_names=names,
        children=adjacency(*links["spawn"], len(tasks)),
        successors=adjacency(*links["dataflow"], len(tasks)),
        accessed=listed_accesses(rows, len(tasks)),
        block_bytes=blocks,
        creation_ops=[task.number("creation_ops") for task in tasks],
        arrival_ps=[task.whole("arrival_ps") for task in tasks],
        detached=[task.whole_or_0("detached", most=1) for task in tasks],
        occupancy=[task.whole("occupancy", most=MAX_INDEX) for task in tasks]
        if any(task.get("occupancy") is not None for task in tasks)
        else None,
        synchronous=[task.whole_or_0("synchronous", most=1) for task in tasks],
        priority=[task.whole_or_0("priority", least=-(2**31), most=MAX_INDEX) for task in tasks],
        access_share=_read_numbers(tasks, "access_share", float),
        access_after=_renumbered(_read_numbers(tasks, "access_after", int), entries),
        access_final=_read_numbers(tasks, "access_final", int),
        alternate_block=_alternates(top, f"{prefix}alternate_block"),
        task_names=_read_names(tasks),
    )
    check_named(result, [str(node) for _, node, _ in entries], top.where.rpartition(": ")[0])
    return result


def _kinds(tasks: list[Attributes], top: Attributes, key: str) -> list[str]:
    """Return the kinds of processors; by default those for which tasks have operations."""
    if top.get(key) is not None:
        return top.json_names(key)
    keys = dict.fromkeys(str(name) for task in tasks for name in task.values)
    return [name.removeprefix("ops_") for name in keys if name.startswith("ops_")] or ["cpu"]


def _check_costs(tasks: list[Attributes], kinds: list[str]) -> None:
    """Refuse tasks without costs, in one message that says what tasks need."""
    needed = [f"ops_{kind}" for kind in kinds]
    for task in tasks:
        lacking = [key for key in needed if task.get(key) is None]
        if lacking:
            rest = ", ".join(("task", *OF_NODES, "join_ops_KIND"))
            raise GraphError(
                f"{task.where}: found no {' and no '.join(lacking)}, accepted a node with "
                f"{' and '.join(needed)}, one for each of the graph's kinds; all else has defaults "
                f"({rest}, ...)"
            )


def _class_names(tasks: list[Attributes], top: Attributes, key: str) -> list[str]:
    """Return the names of classes; by default those that tasks have, in their order."""
    if top.get(key) is None:
        return list(dict.fromkeys(str(task.get("task_class")) for task in tasks))
    return top.json_names(key)


def _alternates(top: Attributes, key: str) -> list[int] | None:
    """Return which blocks change places, None where the graph does not say so."""
    found = None if top.get(key) is None else top.json_numbers(key)
    if found is not None and max(found, default=0) > MAX_INDEX:
        raise top.error(key, "numbers of blocks")
    return found


def _read_numbers(
    tasks: list[Attributes], key: str, number: Callable[[str], float]
) -> list[float] | None:
    """Return what all accesses have in an attribute of tasks, None when no task has it."""
    texts = [task.get(key) for task in tasks]
    if all(text is None for text in texts):
        return None
    found = []
    for task, text in zip(tasks, texts, strict=True):
        try:
            found += [number(part) for part in str("" if text is None else text).split()]
        except ValueError as error:
            raise task.error(key, "numbers separated by spaces") from error
    return found


def _read_names(tasks: list[Attributes]) -> list[str] | None:
    """Return the names of tasks, None when no task has one; DOT leaves out those that are empty."""
    names = [task.get("task_name") for task in tasks]
    if all(name is None for name in names):
        return None
    return ["" if name is None else str(name) for name in names]


def _renumbered(
    after: list[float] | None, entries: list[tuple[int, Any, Attributes]]
) -> list[int] | None:
    """Return the tasks that accesses wait for by their new numbers; -1 for those removed."""
    if after is None:
        return None
    index = {number: i for i, (number, _, _) in enumerate(entries)}
    return [index.get(int(number), -1) for number in after]


def _read_edges(
    graph: nx.Graph[Any], index: dict[Any, int], where: str
) -> dict[str, tuple[list[int], list[int]]]:
    """Return sources and targets of each relation among nodes, in the order of their numbers."""
    rows: dict[str, list[tuple[int, int, int]]] = {relation: [] for relation in RELATIONS}
    for node, number in index.items():
        for _, target, data in graph.edges(node, data=True):
            place = f"{where.rpartition(': ')[0]}: edge {str(node)!r} -> {str(target)!r}"
            if target not in index:
                raise GraphError(f"{place}: found nodes of two stages, accepted one")
            found = Attributes({**OF_EDGES, **data}, place)
            relation = found.choice("relation", RELATIONS)
            rows[relation].append((number, found.whole("order"), index[target]))
    for edges in rows.values():
        edges.sort(key=lambda edge: edge[:2])
    return {key: ([e[0] for e in edges], [e[2] for e in edges]) for key, edges in rows.items()}


def _add_nodes(result: nx.DiGraph[Any], graph: TaskGraph, stage: str) -> None:
    """Add the tasks of one stage with their attributes."""
    body = _access_texts(graph, graph.access_ptr[:-1], graph.join_access)
    join = _access_texts(graph, graph.join_access, graph.access_ptr[1:])
    columns: dict[str, Sequence[Any]] = {
        "task_class": [graph.class_names[c] for c in graph.task_class.tolist()],
        "creation_ops": graph.creation_ops.tolist(),
        "arrival_ps": graph.arrival_ps.tolist(),
        "accesses": body,
        "join_accesses": join,
    }
    given = {key: getattr(graph, key) for key in (*OF_TASKS, *OF_ACCESSES)}
    # Truth values are 0 and 1.
    numbers = {key: (values * 1).tolist() for key, values in given.items() if values is not None}
    columns |= {key: values for key, values in numbers.items() if key in OF_TASKS}
    if graph.task_names is not None:
        columns["task_name"] = graph.task_names
    for key in OF_ACCESSES:
        if key in numbers:
            texts = [repr(value) for value in numbers[key]]
            columns[key] = _joined(texts, graph.access_ptr[:-1], graph.access_ptr[1:])
    for k, kind in enumerate(graph.kinds):
        columns[f"ops_{kind}"] = graph.ops[k].tolist()
        columns[f"join_ops_{kind}"] = graph.join_ops[k].tolist()
    for task, row in enumerate(zip(*columns.values(), strict=True)):
        attributes = dict(zip(columns, row, strict=True))
        result.add_node(_node(stage, task), task=task, stage=stage, **attributes)


def _add_edges(result: nx.DiGraph[Any], graph: TaskGraph, stage: str) -> None:
    for relation, ptr, index in (
        ("dataflow", graph.succ_ptr.tolist(), graph.succ.tolist()),
        ("spawn", graph.child_ptr.tolist(), graph.child.tolist()),
    ):
        for task in range(graph.n_tasks):
            for order, target in enumerate(index[ptr[task] : ptr[task + 1]]):
                ends = _node(stage, task), _node(stage, target)
                result.add_edge(*ends, relation=relation, order=order)


def _access_texts(graph: TaskGraph, begin: NDArray[np.int64], end: NDArray[np.int64]) -> list[str]:
    """Return the accesses from `begin` to `end` of each task as text."""
    columns = (graph.access_block, graph.read_bytes, graph.written_bytes)
    texts = [f"{b}:{r}:{w}" for b, r, w in zip(*(c.tolist() for c in columns), strict=True)]
    return _joined(texts, begin, end)


def _joined(texts: list[str], begin: NDArray[np.int64], end: NDArray[np.int64]) -> list[str]:
    """Return the texts from `begin` to `end` of each task as one."""
    return [" ".join(texts[i:j]) for i, j in zip(begin.tolist(), end.tolist(), strict=True)]


def _has_parallel_edges(graph: TaskGraph) -> bool:
    """Say whether two tasks are joined by more than one edge."""
    tasks = np.arange(graph.n_tasks, dtype=np.int64) << 32
    pairs = np.concatenate(
        (
            np.repeat(tasks, np.diff(graph.succ_ptr)) | graph.succ,
            np.repeat(tasks, np.diff(graph.child_ptr)) | graph.child,
        )
    )
    return len(distinct(pairs)) < len(pairs)


def _node(stage: str, task: int) -> int | str:
    return task if stage == "iteration" else f"init{task}"
