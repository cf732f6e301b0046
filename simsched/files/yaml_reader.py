"""The one reader of YAML files: safe, with line numbers, checked by a pydantic model.

A file is plain data: mappings, sequences, text, numbers, true/false and null. Nothing in it is
executed, no tag creates an object. Whatever is wrong with it becomes one
:class:`~simsched.files.errors.ConfigurationError` whose message names the file, the line, the key,
what was found, what is accepted and, for a misspelt name, the nearest one.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Collection, Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from functools import lru_cache, partial
from os import PathLike
from pathlib import Path
from typing import Any, ClassVar, NoReturn, TypeVar, get_args

from pydantic import BaseModel, ConfigDict, ValidationError, model_validator
from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, ReusedAnchorWarning, YAMLError
from ruamel.yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from simsched.files.bounded import is_directory, is_there, is_utf16, unreadable
from simsched.files.errors import ConfigurationError, expect, nearest, shown, unknown_name
from simsched.files.limits import YAML_BYTES, YAML_VALUES
from simsched.files.resources import data_dir

Model = TypeVar("Model", bound=BaseModel)
Key = str | int
KeyPath = tuple[Key, ...]

MAX_DEPTH = 50
MAX_REPORTED = 5
_TAG = "tag:yaml.org,2002:"
_SECTION = re.compile(r"^(?=\w)", re.MULTILINE)  # where one on the first level begins
_SHIPPED = data_dir("machines").parent


class FieldError(ValueError):
    """Something a validator found wrong at a place below the value it validates.

    `loc` leads from there to the wrong value, `other` to a second one, which the first contradicts.
    """

    def __init__(self, loc: KeyPath, message: str, other: KeyPath | None = None) -> None:
        super().__init__(message)
        self.loc, self.other = loc, other


class Section(BaseModel):
    """Base of the models of YAML files: immutable, strict types, unknown keys refused by name."""

    model_config: ClassVar[ConfigDict] = ConfigDict(
        extra="forbid", frozen=True, strict=True, allow_inf_nan=False
    )

    @model_validator(mode="before")
    @classmethod
    def _refuse_unknown_keys(cls, data: object) -> object:
        for key in data if isinstance(data, Mapping) else ():
            if message := cls.unknown(key):
                raise FieldError((key,), message)
        return data

    @classmethod
    def unknown(cls, key: Key) -> str | None:
        """Return what is wrong with a key, None if it is accepted; it may belong a level deeper."""
        fields_of = {info.alias or name: info for name, info in cls.model_fields.items()}
        if key in fields_of:
            return None
        homes = [
            name
            for name, info in fields_of.items()
            if any(key in inner.model_fields for inner in _sections(info.annotation))
        ]
        deeper = f"; in {' or '.join(homes)} there is {key!r}" if homes else ""
        return unknown_name("key", str(key), fields_of) + deeper


def _sections(annotation: object) -> Iterator[type[Section]]:
    """Yield the models of YAML files in a type such as ``dict[str, Annotated[Section, ...]]``."""
    if isinstance(annotation, type) and issubclass(annotation, Section):
        yield annotation
    for part in get_args(annotation):
        yield from _sections(part)


@dataclass(frozen=True)
class Document:
    """Plain data with the place where each value was written."""

    #: None for data that was not read from a file.
    path: Path | None
    data: Any
    #: File and line of each value, by its keys and positions from the top.
    places: dict[KeyPath, tuple[Path, int]] = field(default_factory=dict)

    def where(self, loc: KeyPath) -> str:
        """Return ``file:line`` of the value at `loc`, or of the nearest one that contains it."""
        for length in range(len(loc), -1, -1):
            if loc[:length] in self.places:
                path, line = self.places[loc[:length]]
                return f"{path}:{line}"
        return str(self.path) if self.path else ""

    def located(self, loc: KeyPath, message: str) -> str:
        """Return a message about the value at `loc`, with its place and key before it."""
        return _locate(self.where(loc), loc, message)

    def expect_mapping(self) -> None:
        """Refuse a document that is a single value or a list."""
        if not isinstance(self.data, Mapping):
            self.fail((), f"found {shown(self.data)}, accepted: a mapping of keys to values")

    def fail(self, loc: KeyPath, message: str) -> NoReturn:
        """Raise a :class:`ConfigurationError` about the value at `loc`."""
        raise ConfigurationError(self.located(loc, message))


def read_yaml(path: Path, model: type[Model]) -> Model:
    """Return the validated content of a YAML file."""
    return validate_document(read_document(path), model)


def validate(data: object, model: type[Model], where: str = "") -> Model:
    """Return plain data validated by a model; messages call the data `where`."""
    return validate_document(Document(Path(where) if where else None, data), model)


def validate_document(document: Document, model: type[Model]) -> Model:
    """Return a document validated by a model; some errors are listed, one per line."""
    document.expect_mapping()
    try:
        return model.model_validate(document.data)
    except ValidationError as error:
        lines = [_describe(document, item) for item in error.errors(include_url=False)]
        unique = list(dict.fromkeys(lines))
        if len(unique) > MAX_REPORTED:
            unique[MAX_REPORTED:] = [f"... and {len(unique) - MAX_REPORTED} more"]
        raise ConfigurationError("\n".join(unique)) from error


def read_document(path: Path) -> Document:
    """Return the plain data of a YAML file with the line of every value."""
    text, most = _read_text(path), YAML_VALUES.value
    if not path.is_relative_to(_SHIPPED):
        return _parsed(path, text, most)
    found = _parsed_once(path, text, most)
    return Document(path, deepcopy(found.data), dict(found.places))


def read_sections(path: Path, names: Collection[str]) -> Any:
    """Return what some sections of a shipped YAML file say, those of its first level by name.

    The others, which are most of a machine, are not parsed.
    """
    parts = _SECTION.split(_read_text(path))
    kept = "".join(part for part in parts if part.partition(":")[0] in names)
    return _parsed(path, kept, YAML_VALUES.value, pure=False).data


def _parsed(path: Path, text: str, most_values: int, *, pure: bool = True) -> Document:
    """Return the data of a text, by a parser in Python or, which text can crash, one in C."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ReusedAnchorWarning)  # YAML allows it
            root = YAML(typ="safe", pure=pure).compose(text)
    except MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        where = f"{path}:{mark.line + 1}" if mark else str(path)
        problem = " ".join(part for part in (error.context, error.problem) if part)
        raise ConfigurationError(f"{where}: not valid YAML: {problem}") from error
    except (YAMLError, ValueError, AssertionError) as error:  # asserted of the version
        problem = (str(error).strip() or "nothing that its parser expects").splitlines()[0]
        raise ConfigurationError(f"{path}: not valid YAML: {problem}") from error
    except KeyError as error:  # the version of a directive, which its resolver looks up
        version = ".".join(map(str, error.args[0]))
        raise ConfigurationError(
            f"{path}: not valid YAML: found version {version}, accepted 1.1 or 1.2"
        ) from error
    except RecursionError:
        raise ConfigurationError(
            f"{path}: nested too deeply, accepted: {MAX_DEPTH} levels"
        ) from None
    if root is None:
        raise ConfigurationError(
            f"{path}: found an empty file, accepted: a mapping of keys to values"
        )
    builder = _Builder(path, most_values)
    data = builder.build(root, (), root.start_mark.line + 1, ())
    return Document(path, data, builder.places)


# Scanning takes ten times as long as everything that is made of a machine. Files of others are not
# kept: they are read once, mostly, and any number of them may be large.
_parsed_once = lru_cache(maxsize=128)(partial(_parsed, pure=False))


def read_named(what: str, name_or_path: str | Path, folder: Path) -> Document:
    """Return the plain data of a YAML file that is given by its path, or by name if it ships.

    `what` is the kind of thing, for messages; files of that kind ship in `folder`.
    """
    expect(what, name_or_path or None, (str, PathLike), "a name, or the path of a .yaml file")
    if isinstance(name_or_path, str) and not name_or_path.endswith((".yaml", ".yml")):
        names = sorted(path.stem for path in folder.glob("*.yaml"))
        if name_or_path in names:
            return read_document(folder / f"{name_or_path}.yaml")
        path = Path(name_or_path)
        if is_directory(path):
            close = nearest(name_or_path, names)
            hint = f"; did you mean {close!r}?" if close else ""
            accepted = f"the name of a shipped {what}, or a .yaml file"
            raise ConfigurationError(f"{path}: found a directory, accepted: {accepted}{hint}")
        if not (is_there(path) and path.is_file()):
            message = unknown_name(what, name_or_path, names)
            raise ConfigurationError(f"{message}, or the path of a .yaml file")
    return read_document(Path(name_or_path))


def _read_text(path: Path) -> str:
    """Return the text of a file of acceptable size."""
    try:
        with path.open("rb") as stream:
            raw = stream.read(YAML_BYTES.value + 1)
    except (OSError, ValueError) as error:
        raise ConfigurationError(unreadable(path, error, "a YAML file")) from error
    if len(raw) > YAML_BYTES.value:
        YAML_BYTES.refuse(None, path)
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        found = "UTF-16" if is_utf16(raw) else "bytes that are not UTF-8 text"
        raise ConfigurationError(f"{path}:{line}: found {found}, accepted: UTF-8") from error


class _Builder:
    """Turns composed YAML nodes into plain data and remembers the line of every value."""

    def __init__(self, path: Path, most_values: int) -> None:
        self.path = path
        self.places: dict[KeyPath, tuple[Path, int]] = {}
        self._yaml = YAML(typ="safe", pure=True)
        self._most = most_values

    def build(self, node: Node, loc: KeyPath, line: int, above: tuple[int, ...]) -> Any:
        """Return the data of a node; `above` identifies the nodes that contain it."""
        self.places[loc] = (self.path, line)
        if len(self.places) > self._most:
            YAML_VALUES.refuse(None, f"{self.path}:{line}")
        if id(node) in above:
            self._fail(line, loc, "found an alias that contains itself")
        if len(above) >= MAX_DEPTH:
            self._fail(line, loc, f"nested too deeply, accepted: {MAX_DEPTH} levels")
        inside = (*above, id(node))
        if isinstance(node, MappingNode):
            self._expect_tag(node, "map", loc, line)
            return {
                key: self.build(value, (*loc, key), key_line, inside)
                for key, key_line, value in self._entries(node, loc)
            }
        if isinstance(node, SequenceNode):
            self._expect_tag(node, "seq", loc, line)
            return [
                self.build(item, (*loc, position), item.start_mark.line + 1, inside)
                for position, item in enumerate(node.value)
            ]
        return self._scalar(node, loc, line)

    def _entries(self, node: MappingNode, loc: KeyPath) -> Iterator[tuple[Key, int, Node]]:
        """Yield key, line and value of a mapping; refuse duplicate and unusual keys."""
        seen: dict[Key, int] = {}
        for key_node, value in node.value:
            line = key_node.start_mark.line + 1
            key = self._scalar(key_node, loc, line) if isinstance(key_node, ScalarNode) else None
            if not isinstance(key, str | int) or isinstance(key, bool):
                self._fail(line, loc, f"found the key {shown(key)}, accepted: text")
            if key in seen:
                self._fail(line, (*loc, key), f"duplicate key, first given in line {seen[key]}")
            seen[key] = line
            yield key, line, value

    def _scalar(self, node: Node, loc: KeyPath, line: int) -> Any:
        kind = str(node.tag or "").removeprefix(_TAG)
        if kind in {"str", "timestamp"}:
            if any("\ud800" <= letter <= "\udfff" for letter in node.value):
                self._fail(line, loc, f"found {shown(node.value)}, accepted: whole characters")
            return node.value
        if kind not in {"null", "bool", "int", "float"}:
            self._refuse_tag(node, loc, line)
        try:
            value = self._yaml.constructor.construct_object(node)
            repr(value)  # of whole numbers too long to be shown, which may be written as 0x...
        except (YAMLError, ValueError):
            self._fail(line, loc, f"found {shown(node.value)}, accepted: a value of kind {kind}")
        return value

    def _expect_tag(self, node: Node, kind: str, loc: KeyPath, line: int) -> None:
        if str(node.tag) != _TAG + kind:
            self._refuse_tag(node, loc, line)

    def _refuse_tag(self, node: Node, loc: KeyPath, line: int) -> NoReturn:
        tag = str(node.tag).replace(_TAG, "!!")
        what = "the merge key '<<'" if tag == "!!merge" else f"the tag {tag!r}"
        self._fail(line, loc, f"found {what}, accepted: plain values without tags")

    def _fail(self, line: int, loc: KeyPath, message: str) -> NoReturn:
        raise ConfigurationError(_locate(f"{self.path}:{line}", loc, message))


def _describe(document: Document, item: Any) -> str:
    """Return one line about one pydantic error."""
    error = item.get("ctx", {}).get("error")
    loc = _known_part(document.data, item["loc"])
    message = str(item["msg"])
    if item["type"] == "missing":
        loc = (*loc, item["loc"][-1])
        message = "missing, accepted: a value for this key"
    elif isinstance(error, FieldError):
        message = str(error)
        if error.other is not None:
            other = (*loc, *error.other)
            place = document.located(other, "").rstrip(": ")
            message += f"; also at {place}" if place else ""
        loc = (*loc, *error.loc)
    elif isinstance(error, ValueError):
        message = str(error)
    elif item["type"] == "extra_forbidden":
        message = f"unknown key {item['loc'][-1]!r}"
    else:
        # "Input should be 'a' or 'b'", "String should have at least 1 character"
        accepted = re.sub(r"^\w+ should (be|have) | after validation, not \d+$", "", message)
        accepted = accepted.replace("a valid i", "an i", 1).replace("a valid", "a", 1)
        message = f"found {shown(item['input'])}, accepted: {accepted}"
        names = re.findall(r"'([^']*)'", str(item.get("ctx", {}).get("expected", "")))
        close = nearest(item["input"], names) if isinstance(item["input"], str) else None
        message += f"; did you mean {close!r}?" if close else ""
    return document.located(loc, message)


def _known_part(data: Any, loc: tuple[Any, ...]) -> KeyPath:
    """Return `loc` without the parts that name union members or validators instead of keys."""
    known: list[Key] = []
    for part in loc:
        in_list = isinstance(data, list | tuple) and isinstance(part, int) and part < len(data)
        if in_list or (isinstance(data, Mapping) and part in data):
            data = data[part]
            known.append(part)
    return tuple(known)


def key_path(loc: KeyPath) -> str:
    """Return keys and positions as text such as ``paths[0].latency``."""
    text = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in loc)
    return text.removeprefix(".")


def _locate(where: str, loc: KeyPath, message: str) -> str:
    return ": ".join(part for part in (where, key_path(loc), message) if part)
