"""The DOT language: text to nodes and edges.

A small reader of our own, because the ones at hand need seconds for some thousand nodes, print
their errors and do not say in which file. It knows the whole grammar of
graphviz.org/doc/info/lang.html: attribute defaults, subgraphs and lists of nodes as ends of edges,
ports (ignored), comments, quoted, concatenated and HTML strings. All attributes are strings. Lists
with commas (``a, b -> c``) are in the grammar of Graphviz's parser, not on that page.

Numbers of DOT have no exponent: to the grammar ``1e6`` is the number 1 and then the name e6, about
which Graphviz warns as a number that is badly delimited. Whoever writes that means something else,
so a number that touches a letter, a digit or a point is refused; in quotation marks it is read.

Statements that are a node or an edge with attributes are read as a whole, all others word by word.
"""

from __future__ import annotations

import itertools
from typing import NamedTuple

from simsched.files.errors import GraphError
from simsched.files.limits import EDGES
from simsched.workload.importers._columns import NamedGraph
from simsched.workload.importers._dot_words import PAIR, SIMPLE, Words, unescaped

MAX_DEPTH = 100


class Defaults(NamedTuple):
    """Attributes that new nodes and edges of a scope get."""

    node: dict[str, str]
    edge: dict[str, str]


def parse_dot(text: str, source: str, subgraphs: dict[str, list[int]] | None = None) -> NamedGraph:
    """Return the graph that a DOT text describes.

    With `strict` it has no parallel edges. A text that is not DOT is refused with its line. The
    nodes of named subgraphs are put into `subgraphs` by name.
    """
    parser = _Parser(text, source)
    parser.read()
    if subgraphs is not None:
        subgraphs.update(parser.subgraphs)
    return parser.graph


class _Parser:
    """Reads the words of a text from front to back."""

    def __init__(self, text: str, source: str) -> None:
        self.words = Words(text, source)
        self.graph = NamedGraph()
        self.subgraphs: dict[str, list[int]] = {}

    def read(self) -> None:
        """Read the whole file."""
        words = self.words
        strict = words.accept("keyword", "strict")
        if words.accept("keyword", "graph"):
            self.graph = NamedGraph(directed=False, several=not strict)
        elif words.accept("keyword", "digraph"):
            self.graph = NamedGraph(several=not strict)
        else:
            raise words.error("graph or digraph")
        if words.peek().kind == "id":
            self.graph.about["name"] = words.take().text
        self.block(Defaults({}, {}), depth=0)
        if words.peek().kind != "end":
            raise words.error("the end of the file after one graph")

    def block(self, defaults: Defaults, depth: int) -> list[int]:
        """Read statements in braces, return the nodes they mention."""
        words = self.words
        if depth > MAX_DEPTH:
            raise words.error(f"at most {MAX_DEPTH} nested subgraphs")
        words.expect("{")
        scope = Defaults(dict(defaults.node), dict(defaults.edge))
        nodes: dict[int, None] = {}
        while True:
            if self.graph.directed:
                self.simple_statements(scope, nodes)
            if words.accept("mark", "}"):
                return list(nodes)
            nodes.update(dict.fromkeys(self.statement(scope, depth)))
            words.accept("mark", ";")

    def simple_statements(self, scope: Defaults, nodes: dict[int, None]) -> None:
        """Read statements that consist of a node or an edge; put their nodes among `nodes`."""
        graph, text, place = self.graph, self.words.text, self.words.place
        match_at, pairs, index = SIMPLE.match, PAIR.findall, graph.index
        node_entry, edge_entry = graph.of_nodes.entry, graph.of_edges.entry
        while match := match_at(text, place):
            place = match.end()
            quoted, plain, quoted_target, plain_target, inside = match.groups()
            name = quoted if plain is None else plain
            node = index.get(name)
            if node is None:
                node = graph.node(name, scope.node)
            nodes[node] = None
            owner, entry = node, node_entry
            name = quoted_target if plain_target is None else plain_target
            if name is not None:
                target = index.get(name)
                if target is None:
                    target = graph.node(name, scope.node)
                nodes[target] = None
                owner, entry = graph.edge(node, target, scope.edge), edge_entry
            if inside:
                for quoted_key, key, quoted_value, value in pairs(inside):
                    things, values = entry(key or unescaped(quoted_key))
                    things.append(owner)
                    values.append(value or unescaped(quoted_value))
        self.words.go_on(place)

    def statement(self, scope: Defaults, depth: int) -> list[int]:
        """Read one statement, return the nodes it mentions."""
        words, word = self.words, self.words.peek()
        if word.kind == "keyword" and word.text in ("graph", "node", "edge"):
            words.take()
            attributes = self.attributes()
            if word.text == "node":
                scope.node.update(attributes)
            elif word.text == "edge":
                scope.edge.update(attributes)
            elif depth == 0:
                self.graph.about.update(attributes)
            return []
        if word.kind == "id" and words.peek(1)[:2] == ("mark", "="):
            words.take()
            words.take()
            value = self.identifier()
            if depth == 0:
                self.graph.about[word.text] = value
            return []
        return self.nodes_and_edges(scope, depth)

    def nodes_and_edges(self, scope: Defaults, depth: int) -> list[int]:
        """Read nodes, a subgraph or a chain of edges between them."""
        words, graph = self.words, self.graph
        arrow = "->" if graph.directed else "--"
        are_nodes = words.peek().kind == "id"
        ends = [self.end(scope, depth)]
        while words.peek().kind == "edge":
            if words.peek().text != arrow:
                raise words.error(f"{arrow} in this kind of graph")
            words.take()
            ends.append(self.end(scope, depth))
        attributes = self.attributes()
        if len(ends) == 1:
            if are_nodes:
                for node in ends[0]:
                    graph.of_nodes.give(node, attributes)
            return ends[0]
        given = {**scope.edge, **attributes}
        for sources, targets in itertools.pairwise(ends):
            EDGES.check(graph.n_edges + len(sources) * len(targets), words.source, GraphError)
            for source in sources:
                for target in targets:
                    graph.edge(source, target, given)
        return [node for end in ends for node in end]

    def end(self, scope: Defaults, depth: int) -> list[int]:
        """Read one end of an edge: a subgraph, or nodes with commas between them."""
        words = self.words
        if words.accept("keyword", "subgraph"):
            if words.peek().kind != "id":
                return self.block(scope, depth + 1)
            name = words.take().text
            nodes = self.block(scope, depth + 1)
            self.subgraphs[name] = list(dict.fromkeys([*self.subgraphs.get(name, ()), *nodes]))
            return nodes
        if words.peek()[:2] == ("mark", "{"):
            return self.block(scope, depth + 1)
        nodes = [self.node(scope, "a node, an edge, a subgraph, an attribute or }")]
        while words.accept("mark", ","):
            nodes.append(self.node(scope, "a node behind the comma"))
        return list(dict.fromkeys(nodes))

    def node(self, scope: Defaults, accepted: str) -> int:
        """Read a node, possibly with a port; return its number."""
        name = self.identifier(accepted)
        for _ in range(2):
            if self.words.accept("mark", ":"):
                self.identifier("a port")
        known = self.graph.index.get(name)
        return self.graph.node(name, scope.node) if known is None else known

    def attributes(self) -> dict[str, str]:
        """Read any number of attribute lists."""
        words, found = self.words, {}
        while words.accept("mark", "["):
            while not words.accept("mark", "]"):
                key = self.identifier("an attribute or ]")
                found[key] = self.identifier() if words.accept("mark", "=") else "true"
                _ = words.accept("mark", ",") or words.accept("mark", ";")
        return found

    def identifier(self, accepted: str = "a name, a number or a string") -> str:
        """Read a name, joining quoted strings that + connects."""
        words = self.words
        if words.peek().kind != "id":
            raise words.error(accepted)
        text = words.take().text
        while words.accept("mark", "+"):
            if words.peek().kind != "id":
                raise words.error("a string after +")
            text += words.take().text
        return text
