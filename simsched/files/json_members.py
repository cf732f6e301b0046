"""JSON files, and the members of their objects by name, by which formats are told.

A document may be cut off, and a member may stand behind any number of others.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection
from pathlib import Path
from typing import Any

from simsched.files.bounded import goes_on, parse_json, read_head, read_text
from simsched.files.errors import SimschedError

_BETWEEN = re.compile(r"\s*,?\s*")
_COLON = re.compile(r"\s*:\s*")


def json_data(path: Path, error: type[SimschedError]) -> Any:
    """Return what a JSON file says, as plain data; `error` with the place where it is none."""
    text = read_text(path, error)
    try:
        return parse_json(text)
    except json.JSONDecodeError as problem:
        at_end = problem.pos >= len(text.rstrip()) or problem.msg.startswith("Unterminated string")
        cut = " (the file may be truncated)" if at_end else ""
        place = f"{path}:{problem.lineno}: column {problem.colno}"
        raise error(f"{place}: not JSON: {problem.msg}{cut}") from problem
    except (RecursionError, ValueError) as problem:
        raise error(f"{path}: not usable JSON: {problem}") from problem


def members(text: str, wanted: str | None = None) -> dict[str, str]:
    """Return the first character of each member of the object that a text is, by name.

    Nothing is found in what is no object. With `wanted` the search ends at that member.

    >>> members('{"a": [1, {"b": 2}], "c": "d", "e')
    {'a': '[', 'c': '"'}
    """
    found: dict[str, str] = {}
    place = len(text) - len(text.lstrip())
    if not text.startswith("{", place):
        return found
    read, place = json.JSONDecoder().raw_decode, place + 1
    try:
        while match := _BETWEEN.match(text, place):
            name, place = read(text, match.end())
            colon = _COLON.match(text, place)
            if not isinstance(name, str) or colon is None or colon.end() == len(text):
                break
            place = colon.end()
            found[name] = text[place]
            if name == wanted:
                break
            _, place = read(text, place)
    except (ValueError, RecursionError):  # the end, or no JSON
        pass
    return found


def has_member(
    path: Path, name: str, first: str, error: type[SimschedError], unless: Collection[str] = ()
) -> bool:
    """Say whether a file is a JSON object with a member whose value begins with a character.

    Beyond the beginning of the file it is looked for only if none of the members `unless` stands
    there.
    """
    head = read_head(path, error)
    found = members(head.decode("utf-8", "replace"))
    if name not in found and goes_on(head) and not found.keys() & set(unless):
        if not head.lstrip().startswith(b"{"):
            return False
        text = read_text(path, error)
        found = members(text, name) if f'"{name}"' in text else {}
    return found.get(name) == first
