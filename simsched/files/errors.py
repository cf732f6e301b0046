"""Exceptions of simsched and the wording that every message shares.

Every error that a user can cause derives from :class:`SimschedError`; the command line prints its
message and ends with exit code 2. A message says where, what was found, what is accepted and, for a
name, the nearest valid one.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import Any

#: Whatever code of users may raise, but interruptions.
ANY_ERROR = (Exception, SystemExit, GeneratorExit)

#: How many accepted names a message lists.
MAX_NAMES = 20


class SimschedError(Exception):
    """Base of every error a user can cause."""


class ConfigurationError(SimschedError):
    """A YAML file, a parameter or a command-line value is wrong."""


class GraphError(SimschedError):
    """A task graph is malformed or a graph file cannot be read."""


class TraceError(SimschedError):
    """A recorded run cannot be read or contradicts itself."""


class PolicyError(SimschedError):
    """A policy is misconfigured or has taken a decision that is not allowed."""


class ModelError(SimschedError):
    """Machine, workload and policy do not fit together, for instance too little memory."""


class StalledError(SimschedError):
    """Nothing can ever proceed again although tasks remain."""


class ExtensionError(SimschedError):
    """Code of a generator, an importer or a policy's constructor has raised another exception."""


class HardwareError(SimschedError):
    """A program cannot be executed on this host, or not as asked."""


class KernelError(SimschedError):
    """The native engine failed (out of memory or a violated invariant)."""


def with_article(kind: type) -> str:
    """Return the name of a type behind a or an."""
    name = kind.__name__
    return f"{'an' if name[0] in 'AEIOUaeiou' else 'a'} {name}"


def shown(value: object) -> str:
    """Return a value as messages show it: short, on one line."""
    if isinstance(value, Mapping):
        return "a mapping"
    if isinstance(value, list | tuple) and len(value) > 4:
        return f"a list of {len(value)} values"
    if value is None or value == "":
        return "nothing"
    if isinstance(value, int) and abs(value) > 10**40:
        return "an integer of more than 40 digits"
    text = str(value) if isinstance(value, Decimal) else repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def expect(where: str, value: object, kinds: Any, accepted: str) -> None:
    """Refuse a value that is of none of some types; messages begin with `where`."""
    if not isinstance(value, kinds):
        raise ConfigurationError(f"{where}: found {shown(value)}, accepted: {accepted}")


def nearest(name: str, accepted: Iterable[str]) -> str | None:
    """Return the accepted name closest to `name`, or None when nothing is close.

    Who errs in a word mostly knows its first letter, so that other words have to be closer. Dashes
    before options, which these have in common, count for nothing.
    """
    known = {one.lstrip("-"): one for one in sorted(accepted)}
    letters = name.lstrip("-")
    alike = [one for one in known if one[:1] == letters[:1]]
    one_wrong = max(0.5, 1.0 - 1.0 / max(len(letters), 1) - 1e-9)  # of a short name's letters
    for names, cutoff in ((known, 0.7), (alike, 0.6)):
        close = difflib.get_close_matches(letters, names, n=1, cutoff=min(cutoff, one_wrong))
        if close:
            return known[close[0]]
    return None


def nearest_hint(name: str, accepted: Iterable[str]) -> str:
    """Return the end of a message that names the accepted name closest to one that is missing."""
    close = nearest(name, accepted)
    return f"; did you mean {close!r}?" if close else ""


def unknown_name(what: str, name: object, accepted: Iterable[str]) -> str:
    """Return the message for an unknown name, with the nearest and the accepted ones.

    Of more than `MAX_NAMES` accepted names those most like `name` are shown.
    """
    names = sorted(accepted)
    text = str(name)
    close = nearest(text, names)
    hint = f"; did you mean {close!r}?" if close else ";"
    names_shown = names
    if len(names) > MAX_NAMES:
        like = difflib.get_close_matches(text, names, n=MAX_NAMES, cutoff=0.0)
        names_shown = like if close else names[:MAX_NAMES]
    more = f" and {len(names) - len(names_shown)} more" if len(names) > len(names_shown) else ""
    return f"unknown {what} {name!r}{hint} accepted: {', '.join(names_shown) or 'none'}{more}"
