"""Bandwidth in use over time, beside what the memory sustains."""

from __future__ import annotations

from typing import Literal

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import NDArray

from simsched.analysis.metrics import memory_kinds
from simsched.engine.paths import path_nodes
from simsched.files.errors import ConfigurationError, unknown_name
from simsched.files.units import PER_PS
from simsched.report.plots.common import (
    COLOURS,
    add_legend,
    axes_for,
    finish,
    run_name,
    set_limits,
    time_axis,
    time_scale,
)
from simsched.report.plots.titles import set_xlabel
from simsched.trace.flows import flow_times, spread
from simsched.trace.run import Run

BINS = 200
OFF_SCALE = 3.0  #: sustained bandwidth above so many times the highest use is only said


def rates(
    run: Run, by: str, bins: int
) -> tuple[NDArray[np.float64], dict[str, NDArray[np.float64]], dict[str, float]]:
    """Return the bandwidth in use and what is sustained, by memory kind or by node.

    These are the edges of equal time bins in seconds, mean bytes per second in each, and sustained
    bytes per second.
    """
    if run.trace is None or not len(run.trace):
        raise ConfigurationError("run: found no event trace, accepted a run with its events")
    if by not in ("kind", "node"):
        raise ConfigurationError(f"by: {unknown_name('grouping', by, ('kind', 'node'))}")
    if bins < 1:
        raise ConfigurationError(f"bins: found {bins}, accepted 1 or more")
    machine, time = run.machine, run.trace.events["time_ps"]
    begin, end, path, moved = flow_times(run.trace)
    node = path_nodes(machine, run.worker_thread)[path]
    first, last = int(time[0]), int(time[-1])
    edges = np.linspace(first * PER_PS, max(last, first + 1) * PER_PS, bins + 1)
    groups = memory_kinds(machine)
    if by == "node":
        groups = {each.name: [index] for index, each in enumerate(machine.nodes)}
    used = {
        name: spread(
            begin.astype(np.float64) * PER_PS,
            end.astype(np.float64) * PER_PS,
            moved.astype(np.float64),
            np.isin(node, members),
            edges,
        )
        for name, members in groups.items()
    }
    sustained = {
        name: sum(machine.nodes[index].bandwidth_bytes_per_s for index in members)
        for name, members in groups.items()
    }
    return edges, used, sustained


def bandwidth(
    run: Run,
    ax: Axes | None = None,
    *,
    by: Literal["kind", "node"] = "kind",
    bins: int = BINS,
    title: str | None = None,
) -> Axes:
    """Draw the bandwidth in use over time; dashed lines are what the memory sustains.

    Parameters
    ----------
    run : Run
        A run with its events.
    ax : Axes, optional
        Where to draw; a new figure by default.
    by : {"kind", "node"}
        One line per memory kind or per memory node.
    bins : int
        Number of time bins; a point is the mean over one.
    title : str, optional
        What the run is called.

    Returns
    -------
    Axes
        With one line per kind or node, bytes per second over seconds.

    Raises
    ------
    ConfigurationError
        The run has no events, or `by` or `bins` is not accepted.
    """
    edges, used, sustained = rates(run, by, bins)
    axes = axes_for(ax, 8.0, 3.4)
    factor, unit = time_axis(axes, float(edges[-1]))
    set_limits(axes, (float(edges[0]) / factor, float(edges[-1]) / factor))
    top = max((float(rate.max(initial=0.0)) for rate in used.values()), default=0.0)
    for index, (name, rate) in enumerate(used.items()):
        colour = COLOURS[index % len(COLOURS)]
        style = "-" if index < len(COLOURS) else "-."
        limit = sustained[name]
        label = f"{name} (sustains {limit / 1e9:.3g} GB/s)"
        axes.stairs(
            rate / 1e9, edges / factor, color=colour, linestyle=style, label=label, linewidth=1.3
        )
        if by == "kind" and limit <= OFF_SCALE * top:
            axes.axhline(limit / 1e9, color=colour, linestyle="--", linewidth=0.9)
    axes.set_ylim(bottom=0.0)
    axes.set_ylabel("bandwidth [GB/s]", fontsize=9)
    wide, small = time_scale(float(edges[1] - edges[0]))
    note = (
        f"means over {(edges[1] - edges[0]) / wide:.3g} {small}; "
        "the bytes of an access are spread evenly over its time"
    )
    set_xlabel(axes, f"time [{unit}]\n{note}")
    add_legend(axes)
    return finish(axes, title or run_name(run))
