"""Dumps of runtimes in DOT, where nodes and edges are not what they seem.

**Taskflow** (``taskflow.dump()``). A node is called by its address, its label is the task's name. A
task with a subflow spawns what is in the subgraph of its address, and the last of these have edges
back to it, its join: here it is before the first of them, and its successors wait for the last.
Dashed edges of condition tasks are alternatives, and modules are graphs that are drawn elsewhere:
neither is a graph of tasks, so both are refused.

**StarPU** (``dag.dot``). ``task_N`` are tasks, with the name of their codelet as label. A tag and
the task that has it are drawn as a cycle and are one node here. Other tags and messages
(``mpi_T_N``) are no tasks: what is behind them waits for what is before them. Nodes of workers are
a legend, to which no edge leads.

**Nextflow** (``-with-dag``). Processes have labels. Channels are points and operators circles; as
tags of StarPU they are no tasks, and a process is one task, however often it is executed.

None has costs or bytes: the option `task_cost` gives the former. A graph in which attributes say
them is somebody else's, whatever its nodes are called.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any

import networkx as nx
import numpy as np

from simsched.files.errors import GraphError
from simsched.files.limits import EDGES
from simsched.workload.importers._columns import NamedGraph, named_graph

LABEL, SHAPE = "label", "shape"
TASKFLOW = "Taskflow"
NEXTFLOW, SIGNS = "dag", ("point", "circle")
STARPU = re.compile(r"(task|tag|mpi|worker)_.+")
NO_NAME = "(no name)"
Clusters = Mapping[str, Sequence[int]]


def tidied(graph: NamedGraph, clusters: Clusters, source: str) -> NamedGraph | None:
    """Return the tasks of a dump with their names in the attribute `LABEL`; None for other graphs.

    `clusters` are the nodes of each subgraph by its name.
    """
    if not graph.directed or len(graph) == 0:
        return None
    names = graph.names()
    labels = graph.of_nodes.column(LABEL, len(graph))
    if graph.about.get("name") == TASKFLOW and None not in labels:
        inside = {name: [names[node] for node in nodes] for name, nodes in clusters.items()}
        return named_graph(_of_taskflow(_linked(graph), inside, source))
    if graph.about.get("name") == NEXTFLOW and _is_nextflow(graph, labels):
        return named_graph(_of_nextflow(_linked(graph), source))
    matches = map(STARPU.fullmatch, names)
    if {match[1] if match else None for match in matches} - {"tag", "mpi", "worker"} != {"task"}:
        return None
    linked = {names[node] for node in np.unique(np.concatenate(graph.ends()))}
    if any(name.startswith("worker_") for name in linked):
        return None
    return named_graph(_of_starpu(_linked(graph), source))


def _linked(graph: NamedGraph) -> nx.DiGraph[Any]:
    """Return a graph that can be changed, with what dumps say of tasks."""
    result: nx.DiGraph[Any] = nx.DiGraph()
    result.graph.update(graph.about)
    names = graph.names()
    result.add_nodes_from(names)
    for key in (LABEL, SHAPE):
        for name, value in zip(names, graph.of_nodes.column(key, len(names)), strict=True):
            if value is not None:
                result.nodes[name][key] = value
    sources, targets = (nodes.tolist() for nodes in graph.ends())
    result.add_edges_from((names[u], names[v]) for u, v in zip(sources, targets, strict=True))
    return result


def _of_taskflow(
    graph: nx.DiGraph[Any], clusters: Mapping[str, Sequence[str]], source: str
) -> nx.DiGraph[Any]:
    """Return the graph of a dump of Taskflow."""
    for node, data in graph.nodes.items():
        if data.get(SHAPE) == "box3d":
            raise GraphError(
                f"{source}: node {node!r}: found the module {data[LABEL]!r}, whose tasks are drawn "
                "elsewhere; accepted a graph without modules (composed_of)"
            )
        if data.get(SHAPE) == "diamond" and graph.out_degree(node):
            raise GraphError(
                f"{source}: node {node!r}: found the condition task {data[LABEL]!r}; which of its "
                "edges is taken is not in a dump, accepted a graph without conditions"
            )
    subflows = {
        name.removeprefix("cluster_"): [node for node in nodes if f"cluster_{node}" != name]
        for name, nodes in clusters.items()
        if name.removeprefix("cluster_") in graph
    }
    # outer subflows have more tasks than those inside them
    for parent, inside in sorted(subflows.items(), key=lambda item: -len(item[1])):
        _spawn(graph, parent, set(inside), subflows)
    names = _names({node: data[LABEL] for node, data in graph.nodes.items()})
    renamed: nx.DiGraph[Any] = nx.relabel_nodes(graph, names)
    return renamed


def _names(labels: Mapping[str, str]) -> dict[str, str]:
    """Return a name of its own for each node: its label, with the node where others have it."""
    times = Counter(labels.values())
    taken = {label for label in labels.values() if times[label] == 1}
    names = {}
    for node, label in labels.items():
        name = label if times[label] == 1 else f"{label} {node}"
        while times[label] > 1 and name in taken:  # as another one may be called like that
            name += f" {node}"
        taken.add(name)
        names[node] = name
    return names


def _spawn(
    graph: nx.DiGraph[Any], parent: str, inside: set[str], subflows: Mapping[str, Sequence[str]]
) -> None:
    """Let a task be before those of its subflow, and its successors behind them."""
    last = [node for node in graph.predecessors(parent) if node in inside]
    behind = [node for node in graph.successors(parent) if node not in inside]
    own = inside - {node for other in inside if other in subflows for node in subflows[other]}
    first = [node for node in own if not any(before in own for before in graph.predecessors(node))]
    graph.remove_edges_from([(node, parent) for node in last])
    graph.add_edges_from((node, after) for node in last for after in behind)
    graph.add_edges_from((parent, node) for node in sorted(first))


def _of_starpu(graph: nx.DiGraph[Any], source: str) -> nx.DiGraph[Any]:
    """Return the graph of a dump of StarPU."""
    graph.remove_nodes_from([node for node in graph if node.startswith("worker_")])
    wires = _Wires(graph, source)
    for tag in [node for node in graph if node.startswith("tag_")]:
        tasks = [node for node in graph.successors(tag) if graph.has_edge(node, tag)]
        if tasks:
            graph.remove_edges_from([pair for task in tasks for pair in ((tag, task), (task, tag))])
            before, after = list(graph.predecessors(tag)), list(graph.successors(tag))
            graph.remove_node(tag)
            wires.lead(before, tasks)
            wires.lead(tasks, after)
    wires.bypass([node for node in graph if not node.startswith("task_")])
    for data in graph.nodes.values():
        data.setdefault(LABEL, NO_NAME)
    return graph


def _is_nextflow(graph: NamedGraph, labels: Sequence[object]) -> bool:
    """Say whether processes, which have labels only, and signs of Nextflow make up a graph."""
    shapes = graph.of_nodes.column(SHAPE, len(graph))
    return {None} < set(shapes) <= {None, *SIGNS} and all(
        label is not None or shape is not None for label, shape in zip(labels, shapes, strict=True)
    )


def _of_nextflow(graph: nx.DiGraph[Any], source: str) -> nx.DiGraph[Any]:
    """Return the graph of a dump of Nextflow."""
    _Wires(graph, source).bypass([node for node, data in graph.nodes.items() if SHAPE in data])
    names = _names({node: data[LABEL] for node, data in graph.nodes.items()})
    renamed: nx.DiGraph[Any] = nx.relabel_nodes(graph, names)
    return renamed


class _Wires:
    """Edges that take the place of nodes; `source` is where the graph is from.

    What is limited is the work: pairs of nodes, also those that have an edge already.
    """

    def __init__(self, graph: nx.DiGraph[Any], source: str) -> None:
        self.graph, self.source = graph, source
        self.pairs = 0

    def lead(self, before: Sequence[str], after: Sequence[str]) -> None:
        """Add an edge from each of some nodes to each of others."""
        self.pairs += len(before) * len(after)
        if self.pairs > EDGES.value:
            EDGES.refuse(None, self.source, GraphError)
        self.graph.add_edges_from(product(before, after))

    def bypass(self, nodes: Sequence[str]) -> None:
        """Remove nodes; what is behind them is behind what is before them."""
        for node in nodes:
            before, after = list(self.graph.predecessors(node)), list(self.graph.successors(node))
            self.graph.remove_node(node)
            self.lead([b for b in before if b != node], [a for a in after if a != node])
