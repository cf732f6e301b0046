"""The content of a machine file under construction, with what is assumed in it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from simsched.machine.facts.contents import Assumed
from simsched.machine.facts.gathered import Gathered

Pair = list[Any]


@dataclass(kw_only=True)
class Assumptions:
    """What is assumed in a machine file under construction."""

    assumed: list[Assumed] = field(default_factory=list)

    def assume(self, value: str | float | list[Any], rule: str, what: str) -> Pair:
        """Return an assumed value with its rule, and note it."""
        shown = ", ".join(map(str, value)) if isinstance(value, list) else str(value)
        self.assumed.append(Assumed(what, shown))
        return [value, f"assumed: {rule}"]


@dataclass
class Content(Assumptions):
    """The content of a machine file under construction, with what is assumed in it."""

    gathered: Gathered
    warnings: list[str] = field(default_factory=list)

    @property
    def key(self) -> str:
        """Key of the file with the topology."""
        return self.gathered.topology_key


def most_important(found: Iterable[Assumed], count: int) -> list[Assumed]:
    """Return what matters most for bandwidth-bound programs, each thing once."""
    by_name = {item.what: item for item in found}
    return sorted(by_name.values(), key=lambda item: item.weight)[:count]
