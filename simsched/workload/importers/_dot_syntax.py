"""The DOT language: text to NetworkX graph.

A small reader of our own, because the ones at hand need seconds for some thousand nodes, print
their errors and do not say in which file. It knows the whole grammar of
graphviz.org/doc/info/lang.html: attribute defaults, subgraphs and lists of nodes as ends of edges,
ports (ignored), comments, quoted, concatenated and HTML strings. All attributes are strings. Lists
with commas (``a, b -> c``) are in the grammar of Graphviz's parser, not on that page.

Numbers of DOT have no exponent: to the grammar ``1e6`` is the number 1 and then the name e6, about
which Graphviz warns as a number that is badly delimited. Whoever writes that means something else,
so a number that touches a letter, a digit or a point is refused; in quotation marks it is read.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

import networkx as nx

from simsched.files.errors import GraphError, shown

TOKEN = re.compile(
    r"""(?P<space>[ \t\r\n\f\v]+|//[^\n]*|/\*.*?\*/|(?:(?<=\n)|\A)\#[^\n]*)
      | (?P<quoted>"(?:[^"\\]|\\.)*")
      | (?P<edge>->|--)
      | (?P<number>-?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?![A-Za-z_0-9.\x80-\U0010ffff]))
      | (?P<undelimited>-?\.?[0-9](?:[eE][+-]?[0-9]|[A-Za-z_0-9.\x80-\U0010ffff])*)
      | (?P<name>[A-Za-z_\x80-\U0010ffff][A-Za-z_0-9\x80-\U0010ffff]*)
      | (?P<mark>[{}\[\];,=:+])
    """,
    re.VERBOSE | re.DOTALL,
)
ESCAPED = re.compile(r'\\(\r?\n|["\\])')
KEYWORDS = frozenset({"strict", "graph", "digraph", "node", "edge", "subgraph"})
MAX_DEPTH = 100


class Token(NamedTuple):
    """One word of a DOT file."""

    kind: str
    #: Its text, of a string without quotation marks, of a keyword in lower case.
    text: str
    line: int


class Defaults(NamedTuple):
    """Attributes that new nodes and edges of a scope get."""

    node: dict[str, str]
    edge: dict[str, str]


def parse_dot(
    text: str, source: str, subgraphs: dict[str, list[str]] | None = None
) -> nx.Graph[Any]:
    """Return the graph that a DOT text describes.

    With `strict` it has no parallel edges. A text that is not DOT is refused with its line. The
    nodes of named subgraphs are put into `subgraphs` by name.
    """
    parser = _Parser(list(_tokens(text, source)), source)
    graph = parser.graph()
    if subgraphs is not None:
        subgraphs.update(parser.subgraphs)
    return graph


class _Parser:
    """Reads a list of tokens from front to back."""

    def __init__(self, tokens: list[Token], source: str) -> None:
        self.tokens, self.source, self.position = tokens, source, 0
        self.result: nx.Graph[Any] = nx.MultiDiGraph()
        self.arrow = "->"
        self.subgraphs: dict[str, list[str]] = {}

    def graph(self) -> nx.Graph[Any]:
        """Read the whole file."""
        strict = self.accept("keyword", "strict")
        if self.accept("keyword", "graph"):
            self.arrow = "--"
            self.result = nx.Graph() if strict else nx.MultiGraph()
        elif self.accept("keyword", "digraph"):
            self.result = nx.DiGraph() if strict else nx.MultiDiGraph()
        else:
            raise self.error("graph or digraph")
        if self.peek().kind == "id":
            self.result.graph["name"] = self.take().text
        self.block(Defaults({}, {}), depth=0, top=True)
        if self.peek().kind != "end":
            raise self.error("the end of the file after one graph")
        return self.result

    def block(self, defaults: Defaults, depth: int, *, top: bool = False) -> list[str]:
        """Read statements in braces, return the nodes they mention."""
        if depth > MAX_DEPTH:
            raise self.error(f"at most {MAX_DEPTH} nested subgraphs")
        self.expect("{")
        scope = Defaults(dict(defaults.node), dict(defaults.edge))
        nodes: dict[str, None] = {}
        while not self.accept("mark", "}"):
            nodes.update(dict.fromkeys(self.statement(scope, depth, top=top)))
            self.accept("mark", ";")
        return list(nodes)

    def statement(self, scope: Defaults, depth: int, *, top: bool) -> list[str]:
        """Read one statement, return the nodes it mentions."""
        token = self.peek()
        if token.kind == "keyword" and token.text in ("graph", "node", "edge"):
            self.take()
            attributes = self.attributes()
            if token.text == "node":
                scope.node.update(attributes)
            elif token.text == "edge":
                scope.edge.update(attributes)
            elif top:
                self.result.graph.update(attributes)
            return []
        if token.kind == "id" and self.peek(1).text == "=" and self.peek(1).kind == "mark":
            self.take(2)
            value = self.identifier()
            if top:
                self.result.graph[token.text] = value
            return []
        return self.nodes_and_edges(scope, depth)

    def nodes_and_edges(self, scope: Defaults, depth: int) -> list[str]:
        """Read nodes, a subgraph or a chain of edges between them."""
        are_nodes = self.peek().kind == "id"
        ends = [self.end(scope, depth)]
        while self.peek().kind == "edge":
            if self.peek().text != self.arrow:
                raise self.error(f"{self.arrow} in this kind of graph")
            self.take()
            ends.append(self.end(scope, depth))
        attributes = self.attributes()
        if len(ends) == 1:
            if are_nodes:
                for node in ends[0]:
                    self.result.nodes[node].update(attributes)
            return ends[0]
        for sources, targets in itertools.pairwise(ends):
            for source in sources:
                for target in targets:
                    self.result.add_edge(source, target, **{**scope.edge, **attributes})
        return [node for end in ends for node in end]

    def end(self, scope: Defaults, depth: int) -> list[str]:
        """Read one end of an edge: a subgraph, or nodes with commas between them."""
        if self.accept("keyword", "subgraph"):
            if self.peek().kind != "id":
                return self.block(scope, depth + 1)
            name = self.take().text
            nodes = self.block(scope, depth + 1)
            self.subgraphs[name] = list(dict.fromkeys([*self.subgraphs.get(name, ()), *nodes]))
            return nodes
        if self.peek()[:2] == ("mark", "{"):
            return self.block(scope, depth + 1)
        nodes = [self.node(scope, "a node, an edge, a subgraph, an attribute or }")]
        while self.accept("mark", ","):
            nodes.append(self.node(scope, "a node behind the comma"))
        return list(dict.fromkeys(nodes))

    def node(self, scope: Defaults, accepted: str) -> str:
        """Read a node, possibly with a port."""
        name = self.identifier(accepted)
        for _ in range(2):
            if self.accept("mark", ":"):
                self.identifier("a port")
        if name not in self.result:
            self.result.add_node(name, **scope.node)
        return name

    def attributes(self) -> dict[str, str]:
        """Read any number of attribute lists."""
        found: dict[str, str] = {}
        while self.accept("mark", "["):
            while not self.accept("mark", "]"):
                key = self.identifier("an attribute or ]")
                found[key] = self.identifier() if self.accept("mark", "=") else "true"
                _ = self.accept("mark", ",") or self.accept("mark", ";")
        return found

    def identifier(self, accepted: str = "a name, a number or a string") -> str:
        """Read a name, joining quoted strings that + connects."""
        if self.peek().kind != "id":
            raise self.error(accepted)
        text = self.take().text
        while self.accept("mark", "+"):
            if self.peek().kind != "id":
                raise self.error("a string after +")
            text += self.take().text
        return text

    def expect(self, mark: str) -> None:
        """Read a mark that has to be there."""
        if not self.accept("mark", mark):
            raise self.error(mark)

    def accept(self, kind: str, text: str) -> bool:
        """Read a token if it comes next."""
        if self.peek()[:2] != (kind, text):
            return False
        self.position += 1
        return True

    def peek(self, ahead: int = 0) -> Token:
        """Return a coming token."""
        return self.tokens[min(self.position + ahead, len(self.tokens) - 1)]

    def take(self, count: int = 1) -> Token:
        """Read tokens, return the first of them."""
        token = self.peek()
        self.position += count
        return token

    def error(self, accepted: str) -> GraphError:
        """Return the error for the coming token."""
        token = self.peek()
        found = "the end of the file" if token.kind == "end" else shown(token.text)
        return GraphError(f"{self.source}:{token.line}: found {found}, accepted {accepted}")


def _tokens(text: str, source: str) -> Iterator[Token]:
    """Split a text into tokens, the last one of kind "end"."""
    position, line = 0, 1
    while position < len(text):
        if text[position] == "<":
            end = _html_end(text, position)
            token = Token("id", text[position:end], line)
        else:
            match = TOKEN.match(text, position)
            if match is None:
                found = shown(text[position : position + 20].splitlines()[0])
                what = "a string that does not end" if text[position] == '"' else found
                raise GraphError(f"{source}:{line}: found {what}, accepted DOT")
            if match.lastgroup == "undelimited":
                raise GraphError(
                    f"{source}:{line}: found {shown(match.group())}, accepted a number of digits "
                    "and one point, which in DOT has no exponent; anything else in quotation marks"
                )
            end = match.end()
            token = _token(match, line)
        if end == -1:
            raise GraphError(
                f"{source}:{line}: found an HTML string that does not end, accepted DOT"
            )
        if token.kind != "space":
            yield token
        line += text.count("\n", position, end)
        position = end
    yield Token("end", "", line)


def _token(match: re.Match[str], line: int) -> Token:
    kind, text = str(match.lastgroup), match.group()
    if kind == "quoted":
        # An end of line that is escaped stands for nothing.
        return Token("id", ESCAPED.sub(lambda found: found[1].strip("\r\n"), text[1:-1]), line)
    if kind == "name" and text.lower() in KEYWORDS:
        return Token("keyword", text.lower(), line)
    return Token("id" if kind in ("name", "number") else kind, text, line)


def _html_end(text: str, begin: int) -> int:
    """Return where an HTML string ends, -1 if nowhere."""
    depth = 0
    for match in re.compile("[<>]").finditer(text, begin):
        depth += 1 if match[0] == "<" else -1
        if depth == 0:
            return match.end()
    return -1
