"""Makespans of policies side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from simsched.experiment.summary import Estimate, Line
from simsched.files.errors import ConfigurationError
from simsched.report.plots.common import (
    axes_for,
    estimate_text,
    explain_marks,
    finish,
    label_bar,
    name_rows,
    new_figure,
    row_name,
    set_limits,
    time_axis,
)
from simsched.report.plots.facets import MOST_COLUMNS, Panels, by_place, panels_for, place_names
from simsched.report.plots.looks import Look, like, looks
from simsched.report.plots.titles import broken, set_title
from simsched.report.tables import fit_marks, marked

MAX_LINES = 120
NAME_LENGTH = 35  #: most characters in a line of a bar's name, where it can be broken


def plot_comparison(
    lines: Sequence[Line], title: str = "", *, most_columns: int = MOST_COLUMNS
) -> Figure:
    """Return bars of the makespan per policy with confidence intervals.

    There is one panel per machine and workload, see
    :func:`simsched.report.plots.facets.rows_of_panels`.

    Parameters
    ----------
    lines : sequence of Line
        As :func:`simsched.experiment.summary.compare` returns them, with `makespan_s`.
    title : str
        Printed above.
    most_columns : int
        Most panels beside each other.

    Returns
    -------
    Figure
        Bars in seconds.
    """
    figure = Figure(layout="constrained")
    _panels(figure, lines, most_columns)
    explain_marks(figure, lines)
    if title:
        figure.suptitle(title)
    return figure


def _panels(figure: Figure, lines: Sequence[Line], most_columns: int = MOST_COLUMNS) -> Panels:
    """Draw one panel per machine and workload; return their axes."""
    places = by_place(lines, lambda line: (line.machine, line.workload))
    marks = fit_marks(lines)
    bars = {
        place: [marked(_name(line), line, marks) for line in own] for place, own in places.items()
    }
    look, titles = looks(line.policy for line in lines), place_names(list(places))
    panels = panels_for(figure, bars, most_columns=most_columns)
    for place, axes in panels.items():
        _bars(axes, titles[place], places[place], bars[place], look)
    return np.array([panels[place] for place in places], object)


def _bars(
    axes: Axes,
    title: str,
    lines: Sequence[Line],
    names: Sequence[str],
    look: Mapping[str, Look],
) -> None:
    name_rows(axes, names)
    values = np.array([line.metrics["makespan_s"].mean for line in lines])
    widths = np.nan_to_num([line.metrics["makespan_s"].half_width for line in lines])
    # A policy that does not fit does not hide how others differ: its bar ends with the longest one.
    ends = values + widths
    fit = [end for end, line in zip(ends.tolist(), lines, strict=True) if not line.misfits]
    longest = max([*(fit or ends.tolist()), 1e-12])
    cut = ends > longest
    factor, unit = time_axis(axes, longest)
    set_limits(axes, (0, longest / factor * 1.4))
    places = np.arange(len(lines))
    axes.barh(
        places,
        np.where(cut, longest, values) / factor,
        xerr=np.where(cut, 0.0, widths) / factor,
        **like(look[line.policy] for line in lines),
        height=0.7,
        error_kw={"elinewidth": 1, "capsize": 2, "ecolor": mpl.rcParams["text.color"]},
    )
    numbers = zip(places.tolist(), values.tolist(), widths.tolist(), strict=True)
    for (place, value, width), line in zip(numbers, lines, strict=True):
        text = estimate_text(value / factor, width / factor)
        if line.policy != line.baseline and not np.isnan(line.reduction_percent.mean):
            text += f" ({_change(line.reduction_percent)})"
        if cut[place]:
            text += ", cut"
        label_bar(axes, min(value + width, longest) / factor, place, text)
    axes.set_xlabel(f"makespan [{unit}]")
    set_title(axes, title)
    axes.spines[["top", "right"]].set_visible(False)


def _change(reduction: Estimate) -> str:
    """Return how much longer than the baseline something takes, in percent."""
    longer = -reduction.mean + 0.0  # + 0.0: no -0
    if not longer:
        return "equal"
    text = estimate_text(abs(longer), reduction.half_width, decimals=1)
    return f"{'+' if longer > 0 else '-'}{text} %"


def _name(line: Line) -> str:
    """Return the label of a bar, in lines that leave room for the bar."""
    swept = ", ".join(f"{key.rpartition('.')[2]}={value}" for key, value in line.sweep.items())
    name = f"{line.policy} ({swept})" if swept else line.policy
    return broken(name, lambda text: len(text) <= NAME_LENGTH)


def makespan(lines: Sequence[Line], ax: Axes | None = None) -> Axes | Panels:
    """Draw the makespan of every line of a comparison, with confidence intervals.

    Parameters
    ----------
    lines : sequence of Line
        As :func:`simsched.experiment.summary.compare` returns them.
    ax : Axes, optional
        Where to draw; by default a new figure with a panel per machine and workload.

    Returns
    -------
    Axes or array of Axes
        With one bar per line, in seconds; an array where there are several panels.

    Raises
    ------
    ConfigurationError
        There are more than `MAX_LINES` lines.
    """
    if len(lines) > MAX_LINES:
        raise ConfigurationError(
            f"makespan: found {len(lines)} bars, accepted up to {MAX_LINES}: choose some, such as "
            "result['workload=NAME']"
        )
    if ax is None and len({(line.machine, line.workload) for line in lines}) > 1:
        figure = new_figure()
        panels = _panels(figure, lines)
        explain_marks(figure, lines)
        return panels
    axes = axes_for(ax, 7.5, 1.3 + 0.3 * len(lines))
    look = looks(line.policy for line in lines)
    rows = [
        {"machine": line.machine, "workload": line.workload, "policy": line.policy}
        | {f"sweep.{key}": value for key, value in line.sweep.items()}
        for line in lines
    ]
    _bars(axes, "", lines, [row_name(row, rows) for row in rows], look)
    places = dict.fromkeys((line.machine, line.workload) for line in lines)
    where = " on ".join(reversed(next(iter(places)))) if len(places) == 1 else "by policy"
    return finish(axes, f"Makespan, {where}")
