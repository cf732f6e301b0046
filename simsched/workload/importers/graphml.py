"""GraphML through NetworkX.

Our own graphs come back without loss, those of other programs with an explicit mapping.
"""

from __future__ import annotations

import io
import re
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.etree.ElementTree import ParseError

from simsched.files.atomic import write_text
from simsched.files.bounded import read_text
from simsched.files.errors import GraphError
from simsched.workload.graph import TaskGraph, Workload
from simsched.workload.importers._columns import named_graph
from simsched.workload.importers._foreign import Cost, Meaning, Speed
from simsched.workload.importers._given_costs import TaskCost
from simsched.workload.importers.networkx_graph import read_named, to_networkx
from simsched.workload.importers.registry import importer

if TYPE_CHECKING:
    import networkx as nx

NOT_IN_XML = re.compile(r"[\x00-\x08\x0b-\x1f\ud800-\udfff\ufffe\uffff]")


def _looks_like_graphml(head: bytes) -> bool:
    """Say whether the beginning of a file has the root element of GraphML."""
    return b"<graphml" in head


@importer("graphml", suffixes=(".graphml", ".graphml.gz"), recognises=_looks_like_graphml)
def import_graphml(
    path: Path,
    *,
    cost: Cost | None = None,
    cost_unit: str | None = None,
    reference_speed: Speed | None = None,
    edge_bytes: str | None = None,
    task_class: str | None = None,
    task_cost: TaskCost | None = None,
) -> Workload:
    """Task graphs in GraphML, simsched's own or with attributes that options name.

    Parameters
    ----------
    path : Path
        The file, gzip or not. Of several graphs in it only one is accepted.
    cost, cost_unit, reference_speed, edge_bytes, task_class, task_cost
        As for :func:`~simsched.workload.importers.from_networkx`; of our own files only
        `reference_speed`.
    """
    meaning = Meaning(cost, cost_unit, reference_speed, edge_bytes, task_class, task_cost)
    graph = _parse(path, read_text(path, GraphError))
    return read_named(named_graph(graph), meaning, str(path))


def write_graphml(workload: Workload | TaskGraph, path: Path | str) -> None:
    """Write a workload as GraphML, completely or not at all.

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
    GraphError
        A name contains a character that XML cannot hold.
    """
    write_networkx(to_networkx(workload), Path(path))


def write_networkx(graph: nx.Graph[Any], path: Path) -> None:
    """Write a graph with numbers and strings as attributes as GraphML, completely or not at all."""
    import networkx as nx

    buffer = io.BytesIO()
    nx.write_graphml_xml(graph, buffer)
    text = buffer.getvalue().decode()
    bad = NOT_IN_XML.search(text)
    if bad is not None:
        raise GraphError(
            f"{path}: cannot be written as GraphML: found character {bad[0]!r} in a name, "
            "accepted characters that XML can hold"
        )
    write_text(path, text)


def _parse(path: Path, text: str) -> nx.Graph[Any]:
    """Return the only graph of a GraphML document."""
    from simsched.workload.importers._graphml_reader import GraphMLReader

    if "<!ENTITY" in text:  # entities of entities take any amount of memory
        raise GraphError(f"{path}: found an entity declaration, accepted GraphML without any")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # keys without a type are strings
            # a declaration must be the first in a document
            graphs: list[nx.Graph[Any]] = list(GraphMLReader()(string=text.lstrip()))
    except GraphError as error:
        raise GraphError(f"{path}: {error}") from error
    except ParseError as error:
        line, column = error.position
        line += text.count("\n", 0, len(text) - len(text.lstrip()))
        raise GraphError(f"{path}:{line}: column {column}: not XML: {error}") from error
    except Exception as error:  # the reader has no error class of its own
        reason = f"{type(error).__name__}: {error}"
        raise GraphError(f"{path}: not GraphML as NetworkX reads it: {reason}") from error
    if len(graphs) != 1:
        raise GraphError(f"{path}: found {len(graphs)} graphs, accepted one <graph> in <graphml>")
    return graphs[0]
