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

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from simsched.files.errors import GraphError
from simsched.files.json_members import members
from simsched.workload.graph import Workload
from simsched.workload.importers._columns import NamedGraph
from simsched.workload.importers._foreign import Cost, Meaning, Speed
from simsched.workload.importers._given_costs import TaskCost
from simsched.workload.importers._json import Value, read_json
from simsched.workload.importers.networkx_graph import read_named
from simsched.workload.importers.registry import importer

EDGE_KEYS = ("links", "edges")
ENDS = ("source", "target")
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
    return read_named(_graph(read_json(path)), meaning, str(path))


def _graph(top: Value) -> NamedGraph:
    """Return the graph of a document."""
    if not _flag(top, "directed", default=True):
        raise GraphError(f"{top.where}: directed: found false, accepted true: a task graph")
    several = _flag(top, "multigraph", default=True)
    graph = NamedGraph(several=several)
    about = top.get("graph")
    if about is not None and about.value != []:  # as NetworkX wrote no attributes before 1.9
        graph.about.update(_members(about, ()))
    _add_nodes(graph, top.member("nodes"))
    _add_edges(graph, _edges(top), ("source", "target", "key") if several else ENDS)
    return graph


def _add_nodes(graph: NamedGraph, nodes: Value) -> None:
    """Add the nodes of a list."""
    named = any(node.get("id") is not None for node in nodes.items())
    for number, node in enumerate(nodes.items()):
        name = _name(node.member("id")) if named else number
        if name in graph.index:
            raise GraphError(f"{node.where}: found node {str(name)!r} a second time")
        graph.node(name, _members(node, ("id",)))


def _add_edges(graph: NamedGraph, edges: Value, without: tuple[str, ...]) -> None:
    """Add the edges of a list, with all members but some as attributes."""
    index = graph.index
    for place, edge in enumerate(edges.elements_as_they_are()):
        source, target = (_known_end(edge, key, index) for key in ENDS)
        if source is None or target is None:  # another kind of name, or a mistake
            source, target = (_end(edges.item(place).member(key), index) for key in ENDS)
        graph.edge(source, target, {key: edge[key] for key in edge if key not in without})


def _known_end(edge: Any, key: str, index: Mapping[Any, int]) -> int | None:
    """Return the number of an end of an edge that is called as most are, None for others."""
    name = edge.get(key) if isinstance(edge, dict) else None
    return index.get(name) if type(name) in (str, int) else None


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


def _members(owner: Value, without: tuple[str, ...]) -> dict[str, object]:
    """Return the members of an object, those of the format left out."""
    if not isinstance(owner.value, dict):
        raise owner.error("an object")
    return {key: value for key, value in owner.value.items() if key not in without}


def _name(value: Value) -> Any:
    """Return the name of a node as NetworkX has it: text, a number, or a tuple from a list."""

    def plain(found: object, depth: int) -> Any:
        if isinstance(found, list) and depth < MAX_DEPTH:
            return tuple(plain(part, depth + 1) for part in found)
        if isinstance(found, bool) or not isinstance(found, (str, int, float)):
            raise value.error("text, a number or a list of them")
        return found

    return plain(value.value, 0)


def _end(value: Value, index: Mapping[Any, int]) -> int:
    """Return the number of an end of an edge, which has to be a node."""
    found = index.get(_name(value))
    if found is None:
        raise value.error("the id of a node")
    return found
