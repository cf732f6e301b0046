"""What all pictures share: colours, files, axes, units."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator

from simsched.experiment.summary import Line, grouped, swept
from simsched.files.atomic import write_atomically
from simsched.files.errors import ConfigurationError
from simsched.names.specs import format_spec
from simsched.policy import spec_of
from simsched.report.plots.titles import broken, set_title
from simsched.report.tables import SCALES, fit_notes, rounded

if TYPE_CHECKING:
    from simsched.trace.run import Run

#: Okabe and Ito's colours, told apart by colour-blind readers too.
COLOURS = ("#0072B2", "#E69F00", "#009E73", "#D55E00", "#56B4E9", "#CC79A7", "#F0E442", "#555555")
DPI = 120
NOTE_CHARACTER = 0.075  #: inches of a character of what marks mean
MAX_ROWS = 8  #: whose names a message lists
TIME_UNITS = ((1.0, "s"), (1e-3, "ms"), (1e-6, "us"), (1e-9, "ns"))


def save(figure: Figure, path: Path) -> None:
    """Write a figure in the format that the file's name ends with, completely or not at all.

    Parameters
    ----------
    figure : Figure
        What is written.
    path : Path
        The file, in ``.png``, ``.pdf`` or ``.svg``; it is replaced.
    """
    FigureCanvasAgg(figure)
    kind = path.suffix[1:]
    # Files of equal figures are equal.
    pdf = {"CreationDate": None, "Title": _title(figure) or path.stem}
    about: dict[str, dict[str, Any]] = {"png": {}, "pdf": pdf, "svg": {"Date": None}}
    with mpl.rc_context({"svg.hashsalt": "simsched"}):
        write_atomically(
            path, lambda file: figure.savefig(file, format=kind, dpi=DPI, metadata=about[kind])
        )


def as_it_is(name: str) -> str:
    """Return a name that plots show as it is, also with dollar signs, which begin formulas."""
    return name.replace("$", r"\$")


def _title(figure: Figure) -> str:
    """Return what a figure is called, on one line: its title, or that of its first chart."""
    titles = [figure.get_suptitle(), *(axes.get_title(loc="left") for axes in figure.axes)]
    return " ".join(next(filter(None, titles), "").split()).replace(r"\$", "$")


def groups_of(
    rows: Sequence[Mapping[str, Any]], plot: str, most: int
) -> list[list[Mapping[str, Any]]]:
    """Return runs that differ in nothing but their seed together; refuse too many for a plot."""
    groups = list(grouped(rows).values())
    if len(groups) > most:
        raise ConfigurationError(
            f"{plot}: found {len(groups)} kinds of runs, accepted up to {most}: choose some, such "
            "as result['policy=NAME']"
        )
    return groups


def axes_for(ax: Axes | None, width: float, height: float) -> Axes:
    """Return the axes to draw on: those given, or those of a new figure that notebooks show.

    Width and height of a new figure are in inches.
    """
    if ax is not None:
        return ax
    figure = new_figure()
    figure.set_size_inches(width, height)
    return figure.add_subplot()


def new_figure() -> Figure:
    """Return a figure that notebooks show."""
    import matplotlib.pyplot as plt

    return plt.figure(layout="constrained")


def time_axis(axes: Axes, largest_s: float) -> tuple[float, str]:
    """Return the factor and unit of the horizontal axis; axes that share theirs have one unit."""
    axis: Any = axes.xaxis  # its methods have no types
    for factor, unit in TIME_UNITS:
        if unit == axis.get_units():
            return factor, unit
    factor, unit = time_scale(largest_s)
    axis.set_units(unit)
    return factor, unit


def rate_axis(axes: Axes, largest: float) -> tuple[float, str]:
    """Return the factor and unit of a vertical axis of bytes per second, as `time_axis` does."""
    axis: Any = axes.yaxis
    for factor, unit in SCALES["_bytes_per_s"]:
        if unit == axis.get_units():
            return factor, unit
    factor, unit = rate_scale(largest)
    axis.set_units(unit)
    return factor, unit


def rate_scale(largest: float) -> tuple[float, str]:
    """Return the factor and unit in which bytes per second are shown.

    >>> rate_scale(1e15), rate_scale(0.0)
    ((1000000000000.0, 'TB/s'), (1000000000.0, 'GB/s'))
    """
    scales = SCALES["_bytes_per_s"]
    return next((scale for scale in scales if largest >= scale[0]), scales[1])


def shares_x(axes: Axes) -> bool:
    """Return whether other axes have the same horizontal axis."""
    return len(axes.get_shared_x_axes().get_siblings(axes)) > 1


def set_limits(
    axes: Axes, x: tuple[float, float] | None = None, y: tuple[float, float] | None = None
) -> None:
    """Set the limits of axes before anything is drawn on them.

    What is there already, also on axes that share them, stays in sight: limits only become wider.
    """
    if x is not None:
        drawn = any(other.has_data() for other in axes.get_shared_x_axes().get_siblings(axes))
        axes.set_xlim(_wider(x, axes.get_xlim()) if drawn else x)
    if y is not None:
        drawn = any(other.has_data() for other in axes.get_shared_y_axes().get_siblings(axes))
        axes.set_ylim(_wider(y, axes.get_ylim()) if drawn else y)


def _wider(wanted: tuple[float, float], old: tuple[float, float]) -> tuple[float, float]:
    """Return the limits that hold two, in the direction of the first."""
    low, high = min(*wanted, *old), max(*wanted, *old)
    return (low, high) if wanted[0] <= wanted[1] else (high, low)


def name_rows(
    axes: Axes, names: Sequence[str], places: Sequence[float] = (), *, fontsize: int = 9
) -> None:
    """Name the rows of axes, the first on top, before anything is drawn on them.

    Lines of a name after the first say more and may be others in other charts, but the rows of
    charts that share axes have to be the same. Their vertical positions are 0, 1, 2 and so on by
    default.
    """
    places = [*map(float, places)] or [*map(float, range(len(names)))]
    drawn = any(other.has_data() for other in axes.get_shared_y_axes().get_siblings(axes))
    if drawn and isinstance(axes.yaxis.get_major_locator(), FixedLocator):
        old_places = np.asarray(axes.get_yticks(), float).tolist()
        old = _firsts(axes.yaxis.get_major_formatter().format_ticks(old_places))
        new = _firsts(names)
        if old == new and old_places != places:
            old, new = (
                [f"{n} at {p:g}" for n, p in zip(new, at, strict=True)]
                for at in (old_places, places)
            )
        if old != new:
            raise ConfigurationError(
                f"ax: found rows {_listed(new)} where a chart that shares them has rows "
                f"{_listed(old)}, accepted the same rows: draw without sharey"
            )
    axes.set_yticks(places, names, fontsize=fontsize)
    axes.yaxis.set_inverted(True)  # once, however many share it


def _firsts(names: Sequence[str]) -> list[str]:
    return [name.partition("\n")[0] for name in names]


def _listed(names: Sequence[str]) -> str:
    """Return names as text; of many the first."""
    more = f" and {len(names) - MAX_ROWS} more" if len(names) > MAX_ROWS else ""
    return f"{', '.join(names[:MAX_ROWS]) or 'without names'}{more}"


def finish(axes: Axes, title: str) -> Axes:
    """Give axes their title and take away the lines that frame nothing; return them."""
    set_title(axes, title)
    axes.spines[["top", "right"]].set_visible(False)
    return axes


def label_bar(axes: Axes, end: float, place: float, text: str) -> None:
    """Write beside the end of a horizontal bar."""
    axes.annotate(
        text, (end, place), xytext=(4, 0), textcoords="offset points", va="center", fontsize=8
    )


def explain_marks(figure: Figure, lines: Sequence[Line]) -> None:
    """Say below the charts of a figure what the marks of a comparison mean."""
    room = figure.get_figwidth() / NOTE_CHARACTER
    notes = broken("; ".join(fit_notes(lines)), lambda line: len(line) <= room)
    if notes:
        height = 0.2 + 0.16 * (1 + notes.count("\n"))
        figure.set_figheight(figure.get_figheight() + height)
        figure.supxlabel(notes, x=0.02, ha="left", fontsize="small")


def estimate_text(mean: float, half_width: float, decimals: int | None = None) -> str:
    """Return a mean with the digits that its interval allows, without one with three.

    `decimals` are the most that are shown, unless nothing would be left of the mean.

    >>> estimate_text(412.3456, 0.0043), estimate_text(412.3456, 0.0), estimate_text(1234.5, 0.0)
    ('412.3456', '412', '1,234')
    >>> estimate_text(53.214, 0.043, 1), estimate_text(0.034, 0.0043, 1)
    ('53.2', '0.0340')
    """
    if not half_width > 0.0:  # none, or not a number
        return f"{mean:,.0f}" if abs(mean) >= 1e3 else f"{mean:.3g}"
    text, _ = rounded(mean, half_width)
    short = text if decimals is None else f"{mean:,.{decimals}f}"
    return min(text, short, key=len) if float(short.replace(",", "")) else text


def add_legend(axes: Axes, **handles: Any) -> None:
    """Put the legend at the right of axes, where it hides nothing."""
    axes.legend(fontsize=8, frameon=False, loc="upper left", bbox_to_anchor=(1.0, 1.0), **handles)


def time_scale(largest_s: float) -> tuple[float, str]:
    """Return the factor and unit in which times are shown.

    >>> time_scale(0.25)
    (0.001, 'ms')
    """
    for factor, unit in TIME_UNITS:
        if largest_s >= factor:
            return factor, unit
    return TIME_UNITS[-1]


def run_name(run: Run) -> str:
    """Return what titles call a run: workload, machine, policy and seed."""
    policy = format_spec(*spec_of(run.policy))
    return f"{run.workload.name} on {run.machine.name}, {policy}, seed {run.seed}"


def row_name(row: Mapping[str, Any], rows: Sequence[Mapping[str, Any]]) -> str:
    """Return what tells a kind of run from others: its policy, and what else differs."""
    varied = [
        str(row[key]) for key in ("machine", "workload") if any(o[key] != row[key] for o in rows)
    ]
    values = [f"{key.rpartition('.')[2]}={value}" for key, value in swept(row).items()]
    return ", ".join([*varied, str(row["policy"]), *values])
