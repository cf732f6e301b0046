"""What docstrings in numpydoc layout say about parameters."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from itertools import pairwise

_ENTRY = re.compile(r"^(\*{0,2}\w+(?:, \w+)*)(?: : (.*))?$")


def section(docstring: str, title: str) -> list[str]:
    r"""Return the lines of one section of a docstring, without its title.

    >>> section("Run.\n\nNotes\n-----\nQuick.\n", "Notes")
    ['Quick.']
    """
    lines = inspect.cleandoc(docstring).splitlines()
    rules = [
        at for at in range(1, len(lines)) if re.fullmatch("-{3,}", lines[at]) and lines[at - 1]
    ]
    for at, following in pairwise([*rules, len(lines) + 1]):
        if lines[at - 1] == title:
            return "\n".join(lines[at + 1 : following - 1]).strip("\n").splitlines()
    return []


def parameter_texts(thing: type | Callable[..., object]) -> dict[str, str]:
    """Return what a docstring says about each parameter, on one line; of a class its bases' too.

    >>> from simsched.names.registry import Entry
    >>> parameter_texts(Entry)["name"]
    'What users call it.'
    """
    found: dict[str, tuple[str, str]] = {}
    for part in reversed(thing.__mro__) if isinstance(thing, type) else (thing,):
        found |= described_parameters(part.__doc__ or "")
    return {name: text for name, (_, text) in found.items()}


def summary(thing: type | Callable[..., object]) -> str:
    """Return the first paragraph of a docstring on one line."""
    return " ".join((inspect.getdoc(thing) or "").split("\n\n")[0].split())


def described_parameters(docstring: str) -> dict[str, tuple[str, str]]:
    """Return type and text of each parameter in a docstring, in its order."""
    kinds: dict[str, str] = {}
    texts: dict[str, list[str]] = {}
    names: list[str] = []
    for line in section(docstring, "Parameters"):
        entry = _ENTRY.match(line)
        if entry:
            names = [name.lstrip("*") for name in entry[1].split(", ")]
            kinds |= dict.fromkeys(names, entry[2] or "")
            texts |= {name: [] for name in names}
        for name in names if not entry else ():
            texts[name].append(line.strip())
    return {name: (kinds[name], " ".join(" ".join(lines).split())) for name, lines in texts.items()}
