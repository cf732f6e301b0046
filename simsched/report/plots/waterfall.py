"""What makes the difference between makespans, part by part."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from simsched.experiment.compare import NOISE, Difference
from simsched.report.plots.common import (
    COLOURS,
    add_legend,
    as_it_is,
    axes_for,
    finish,
    label_bar,
    name_rows,
    set_limits,
    shares_x,
    time_axis,
)
from simsched.report.plots.facets import MOST_COLUMNS, Panels
from simsched.report.plots.titles import set_xlabel
from simsched.report.tables import in_millionths

#: Parts below this share of the longer makespan are drawn as one.
LEAST_SHARE = 1e-3
#: Steps that together are shorter than this share of the makespan get an axis of their own.
LEAST_SPAN = 0.15
WHOLE, SHORTER, LONGER = COLOURS[-1], COLOURS[2], COLOURS[3]
HEIGHT, ROW_HEIGHT = 1.3, 0.34  #: of a chart in inches


@dataclass(frozen=True)
class _Rows:
    """What charts beside each other have in common."""

    #: Parts that have a bar of their own.
    parts: list[str]
    #: How many others there are, which have one together.
    n_small: int
    longest_s: float

    @staticmethod
    def of(found: Sequence[Difference]) -> _Rows:
        """Return the rows of charts: a part has its own where it is large in one of them."""
        longest = max(side.makespan_s for each in found for side in (each.first, each.second))
        largest: dict[str, float] = {}
        for each in found:
            for name, seconds in each.seconds.items():
                largest[name] = max(largest.get(name, 0.0), abs(seconds))
        parts = [name for name, seconds in largest.items() if seconds >= LEAST_SHARE * longest]
        n_small = sum(0.0 < seconds < LEAST_SHARE * longest for seconds in largest.values())
        return _Rows(parts, n_small, longest)

    @property
    def names(self) -> list[str]:
        """Names of all rows."""
        small = [f"{self.n_small} smaller parts"] if self.n_small else []
        return ["A", *self.parts, *small, "B"]

    def changes(self, found: Difference) -> list[float]:
        """Return the steps between A and B, in seconds."""
        own = [found.seconds.get(name, 0.0) for name in self.parts]
        rest = found.second.makespan_s - found.first.makespan_s - sum(own)
        return [*own, rest] if self.n_small else own

    def levels(self, found: Difference) -> list[float]:
        """Return the makespan of A, and what it comes to after each step."""
        return [*itertools.accumulate(self.changes(found), initial=found.first.makespan_s)]


def waterfall(found: Difference, ax: Axes | None = None) -> Axes:
    """Draw the way from the makespan of A to that of B; the steps add up to the difference.

    Parameters
    ----------
    found : Difference
        Two sides and their parts, in seconds of the mean worker.
    ax : Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    Axes
        With one bar per part, in seconds.
    """
    rows = _Rows.of([found])
    axes = axes_for(ax, 8.0, HEIGHT + ROW_HEIGHT * len(rows.names))
    _draw(axes, found, rows, _limits(rows.levels(found), from_zero=shares_x(axes)))
    add_legend(axes, handles=_legend())
    return finish(axes, f"A: {found.first.label}\nB: {found.second.label} ({_change(found)})")


def _legend() -> list[Patch]:
    keys = (("makespan", WHOLE), ("B spends less", SHORTER), ("B spends more", LONGER))
    return [Patch(color=colour, label=text) for text, colour in keys]


def _change(found: Difference) -> str:
    before, after = found.first.makespan_s, found.second.makespan_s
    change = 100.0 * (after / before - 1.0) if before else 0.0
    return f"{abs(change):.1f} % {'less' if change < 0 else 'more'} time"


def _draw(axes: Axes, found: Difference, rows: _Rows, limits: tuple[float, float]) -> None:
    """Draw bars and steps; limits of the axis are in seconds."""
    name_rows(axes, rows.names)
    factor, unit = time_axis(axes, rows.longest_s)
    set_limits(axes, (limits[0] / factor, limits[1] / factor))
    changes, levels = rows.changes(found), rows.levels(found)

    def whole(place: int, seconds: float) -> None:
        axes.barh(place, seconds / factor, color=WHOLE, height=0.7)
        label_bar(axes, seconds / factor, place, f"{seconds / factor:.4g}")

    whole(0, levels[0])
    for place, (change, before, after) in enumerate(
        zip(changes, levels[:-1], levels[1:], strict=True), start=1
    ):
        colour = SHORTER if change < 0 else LONGER
        axes.barh(place, change / factor, left=before / factor, color=colour, height=0.7)
        label_bar(axes, max(before, after) / factor, place, in_millionths(change / factor, "+"))
        edge = [after / factor] * 2
        axes.plot(edge, [place - 0.35, place + 1.35], color="#888888", linewidth=0.8)
    whole(len(levels), found.second.makespan_s)
    note = f"; the axis begins at {limits[0] / factor:.3g}, not at 0" if limits[0] else ""
    set_xlabel(axes, f"time of the mean worker [{unit}]{note}")


def _limits(levels: Sequence[float], *, from_zero: bool = False) -> tuple[float, float]:
    """Return where the axis begins and ends.

    It begins at 0 unless there are steps and they could not be seen then; axes that are shared do,
    too, because they are there to compare lengths.
    """
    top = max(levels)
    span = top - min(levels)
    lowest = 0.0
    if not from_zero and NOISE * top < span <= LEAST_SPAN * top:
        lowest = max(0.0, min(levels) - span)
    return lowest, lowest + (top - lowest) * 1.12


def waterfalls(
    figure: Figure, found: Sequence[Difference], most_columns: int = MOST_COLUMNS
) -> Panels:
    """Draw a chart for each of several ways that begin at the same makespan.

    They have the same rows and the same axis.

    Parameters
    ----------
    figure : Figure
        Where to draw; it is made as large as the charts ask for.
    found : sequence of Difference
        Differences with the same first side.
    most_columns : int
        Most charts beside each other.

    Returns
    -------
    array of Axes
        One for each difference.
    """
    rows = _Rows.of(found)
    limits = _limits([level for each in found for level in rows.levels(each)])
    columns = min(most_columns, len(found))
    n_rows = math.ceil(len(found) / columns)
    height = HEIGHT + ROW_HEIGHT * len(rows.names)
    figure.set_size_inches(2.0 + 3.0 * columns, 0.8 + height * n_rows)
    grid = figure.add_gridspec(n_rows, columns)
    panels = []
    for number, each in enumerate(found):
        axes = figure.add_subplot(grid[number // columns, number % columns])
        axes.tick_params(labelleft=number % columns == 0)
        _draw(axes, each, rows, limits)
        panels.append(finish(axes, as_it_is(f"B: {each.names[2]} ({_change(each)})")))
    where, first, _ = found[0].names
    figure.suptitle(as_it_is(f"{where}, A: {first}" if where else f"A: {first}"), fontsize=11)
    figure.legend(handles=_legend(), fontsize=8, frameon=False, loc="outside lower center", ncols=3)
    return np.array(panels, object)


def draw_differences(found: Sequence[Difference], *, most_columns: int = MOST_COLUMNS) -> Figure:
    """Return one or more waterfalls as a figure of their own, for a file.

    Parameters
    ----------
    found : sequence of Difference
        Differences with the same first side, in seconds of the mean worker.
    most_columns : int
        Most charts beside each other.

    Returns
    -------
    Figure
        With the axes of :func:`waterfall`, or of :func:`waterfalls` if there are several.
    """
    figure = Figure(layout="constrained")
    if len(found) > 1:
        waterfalls(figure, found, most_columns)
        return figure
    axes = waterfall(found[0], figure.add_subplot())
    figure.set_size_inches(8.0, HEIGHT + ROW_HEIGHT * len(axes.get_yticks()))
    return figure
