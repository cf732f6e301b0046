"""YAML files that are JSON: changed as trees, and composed without the scanner.

Scanning takes ten times as long as everything that follows, and most changes of single bytes end
there. The reader `yaml` is given texts; what the others make of a document is tried mostly with
documents that JSON can write, whose nodes are made here as the scanner would make them.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from random import Random
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.error import StringMark, YAMLError
from ruamel.yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode
from ruamel.yaml.tag import Tag

from simsched.files import yaml_reader
from tests.robustness.mutate import Files, mutated

TEXTS = 0.1  # share of inputs that are changed as text
_TAG = "tag:yaml.org,2002:"
_MARK = StringMark("a file", 0, 0, 0, "", 0)
_KINDS = {bool: "bool", int: "int", float: "float", str: "str", type(None): "null"}
_TAGS = {kind: Tag(suffix=f"{_TAG}{kind}") for kind in (*_KINDS.values(), "map", "seq")}
_FLOATS = {"nan": ".nan", "inf": ".inf", "-inf": "-.inf"}


def as_json(files: Files) -> Files:
    """Return the files of an input, those of YAML written as JSON."""
    kept = dict(files)
    for name, data in files.items():
        if name.endswith(".yaml"):
            kept[name] = json.dumps(YAML(typ="safe", pure=True).load(data)).encode()
    return kept


@lru_cache(1024)
def _data(text: bytes) -> bytes:
    """Return what a YAML file holds as JSON; what is neither stays as it is."""
    if text.startswith(b"{"):
        return text
    try:
        return json.dumps(YAML(typ="safe", pure=True).load(text)).encode("utf-8", "surrogatepass")
    except (YAMLError, ValueError, TypeError, AssertionError, RecursionError, Warning):
        return text


def vary(rng: Random, pool: list[Files]) -> Files:
    """Return an input made from one of a pool, mostly by changing a tree, written as JSON."""
    if rng.random() < TEXTS:
        return mutated(rng, pool)
    files = {name: _data(data) for name, data in rng.choice(pool).items()}
    return mutated(rng, [files], is_json=True, trees=1.0)


class _Composer(YAML):
    """The parser of YAML, which reads JSON in a shorter way."""

    def compose(self, stream: Any) -> Any:
        if stream.startswith("{"):
            try:
                return _node(json.loads(stream, object_pairs_hook=_Pairs))
            except (ValueError, RecursionError):
                pass
        return super().compose(stream)


class _Pairs(list[tuple[str, Any]]):
    """A mapping in which keys may occur twice."""


def _node(value: Any) -> Node:
    """Return what the scanner and its followers would make of plain data."""
    if isinstance(value, _Pairs):
        pairs = [(_node(key), _node(item)) for key, item in value]
        return MappingNode(_TAGS["map"], pairs, _MARK, _MARK)
    if isinstance(value, list):
        return SequenceNode(_TAGS["seq"], [_node(item) for item in value], _MARK, _MARK)
    text = "" if value is None else str(value).lower() if isinstance(value, bool) else str(value)
    kind = _KINDS[type(value)]
    text = _FLOATS.get(text, text) if kind == "float" else text
    return ScalarNode(_TAGS[kind], text, _MARK, _MARK)


@contextmanager
def short_way() -> Iterator[None]:
    """Let the reader of YAML take the short way for JSON."""
    kept = yaml_reader.YAML
    yaml_reader.YAML = _Composer  # type: ignore[misc]
    try:
        yield
    finally:
        yaml_reader.YAML = kept  # type: ignore[misc]
