"""Efficiency by the granularity of tasks, and the smallest sufficient granularity by workers."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from simsched.experiment.metg import Metg
from simsched.report.plots.common import add_legend, finish, time_scale
from simsched.report.plots.looks import Look, dashes, looks
from simsched.report.plots.titles import set_xlabel

#: More pairs of axes are not drawn.
MAX_PLACES = 12


def plot_metg(found: Sequence[Metg]) -> Figure:
    """Draw, for each machine and program, efficiency by granularity and METG by workers.

    Parameters
    ----------
    found : sequence of Metg
        What was found; of several seeds the curves of the first are drawn, and the means.

    Returns
    -------
    Figure
        A row of axes for each machine and program, at most `MAX_PLACES`; METG by workers only where
        there are several numbers of workers.
    """
    places: dict[tuple[str, str], list[Metg]] = {}
    for each in found:
        places.setdefault((each.cell.machine, each.cell.workload), []).append(each)
    shown = list(places.items())[:MAX_PLACES]
    by_workers = any(len({each.workers for each in group}) > 1 for _, group in shown)
    figure = Figure(figsize=(11.5 if by_workers else 6.5, 3.4 * len(shown)), layout="constrained")
    axes = figure.subplots(len(shown), 1 + by_workers, squeeze=False)
    for row, ((machine, workload), group) in zip(axes, shown, strict=True):
        look = looks(map(_name, group))
        _efficiencies(row[0], group, look, f"{workload} on {machine}")
        if by_workers:
            _by_workers(row[1], group, look)
        add_legend(row[-1])
    return figure


def _name(found: Metg) -> str:
    """Return what tells one line from others beside workers and seed."""
    values = [f"{key.rpartition('.')[2]}={value}" for key, value in found.cell.sweep.items()]
    return ", ".join([found.cell.policy, *values])


def _efficiencies(axes: Axes, group: Sequence[Metg], look: dict[str, Look], title: str) -> None:
    counts = sorted({each.workers for each in group})
    first = group[0].cell.seed
    for each in group:
        if each.cell.seed != first:
            continue
        name = _name(each)
        axes.plot(
            [trial.granularity_s for trial in each.trials],
            [100 * trial.efficiency for trial in each.trials],
            linestyle=dashes(counts.index(each.workers)),
            marker=look[name].marker,
            markersize=3,
            linewidth=1.2,
            color=look[name].colour,
            label=name,
        )
    axes.axhline(100 * group[0].target, color="#555555", linewidth=0.9, linestyle="--")
    if len(counts) > 1:
        handles = [
            Line2D([], [], color="#555555", linestyle=dashes(at), label=f"{count} workers")
            for at, count in enumerate(counts)
        ]
        axes.legend(handles=handles, fontsize=8, frameon=False, loc="lower right")
    axes.set_xscale("log")
    axes.set_ylim(0.0, 105.0)
    set_xlabel(axes, "granularity of tasks [s] (workers times makespan over tasks)")
    axes.set_ylabel("efficiency [%]", fontsize=9)
    finish(axes, title)


def _by_workers(axes: Axes, group: Sequence[Metg], look: dict[str, Look]) -> None:
    known = [each for each in group if each.smallest is not None]
    largest = max((each.row()["metg_s"] for each in known), default=1.0)
    factor, unit = time_scale(largest)
    for name, each_look in look.items():
        times: dict[int, list[float]] = {}
        for each in known:
            if _name(each) == name:
                times.setdefault(each.workers, []).append(each.row()["metg_s"] / factor)
        counts = sorted(times)
        means = [float(np.mean(times[count])) for count in counts]
        axes.plot(
            counts,
            means,
            linestyle=each_look.dashes,
            marker=each_look.marker,
            markersize=4,
            linewidth=1.2,
            color=each_look.colour,
            label=name,
        )
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    every = sorted({each.workers for each in group})
    axes.set_xticks(every, [str(count) for count in every])
    axes.set_xticks([], minor=True)
    set_xlabel(axes, "workers")
    axes.set_ylabel(f"METG({100 * group[0].target:g} %) [{unit}]", fontsize=9)
    finish(axes, "Smallest granularity by workers")
