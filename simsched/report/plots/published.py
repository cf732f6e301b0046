"""Figures of sources drawn anew: bars of simulated numbers, with what is published beside them."""

from __future__ import annotations

import math
from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from simsched.report.plots.claims import UNITS
from simsched.report.plots.common import as_it_is
from simsched.report.plots.looks import Look, like
from simsched.report.plots.titles import set_title
from simsched.reproduction.claims import Drawn
from simsched.reproduction.judge import Verdict
from simsched.reproduction.nearness import NO_EFFECT, interval
from simsched.reproduction.points import Point, Reading, Sweep
from simsched.reproduction.schema import QUANTIFIERS

WIDTH, HEIGHT = 7.5, 2.4  #: inches of a figure with one panel
MOST_COLUMNS = 2  #: panels beside each other
Group = tuple[str, Sweep]


def redrawn(drawn: Drawn, verdicts: Sequence[Verdict]) -> Figure:
    """Return a figure of a source: a panel per machine, a group per workload, a bar per policy.

    Parameters
    ----------
    drawn : Drawn
        The figure with its numbers.
    verdicts : sequence of Verdict
        Verdicts on claims; what these publish of single bars is marked.

    Returns
    -------
    Figure
        Bars in the unit of the figure, with published numbers or ranges in black.
    """
    machines = list(dict.fromkeys(reading.point.machine for reading, _ in drawn.values))
    columns = min(len(machines), MOST_COLUMNS)
    n_rows = -(-len(machines) // columns)
    figure = Figure(figsize=(WIDTH, 0.7 + HEIGHT * n_rows), layout="constrained")
    panels = figure.subplots(n_rows, columns, squeeze=False, sharey=True).ravel()
    published = _published(verdicts)
    for axes, machine in zip(panels, machines, strict=False):
        _panel(axes, drawn, machine, published)
        if len(machines) > 1:
            set_title(axes, as_it_is(machine))
    for axes in panels[len(machines) :]:
        axes.set_visible(False)
    for axes in panels[::columns]:
        axes.set_ylabel(_unit(drawn))
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=4, frameon=False, fontsize=8)
    return figure


def _panel(
    axes: Axes, drawn: Drawn, machine: str, published: dict[Reading, tuple[float, float]]
) -> None:
    groups = list(dict.fromkeys(_group(reading.point) for reading, _ in drawn.values))
    names = drawn.planned.picture.groups or [_name(group, groups) for group in groups]
    series = list(dict.fromkeys(_series(drawn, reading) for reading, _ in drawn.values))
    equal = NO_EFFECT.get(str(drawn.planned.picture.as_), 0.0)
    width = 0.8 / len(series)
    for number, name in enumerate(series):
        bars = [
            (groups.index(_group(reading.point)) - 0.4 + (number + 0.5) * width, value, reading)
            for reading, value in drawn.values
            if (reading.point.machine, _series(drawn, reading)) == (machine, name)
        ]
        axes.bar(
            [place for place, _, _ in bars],
            [value - equal for _, value, _ in bars],
            width,
            bottom=equal,
            **like([Look(number)]),
            label=as_it_is(name),
        )
        for place, _, reading in bars:
            if reading in published:
                low, high = published[reading]
                axes.plot([place] * 2, [low, high], color="black", marker="_", markersize=5)
    axes.axhline(equal, color="black", linewidth=0.8)
    is_long = max(map(len, names)) * len(names) > 60
    axes.set_xticks(
        range(len(names)), [*map(as_it_is, names)], fontsize=8, rotation=40 if is_long else 0
    )
    if is_long:
        for label in axes.get_xticklabels():
            label.set_horizontalalignment("right")
            label.set_rotation_mode("anchor")
    axes.spines[["top", "right"]].set_visible(False)


def _bases(drawn: Drawn) -> list[str]:
    """Return the policies that the bars are compared with."""
    return list(dict.fromkeys(r.base.policy for r, _ in drawn.values if r.base is not None))


def _series(drawn: Drawn, reading: Reading) -> str:
    """Return what bars of one look share: their policy, and the baseline if there are several."""
    policy = reading.point.policy
    if reading.base is None or len(_bases(drawn)) == 1:
        return policy
    return f"{policy} beside {reading.base.policy}"


def _published(verdicts: Sequence[Verdict]) -> dict[Reading, tuple[float, float]]:
    """Return the finite numbers that claims have for single readings."""
    found: dict[Reading, tuple[float, float]] = {}
    for verdict in verdicts:
        claim, quantity = verdict.claim, verdict.planned.quantity
        if quantity is None or claim.trend or claim.over not in (None, *QUANTIFIERS):
            continue
        low, high = interval(claim, 0)
        if math.isfinite(low) and math.isfinite(high):
            found |= dict.fromkeys(quantity.readings(), (low, high))
    return found


def _group(point: Point) -> Group:
    return point.workload, point.sweep


def _name(group: Group, groups: Sequence[Group]) -> str:
    """Return what differs between groups: the workload, swept values, or both."""
    workload, sweep = group
    values = ", ".join(value for _, value in sweep)
    several = len({name for name, _ in groups}) > 1
    return " ".join([workload] * (several or not values) + [values] * bool(values))


def _unit(drawn: Drawn) -> str:
    """Return what the bars are."""
    picture = drawn.planned.picture
    metric = " + ".join(picture.metric or ())
    if picture.as_ is None:
        return metric
    bases = _bases(drawn)
    beside = f" to {bases[0]}" if len(bases) == 1 and picture.as_ == "ratio" else ""
    return f"{metric}:\n{UNITS[picture.as_]}{beside}"
