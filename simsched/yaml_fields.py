"""What the models of several kinds of YAML files have in common."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated

from pydantic import BeforeValidator

from simsched.yaml_reader import FieldError

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


def gather(data: object, own: tuple[str, ...], what: str) -> object:
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
        raise ValueError(f"found {data!r}, accepted: a name, or a mapping with the key {what}")
    if "parameters" in data:
        message = "unknown key 'parameters'; parameters stand beside the name"
        raise FieldError(("parameters",), message)
    kept = {key: value for key, value in data.items() if key in own}
    rest = {key: value for key, value in data.items() if key not in own}
    for key in rest:
        if not isinstance(key, str):
            raise FieldError((key,), f"found the key {key!r}, accepted: the name of a parameter")
    return {**kept, "parameters": rest}
