"""What all pictures share: colours, files, axes, units."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from textwrap import wrap
from typing import TYPE_CHECKING, Any

from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from simsched.atomic import write_atomically
from simsched.experiment.summary import swept
from simsched.policy import spec_of
from simsched.specs import format_spec

if TYPE_CHECKING:
    from simsched.engine.run import Run

#: Okabe and Ito's colours, told apart by colour-blind readers too.
COLOURS = ("#0072B2", "#E69F00", "#009E73", "#D55E00", "#56B4E9", "#CC79A7", "#F0E442", "#555555")
DPI = 120
TITLE_WIDTH = 90  #: characters


def save(figure: Figure, path: Path) -> None:
    """Write a figure as PNG, completely or not at all.

    Parameters
    ----------
    figure : Figure
        What is written.
    path : Path
        The file; it is replaced.
    """
    FigureCanvasAgg(figure)

    def fill(temporary: Path) -> None:
        figure.savefig(temporary, format="png", dpi=DPI)

    write_atomically(path, fill)


def axes_for(ax: Axes | None, width: float, height: float) -> Axes:
    """Return the axes to draw on: those given, or those of a new figure that notebooks show.

    Parameters
    ----------
    ax : Axes or None
        Where the caller wants the picture.
    width, height : float
        Size of a new figure in inches.
    """
    if ax is not None:
        return ax
    import matplotlib.pyplot as plt

    return plt.figure(figsize=(width, height), layout="constrained").add_subplot()


def finish(axes: Axes, title: str) -> Axes:
    """Give axes their title and take away the lines that frame nothing; return them."""
    lines = [part for line in title.split("\n") for part in wrap(line, TITLE_WIDTH)]
    axes.set_title("\n".join(lines), fontsize=10, loc="left")
    axes.spines[["top", "right"]].set_visible(False)
    return axes


def time_scale(largest_s: float) -> tuple[float, str]:
    """Return the factor and unit in which times are shown.

    Examples
    --------
    >>> time_scale(0.25)
    (0.001, 'ms')
    """
    for factor, unit in ((1.0, "s"), (1e-3, "ms"), (1e-6, "us")):
        if largest_s >= factor:
            return factor, unit
    return 1e-9, "ns"


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
