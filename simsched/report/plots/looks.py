"""How series look: in colour, and beyond the colours by marker, line and hatch."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal

from simsched.report.plots.common import COLOURS

MARKERS = "osD^vPX*"
HATCHES: tuple[str | None, ...] = (None, *(3 * each for each in "/.x\\o-|+"), *"*O/x+\\")
#: Lengths in widths of a line: of a dash, of a dot, of what is between.
DASH, DOT, GAP = 5.0, 1.0, 1.5

Dashes = Literal["-"] | tuple[float, tuple[float, ...]]


@dataclass(frozen=True)
class Look:
    """How the series of a number looks: no two lines, and no two of 120 bars, are alike.

    Parameters
    ----------
    number : int
        0 for the first series; the first eight differ in colour alone, but for their markers.
    """

    number: int

    @property
    def _turn(self) -> int:
        """How often all colours have been used before."""
        return self.number // len(COLOURS)

    @property
    def colour(self) -> str:
        """One of `COLOURS`."""
        return COLOURS[self.number % len(COLOURS)]

    @property
    def dashes(self) -> Dashes:
        """A style of lines, see `dashes`."""
        return dashes(self._turn)

    @property
    def dots(self) -> Dashes:
        """A dotted line, for what belongs to the line."""
        return 0.0, (DOT, GAP * (1 + self._turn))

    @property
    def marker(self) -> str:
        """A marker, another one when the colour comes again."""
        return MARKERS[(self.number + self._turn) % len(MARKERS)]

    @property
    def hatch(self) -> str | None:
        """A pattern on areas, to be drawn in white."""
        return HATCHES[self._turn % len(HATCHES)]


def like(looks: Iterable[Look]) -> dict[str, Any]:
    """Return colours and patterns of bars, in the words of Matplotlib."""
    found = [*looks]
    return {
        "color": [look.colour for look in found],
        "hatch": [look.hatch for look in found],
        "edgecolor": "white",
        "linewidth": 0.0,
    }


def dashes(number: int) -> Dashes:
    """Return the style of a line: solid, dashed, then dashes with more and more dots in between.

    >>> dashes(0), dashes(2)
    ('-', (0.0, (5.0, 1.5, 1.0, 1.5)))
    """
    return (0.0, (DASH, GAP, *(DOT, GAP) * (number - 1))) if number else "-"


def looks(names: Iterable[str]) -> dict[str, Look]:
    """Return how the series of each name looks, in their order."""
    return {name: Look(number) for number, name in enumerate(dict.fromkeys(names))}
