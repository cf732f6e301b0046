"""Attributes of numbered things, column by column, and graphs whose nodes and edges have them.

Files of a million edges are read into lists for each attribute, not into an object for each edge.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from simsched.workload.arrays import BoolArray, FloatArray, Int64Array
from simsched.workload.importers._attributes import Attributes, plain
from simsched.workload.importers._source import number, size, whole

if TYPE_CHECKING:
    import networkx as nx

EXACT = 2.0**53  #: whole numbers below it are the same as floats
Place = Callable[[int], str]  #: says how messages name a thing
Numbers = Sequence[int] | NDArray[np.integer]


class Columns:
    """The attributes of numbered things: of each key the things that have it, and their values.

    What is given to a thing a second time replaces the first value.
    """

    def __init__(self) -> None:
        self.entries: dict[Any, tuple[Any, list[Any]]] = {}

    def __contains__(self, key: object) -> bool:
        return key in self.entries

    def entry(self, key: Any) -> tuple[Any, list[Any]]:
        """Return the lists to which things and values of a key are appended."""
        found = self.entries.get(key)
        if found is None:
            found = self.entries[key] = array("i"), []
        return found

    def give(self, thing: int, attributes: Mapping[Any, Any]) -> None:
        """Give a thing some attributes."""
        for key, value in attributes.items():
            things, values = self.entry(key)
            things.append(thing)
            values.append(value)

    def column(self, key: object, count: int, default: object = None) -> list[Any]:
        """Return the values of all of `count` things, `default` where one lacks them."""
        found = [default] * count
        if key in self.entries:
            for thing, value in zip(*self.entries[key], strict=True):
                found[thing] = default if value is None else value
        return found

    def row(self, thing: int) -> dict[Any, Any]:
        """Return all attributes of one thing."""
        found = {}
        for key, (things, values) in self.entries.items():
            places = np.flatnonzero(np.asarray(things) == thing)
            if len(places):
                found[key] = values[places[-1]]
        return found

    def bare(self, count: int) -> BoolArray:
        """Return which of `count` things have no attributes."""
        bare = np.ones(count, dtype=np.bool_)
        for things, _ in self.entries.values():
            bare[np.asarray(things)] = False
        return bare

    def renumber(self, places: NDArray[Any]) -> None:
        """Give thing i the number ``places[i]``, which several may share."""
        for key, (things, values) in self.entries.items():
            self.entries[key] = places[np.asarray(things)], values

    def remove_quotes(self) -> None:
        """Take away the quotation marks that pydot leaves around values."""
        for _, values in self.entries.values():
            if any(isinstance(value, str) and value[:1] == '"' for value in values):
                values[:] = map(plain, values)

    def most_frequent(self, most: int) -> list[str]:
        """Return the keys that most things have, the most frequent first."""
        times = {str(key): len(set(things)) for key, (things, _) in self.entries.items()}
        return sorted(times, key=lambda name: -times[name])[:most]


class Rows:
    """Some things of columns in an order of their own, for instance the tasks of a stage."""

    def __init__(
        self, columns: Columns, count: int, place: Place, chosen: Numbers | None = None
    ) -> None:
        self.columns, self._count, self._place = columns, count, place
        self.chosen: Numbers = range(count) if chosen is None else chosen

    def __len__(self) -> int:
        return len(self.chosen)

    def among(self, chosen: Numbers) -> Rows:
        """Return rows of other things."""
        return Rows(self.columns, self._count, self._place, chosen)

    def where(self, row: int) -> str:
        """Return how messages name the thing of a row."""
        return self._place(int(self.chosen[row]))

    def attributes(self, row: int, defaults: Mapping[str, object]) -> Attributes:
        """Return all that the thing of a row has."""
        return Attributes({**defaults, **self.columns.row(int(self.chosen[row]))}, self.where(row))

    def values(self, key: object, default: object = None) -> list[Any]:
        """Return the values of a key, `default` where it is missing."""
        found = self.columns.column(key, self._count, default)
        return found if isinstance(self.chosen, range) else [found[i] for i in self.chosen]

    def have(self, key: object) -> bool:
        """Return whether any of the things has a key."""
        return any(value is not None for value in self.values(key))

    def known(self) -> list[Any]:
        """Return the keys that any of the things has, in the order in which they have them."""
        mine = np.zeros(self._count, dtype=np.bool_)
        mine[self.chosen] = True
        entries = self.columns.entries.items()
        return [key for key, (things, _) in entries if mine[np.asarray(things)].any()]

    def numbers(self, key: object, default: object = None, *, infinite: bool = False) -> FloatArray:
        """Return numbers from 0 on."""
        values = self.values(key, default)
        return numbers(values, self._naming(key), infinite=infinite)

    def sizes(self, key: object, default: object = None) -> Int64Array:
        """Return bytes, fractions of which are rounded."""
        return sizes(self.values(key, default), self._naming(key))

    def wholes(
        self, key: object, default: object = None, *, least: int = 0, most: int = 2**63 - 1
    ) -> Int64Array:
        """Return integers in a range."""
        return wholes(self.values(key, default), self._naming(key), least=least, most=most)

    def choices(self, key: str, accepted: Collection[str], default: object = None) -> list[str]:
        """Return strings each of which is one of several."""
        found = list(map(str, self.values(key, default)))
        if not set(found) <= set(accepted):
            wrong = next(i for i, text in enumerate(found) if text not in accepted)
            given = {} if default is None else {key: default}
            self.attributes(wrong, given).choice(key, accepted)
        return found

    def _naming(self, key: object) -> Place:
        return lambda row: f"{self.where(row)}: attribute {key!r}"


class NamedGraph:
    """Nodes in the order of their names, and edges between them in the order of their sources.

    Parameters
    ----------
    name : str, optional
        Attribute of the graph.
    directed, several : bool
        Whether edges have a direction, and whether there may be several between two nodes; if not,
        what is added a second time gives attributes to the first. Both by default.
    """

    def __init__(
        self, name: str | None = None, *, directed: bool = True, several: bool = True
    ) -> None:
        self.about: dict[Any, Any] = {} if name is None else {"name": name}
        self.directed, self.several = directed, several
        #: Number of each node by its name.
        self.index: dict[Any, int] = {}
        self.of_nodes, self.of_edges = Columns(), Columns()
        self._sources, self._targets = array("i"), array("i")
        self._arranged: tuple[Int64Array, Int64Array] | None = None

    def __len__(self) -> int:
        return len(self.index)

    @property
    def n_edges(self) -> int:
        """Edges that were added."""
        return len(self._sources)

    def node(self, name: Hashable, attributes: Mapping[Any, Any] | None = None) -> int:
        """Add a node unless it is there, and give it attributes; return its number."""
        found = self.index.setdefault(name, len(self.index))
        if attributes:
            self.of_nodes.give(found, attributes)
        return found

    def edge(self, source: int, target: int, attributes: Mapping[Any, Any] | None = None) -> int:
        """Add an edge between two nodes by their numbers; return how many there were before."""
        edge = len(self._sources)
        if attributes:
            self.of_edges.give(edge, attributes)
        self._sources.append(source)
        self._targets.append(target)
        return edge

    def join(self, sources: Int64Array, targets: Int64Array, attributes: Columns) -> None:
        """Add all edges of a graph that has none, with their attributes."""
        self._sources = array("i", sources.astype(np.intc).tobytes())
        self._targets = array("i", targets.astype(np.intc).tobytes())
        self.of_edges = attributes

    def names(self) -> list[Any]:
        """Return the names of all nodes by their numbers."""
        return list(self.index)

    def ends(self) -> tuple[Int64Array, Int64Array]:
        """Return sources and targets of all edges; none is added any more.

        Edges are in the order of their sources; those of one source in the order in which their
        targets were first named, as NetworkX has them.
        """
        if self._arranged is None:
            self._arranged = self._arrange()
        return self._arranged

    def nodes(self, source: str) -> Rows:
        """Return the attributes of all nodes; messages begin with `source`."""
        names = self.names()
        return Rows(self.of_nodes, len(names), lambda i: f"{source}: node {str(names[i])!r}")

    def edges(self, source: str) -> Rows:
        """Return the attributes of all edges; messages begin with `source`."""
        names, (sources, targets) = self.names(), self.ends()

        def place(i: int) -> str:
            return f"{source}: edge {str(names[sources[i]])!r} -> {str(names[targets[i]])!r}"

        return Rows(self.of_edges, len(sources), place)

    def remove_quotes(self) -> None:
        """Take away the quotation marks that pydot leaves around attributes."""
        self.about = {key: plain(value) for key, value in self.about.items()}
        self.of_nodes.remove_quotes()
        self.of_edges.remove_quotes()

    def _arrange(self) -> tuple[Int64Array, Int64Array]:
        sources = np.array(self._sources, dtype=np.int64)
        targets = np.array(self._targets, dtype=np.int64)
        if not len(sources):
            return sources, targets
        _, first, pair = np.unique(
            (sources << 32) | targets, return_index=True, return_inverse=True
        )
        first_of = first[pair]
        if self.several:
            order = np.lexsort((first_of, sources))  # stable: several stay in their order
            place = np.empty(len(order), dtype=np.int64)
            place[order] = np.arange(len(order))
        else:
            order = first[np.lexsort((first, sources[first]))]
            place = np.empty(len(sources), dtype=np.int64)
            place[order] = np.arange(len(order))
            place = place[first_of]
        self.of_edges.renumber(place)
        return sources[order], targets[order]


def named_graph(graph: nx.Graph[Any]) -> NamedGraph:
    """Return the nodes and edges of a NetworkX graph."""
    result = NamedGraph(directed=graph.is_directed(), several=graph.is_multigraph())
    result.about.update(graph.graph)
    for name, data in graph.nodes(data=True):
        result.node(name, data)
    index = result.index
    for source, target, data in graph.edges(data=True):
        result.edge(index[source], index[target], data)
    return result


def numbers(values: Sequence[Any], where: Place, *, infinite: bool = False) -> FloatArray:
    """Return what :func:`~simsched.workload.importers._source.number` makes of each value."""
    found = _floats(values)
    if found is not None and (infinite or bool(np.all(np.isfinite(found)))):
        return found
    each = [number(value, where(i), infinite=infinite) for i, value in enumerate(values)]
    return np.array(each, dtype=np.float64)


def sizes(values: Sequence[Any], where: Place) -> Int64Array:
    """Return what :func:`~simsched.workload.importers._source.size` makes of each value."""
    found = _floats(values)
    if found is not None and bool(np.all(found < EXACT)):
        return np.rint(found).astype(np.int64)
    return np.array([size(value, where(i)) for i, value in enumerate(values)], dtype=np.int64)


def wholes(
    values: Sequence[Any], where: Place, *, least: int = 0, most: int = 2**63 - 1
) -> Int64Array:
    """Return what :func:`~simsched.workload.importers._source.whole` makes of each value."""
    if set(map(type, values)) <= {int, str}:
        try:
            found = np.fromiter(map(int, values), np.int64, len(values))
        except (ValueError, OverflowError):
            pass
        else:
            if bool(np.all((found >= least) & (found <= most))):
                return found
    each = [whole(v, where(i), least=least, most=most) for i, v in enumerate(values)]
    return np.array(each, dtype=np.int64)


def _floats(values: Sequence[Any]) -> FloatArray | None:
    """Return numbers from 0 on, None where there are others, or something else."""
    if set(map(type, values)) <= {int, float, str}:
        try:
            found = np.fromiter(map(float, values), np.float64, len(values))
        except (ValueError, OverflowError):
            return None
        return found if bool(np.all(found >= 0)) else None
    return None
