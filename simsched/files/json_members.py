"""JSON files, and the members of their objects by name, by which formats are told.

A document may be cut off, and a member may stand behind any number of others.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Generator, Iterator
from pathlib import Path
from typing import Any

from simsched.files.bounded import goes_on, parse_json, read_head, read_text
from simsched.files.errors import SimschedError

_BETWEEN = re.compile(r"\s*,?\s*")
_COLON = re.compile(r"\s*:\s*")
_ESCAPE = re.compile(r"\\u[dD]")  #: of half a character, perhaps with the other half
#: Signs with the blanks of JSON around them: brackets, closed at once or not, and what is between.
_BLANKS, _NAMED, _MEMBERS, _ELEMENTS, _MEMBER_ENDS, _ELEMENT_ENDS = (
    re.compile(text.replace("_", r"[ \t\n\r]*"))
    for text in ("(_)", "_(:)_", r"\{_(\}?)_", r"\[_(\]?)_", "_([,}])_", r"_([,\]])_")
)
Piece = tuple[str | None, int | None, Any]


def json_data(path: Path, error: type[SimschedError]) -> Any:
    """Return what a JSON file says, as plain data; `error` with the place where it is none."""
    return _parsed(read_text(path, error), path, error)


def _parsed(text: str, path: Path, error: type[SimschedError]) -> Any:
    """Return what the text of a file says."""
    try:
        return parse_json(text)
    except json.JSONDecodeError as problem:
        at_end = problem.pos >= len(text.rstrip()) or problem.msg.startswith("Unterminated string")
        cut = " (the file may be truncated)" if at_end else ""
        place = f"{path}:{problem.lineno}: column {problem.colno}"
        raise error(f"{place}: not JSON: {problem.msg}{cut}") from problem
    except (RecursionError, ValueError) as problem:
        raise error(f"{path}: not usable JSON: {problem}") from problem


def json_pieces(path: Path, lists: Collection[str], error: type[SimschedError]) -> Iterator[Piece]:
    """Yield what a JSON file says member by member, and some lists element by element.

    A piece is the name of a member of the object on top, None, and its value; a document that is no
    object has None as its name. Of members that are `lists` an empty list comes first, then name,
    place and value of each element. If a name comes again, that counts instead.
    """
    text = read_text(path, error)
    try:
        if _ESCAPE.search(text):
            parse_json(text)
        yield from _pieces(text, lists)
    except (RecursionError, ValueError):
        _parsed(text, path, error)  # says what is wrong
        raise


def _pieces(text: str, lists: Collection[str]) -> Iterator[Piece]:
    """Yield the pieces of a text; ValueError where it is not JSON."""
    place = _skip(_BLANKS, text, 0)[1]
    if not text.startswith("{", place):
        yield None, None, parse_json(text)
        return
    read = json.JSONDecoder().raw_decode
    sign, place = _skip(_MEMBERS, text, place)
    while sign != "}":
        name, place = read(text, place)
        if not isinstance(name, str):
            raise ValueError("a name that is no text")
        _, place = _skip(_NAMED, text, place)
        if name in lists and text.startswith("[", place):
            yield name, None, []
            place = yield from _elements(text, place, name)
        else:
            value, place = read(text, place)
            yield name, None, value
        sign, place = _skip(_MEMBER_ENDS, text, place)
    if place < len(text):
        raise ValueError("text behind the document")


def _elements(text: str, place: int, name: str) -> Generator[Piece, None, int]:
    """Yield the elements of a list that begins at a place; return where it ends."""
    read, number = json.JSONDecoder().raw_decode, 0
    sign, place = _skip(_ELEMENTS, text, place)
    while sign != "]":
        value, place = read(text, place)
        yield name, number, value
        number += 1
        sign, place = _skip(_ELEMENT_ENDS, text, place)
    return place


def _skip(pattern: re.Pattern[str], text: str, place: int) -> tuple[str, int]:
    """Return which sign is found at a place, and where what follows begins."""
    match = pattern.match(text, place)
    if match is None:
        raise ValueError("another sign")
    return match[1], match.end()


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
