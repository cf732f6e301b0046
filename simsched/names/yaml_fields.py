"""What the models of several kinds of YAML files have in common."""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Annotated, Any

from pydantic import BeforeValidator

from simsched.files.errors import ConfigurationError
from simsched.files.yaml_reader import FieldError, KeyPath, shown
from simsched.names.specs import Spec, format_spec, parse_spec

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,79}")


def file_name(data: object) -> object:
    """Refuse text that is no good as the name of a file or directory."""
    if isinstance(data, str) and not NAME.fullmatch(data):
        accepted = "1 to 80 letters, digits and any of _ . -, the first a letter or digit"
        raise ValueError(f"found {data!r}, accepted: {accepted}")
    return data


FileName = Annotated[str, BeforeValidator(file_name)]


def one_or_more(data: object) -> object:
    """Accept one entry instead of a list; refuse an empty list."""
    if isinstance(data, list) and not data:
        raise ValueError("found an empty list, accepted: at least one entry")
    return [data] if isinstance(data, str | Mapping) else data


def gather(data: object, own: tuple[str, ...], what: str) -> dict[str, Any]:
    """Move the keys of a mapping that are not its own into `parameters`.

    Parameters
    ----------
    data : object
        What the file holds.
    own : tuple of str
        Keys that stay.
    what : str
        The key that a mapping must have, for the message.
    """
    if not isinstance(data, Mapping):
        accepted = f"a name, or a mapping with the key {what}"
        raise ValueError(f"found {shown(data)}, accepted: {accepted}")
    if "parameters" in data:
        message = "unknown key 'parameters'; parameters stand beside the name"
        raise FieldError(("parameters",), message)
    kept = {key: value for key, value in data.items() if key in own}
    rest = {key: value for key, value in data.items() if key not in own}
    for key in rest:
        if not isinstance(key, str):
            raise FieldError((key,), f"found the key {key!r}, accepted: the name of a parameter")
    return {**kept, "parameters": rest}


def from_spec(
    what: str, gathered: dict[str, Any], parse: Callable[[str], Spec] | None = None
) -> dict[str, Any]:
    """Return an entry whose name may be a spec, with the parameters of the spec beside the others.

    Parameters
    ----------
    what : str
        Kind of thing. Workloads get the spec as their label: tables have to say which of several
        sizes of a program is meant.
    gathered : dict
        What :func:`gather` has returned.
    parse : callable, optional
        What reads the name; :func:`~simsched.names.specs.parse_spec` by default.
    """
    name = gathered.get("name")
    if not isinstance(name, str) or not {"[", "]"} & set(name):
        return gathered
    try:
        spec = parse_spec(what, name) if parse is None else parse(name)
    except ConfigurationError as error:
        raise FieldError((), str(error)) from error
    twice = spec.params.keys() & gathered["parameters"].keys()
    if twice:
        raise ValueError(f"parameter {min(twice)}: found in the name and beside it")
    if what == "workload" and spec.params:
        gathered = {"label": format_spec(*spec), **gathered}
    return {**gathered, "name": spec.name, "parameters": spec.params | gathered["parameters"]}


def refuse_repeats(loc: KeyPath, names: Sequence[Hashable], accepted: str) -> None:
    """Refuse entries of a list by whose names one could not tell them apart.

    Parameters
    ----------
    loc : tuple of str or int
        Where the list is, from the value that is validated.
    names : sequence
        One per entry.
    accepted : str
        What there should be instead.

    Raises
    ------
    FieldError
        A name occurs a second time; it has both places.
    """
    first: dict[Hashable, int] = {}
    for position, name in enumerate(names):
        if name in first:
            message = f"found {name!r} twice, accepted: {accepted}"
            raise FieldError((*loc, position), message, (*loc, first[name]))
        first[name] = position
