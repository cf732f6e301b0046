"""Attributes of graphs, nodes and edges, read with errors that name where they are."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from simsched.files.errors import GraphError, shown, unknown_name
from simsched.workload.importers._source import number, size, whole

NO_NAMES = "a JSON list of strings"


@dataclass(frozen=True, slots=True)
class Attributes:
    """The attributes of one graph, node or edge."""

    values: Mapping[Any, Any]
    #: Their place, as messages name it.
    where: str

    def error(self, key: str, accepted: str) -> GraphError:
        """Return the error for an attribute that is missing or wrong."""
        found = shown(self.get(key))
        return GraphError(f"{self.where}: attribute {key!r}: found {found}, accepted {accepted}")

    def get(self, key: str) -> object:
        """Return an attribute, None if it is missing."""
        return self.values.get(key)

    def number(self, key: str) -> float:
        """Return a finite number that is not negative."""
        return number(self.get(key), f"{self.where}: attribute {key!r}")

    def cost(self, key: str) -> float:
        """Return a number that is not negative; infinity where a task cannot run."""
        return number(self.get(key), f"{self.where}: attribute {key!r}", infinite=True)

    def cost_or_0(self, key: str) -> float:
        """Return a cost, 0 where it is missing."""
        return 0.0 if self.get(key) is None else self.cost(key)

    def size(self, key: str) -> int:
        """Return bytes, fractions of which are rounded."""
        return size(self.get(key), f"{self.where}: attribute {key!r}")

    def whole(self, key: str, *, least: int = 0, most: int = 2**63 - 1) -> int:
        """Return an integer in a range."""
        return whole(self.get(key), f"{self.where}: attribute {key!r}", least=least, most=most)

    def whole_or_0(self, key: str, *, least: int = 0, most: int) -> int:
        """Return an integer in a range, 0 where it is missing."""
        return 0 if self.get(key) is None else self.whole(key, least=least, most=most)

    def choice(self, key: str, accepted: Collection[str]) -> str:
        """Return a string that is one of several."""
        value = self.get(key)
        text = str(value)
        if text not in accepted:
            if value is None or len(accepted) > 20:
                raise self.error(key, "one of the graph's " + key + " values")
            message = " ".join(unknown_name(key, text, accepted).splitlines())
            raise GraphError(f"{self.where}: {message}")
        return text

    def json(self, key: str, accepted: str) -> object:
        """Return what a JSON string holds."""
        value = self.get(key)
        if not isinstance(value, str):
            raise self.error(key, accepted)
        try:
            return json.loads(value)
        except (ValueError, RecursionError) as error:
            raise self.error(key, accepted) from error

    def json_numbers(self, key: str) -> list[int]:
        """Return a list of integers that are not negative from a JSON string."""
        values = self.json(key, "a JSON list of integers")
        if not isinstance(values, list):
            raise self.error(key, "a JSON list of integers")
        return [whole(v, f"{self.where}: attribute {key!r}[{i}]") for i, v in enumerate(values)]

    def json_names(self, key: str) -> list[str]:
        """Return a list of different strings from a JSON string."""
        values = self.json(key, NO_NAMES)
        if not isinstance(values, list) or not all(isinstance(v, str) for v in values):
            raise self.error(key, NO_NAMES)
        if not values or len(set(values)) < len(values):
            raise self.error(key, "one or more different strings as a JSON list")
        return values

    def json_object(self, key: str) -> dict[str, object]:
        """Return an object from a JSON string."""
        value = self.json(key, "a JSON object")
        if not isinstance(value, dict):
            raise self.error(key, "a JSON object")
        return value

    def accesses(self, key: str, n_blocks: int) -> list[tuple[int, int, int]]:
        """Return accesses from their text form, none when the attribute is missing."""
        text = self.get(key)
        if text is None:
            return []
        result: list[tuple[int, int, int]] = []
        for entry in str(text).split():
            parts = entry.split(":")
            where = f"{self.where}: attribute {key!r}: access {shown(entry)}"
            if len(parts) != 3:
                raise GraphError(f"{where}: accepted block:read:written")
            block = whole(parts[0], where, most=n_blocks - 1)
            result.append((block, whole(parts[1], where), whole(parts[2], where)))
        return result


def plain(value: object) -> object:
    """Return a string without the quotation marks that pydot leaves around it."""
    if isinstance(value, str) and len(value) >= 2 and value[0] == value[-1] == '"':
        return value[1:-1].replace('\\"', '"').replace("\\\\", "\\")
    return value
