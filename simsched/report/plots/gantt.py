"""What every worker does when: single bars, or shares of time where bars would be too many."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection
from matplotlib.colors import to_rgb
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from numpy.typing import NDArray

from simsched.analysis.path import critical_path as path_of
from simsched.files.units import PER_PS
from simsched.report.plots.common import (
    COLOURS,
    add_legend,
    axes_for,
    finish,
    name_rows,
    run_name,
    set_limits,
    time_axis,
    time_scale,
)
from simsched.report.plots.occupancy import RUNTIME, Bars, busy_bars, occupancy, rows_of
from simsched.report.plots.titles import set_xlabel
from simsched.trace.run import Run

MAX_BARS = 4000  #: more are added up
ROWS, COLUMNS = 128, 800  #: of cells, about
RUNTIME_COLOUR = COLOURS[-1]
MAX_EVENTS = 2_000_000  #: of more, to find the critical path takes longer than to draw
MAX_LINES = 40  #: beginnings of iterations


def gantt(
    run: Run,
    ax: Axes | None = None,
    *,
    start_s: float | None = None,
    end_s: float | None = None,
    max_bars: int = MAX_BARS,
    title: str | None = None,
    critical_path: bool = True,
) -> Axes:
    """Draw what every worker does when, and the critical path as a line.

    Parameters
    ----------
    run : Run
        A run with its events.
    ax : Axes, optional
        Where to draw; a new figure by default.
    start_s, end_s : float, optional
        Time to look at, in seconds; all of it by default.
    max_bars : int
        Up to so many intervals are drawn one by one. More are added up in cells of some workers and
        some time; the colour of a cell is that of the task class with most time, its strength the
        share of the time in which the workers are busy. The text below the axes says which of the
        two it is.
    title : str, optional
        What the run is called.
    critical_path : bool
        Whether to draw a line from worker to worker along the critical path, where intervals are
        drawn one by one and the run has up to `MAX_EVENTS` events.

    Returns
    -------
    Axes
        With one row per worker over seconds.

    Raises
    ------
    ConfigurationError
        The run has no events, or the time is empty.
    """
    bars = _few_layers(busy_bars(run, start_s, end_s))
    begin, end = bars.span_ps
    whole = len(bars) <= max_bars
    row_of, share = rows_of(run, len(run.worker_thread) if whole else ROWS)
    n_rows = int(row_of.max()) + 1
    axes = axes_for(ax, 9.0, min(7.0, 1.6 + 0.16 * n_rows))
    borders = _name_domains(axes, run, row_of)
    factor, unit = time_axis(axes, end * PER_PS)
    set_limits(axes, (begin * PER_PS / factor, end * PER_PS / factor), (n_rows - 0.5, -0.5))
    if whole:
        _draw_bars(axes, bars, row_of, factor)
        note = f"{bars.n_tasks:,} tasks begin; every interval is drawn"
    else:
        edges = np.linspace(begin, end, COLUMNS + 1)
        _draw_cells(axes, bars, occupancy(bars, row_of, edges), share, factor)
        width, small = time_scale((edges[1] - edges[0]) * PER_PS)
        wide = (edges[1] - edges[0]) * PER_PS / width
        note = (
            f"added up: {bars.n_tasks:,} tasks, {len(bars):,} intervals; a cell is {wide:.3g} "
            f"{small} of {share} worker{'s' * (share > 1)};\n"
            "colour: what takes most of its time, strength: share of time busy"
        )
    for border in borders:
        axes.axhline(border, color="#888888", linewidth=0.6)
    drawn = critical_path and whole and _draw_path(axes, run, bars.span_ps, row_of, factor)
    _mark(axes, bars, factor, with_path=drawn)
    set_xlabel(axes, f"time [{unit}]\n{note}")
    return finish(axes, title or run_name(run))


def _few_layers(bars: Bars) -> Bars:
    """Return the bars with no more task classes than there are colours: the rest are one."""
    room = len(COLOURS) - 1
    classes = len(bars.layers) - 1
    if classes <= room:
        return bars
    length = (bars.end_ps - bars.start_ps).astype(np.float64)
    time = np.bincount(bars.layer, weights=length, minlength=classes + 1)[:classes]
    kept = np.sort(np.argsort(-time, kind="stable")[: room - 1])
    place = np.full(classes + 1, room - 1)
    place[kept] = np.arange(room - 1)
    place[classes] = room
    names = (*(bars.layers[i] for i in kept), f"{classes - room + 1} other classes", RUNTIME)
    return replace(bars, layer=place[bars.layer], layers=names)


def _colours(layers: Sequence[str]) -> NDArray[np.float64]:
    """Return one colour per layer; shape (n_layers, 3)."""
    return np.array([to_rgb(c) for c in (*COLOURS[: len(layers) - 1], RUNTIME_COLOUR)])


def _draw_bars(axes: Axes, bars: Bars, row_of: NDArray[np.int64], factor: float) -> None:
    scale = PER_PS / factor
    left, right = bars.start_ps * scale, bars.end_ps * scale
    row = row_of[bars.worker]
    x = np.stack([left, right, right, left], axis=1)
    y = np.stack([row - 0.42, row - 0.42, row + 0.42, row + 0.42], axis=1)
    patches = PolyCollection(
        list(np.stack([x, y], axis=2)),
        facecolors=_colours(bars.layers)[bars.layer],
        edgecolors="white" if len(bars) < 600 else "none",
        linewidths=0.3,
    )
    axes.add_collection(patches, autolim=False)


def _draw_cells(
    axes: Axes, bars: Bars, busy_ps: NDArray[np.float64], share: int, factor: float
) -> None:
    """Draw the shares of time as an image."""
    begin, end = bars.span_ps
    n_rows, bins, _ = busy_ps.shape
    width = (end - begin) / bins * share
    strength = np.clip(busy_ps.sum(axis=2) / width, 0.0, 1.0)[..., None]
    colour = _colours(bars.layers)[busy_ps.argmax(axis=2)]
    scale = PER_PS / factor
    axes.imshow(
        1.0 - strength * (1.0 - colour),
        aspect="auto",
        interpolation="nearest",
        extent=(begin * scale, end * scale, n_rows - 0.5, -0.5),
    )


def _name_domains(axes: Axes, run: Run, row_of: NDArray[np.int64]) -> list[float]:
    """Name the domains, if there are several; return where one begins below another."""
    domain = run.machine.thread_domain[run.worker_thread]
    changes = np.flatnonzero(np.append(True, domain[1:] != domain[:-1]))
    if len(changes) == 1:
        axes.set_ylabel("worker", fontsize=9)
        return []
    tops = row_of[changes]
    middle = (tops + np.append(tops[1:], row_of.max() + 1) - 1) / 2
    name_rows(axes, [f"domain {domain[i]}" for i in changes], middle.tolist(), fontsize=8)
    borders: list[float] = (tops[1:] - 0.5).tolist()
    return borders


def _draw_path(
    axes: Axes, run: Run, span_ps: tuple[int, int], row_of: NDArray[np.int64], factor: float
) -> bool:
    """Draw the critical path, from worker to worker; return whether it has been."""
    if run.trace is None or len(run.trace) > MAX_EVENTS:
        return False
    path = path_of(run)
    chosen = (path.worker >= 0) & (path.start_ps < span_ps[1]) & (path.end_ps > span_ps[0])
    start = np.clip(path.start_ps[chosen], *span_ps)
    end = np.clip(path.end_ps[chosen], *span_ps)
    row = row_of[path.worker[chosen]]
    axes.plot(
        np.stack([start, end], axis=1).ravel() * PER_PS / factor,
        np.repeat(row, 2),
        color="black",
        linewidth=1.1,
        solid_joinstyle="round",
    )
    return bool(chosen.any())


def _mark(axes: Axes, bars: Bars, factor: float, *, with_path: bool) -> None:
    """Draw the beginnings of iterations, and the legend."""
    if len(bars.iteration_ps) <= MAX_LINES:
        for time in bars.iteration_ps.tolist():
            axes.axvline(time * PER_PS / factor, color="#888888", linewidth=0.6, linestyle=":")
    used = np.bincount(bars.layer, minlength=len(bars.layers)) > 0
    colours = _colours(bars.layers)
    handles: list[Patch | Line2D] = [
        Patch(facecolor=tuple(colours[i]), label=name)
        for i, name in enumerate(bars.layers)
        if used[i]
    ]
    handles.append(Patch(facecolor="white", edgecolor="#888888", label="idle"))
    if with_path:
        handles.append(Line2D([], [], color="black", linewidth=1.1, label="critical path"))
    add_legend(axes, handles=handles)
