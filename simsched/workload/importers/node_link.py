"""Node-link JSON, as NetworkX and D3 write graphs.

``nodes`` and ``links`` (NetworkX before 3.4, D3) or ``edges`` (since) are lists of objects. A node
is called by its ``id``; where no node has one, as in old files of D3, by its place in the list. All
other members of nodes and edges are attributes, whose meaning options say, as for DOT. Our own
graphs, written with ``networkx.node_link_data(to_networkx(workload))``, come back without loss.

NetworkX takes a file without ``directed`` for an undirected graph and adds nodes that only edges
mention. Here edges lead from source to target unless the file denies it, and unknown ends are
errors. As there, several edges between two nodes count unless ``multigraph`` is false.
"""

from __future__ import annotations

from array import array
from pathlib import Path
from typing import Any

import numpy as np

from simsched.files.bounded import to_the_end
from simsched.files.errors import GraphError
from simsched.files.json_members import json_pieces, members
from simsched.workload.graph import Workload
from simsched.workload.importers._columns import Columns, NamedGraph
from simsched.workload.importers._foreign import Cost, Meaning, Speed
from simsched.workload.importers._given_costs import TaskCost
from simsched.workload.importers._json import Value
from simsched.workload.importers.networkx_graph import read_named
from simsched.workload.importers.registry import importer

EDGE_KEYS = ("links", "edges")
NODES = "nodes"
LISTS = (NODES, *EDGE_KEYS)
KEYS = {*EDGE_KEYS, "directed", "multigraph"}  #: that stand beside the list of nodes
MAX_DEPTH = 10


def _looks_like_node_link(head: bytes) -> bool:
    """Say whether a file has a list of nodes and another key of the format on its top level."""
    found = members(head.decode("utf-8", "replace"))
    return found.get("nodes") == "[" and not KEYS.isdisjoint(found)


@importer("node_link", suffixes=(".json", ".json.gz"), recognises=_looks_like_node_link)
def import_node_link(
    path: Path,
    *,
    cost: Cost | None = None,
    cost_unit: str | None = None,
    reference_speed: Speed | None = None,
    edge_bytes: str | None = None,
    task_class: str | None = None,
    task_cost: TaskCost | None = None,
) -> Workload:
    """Task graphs in the node-link JSON of NetworkX, simsched's own or with named attributes.

    Parameters
    ----------
    path : Path
        The file, gzip or not; edges under ``links`` or ``edges``.
    cost, cost_unit, reference_speed, edge_bytes, task_class, task_cost
        As for :func:`~simsched.workload.importers.from_networkx`; of our own files only
        `reference_speed`.
    """
    meaning = Meaning(cost, cost_unit, reference_speed, edge_bytes, task_class, task_cost)
    return read_named(_graph(path), meaning, str(path))


def _graph(path: Path) -> NamedGraph:
    """Return the graph of a document, which is read node by node and edge by edge."""
    pieces = json_pieces(path, LISTS, GraphError)
    others: dict[str, object] = {}
    top, lists = Value(path, (), others), dict[str, _Nodes | _Edges]()
    with to_the_end(pieces):
        for name, place, value in pieces:
            if name is None:
                top = Value(path, (), value)
            elif place is None:
                others[name] = value
                if name in LISTS:
                    lists[name] = (_Nodes if name == NODES else _Edges)(Value(path, (name,), value))
            else:
                lists[name].add(place, value)
    if not _flag(top, "directed", default=True):
        raise GraphError(f"{top.where}: directed: found false, accepted true: a task graph")
    graph = NamedGraph(several=_flag(top, "multigraph", default=True))
    about = top.get("graph")
    if about is not None and about.value != []:  # as NetworkX wrote no attributes before 1.9
        if not isinstance(about.value, dict):
            raise about.error("an object")
        graph.about.update(about.value)
    for found in (top.member(NODES), _edges(top)):
        found.elements_as_they_are()
        lists[str(found.place[0])].give_to(graph)
    return graph


class _Nodes:
    """The nodes of a list."""

    def __init__(self, found: Value) -> None:
        self._found = found
        self._ids: list[object] = []
        self._attributes = Columns()

    def add(self, place: int, node: object) -> None:
        """Add the next one."""
        if not isinstance(node, dict):
            raise self._found.inside(place, node).error("an object")
        self._ids.append(node.pop("id", None))
        self._attributes.give(place, node)

    def give_to(self, graph: NamedGraph) -> None:
        """Give all to a graph."""
        are_named = any(name is not None for name in self._ids)
        for place, found in enumerate(self._ids):
            node = self._found.inside(place, {"id": found})
            name = _name(node.member("id")) if are_named else place
            if name in graph.index:
                raise GraphError(f"{node.where}: found node {str(name)!r} a second time")
            graph.node(name)
        graph.of_nodes = self._attributes


class _Edges:
    """The edges of a list, which may stand before the nodes."""

    def __init__(self, found: Value) -> None:
        self._found = found
        self._names: dict[Any, int] = {}
        self._ends = {"source": array("i"), "target": array("i")}
        self._attributes = Columns()

    def add(self, place: int, edge: object) -> None:
        """Add the next one."""
        if not isinstance(edge, dict):
            raise self._found.inside(place, edge).error("an object")
        names = self._names
        for key, ends in self._ends.items():
            name = edge.get(key)
            if type(name) is not str and type(name) is not int:
                name = _name(self._found.inside(place, edge).member(key))
            ends.append(names.setdefault(name, len(names)))
            del edge[key]
        self._attributes.give(place, edge)

    def give_to(self, graph: NamedGraph) -> None:
        """Give all to a graph that has its nodes; those of a multigraph have a key of their own."""
        known = np.array([graph.index.get(name, -1) for name in self._names], dtype=np.int64)
        sources, targets = (known[np.asarray(ends)] for ends in self._ends.values())
        wrong = np.flatnonzero((sources < 0) | (targets < 0))
        if len(wrong):
            place = int(wrong[0])
            key = "source" if sources[place] < 0 else "target"
            name = list(self._names)[self._ends[key][place]]
            raw = list(name) if isinstance(name, tuple) else name
            raise self._found.inside(place, {key: raw}).member(key).error("the id of a node")
        if graph.several:
            self._attributes.entries.pop("key", None)
        graph.join(sources, targets, self._attributes)


def _edges(top: Value) -> Value:
    """Return the list of edges."""
    found = [top.get(key) for key in EDGE_KEYS]
    if all(found):
        raise GraphError(f"{top.where}: found both 'links' and 'edges', accepted one of them")
    return top.member(*EDGE_KEYS)


def _flag(top: Value, key: str, *, default: bool) -> bool:
    """Return a member that is true or false."""
    found = top.get(key)
    if found is None:
        return default
    if not isinstance(found.value, bool):
        raise found.error("true or false")
    return found.value


def _name(value: Value) -> Any:
    """Return the name of a node as NetworkX has it: text, a number, or a tuple from a list."""

    def plain(found: object, depth: int) -> Any:
        if isinstance(found, list) and depth < MAX_DEPTH:
            return tuple(plain(part, depth + 1) for part in found)
        if isinstance(found, bool) or not isinstance(found, (str, int, float)):
            raise value.error("text, a number or a list of them")
        return found

    return plain(value.value, 0)
