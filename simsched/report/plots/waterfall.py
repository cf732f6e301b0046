"""What makes the difference between two makespans, part by part."""

from __future__ import annotations

import itertools

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from simsched.experiment.compare import NOISE, Difference
from simsched.report.plots.common import (
    COLOURS,
    add_legend,
    axes_for,
    finish,
    label_bar,
    name_rows,
    set_limits,
    shares_x,
    time_axis,
)
from simsched.report.plots.titles import set_xlabel

#: Parts below this share of the longer makespan are drawn as one.
LEAST_SHARE = 1e-3
#: Steps that together are shorter than this share of the makespan get an axis of their own.
LEAST_SPAN = 0.15
WHOLE, SHORTER, LONGER = COLOURS[-1], COLOURS[2], COLOURS[3]


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
    longest = max(found.first.makespan_s, found.second.makespan_s)
    parts = {n: s for n, s in found.seconds.items() if abs(s) >= LEAST_SHARE * longest}
    level, goal = found.first.makespan_s, found.second.makespan_s
    small = sum(1 for s in found.seconds.values() if 0.0 < abs(s) < LEAST_SHARE * longest)
    steps = [*parts.items()]
    if small:
        steps.append((f"{small} smaller parts", goal - level - sum(parts.values())))
    axes = axes_for(ax, 8.0, 1.3 + 0.34 * (len(steps) + 2))
    name_rows(axes, ["A", *(name for name, _ in steps), "B"])
    factor, unit = time_axis(axes, longest)
    top = max(itertools.accumulate((change for _, change in steps), initial=level))
    # Axes are shared to compare lengths, which begin at 0.
    lowest = 0.0 if shares_x(axes) else _lowest(level, [change for _, change in steps])
    set_limits(axes, (lowest / factor, lowest / factor + (top - lowest) / factor * 1.12))
    axes.barh(0, level / factor, color=WHOLE, height=0.7)
    label_bar(axes, level / factor, 0, f"{level / factor:.4g}")
    for place, (_, change) in enumerate(steps, start=1):
        colour = SHORTER if change < 0 else LONGER
        axes.barh(place, change / factor, left=level / factor, color=colour, height=0.7)
        label_bar(axes, max(level, level + change) / factor, place, f"{change / factor:+.4g}")
        level += change
        edge = [level / factor] * 2
        axes.plot(edge, [place - 0.35, place + 1.35], color="#888888", linewidth=0.8)
    last = len(steps) + 1
    axes.barh(last, goal / factor, color=WHOLE, height=0.7)
    label_bar(axes, goal / factor, last, f"{goal / factor:.4g}")
    note = f"; the axis begins at {lowest / factor:.3g}, not at 0" if lowest else ""
    set_xlabel(axes, f"time of the mean worker [{unit}]{note}")
    keys = (("makespan", WHOLE), ("B spends less", SHORTER), ("B spends more", LONGER))
    handles = [Patch(color=colour, label=text) for text, colour in keys]
    add_legend(axes, handles=handles)
    change = 100.0 * (goal / found.first.makespan_s - 1.0) if found.first.makespan_s else 0.0
    more = "less" if change < 0 else "more"
    title = f"A: {found.first.label}\nB: {found.second.label} ({abs(change):.1f} % {more} time)"
    return finish(axes, title)


def _lowest(begin: float, changes: list[float]) -> float:
    """Return where the axis begins: at 0 unless there are steps and they could not be seen then."""
    levels = list(itertools.accumulate(changes, initial=begin))
    span, top = max(levels) - min(levels), max(levels)
    if NOISE * top < span <= LEAST_SPAN * top:
        return max(0.0, min(levels) - span)
    return 0.0


def draw_difference(found: Difference) -> Figure:
    """Return the waterfall as a figure of its own, for a file.

    Parameters
    ----------
    found : Difference
        Two sides and their parts, in seconds of the mean worker.

    Returns
    -------
    Figure
        With the axes of :func:`waterfall`.
    """
    figure = Figure(figsize=(8.0, 6.0), layout="constrained")
    axes = waterfall(found, figure.add_subplot())
    figure.set_size_inches(8.0, 1.3 + 0.34 * len(axes.get_yticks()))
    return figure
