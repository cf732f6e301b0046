"""Changing values of an experiment by dotted keys: ``--set`` and sweeps."""

from __future__ import annotations

import copy
import warnings
from dataclasses import dataclass, field
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.error import ReusedAnchorWarning, YAMLError

from simsched.experiment.schema import Experiment, labels
from simsched.files.errors import ConfigurationError, unknown_name
from simsched.files.yaml_reader import Document, KeyPath, validate_document
from simsched.names.specs import parse_spec, split_outside
from simsched.workload.graph_files import workload_spec

NAMED = ("machines", "workloads", "policies")


@dataclass(frozen=True)
class Changed(Document):
    """A document in which values have been replaced.

    Parameters
    ----------
    assigned : dict of tuple to str
        What messages say instead of file and line, by the keys and positions of a replaced value.
    """

    assigned: dict[KeyPath, str] = field(default_factory=dict)

    def where(self, loc: KeyPath) -> str:
        """Return what has set the value at `loc`, or where the file has it."""
        for length in range(len(loc), 0, -1):
            if loc[:length] in self.assigned:
                return self.assigned[loc[:length]]
            if loc[:length] in self.places:
                break
        return super().where(loc)


class Chosen(str):
    """An assignment that another option stands for, which messages name.

    Parameters
    ----------
    text : str
        ``KEY=VALUE``.
    option : str
        Such as ``--policy``.
    """

    option: str

    def __new__(cls, text: str, option: str) -> Chosen:
        """Return the text with its option."""
        made = super().__new__(cls, text)
        made.option = option
        return made


def changed(document: Document, data: Any, assigned: dict[KeyPath, str]) -> Changed:
    """Return a document with other data, which messages trace back to what has set them."""
    earlier = document.assigned if isinstance(document, Changed) else {}

    def stands(loc: KeyPath) -> bool:
        return not any(loc[:length] in assigned for length in range(1, len(loc) + 1))

    places = {loc: place for loc, place in document.places.items() if stands(loc)}
    kept = {loc: text for loc, text in earlier.items() if stands(loc)}
    return Changed(document.path, data, places, {**kept, **assigned})


def parse_assignment(text: str) -> tuple[str, Any]:
    """Return key and value of ``KEY=VALUE``; the value is read as YAML.

    Raises
    ------
    ConfigurationError
        When the text has another form.

    Examples
    --------
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


def apply_assignments(document: Document, assignments: list[str]) -> Document:
    """Return a document in which some values are replaced.

    Parameters
    ----------
    document : Document
        An experiment.
    assignments : list of str
        ``KEY=VALUE`` each, with a dotted key; applied in this order and checked together.

    Raises
    ------
    ConfigurationError
        A key that does not exist, a value that is not accepted there, or one that every point of
        the sweep replaces; the message names the assignment.
    """
    if not assignments:
        return document
    validate_document(document, Experiment)
    data = copy.deepcopy(document.data)
    failure: ConfigurationError | None = None
    for text in assignments:
        key, value = parse_assignment(text)
        where = text.option if isinstance(text, Chosen) else f"--set {text}"
        try:
            loc = assign(data, key, value, where)
        except ConfigurationError as error:
            raise failure or error from None
        document = changed(document, data, {loc: where})
        # Another assignment may make up for what is wrong now, such as the name of the baseline.
        try:
            validate_data(data, where)
            failure = None
        except ConfigurationError as error:
            failure = failure or error
    if failure is not None:
        raise failure
    if isinstance(document, Changed):
        _refuse_swept(document)
    return document


def _refuse_swept(document: Changed) -> None:
    """Refuse an assignment whose value the sweep replaces at every point, so that it is never used.

    The two may spell the same place differently, with a label and with a position.
    """
    for part, swept in (document.data.get("sweep") or {}).items():
        for key, values in swept.items():
            where = f"{document.where(('sweep', part, key))}: sweep.{part}.{key}"
            try:
                loc = assign(copy.deepcopy(document.data), key, values[0], where)
            except ConfigurationError:
                return  # planning says what is wrong with the sweep
            for place, text in document.assigned.items():
                if place[: len(loc)] == loc:
                    raise ConfigurationError(
                        f"{text}: found a value that {where} sets at every point, accepted: a key "
                        f"that is not swept, or the values to sweep: --set sweep.{part}.{key}=[...]"
                    )


def validate_data(data: object, where: str) -> Experiment:
    """Return an experiment from plain data; messages begin with `where`."""
    try:
        return validate_document(Document(None, data), Experiment)
    except ConfigurationError as error:
        raise ConfigurationError(f"{where}: {error}") from error


def assign(data: dict[str, Any], key: str, value: object, where: str) -> KeyPath:
    """Set the value at a dotted key.

    Parameters
    ----------
    data : dict
        Plain data of an experiment; changed in place.
    key : str
        Keys and positions joined by dots; entries of machines, workloads and policies are found by
        position or by label, and a bare name becomes a mapping when a parameter is set.
    value : object
        Plain data.
    where : str
        Beginning of messages.

    Returns
    -------
    tuple of str or int
        Keys and positions of the value.

    Raises
    ------
    ConfigurationError
        The key leads nowhere.
    """
    parts = split_outside(key, ".")
    if parts[0] not in Experiment.model_fields:
        raise ConfigurationError(
            f"{where}: {unknown_name('key', parts[0], Experiment.model_fields)}"
        )
    if len(parts) == 1:
        data[key] = value
        return (key,)
    if parts[0] in NAMED:
        entry, rest = _entry(data, parts[0], parts[1:], where)
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


def _entry(data: dict[str, Any], what: str, parts: list[str], where: str) -> tuple[int, list[str]]:
    """Return the position of an entry given by position or label, and what follows it."""
    if isinstance(data[what], str | dict):
        data[what] = [data[what]]
    apart: dict[str, Any] = {"sweep": None, "baseline": None}
    experiment = validate_data({**data, **apart}, where)
    known = labels(getattr(experiment, what))
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
    """Return a position in a list."""
    if not part.isdigit() or int(part) >= len(values):
        accepted = f"0 to {len(values) - 1}"
        raise ConfigurationError(f"{where}: found position {part!r}, accepted: {accepted}")
    return int(part)
