"""XML documents whose elements know their line, for errors that name the place."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from xml.parsers import expat

from simsched.files.bounded import read_text
from simsched.files.errors import GraphError, shown
from simsched.workload.importers._source import number

MAX_DEPTH = 100


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
    where: str  # file and line
    children: list[Element] = field(default_factory=list)
    text: str = ""

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


def read_xml(path: Path) -> Element:
    """Return the root of an XML document; one that declares a document type or entities is refused.

    Entities of entities take any amount of memory.
    """
    whole = read_text(path, GraphError)
    text = whole.lstrip()  # a declaration must be the first in a document
    before = whole.count("\n", 0, len(whole) - len(text))
    # Decoded it is already, whatever the document declares.
    parser = expat.ParserCreate("utf-8", namespace_separator=" ")
    top = Element("", {}, str(path))
    stack, texts = [top], [[""]]

    def here() -> str:
        return f"{path}:{before + parser.CurrentLineNumber}"

    def start(name: str, attributes: dict[str, str]) -> None:
        if len(stack) > MAX_DEPTH:
            raise GraphError(f"{here()}: found more than {MAX_DEPTH} nested elements")
        plain = {key.rpartition(" ")[2]: value for key, value in attributes.items()}
        element = Element(name.rpartition(" ")[2], plain, here())
        stack[-1].children.append(element)
        stack.append(element)
        texts.append([])

    def end(_: str) -> None:
        stack.pop().text = "".join(texts.pop())

    def data(found: str) -> None:
        texts[-1].append(found)

    def declare(name: str, *_: object) -> None:
        raise GraphError(
            f"{here()}: found a declaration of the document type {shown(name)}, accepted XML "
            "without any"
        )

    parser.buffer_text = True
    parser.StartElementHandler, parser.EndElementHandler = start, end
    parser.CharacterDataHandler, parser.StartDoctypeDeclHandler = data, declare
    try:
        parser.Parse(text.encode(), True)
    except expat.ExpatError as error:
        place = f"{path}:{before + error.lineno}: column {error.offset}"
        raise GraphError(f"{place}: not XML: {expat.ErrorString(error.code)}") from error
    return top.children[0]
