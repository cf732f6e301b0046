"""Links between domains: routes over them, and the messages of cache coherence that load them."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from simsched.files.yaml_reader import FieldError
from simsched.machine import schema
from simsched.machine.model import Link
from simsched.machine.schema_links import LinkSpec, Snooping
from simsched.machine.values import expanded, value_or

if TYPE_CHECKING:
    import networkx as nx

Route = tuple[int, ...]


@dataclass(frozen=True)
class Wires:
    """Links, the ones that data crosses between two domains, and those that many paths cross."""

    links: tuple[Link, ...]
    #: Entry of the file that each link is of.
    entries: tuple[str, ...]
    #: Links from one domain to another.
    routes: dict[tuple[int, int], Route]
    crossed_by_all: Route
    #: By paths to other domains' nodes.
    crossed_by_remote: Route
    #: Links that rules of paths list.
    listed: dict[str, int]
    #: Links that lead out of a socket and into it.
    out_of: dict[int, Route]
    into: dict[int, Route]
    #: Links that carry messages of coherence, with their sizes.
    snooping: dict[int, Snooping]
    n_domains: int

    def between(self, source: int, target: int) -> Route:
        """Return the links between two sockets that lead out of one and into the other."""
        if source == target:
            return ()
        return self.out_of.get(source, ()) + self.into.get(target, ())

    def message_loads(self, domain: int, home: int) -> tuple[tuple[int, float], ...]:
        """Return what messages load links with while a domain reads memory of another or its own.

        These are links and bytes of messages on them per byte that is read, as :class:`Snooping`
        has it.
        """
        if not self._snoop(home, domain):
            return ()
        loads: defaultdict[int, float] = defaultdict(float)

        def send(source: int, target: int, *, answers: bool) -> None:
            for link in self.routes.get((source, target), ()):
                found = self.snooping[link]
                size = found.response if answers else found.request
                loads[link] += size.value / found.line.value

        send(domain, home, answers=False)
        for other in range(self.n_domains):
            if self._snoop(home, other):
                send(home, other, answers=False)  # a probe
                send(other, domain, answers=True)
        send(home, domain, answers=True)  # the head of the data
        send(domain, home, answers=True)  # the end
        return tuple(sorted(loads.items()))

    def _snoop(self, home: int, other: int) -> bool:
        """Return whether messages reach a domain: a device behind other links has no lines."""
        route = self.routes.get((home, other), ())
        return home == other or (bool(route) and all(link in self.snooping for link in route))


def link_graph(file: schema.MachineFile, n_domains: int) -> nx.DiGraph[int]:
    """Return the domains and the links between them; an edge holds name and entry."""
    import networkx as nx

    graph: nx.DiGraph[int] = nx.DiGraph()
    graph.add_nodes_from(range(n_domains))
    for name, link in file.links.items():
        for position, pair in enumerate(value_or(link.connects, ())):
            loc = ("links", name, "connects", 0, position)
            check_domains(pair, n_domains, loc)
            left, right = pair
            if graph.has_edge(left, right):
                raise FieldError(loc, f"found domains {left} and {right} connected twice")
            shared = link.duplex == "half"
            for one, other in ((left, right), (right, left)):
                wire = f"{name}{left}-{right}" if shared else f"{name}{one}>{other}"
                graph.add_edge(one, other, link=wire, entry=name, spec=link)
    return graph


def check_domains(domains: list[int], n_domains: int, loc: tuple[str | int, ...]) -> None:
    """Refuse numbers that are not of a domain."""
    for domain in domains:
        if domain >= n_domains:
            raise FieldError(loc, f"found domain {domain}, accepted: 0 to {n_domains - 1}")


def find_wires(file: schema.MachineFile, graph: nx.DiGraph[int], n_sockets: int) -> Wires:
    """Return the numbered links and the routes between all pairs of domains that links connect.

    Routes are shortest; among those, each pair in turn, near pairs first, takes the route whose
    links have the fewest routes so far, so that regular networks come out evenly loaded.
    """
    links: list[Link] = []
    entries: list[str] = []
    index: dict[str, int] = {}
    crossed: dict[str, list[int]] = {"all": [], "remote": [], "listed": []}
    out_of: dict[int, Route] = {}
    into: dict[int, Route] = {}
    snooping: dict[int, Snooping] = {}
    for name, spec in file.links.items():
        if spec.crossed_by == "other sockets":
            for socket in range(n_sockets):
                out_of[socket] = (*out_of.get(socket, ()), len(links))
                into[socket] = (*into.get(socket, ()), len(links) + 1)
                links += [_link(f"{name}{socket}{way}", spec) for way in "><"]
        elif spec.crossed_by is not None:
            crossed[spec.crossed_by].append(len(links))
            links.append(_link(name, spec))
        entries += [name] * (len(links) - len(entries))
    listed = {links[index].name: index for index in crossed["listed"]}
    for _, _, edge in graph.edges(data=True):
        if edge["link"] not in index:
            index[edge["link"]] = len(links)
            if edge["spec"].snooping is not None:
                snooping[len(links)] = edge["spec"].snooping
            links.append(_link(edge["link"], edge["spec"]))
            entries.append(edge["entry"])
    return Wires(
        tuple(links),
        tuple(entries),
        _routes(graph, index),
        tuple(crossed["all"]),
        tuple(crossed["remote"]),
        listed,
        out_of,
        into,
        snooping,
        len(graph),
    )


def _link(name: str, spec: LinkSpec) -> Link:
    return Link(name, spec.bandwidth.value, expanded(spec.bandwidth_by_flows))


def _routes(graph: nx.DiGraph[int], index: dict[str, int]) -> dict[tuple[int, int], Route]:
    """Return the route between each pair of domains that links connect."""
    import networkx as nx

    for _, _, edge in graph.edges(data=True):
        edge["routes"] = 0
    many = 1 + len(graph) ** 3  # more than the routes that can meet on a path, so hops count first
    lengths = dict(nx.all_pairs_shortest_path_length(graph))
    pairs = sorted(
        (hops, one, other) for one in lengths for other, hops in lengths[one].items() if hops
    )
    routes: dict[tuple[int, int], Route] = {}
    for _, one, other in pairs:
        way = nx.dijkstra_path(graph, one, other, weight=lambda _u, _v, edge: many + edge["routes"])
        edges = [graph[here][there] for here, there in pairwise(way)]
        for edge in edges:
            edge["routes"] += 1
        routes[one, other] = tuple(index[edge["link"]] for edge in edges)
    return routes
