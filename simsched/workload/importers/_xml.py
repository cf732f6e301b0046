"""XML documents whose elements know their line, for errors that name the place."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from xml.parsers import expat

from simsched.files.bounded import read_text
from simsched.files.errors import GraphError, shown
from simsched.workload.importers._source import number

MAX_DEPTH = 100
PIECE = 1 << 14  #: characters that are parsed at once


@dataclass(frozen=True, slots=True)
class Attribute:
    """An attribute or a text; a :class:`~simsched.workload.importers._workflow.Place`."""

    where: str
    value: str

    def text(self) -> str:
        """Return it as it is."""
        return self.value

    def number(self) -> float:
        """Return a finite number that is not negative."""
        return number(self.value.strip(), self.where)

    def error(self, accepted: str) -> GraphError:
        """Return the error for a value of the wrong kind."""
        return GraphError(f"{self.where}: found {shown(self.value)}, accepted {accepted}")


@dataclass(slots=True)
class Element:
    """An element; names have no namespace."""

    name: str
    attributes: dict[str, str]
    source: Path
    line: int
    #: Lists that most elements do not need.
    inside: list[Element] | None = None
    pieces: list[str] | None = None

    @property
    def where(self) -> str:
        """File and line."""
        return f"{self.source}:{self.line}"

    @property
    def text(self) -> str:
        """What stands in the element, that of its children left out."""
        return "".join(self.pieces or ())

    @property
    def children(self) -> Sequence[Element]:
        """Elements directly in the element."""
        return self.inside or ()

    def all(self, *names: str) -> list[Element]:
        """Return the children of some names."""
        return [child for child in self.children if child.name in names]

    def get(self, key: str) -> Attribute | None:
        """Return an attribute, None if it is missing or empty."""
        value = self.attributes.get(key)
        return Attribute(f"{self.where}: <{self.name} {key}>", value) if value else None

    def required(self, *keys: str) -> Attribute:
        """Return the first of several alternative attributes that the element has."""
        for key in keys:
            found = self.get(key)
            if found is not None:
                return found
        raise GraphError(
            f"{self.where}: <{self.name}>: found no attribute {' or '.join(map(repr, keys))}, "
            "which is required"
        )


def read_xml(path: Path) -> Iterator[Element]:
    """Yield the root of an XML document as it begins, then each of its children once complete.

    A document that declares a document type or entities is refused: entities of entities take any
    amount of memory.
    """
    whole = read_text(path, GraphError)
    text = whole.lstrip()  # a declaration must be the first in a document
    before = whole.count("\n", 0, len(whole) - len(text))
    del whole
    elements = _Elements(path, before)
    try:
        for begin in range(0, len(text), PIECE):
            elements.parser.Parse(text[begin : begin + PIECE].encode(), False)
            yield from elements.take()
        elements.parser.Parse(b"", True)
    except expat.ExpatError as error:
        place = f"{path}:{before + error.lineno}: column {error.offset}"
        raise GraphError(f"{place}: not XML: {expat.ErrorString(error.code)}") from error
    yield from elements.take()


class _Elements:
    """Makes elements of what a parser finds; `before` lines stand before its text."""

    def __init__(self, path: Path, before: int) -> None:
        self._path, self._before = path, before
        self._open: list[Element] = []
        self._done: list[Element] = []
        self._plain: set[str] = set()  #: names of attributes that have no namespace
        # Decoded it is already, whatever the document declares.
        self.parser = expat.ParserCreate("utf-8", namespace_separator=" ")
        self.parser.buffer_text = True
        self.parser.StartElementHandler = self._start
        self.parser.EndElementHandler = self._end
        self.parser.CharacterDataHandler = self._data
        self.parser.StartDoctypeDeclHandler = self._declare

    def take(self) -> list[Element]:
        """Return what was completed since the last call."""
        done, self._done = self._done, []
        return done

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        stack = self._open
        if not self._plain.issuperset(attributes):
            self._plain.update(key for key in attributes if " " not in key)
            attributes = {key.rpartition(" ")[2]: value for key, value in attributes.items()}
        line = self._before + self.parser.CurrentLineNumber
        element = Element(name.rpartition(" ")[2], attributes, self._path, line)
        if not stack:
            self._done.append(element)
        elif len(stack) >= MAX_DEPTH:
            raise GraphError(f"{element.where}: found more than {MAX_DEPTH} nested elements")
        elif len(stack) > 1:  # the root does not keep its children
            above = stack[-1]
            if above.inside is None:
                above.inside = []
            above.inside.append(element)
        stack.append(element)

    def _end(self, _: str) -> None:
        element = self._open.pop()
        if len(self._open) == 1:
            self._done.append(element)

    def _data(self, found: str) -> None:
        if len(self._open) > 1:
            element = self._open[-1]
            if element.pieces is None:
                element.pieces = []
            element.pieces.append(found)

    def _declare(self, name: str, *_: object) -> None:
        line = self._before + self.parser.CurrentLineNumber
        raise GraphError(
            f"{self._path}:{line}: found a declaration of the document type "
            f"{shown(name)}, accepted XML without any"
        )
