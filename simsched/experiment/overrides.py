"""Changing values of an experiment by dotted keys: ``--set``, arguments of a call, and sweeps."""

from __future__ import annotations

import copy
import itertools
import json
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.error import ReusedAnchorWarning, YAMLError

from simsched.experiment.schema import COMBINED, Combined, Experiment, labels
from simsched.files.errors import ConfigurationError, expect, shown, unknown_name
from simsched.files.yaml_reader import Document, KeyPath, validate_document
from simsched.names.arguments import plain
from simsched.names.specs import parse_spec, split_outside
from simsched.workload.graph_files import workload_spec

Labels = dict[str, list[str]]

DECIDING = (*COMBINED, "sweep")  #: what is run
SAYING = ("description", "remark")  #: what an experiment says of its runs


@dataclass(frozen=True)
class Origin:
    """What has set a value."""

    #: What messages say instead of file and line.
    text: str
    #: Whether they name the key too; an option that stands for one thing says enough.
    with_key: bool = True


@dataclass(frozen=True)
class Change:
    """A value, plain data, for a dotted key; see :func:`assign`."""

    key: str
    value: Any
    origin: Origin


@dataclass(frozen=True)
class Changed(Document):
    """A document in which values have been replaced."""

    #: What has set a replaced value, by its keys and positions.
    origins: dict[KeyPath, Origin] = field(default_factory=dict)

    def origin(self, loc: KeyPath) -> Origin | None:
        """Return what has set the value at `loc`, None where the file has."""
        for length in range(len(loc), 0, -1):
            if loc[:length] in self.origins:
                return self.origins[loc[:length]]
            if loc[:length] in self.places:
                return None
        return None

    def where(self, loc: KeyPath) -> str:
        """Return what has set the value at `loc`, or where the file has it."""
        found = self.origin(loc)
        return super().where(loc) if found is None else found.text

    def located(self, loc: KeyPath, message: str) -> str:
        """Return a message about the value at `loc` after what has set it."""
        found = self.origin(loc)
        if found is None or found.with_key:
            return super().located(loc, message)
        return f"{found.text}: {message}" if found.text else message


def changed(document: Document, data: Any, origins: dict[KeyPath, Origin]) -> Changed:
    """Return a document with other data, which messages trace back to what has set them."""
    earlier = document.origins if isinstance(document, Changed) else {}

    def stands(loc: KeyPath) -> bool:
        return not any(loc[:length] in origins for length in range(1, len(loc) + 1))

    places = {loc: place for loc, place in document.places.items() if stands(loc)}
    kept = {loc: origin for loc, origin in earlier.items() if stands(loc)}
    return Changed(document.path, data, places, {**kept, **origins})


def parse_assignment(text: str) -> tuple[str, Any]:
    """Return key and value of ``KEY=VALUE``; the value is read as YAML.

    >>> parse_assignment("seeds=[1, 2]")
    ('seeds', [1, 2])
    """
    key, *rest = split_outside(text, "=", 1)
    value = "".join(rest)
    if not rest or not key.strip():
        raise ConfigurationError(f"--set {text}: accepted KEY=VALUE, for instance seeds=5")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ReusedAnchorWarning)  # YAML allows it
            plain = YAML(typ="safe", pure=True).load(value)
    except (YAMLError, ValueError, RecursionError, AssertionError) as error:
        said = " ".join(filter(None, (getattr(error, name, "") for name in ("context", "problem"))))
        problem = said or (str(error).strip() or "nothing that its parser expects").splitlines()[0]
        raise ConfigurationError(f"--set {text}: the value is not YAML: {problem}") from error
    if plain is not None and not isinstance(plain, bool | int | float | str | list | dict):
        plain = value.strip()
    return key.strip(), plain


def assignments(changes: Sequence[str] | Mapping[str, Any]) -> list[Change]:
    """Return the changes of ``--set``: a text each, or values by key; text is read as YAML."""
    accepted = "a list of texts KEY=VALUE, or a mapping of keys to values"
    expect("set", changes, (list, tuple, Mapping), accepted)
    if isinstance(changes, Mapping):
        changes = [f"{key}={_in_yaml(key, value)}" for key, value in changes.items()]
    for text in changes:
        expect("set", text, str, accepted)
    return [Change(*parse_assignment(text), Origin(f"--set {text}")) for text in changes]


def _in_yaml(key: str, value: object) -> str:
    """Return a value as text that YAML reads."""
    try:
        return value if isinstance(value, str) else json.dumps(plain(value))
    except (TypeError, ValueError) as error:
        accepted = "numbers, texts, lists and mappings"
        raise ConfigurationError(
            f"set: {key}: found {shown(value)}, accepted: {accepted}"
        ) from error


def edited(document: Document, changes: Sequence[Change]) -> Document:
    """Return a document in which some values are replaced, in this order; it is not checked.

    What it says of its runs is left out where other ones are asked for.
    """
    if not changes:
        return document
    if not isinstance(document.data, dict):
        validate_document(document, Experiment)
    data = copy.deepcopy(document.data)
    if any(change.key.partition(".")[0] in DECIDING for change in changes):
        data = {key: value for key, value in data.items() if key not in SAYING}
    for change in changes:
        what, inside, _ = change.key.partition(".")
        known = labels_in(document) if inside and what in COMBINED else {}
        for key in _keys(change.key, known):
            loc = assign(data, key, change.value, change.origin.text, known)
            document = changed(document, data, {loc: change.origin})
    return document


def _keys(key: str, known: Labels) -> list[str]:
    """Return the keys of single entries that a key such as ``machines.*.workers`` stands for."""
    what, every, rest = key.partition(".*.")
    return (
        [f"{what}.{place}.{rest}" for place in range(len(known[what]))]
        if what in known and every
        else [key]
    )


def labels_in(document: Document) -> Labels:
    """Return what tables call the machines, workloads and policies of an experiment."""
    data = document.data
    if isinstance(data, dict):  # anything else is refused whole
        data = {what: data[what] for what in COMBINED if what in data}
    combined = validate_document(changed(document, data, {}), Combined)
    return {what: labels(getattr(combined, what)) for what in COMBINED}


def checked(document: Document) -> Experiment:
    """Return an experiment whose shape is right, and in which every change takes effect."""
    experiment = validate_document(document, Experiment)
    _refuse_swept(document, experiment)
    return experiment


def _refuse_swept(document: Document, experiment: Experiment) -> None:
    """Refuse a change whose value the sweep replaces at every point, so that it is never used.

    The two may spell the same place differently, with a label and with a position.
    """
    if experiment.sweep is None or not isinstance(document, Changed):
        return
    known = {what: labels(getattr(experiment, what)) for what in COMBINED}
    for part in ("product", "zip"):
        for key, values in getattr(experiment.sweep, part).items():
            where = f"{document.where(('sweep', part, key))}: sweep.{part}.{key}"
            loc = assign(copy.deepcopy(document.data), key, values[0], where, known)
            for place, origin in document.origins.items():
                if place[: len(loc)] == loc:
                    raise ConfigurationError(
                        f"{origin.text}: found a value that {where} sets at every point, accepted: "
                        f"a key that is not swept, or the values to sweep: "
                        f"--set sweep.{part}.{key}=[...]"
                    )


def sweep_points(
    document: Document, experiment: Experiment
) -> Iterator[tuple[dict[str, Any], Document, Combined | Experiment]]:
    """Yield swept values, the document with them and what it combines, for every point."""
    sweep = experiment.sweep
    if sweep is None:
        yield {}, document, experiment
        return
    known = {what: labels(getattr(experiment, what)) for what in COMBINED}
    zipped = list(zip(*sweep.zip.values(), strict=True)) if sweep.zip else [()]
    for combination in itertools.product(*sweep.product.values()):
        for together in zipped:
            values = dict(zip([*sweep.product, *sweep.zip], [*combination, *together], strict=True))
            data = {what: copy.deepcopy(document.data[what]) for what in COMBINED}
            origins: dict[KeyPath, Origin] = {}
            for key, value in values.items():
                part = "product" if key in sweep.product else "zip"
                where = f"{document.where(('sweep', part, key))}: sweep.{part}.{key}"
                if key.split(".")[0] not in COMBINED:
                    accepted = "a key below machines, workloads or policies"
                    raise ConfigurationError(f"{where}: found {key!r}, accepted: {accepted}")
                loc = assign(data, key, copy.deepcopy(value), where, known)
                for earlier in origins:
                    if earlier[: len(loc)] == loc:
                        also = f"found a value that {origins[earlier].text} sets"
                        raise ConfigurationError(f"{where}: {also}, accepted: one key for a value")
                origins[loc] = Origin(where)
            _keep_labels(data, known)
            point = changed(document, data, origins)
            yield values, point, validate_document(point, Combined)


def _keep_labels(data: dict[str, Any], known: Labels) -> None:
    """Give swept entries the labels that they have without the sweep."""
    for what, names in known.items():
        if isinstance(data[what], list):
            for entry, label in zip(data[what], names, strict=False):
                if isinstance(entry, dict):
                    entry.setdefault("label", label)


def assign(data: dict[str, Any], key: str, value: object, where: str, known: Labels) -> KeyPath:
    """Set the value at a dotted key in place; return its keys and positions.

    Keys and positions are joined by dots; entries of machines, workloads and policies are found by
    position or by label, and a bare name becomes a mapping when a parameter is set. `where` begins
    messages.
    """
    parts = split_outside(key, ".")
    if message := Experiment.unknown(parts[0]):
        raise ConfigurationError(f"{where}: {message}")
    if len(parts) == 1:
        data[key] = value
        return (key,)
    if parts[0] in COMBINED:
        entry, rest = _entry(data, parts[0], parts[1:], where, known[parts[0]])
        if not rest:
            data[parts[0]][entry] = value
            return parts[0], entry
        target = _as_mapping(data[parts[0]][entry], parts[0])
        data[parts[0]][entry] = target
        above: KeyPath = (parts[0], entry)
    else:
        target, rest = _descend(data, parts[0], where), parts[1:]
        above = (parts[0],)
    dotted = rest[0] == "set" if parts[0] == "machines" else parts[0] == "sweep"
    if dotted and len(rest) > 1:
        rest = [rest[0], ".".join(rest[1:])]  # the keys inside contain dots themselves
    return (*above, *_set(target, rest, value, where))


def _entry(
    data: dict[str, Any], what: str, parts: list[str], where: str, known: list[str]
) -> tuple[int, list[str]]:
    """Return the position of an entry given by position or label, and what follows it."""
    if isinstance(data[what], str | dict):
        data[what] = [data[what]]
    for length in range(len(parts), 0, -1):  # a label may contain dots, as pol.py does
        if (label := ".".join(parts[:length])) in known:
            return known.index(label), parts[length:]
    name = parts[0]
    if name.isdigit() and int(name) < len(known):
        return int(name), parts[1:]
    accepted = [*known, *map(str, range(len(known)))]
    raise ConfigurationError(f"{where}: {what}: {unknown_name('entry', name, accepted)}")


def _as_mapping(entry: Any, what: str) -> dict[str, Any]:
    """Return an entry as a mapping, with the parameters of a spec beside its name."""
    mapping = {"name": entry} if isinstance(entry, str) else dict(entry)
    if what != "machines" and "[" in str(mapping.get("name")):
        text = mapping["name"]
        spec = workload_spec(text) if what == "workloads" else parse_spec("policy", text)
        mapping = {**mapping, "name": spec.name, **spec.params}
    return mapping


def _descend(data: dict[str, Any], key: str, where: str) -> Any:
    """Return the container at a top-level key."""
    inside = data.get(key)
    if inside is None and key == "sweep":
        inside = data[key] = {}
    if not isinstance(inside, dict | list):
        raise ConfigurationError(
            f"{where}: {key}: found a single value, accepted: no key inside it"
        )
    return inside


def _set(target: Any, parts: list[str], value: object, where: str) -> KeyPath:
    """Set a value below a container, by keys and positions; return these."""
    loc: list[str | int] = []
    for part in parts[:-1]:
        if isinstance(target, list):
            position = _position(target, part, where)
            loc.append(position)
            target = target[position]
        else:
            loc.append(part)
            target = target.setdefault(part, {})
        if not isinstance(target, dict | list):
            raise ConfigurationError(f"{where}: {part}: found a single value inside the key")
    last = _position(target, parts[-1], where) if isinstance(target, list) else parts[-1]
    target[last] = value
    return (*loc, last)


def _position(values: list[Any], part: str, where: str) -> int:
    if not part.isdigit() or int(part) >= len(values):
        accepted = f"0 to {len(values) - 1}"
        raise ConfigurationError(f"{where}: found position {part!r}, accepted: {accepted}")
    return int(part)
