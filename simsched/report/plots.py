"""Pictures of results, drawn without a display."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from simsched.atomic import write_atomically
from simsched.experiment.summary import Line

#: Okabe and Ito's colours, told apart by colour-blind readers too.
COLOURS = ("#0072B2", "#E69F00", "#009E73", "#D55E00", "#56B4E9", "#CC79A7", "#F0E442", "#555555")
DPI = 120


def save(figure: Figure, path: Path) -> None:
    """Write a figure as PNG, completely or not at all."""
    FigureCanvasAgg(figure)

    def fill(temporary: Path) -> None:
        figure.savefig(temporary, format="png", dpi=DPI)

    write_atomically(path, fill)


def plot_comparison(lines: Sequence[Line], title: str = "") -> Figure:
    """Return bars of the makespan per policy with confidence intervals, one panel per workload.

    Parameters
    ----------
    lines : sequence of Line
        As :func:`simsched.experiment.summary.compare` returns them, with `makespan_s`.
    title : str
        Printed above.
    """
    panels: dict[str, list[Line]] = {}
    machines = {line.machine for line in lines}
    for line in lines:
        name = f"{line.workload} on {line.machine}" if len(machines) > 1 else line.workload
        panels.setdefault(name, []).append(line)
    names = list(dict.fromkeys(line.policy for line in lines))
    colour = {name: COLOURS[i % len(COLOURS)] for i, name in enumerate(names)}
    columns = min(3, max(1, len(panels)))
    rows = -(-max(1, len(panels)) // columns)
    longest = max((len(panel) for panel in panels.values()), default=1)
    size = (max(5.5, 5.0 * columns), rows * (1.1 + 0.34 * longest) + 0.6)
    figure = Figure(figsize=size, layout="constrained")
    for index, (name, panel) in enumerate(panels.items()):
        _bars(figure.add_subplot(rows, columns, index + 1), name, panel, colour)
    if title:
        figure.suptitle(title)
    return figure


def _bars(axes: Axes, title: str, lines: Sequence[Line], colour: Mapping[str, str]) -> None:
    """Draw one panel of horizontal bars."""
    values = np.array([line.metrics["makespan_s"].mean for line in lines])
    widths = np.nan_to_num([line.metrics["makespan_s"].half_width for line in lines])
    factor, unit = _time_scale(float(values.max(initial=0.0)))
    places = np.arange(len(lines))[::-1]
    axes.barh(
        places,
        values / factor,
        xerr=widths / factor,
        color=[colour[line.policy] for line in lines],
        height=0.7,
        error_kw={"elinewidth": 1, "capsize": 2},
    )
    for place, value, width, line in zip(places, values, widths, lines, strict=True):
        text = f"{value / factor:.3g}"
        if line.policy != line.baseline and not np.isnan(line.reduction_percent.mean):
            text += f" ({-line.reduction_percent.mean:+.0f} %)"
        axes.annotate(
            text,
            ((value + width) / factor, place),
            xytext=(4, 0),
            textcoords="offset points",
            va="center",
            fontsize=8,
        )
    axes.set_yticks(places, [_name(line) for line in lines], fontsize=9)
    axes.set_xlim(0, float((values + widths).max(initial=1e-12)) / factor * 1.25)
    axes.set_xlabel(f"makespan [{unit}]")
    axes.set_title(title, fontsize=10, loc="left")
    axes.spines[["top", "right"]].set_visible(False)


def _name(line: Line) -> str:
    """Return the label of a bar."""
    swept = ", ".join(f"{key.rpartition('.')[2]}={value}" for key, value in line.sweep.items())
    return f"{line.policy} ({swept})" if swept else line.policy


def _time_scale(largest_s: float) -> tuple[float, str]:
    """Return the factor and unit in which times are shown."""
    for factor, unit in ((1.0, "s"), (1e-3, "ms"), (1e-6, "us")):
        if largest_s >= factor:
            return factor, unit
    return 1e-9, "ns"


def plot_bandwidth(rows: Sequence[Mapping[str, Any]], title: str = "") -> Figure | None:
    """Return the bandwidth of every iteration by memory kind, one panel per policy.

    Parameters
    ----------
    rows : sequence of mapping
        Rows of one machine and workload; the first seed of each policy is drawn.
    title : str
        Printed above.

    Returns
    -------
    Figure or None
        None when no run moves bytes or has more than one iteration.
    """
    first: dict[str, Mapping[str, Any]] = {}
    for row in rows:
        first.setdefault(str(row["policy"]), row)
    kinds = [kind for kind in ("dram", "hbm", "nvm", "gpu") if _moves(first.values(), kind)]
    if not kinds or all(len(row["iteration_s"]) < 2 for row in first.values()):
        return None
    columns = min(3, len(first))
    lines = -(-len(first) // columns)
    figure = Figure(figsize=(4.2 * columns, 2.4 * lines + 0.7), layout="constrained")
    axes = np.atleast_1d(figure.subplots(lines, columns, sharex=True, sharey=True, squeeze=False))
    for place in axes.flat[len(first) :]:
        place.set_visible(False)
    for place, (policy, row) in zip(axes.flat, first.items(), strict=False):
        length = np.maximum(np.array(row["iteration_s"]), 1e-12)
        numbers = np.arange(len(length)) + (0 if row["initialisation_s"] > 0 else 1)
        for colour, kind in zip(COLOURS, kinds, strict=False):
            moved = np.array(row[f"iteration_{kind}_bytes"], np.float64)
            marker = "o" if len(length) <= 30 else None
            place.plot(
                numbers,
                moved / length / 1e9,
                label=kind.upper(),
                color=colour,
                linewidth=1.2,
                marker=marker,
                markersize=3,
            )
        place.set_title(policy, fontsize=10, loc="left")
        place.xaxis.set_major_locator(MaxNLocator(integer=True))
        place.spines[["top", "right"]].set_visible(False)
    axes.flat[0].set_ylim(bottom=0)  # for all panels; only after everything is drawn
    figure.legend(*axes.flat[0].get_legend_handles_labels(), loc="outside upper right", fontsize=8)
    figure.supxlabel("iteration", fontsize=9)
    figure.supylabel("bandwidth [GB/s]", fontsize=9)
    if title:
        figure.suptitle(title, fontsize=11)
    return figure


def _moves(rows: Any, kind: str) -> bool:
    """Return whether some row has moved bytes of a memory kind."""
    return any(sum(row.get(f"iteration_{kind}_bytes", ())) > 0 for row in rows)
