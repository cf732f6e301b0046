"""Many policies and workloads at a glance: a coloured cell for each."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap, to_hex
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from numpy.typing import NDArray

from simsched.experiment.summary import Line
from simsched.files.errors import ConfigurationError
from simsched.report.plots.common import COLOURS, axes_for, estimate_text, explain_marks, finish
from simsched.report.plots.titles import broken, set_xlabel
from simsched.report.tables import fit_marks, marked

MAX_ROWS, MAX_COLUMNS = 80, 40
NAME_LENGTH = 40  #: most characters in a line of a row's name, where it can be broken
COLUMN_LENGTH = 24  #: of a column's
SHORTER = LinearSegmentedColormap.from_list("shorter", ["#ffffff", COLOURS[0]])
LONGER = LinearSegmentedColormap.from_list("longer", ["#ffffff", COLOURS[3]])
NOTHING = "#e4e4e4"  #: the colour of cells without a value
Key = tuple[str, str, str]


def draw_matrix(lines: Sequence[Line], title: str = "") -> Figure | None:
    """Return the matrix of a comparison as a figure of its own, for a file.

    Parameters
    ----------
    lines : sequence of Line
        As :func:`simsched.experiment.summary.compare` returns them.
    title : str
        Printed above.

    Returns
    -------
    Figure or None
        None where it says no more than bars: there are fewer than three machines, workloads and
        swept values, one policy, or more than can be read.
    """
    rows, columns = _rows(lines), _columns(lines)
    if not (3 <= len(rows) <= MAX_ROWS and 2 <= len(columns) <= MAX_COLUMNS):
        return None
    figure = Figure(layout="constrained")
    matrix(lines, figure.add_subplot())
    figure.set_size_inches(*_size(list(rows.values()), columns, lines))
    explain_marks(figure, lines)
    if title:
        figure.suptitle(title)
    return figure


def matrix(lines: Sequence[Line], ax: Axes | None = None) -> Axes:
    """Draw how much longer or shorter than the baseline's the makespans of all policies are.

    Parameters
    ----------
    lines : sequence of Line
        As :func:`simsched.experiment.summary.compare` returns them.
    ax : Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    Axes
        With a row per machine, workload and swept values, and a column per policy. Strong colours
        are half or twice the makespan; where the 95 % interval contains no change, there is none.
        The shortest makespan of a row is bold. What says little of its policy has a mark, explained
        below on a figure of its own; policies that do not fit are grey and never bold.

    Raises
    ------
    ConfigurationError
        There are more than `MAX_ROWS` rows or `MAX_COLUMNS` columns.
    """
    rows, columns = _rows(lines), _columns(lines)
    if len(rows) > MAX_ROWS or len(columns) > MAX_COLUMNS:
        raise ConfigurationError(
            f"matrix: found {len(rows)} rows and {len(columns)} columns, accepted up to {MAX_ROWS} "
            f"and {MAX_COLUMNS}: choose some, such as result['machine=NAME']"
        )
    axes = axes_for(ax, *_size(list(rows.values()), columns, lines))
    if ax is None and (figure := axes.get_figure(root=True)) is not None:
        explain_marks(figure, lines)
    shape = len(rows), len(columns)
    texts = np.full(shape, "", object)
    colours = np.full(shape, NOTHING, object)
    best = np.full(shape, math.inf)
    number = {key: index for index, key in enumerate(rows)}
    marks = fit_marks(lines)
    for line in lines:
        at = number[_key(line)], columns.index(line.policy)
        text, colours[at] = _cell(line)
        texts[at] = marked(text, line, marks)
        if not line.misfits:
            best[at] = line.metrics["makespan_s"].mean
    bold = (best == best.min(axis=1, keepdims=True)) & np.isfinite(best) if len(rows) else best > 0
    draw_cells(axes, list(rows.values()), columns, texts, colours, bold)
    key = "bold: shortest of the row; white: no change beyond the 95 % interval"
    if any(line.misfits for line in lines):
        key += "; grey: does not fit"
    set_xlabel(axes, key)
    return finish(axes, f"Makespan compared with {lines[0].baseline if lines else ''} [%]")


def draw_cells(
    axes: Axes,
    rows: Sequence[str],
    columns: Sequence[str],
    texts: NDArray[np.object_],
    colours: NDArray[np.object_],
    bold: NDArray[np.bool_],
) -> None:
    """Draw a table of coloured cells; columns are named on top."""
    for (row, column), text in np.ndenumerate(texts):
        place = column - 0.5, row - 0.5
        colour = str(colours[row, column])
        axes.add_patch(Rectangle(place, 1.0, 1.0, facecolor=colour, edgecolor="white"))
        axes.text(
            column,
            row,
            text,
            ha="center",
            va="center",
            fontsize=7.5,
            color="white" if _is_dark(colour) else "black",
            weight="bold" if bold[row, column] else "normal",
        )
    axes.set_xlim(-0.5, max(0.5, len(columns) - 0.5))
    axes.set_ylim(max(0.5, len(rows) - 0.5), -0.5)
    axes.set_yticks(range(len(rows)), list(rows), fontsize=8)
    axes.set_xticks(range(len(columns)), [_short(name) for name in columns], fontsize=8)
    axes.tick_params(length=0, top=True, labeltop=True, bottom=False, labelbottom=False)
    for label in axes.get_xticklabels():
        label.set(rotation=40, ha="left", rotation_mode="anchor")
    axes.spines[:].set_visible(False)


def _short(column: str) -> str:
    """Return the name of a column in lines that leave room for the rows."""
    return broken(column, lambda text: len(text) <= COLUMN_LENGTH)


def _is_dark(colour: str) -> bool:
    red, green, blue = (int(colour[at : at + 2], 16) for at in (1, 3, 5))
    return 0.3 * red + 0.59 * green + 0.11 * blue < 120


def _key(line: Line) -> Key:
    return line.machine, line.workload, repr(line.sweep)


def _rows(lines: Sequence[Line]) -> dict[Key, str]:
    """Return the rows and their names: workload, machine and what is swept, where they differ."""
    firsts = {_key(line): line for line in reversed(lines)}
    firsts = {key: firsts[key] for key in dict.fromkeys(map(_key, lines))}
    several = len({line.machine for line in firsts.values()}) > 1
    names = {}
    for key, line in firsts.items():
        name = f"{line.workload} on {line.machine}" if several else line.workload
        swept = "".join(f", {k.rpartition('.')[2]}={v}" for k, v in line.sweep.items())
        names[key] = broken(name + swept, lambda text: len(text) <= NAME_LENGTH)
    return names


def _columns(lines: Sequence[Line]) -> list[str]:
    return list(dict.fromkeys(line.policy for line in lines))


def _cell(line: Line) -> tuple[str, str]:
    """Return text and colour of a cell."""
    reduction = line.reduction_percent
    if line.policy == line.baseline:
        return "0", NOTHING if line.misfits else "#ffffff"
    if math.isnan(reduction.mean):
        return "-", NOTHING
    longer = -reduction.mean + 0.0
    text = estimate_text(abs(longer), reduction.half_width, decimals=0 if abs(longer) >= 10 else 1)
    sign = ("+" if longer > 0 else "-") if longer else ""
    if line.misfits:
        return sign + text, NOTHING
    if not longer or abs(longer) <= reduction.half_width:
        return sign + text, "#ffffff"
    strength = min(1.0, abs(math.log2(max(1e-9, 1.0 + longer / 100.0))))
    return sign + text, to_hex((LONGER if longer > 0 else SHORTER)(strength))


def _size(
    rows: Sequence[str], columns: Sequence[str], lines: Sequence[Line]
) -> tuple[float, float]:
    """Return width and height in inches; cells with marks are wider."""
    cell = 0.85 if fit_marks(lines) else 0.6
    longest = max((len(line) for name in rows for line in name.split("\n")), default=0)
    height = sum(max(1.6, 1 + name.count("\n")) for name in rows)
    header = 0.05 * max(
        (len(line) for name in columns for line in _short(name).split("\n")), default=0
    )
    return 0.065 * longest + cell * len(columns) + header + 0.5, 0.17 * height + header + 1.0
