"""Task graphs as NetworkX graphs and back.

Our own graphs carry every array of a workload, so that the way through NetworkX, GraphML or DOT
loses nothing. All attributes are numbers or strings, as GraphML needs; docs/task-graph-files.md
lists them. Other graphs need to be told which attribute means what, see :func:`from_networkx`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from simsched.files.errors import GraphError, expect
from simsched.workload.arrays import Int64Array
from simsched.workload.builder import (
    MAX_INDEX,
    Accesses,
    accesses,
    adjacency,
    build_graph,
    distinct,
)
from simsched.workload.graph import TaskGraph, Workload
from simsched.workload.importers._attributes import Attributes
from simsched.workload.importers._columns import NamedGraph, Rows, named_graph
from simsched.workload.importers._foreign import Cost, Meaning, Speed, read_foreign
from simsched.workload.importers._given_costs import TaskCost
from simsched.workload.importers._naming import check_ends, check_named
from simsched.workload.importers._stated_speed import at_speed

if TYPE_CHECKING:
    import networkx as nx

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
OF_NODES: dict[str, Any] = {
    "stage": "iteration",
    "task_class": "task",
    "creation_ops": 0.0,
    "arrival_ps": 0,
}
OF_EDGES: dict[str, Any] = {"relation": "dataflow", "order": 0}


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
    import networkx as nx

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

    A graph that :func:`to_networkx` made takes no option but `reference_speed`. For any other,
    nodes are tasks, edges are dataflow, and what the attributes mean has to be said; nothing is
    guessed from their names.

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
    reference_speed : float or str, or mapping of str to these, optional
        Operations per second that turn times into operations, 10**9 by default, or text with a unit
        such as "2.9 GHz"; only with a unit of time. A mapping has speeds for some of the kinds of
        processors. Of a graph that `to_networkx` made, the measured times of an imported trace are
        turned into operations of this speed.
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
    import networkx as nx

    expect("from_networkx", graph, nx.Graph, "a directed NetworkX graph")
    named = named_graph(graph)
    below = named.about.get("graph")
    if "simsched_format" not in named.about and isinstance(below, dict):  # as pydot has them
        named.about.update(below)
    meaning = Meaning(cost, cost_unit, reference_speed, edge_bytes, task_class, task_cost)
    return read_named(named, meaning, source)


def read_named(graph: NamedGraph, meaning: Meaning, source: str) -> Workload:
    """Return the workload of a graph in our own format, or of another with a meaning."""
    if not graph.directed:
        raise GraphError(f"{source}: found an undirected graph, accepted a directed one")
    if len(graph) == 0:
        raise GraphError(f"{source}: found no nodes, accepted at least one")
    if "simsched_format" not in graph.about:
        graph.remove_quotes()
    if "simsched_format" not in graph.about:
        return read_foreign(graph, meaning, source)
    for option in meaning.given:
        if option != "reference_speed":
            raise GraphError(
                f"{source}: found the option {option}, accepted none but reference_speed: the "
                "graph is simsched's own"
            )
    workload = _read_own(graph, source)
    speed = meaning.reference_speed
    return workload if speed is None else at_speed(workload, speed, source)


def _read_own(graph: NamedGraph, source: str) -> Workload:
    """Return the workload of a graph in our own format."""
    top = Attributes({**OF_GRAPHS, **graph.about}, f"{source}: graph")
    if top.whole("simsched_format") != FORMAT:
        raise top.error("simsched_format", f"{FORMAT}")
    blocks = top.json_numbers("block_bytes")
    check_ends(graph, "ops_KIND", source)
    nodes = graph.nodes(source)
    stage_of = np.array(nodes.choices("stage", STAGES, OF_NODES["stage"]))
    number = _numbers_of_tasks(nodes)
    if not np.any(stage_of == "iteration"):
        raise GraphError(f"{source}: found no node of stage 'iteration', accepted at least one")
    stages = {}
    for stage in STAGES:
        chosen = np.flatnonzero(stage_of == stage)
        chosen = chosen[np.argsort(number[chosen], kind="stable")]
        if len(chosen):
            tasks = nodes.among(chosen)
            again = np.flatnonzero(np.diff(number[chosen]) == 0)
            if len(again):
                twice = tasks.attributes(int(again[0]) + 1, {})
                raise twice.error("task", "a number that no other node of the stage has")
            prefix = "" if stage == "iteration" else "init_"
            stages[stage] = _read_stage(graph, tasks, number[chosen], top, blocks, prefix, source)
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


def _numbers_of_tasks(nodes: Rows) -> Int64Array:
    """Return the number of each task, its place where it has none."""
    given = np.array([value is not None for value in nodes.values("task")])
    number = np.arange(len(nodes), dtype=np.int64)
    number[given] = nodes.among(np.flatnonzero(given)).wholes("task")
    return number


def _read_stage(
    graph: NamedGraph,
    tasks: Rows,
    number: Int64Array,
    top: Attributes,
    blocks: list[int],
    prefix: str,
    source: str,
) -> TaskGraph:
    """Return the graph of one stage from its tasks, which are sorted by number."""
    count = len(tasks)
    kinds = _kinds(tasks, top, f"{prefix}kinds")
    _check_costs(tasks, kinds)
    names = _class_names(tasks, top, f"{prefix}class_names")
    class_index = {name: i for i, name in enumerate(names)}
    classes = tasks.choices("task_class", class_index, OF_NODES["task_class"])
    links = _read_edges(graph, tasks, source)

    def small(key: str, *, most: int, least: int = 0) -> Int64Array:
        return tasks.wholes(key, 0, least=least, most=most)

    result = build_graph(
        [tasks.numbers(f"ops_{kind}", infinite=True) for kind in kinds],
        join_ops=[tasks.numbers(f"join_ops_{kind}", 0.0, infinite=True) for kind in kinds],
        kinds=kinds,
        task_class=[class_index[name] for name in classes],
        class_names=names,
        children=adjacency(*links["spawn"], count),
        successors=adjacency(*links["dataflow"], count),
        accessed=_accesses(tasks, len(blocks)),
        block_bytes=blocks,
        creation_ops=tasks.numbers("creation_ops", OF_NODES["creation_ops"]),
        arrival_ps=tasks.wholes("arrival_ps", OF_NODES["arrival_ps"]),
        detached=small("detached", most=1),
        occupancy=tasks.wholes("occupancy", most=MAX_INDEX) if tasks.have("occupancy") else None,
        synchronous=small("synchronous", most=1),
        priority=small("priority", least=-(2**31), most=MAX_INDEX),
        access_share=_read_numbers(tasks, "access_share", float),
        access_after=_renumbered(_read_numbers(tasks, "access_after", int), number),
        access_final=_read_numbers(tasks, "access_final", int),
        alternate_block=_alternates(top, f"{prefix}alternate_block"),
        task_names=_read_names(tasks),
    )
    node_names = graph.names()
    check_named(result, [str(node_names[i]) for i in tasks.chosen], source)
    return result


def _accesses(tasks: Rows, n_blocks: int) -> Accesses:
    """Return the accesses of tasks from their text form."""
    flat: list[int] = []
    for join, key in enumerate(("accesses", "join_accesses")):
        for task, text in enumerate(tasks.values(key)):
            if text not in (None, ""):
                found = Attributes({key: text}, tasks.where(task)).accesses(key, n_blocks)
                for block, read, written in found:
                    flat += (task, block, read, written, join)
    task_of, block_of, reads, writes, in_join = np.array(flat, dtype=np.int64).reshape(-1, 5).T
    return accesses(task_of, block_of, reads, writes, len(tasks), in_join=in_join)


def _kinds(tasks: Rows, top: Attributes, key: str) -> list[str]:
    """Return the kinds of processors; by default those for which tasks have operations."""
    if top.get(key) is not None:
        return top.json_names(key)
    keys = [str(name) for name in tasks.known()]
    return [name.removeprefix("ops_") for name in keys if name.startswith("ops_")] or ["cpu"]


def _check_costs(tasks: Rows, kinds: list[str]) -> None:
    """Refuse tasks without costs, in one message that says what tasks need."""
    needed = [f"ops_{kind}" for kind in kinds]
    columns = [tasks.values(key) for key in needed]
    for row, values in enumerate(zip(*columns, strict=True)):
        if None in values:
            lacking = [key for key, value in zip(needed, values, strict=True) if value is None]
            rest = ", ".join(("task", *OF_NODES, "join_ops_KIND"))
            raise GraphError(
                f"{tasks.where(row)}: found no {' and no '.join(lacking)}, accepted a node with "
                f"{' and '.join(needed)}, one for each of the graph's kinds; all else has defaults "
                f"({rest}, ...)"
            )


def _class_names(tasks: Rows, top: Attributes, key: str) -> list[str]:
    """Return the names of classes; by default those that tasks have, in their order."""
    if top.get(key) is None:
        return list(dict.fromkeys(map(str, tasks.values("task_class", OF_NODES["task_class"]))))
    return top.json_names(key)


def _alternates(top: Attributes, key: str) -> list[int] | None:
    """Return which blocks change places, None where the graph does not say so."""
    found = None if top.get(key) is None else top.json_numbers(key)
    if found is not None and max(found, default=0) > MAX_INDEX:
        raise top.error(key, "numbers of blocks")
    return found


def _read_numbers(tasks: Rows, key: str, number: Callable[[str], float]) -> list[float] | None:
    """Return what all accesses have in an attribute of tasks, None when no task has it."""
    texts = tasks.values(key)
    if all(text is None for text in texts):
        return None
    found = []
    for row, text in enumerate(texts):
        try:
            found += [number(part) for part in str("" if text is None else text).split()]
        except ValueError as error:
            wrong = tasks.attributes(row, {})
            raise wrong.error(key, "numbers separated by spaces") from error
    return found


def _read_names(tasks: Rows) -> list[str] | None:
    """Return the names of tasks, None when no task has one; DOT leaves out those that are empty."""
    names = tasks.values("task_name")
    if all(name is None for name in names):
        return None
    return ["" if name is None else str(name) for name in names]


def _renumbered(after: list[float] | None, number: Int64Array) -> list[int] | None:
    """Return the tasks that accesses wait for by their new numbers; -1 for those removed."""
    if after is None:
        return None
    index = {old: i for i, old in enumerate(number.tolist())}
    return [index.get(int(task), -1) for task in after]


def _read_edges(
    graph: NamedGraph, tasks: Rows, source: str
) -> dict[str, tuple[Int64Array, Int64Array]]:
    """Return sources and targets of each relation among tasks, in the order of their numbers."""
    task_of = np.full(len(graph), -1, dtype=np.int64)
    task_of[tasks.chosen] = np.arange(len(tasks))
    begin, end = (task_of[nodes] for nodes in graph.ends())
    mine = np.flatnonzero(begin >= 0)
    edges = graph.edges(source).among(mine)
    begin, end = begin[mine], end[mine]
    if np.any(end < 0):
        where = edges.where(int(np.argmax(end < 0)))
        raise GraphError(f"{where}: found nodes of two stages, accepted one")
    relation = np.array(edges.choices("relation", RELATIONS, OF_EDGES["relation"]), dtype=str)
    order = np.lexsort((edges.wholes("order", OF_EDGES["order"]), begin))
    chosen = {key: order[relation[order] == key] for key in RELATIONS}
    return {key: (begin[rows], end[rows]) for key, rows in chosen.items()}


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
