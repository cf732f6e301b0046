"""JSON documents whose values know where they are, for errors that name the place."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from simsched.files.errors import GraphError, shown
from simsched.files.json_members import json_data
from simsched.workload.importers._source import number


@dataclass(frozen=True, slots=True)
class Value:
    """A value of a JSON document and the way to it."""

    file: Path
    #: Keys and indices from the top.
    place: tuple[str | int, ...]
    value: object

    @property
    def where(self) -> str:
        """File and JSON path, for instance ``a.json: workflow.tasks[3].id``."""
        path = "".join(f"[{p}]" if isinstance(p, int) else f".{p}" for p in self.place)
        return f"{self.file}: {path.lstrip('.') or 'top level'}"

    def error(self, accepted: str) -> GraphError:
        """Return the error for a value of the wrong kind."""
        if isinstance(self.value, dict | list):
            found = "an object" if isinstance(self.value, dict) else "a list"
        else:
            found = shown(self.value)
        return GraphError(f"{self.where}: found {found}, accepted {accepted}")

    def get(self, key: str) -> Value | None:
        """Return a member of an object, None if it is absent or null."""
        if not isinstance(self.value, dict):
            raise self.error("an object")
        found = self.value.get(key)
        return None if found is None else Value(self.file, (*self.place, key), found)

    def member(self, *keys: str) -> Value:
        """Return the first of several alternative members that an object has, in this order."""
        for key in keys:
            found = self.get(key)
            if found is not None:
                return found
        raise GraphError(
            f"{self.where}: found no key {' or '.join(map(repr, keys))}, which is required"
        )

    def items(self) -> list[Value]:
        """Return the elements of a list."""
        return [self.item(i) for i in range(len(self.elements_as_they_are()))]

    def elements_as_they_are(self) -> list[Any]:
        """Return the elements of a list without their places, for the longest lists."""
        if not isinstance(self.value, list):
            raise self.error("a list")
        return self.value

    def item(self, place: int) -> Value:
        """Return the element of a list at a place."""
        return self.inside(place, self.elements_as_they_are()[place])

    def inside(self, place: int, value: object) -> Value:
        """Return a value that stands at a place of a list, which need not be kept."""
        return Value(self.file, (*self.place, place), value)

    def elements(self, key: str) -> list[Value]:
        """Return the elements of a list under a key, none if it is absent."""
        found = self.get(key)
        return [] if found is None else found.items()

    def text(self) -> str:
        """Return a string that is not empty."""
        if not isinstance(self.value, str) or not self.value:
            raise self.error("a string")
        return self.value

    def number(self) -> float:
        """Return a finite number that is not negative."""
        if isinstance(self.value, str):
            raise self.error("a number")
        return number(self.value, self.where)


def read_json(path: Path) -> Value:
    """Return the top of a JSON document."""
    return Value(path, (), json_data(path, GraphError))
