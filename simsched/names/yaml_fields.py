"""What the models of several kinds of YAML files have in common."""

from __future__ import annotations

import re
from collections.abc import Hashable, Mapping, Sequence
from typing import Annotated, TypeVar

from pydantic import BeforeValidator, Field

from simsched.files.yaml_reader import FieldError, KeyPath

Entry = TypeVar("Entry")
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,79}")


def file_name(data: object) -> object:
    """Refuse text that is no good as the name of a file or directory."""
    if isinstance(data, str) and not NAME.fullmatch(data):
        accepted = "1 to 80 letters, digits and any of _ . -, the first a letter or digit"
        raise ValueError(f"found {data!r}, accepted: {accepted}")
    return data


FileName = Annotated[str, BeforeValidator(file_name)]


def as_list(data: object) -> object:
    """Accept one entry instead of a list."""
    return data if isinstance(data, list) else [data]


def one_or_more(data: object) -> object:
    """Accept one entry instead of a list; refuse an empty list."""
    if isinstance(data, list) and not data:
        raise ValueError("found an empty list, accepted: at least one entry")
    return [data] if isinstance(data, str | Mapping) else data


#: One entry or several.
Several = Annotated[list[Entry], BeforeValidator(one_or_more), Field(min_length=1)]


def refuse_repeats(loc: KeyPath, names: Sequence[Hashable], accepted: str) -> None:
    """Refuse entries of a list at `loc` by whose names one could not tell them apart.

    The FieldError has both places and `accepted`, what there should be instead.
    """
    first: dict[Hashable, int] = {}
    for position, name in enumerate(names):
        if name in first:
            message = f"found {name!r} twice, accepted: {accepted}"
            raise FieldError((*loc, position), message, (*loc, first[name]))
        first[name] = position
