"""DOT, the language of Graphviz.

Our own graphs come back without loss, those of other programs with an explicit mapping.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from simsched.files.atomic import write_text
from simsched.files.bounded import read_text
from simsched.files.errors import GraphError
from simsched.workload.graph import TaskGraph, Workload
from simsched.workload.importers._foreign import Cost, Meaning, Speed
from simsched.workload.importers._given_costs import TaskCost
from simsched.workload.importers.networkx_graph import read_named, to_networkx
from simsched.workload.importers.registry import importer

if TYPE_CHECKING:
    import networkx as nx

PLAIN_NAME = re.compile(r"(?!(?i:strict|graph|digraph|node|edge|subgraph)$)[A-Za-z_][A-Za-z_0-9]*")

BEGINNING = re.compile(
    r"(?:\s|//[^\n]*\n|/\*.*?\*/|\#[^\n]*\n)*+(?:strict|digraph|graph)(?=[\s{\"])",
    re.IGNORECASE | re.DOTALL,
)


def _looks_like_dot(head: bytes) -> bool:
    """Say whether a file begins like a DOT graph."""
    return BEGINNING.match(head.decode("utf-8", "replace")) is not None


@importer("dot", suffixes=(".dot", ".gv", ".dot.gz"), recognises=_looks_like_dot)
def import_dot(
    path: Path,
    *,
    cost: Cost | None = None,
    cost_unit: str | None = None,
    reference_speed: Speed | None = None,
    edge_bytes: str | None = None,
    task_class: str | None = None,
    task_cost: TaskCost | None = None,
) -> Workload:
    """Task graphs in DOT, simsched's own or with attributes that options name.

    Dumps of Taskflow and StarPU are graphs of tasks whose class is their label, unless `cost` or
    `edge_bytes` is given, which dumps lack.

    Parameters
    ----------
    path : Path
        The file, gzip or not.
    cost, cost_unit, reference_speed, edge_bytes, task_class, task_cost
        As for :func:`~simsched.workload.importers.from_networkx`; of our own files only
        `reference_speed`. Numbers may be quoted.
    """
    from simsched.workload.importers._dot_syntax import parse_dot
    from simsched.workload.importers._runtime_dumps import LABEL, tidied

    subgraphs: dict[str, list[int]] = {}
    graph = parse_dot(read_text(path, GraphError), str(path), subgraphs)
    is_plain = cost is None and edge_bytes is None
    dump = tidied(graph, subgraphs, str(path)) if is_plain else None
    if dump is not None and task_class is None:
        task_class = LABEL
    meaning = Meaning(cost, cost_unit, reference_speed, edge_bytes, task_class, task_cost)
    return read_named(graph if dump is None else dump, meaning, str(path))


def write_dot(workload: Workload | TaskGraph, path: Path | str) -> None:
    """Write a workload as DOT, completely or not at all.

    Parameters
    ----------
    workload : Workload or TaskGraph
        What is written, in the form of :func:`~simsched.workload.importers.to_networkx`.
    path : Path or str
        Where to; an existing file is replaced.

    Raises
    ------
    ConfigurationError
        The file cannot be written.
    """
    write_networkx(to_networkx(workload), Path(path))


def write_networkx(graph: nx.Graph[Any], path: Path) -> None:
    """Write a graph with numbers and strings as attributes as DOT, completely or not at all."""
    lines = [f"digraph {_quoted(graph.graph['name'])} {{"]
    lines += [f"  {_key(key)}={_quoted(value)};" for key, value in graph.graph.items()]
    lines += [f"  {_quoted(node)}{_list(data)};" for node, data in graph.nodes(data=True)]
    lines += [
        f"  {_quoted(u)} -> {_quoted(v)}{_list(data)};" for u, v, data in graph.edges(data=True)
    ]
    write_text(path, "\n".join([*lines, "}", ""]))


def _list(attributes: Mapping[Any, Any]) -> str:
    """Return an attribute list, empty texts left out."""
    given = {key: value for key, value in attributes.items() if value != ""}
    return " [" + ", ".join(f"{_key(k)}={_quoted(v)}" for k, v in given.items()) + "]"


def _key(name: str) -> str:
    """Return the name of an attribute, in quotation marks only where DOT demands them.

    Some readers keep the marks as part of the name.
    """
    return name if PLAIN_NAME.fullmatch(name) else _quoted(name)


def _quoted(value: object) -> str:
    text = str(value).replace("\\", "\\\\").replace('"', '\\"')
    return f'"{text}"'
