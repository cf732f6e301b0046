"""Bandwidth of every iteration or over time, policies side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator
from numpy.typing import NDArray

from simsched.experiment.cells import Cell
from simsched.experiment.single_run import simulate_cell
from simsched.report.plots.bandwidth import BINS, Used, draw_rates, rates
from simsched.report.plots.common import COLOURS, rate_axis, rate_scale
from simsched.report.plots.facets import MOST_COLUMNS
from simsched.report.plots.titles import set_title

KINDS = ("dram", "hbm", "nvm", "gpu")
#: More is not simulated again for a picture.
MAX_POLICIES, MAX_EVENTS = 8, 500_000


def plot_bandwidth(
    rows: Sequence[Mapping[str, Any]], title: str = "", *, most_columns: int = MOST_COLUMNS
) -> Figure | None:
    """Return the bandwidth of every iteration by memory kind, one panel per policy.

    Parameters
    ----------
    rows : sequence of mapping
        Rows of one machine and workload; the first seed of each policy is drawn.
    title : str
        Printed above.
    most_columns : int
        Most panels beside each other.

    Returns
    -------
    Figure or None
        None when no run moves bytes, or none has more than one iteration besides initialisation:
        :func:`plot_bandwidth_over_time` says more of these.
    """
    first: dict[str, Mapping[str, Any]] = {}
    for row in rows:
        first.setdefault(str(row["policy"]), row)
    kinds = [kind for kind in KINDS if _moves(first.values(), kind)]
    if not kinds or all(_iterations(row) < 2 for row in first.values()):
        return None
    columns = min(most_columns, len(first))
    lines = -(-len(first) // columns)
    figure = Figure(figsize=(4.2 * columns, 2.4 * lines + 0.7), layout="constrained")
    axes = np.atleast_1d(figure.subplots(lines, columns, sharex=True, sharey=True, squeeze=False))
    for place in axes.flat[len(first) :]:
        place.set_visible(False)
    factor, unit = rate_scale(
        max(float(_used(row, k).max()) for row in first.values() for k in kinds)
    )
    for place, (policy, row) in zip(axes.flat, first.items(), strict=False):
        length = row["iteration_s"]
        numbers = np.arange(len(length)) + (0 if row["initialisation_s"] > 0 else 1)
        for colour, kind in zip(COLOURS, kinds, strict=False):
            marker = "o" if len(length) <= 30 else None
            place.plot(
                numbers,
                _used(row, kind) / factor,
                label=kind.upper(),
                color=colour,
                linewidth=1.2,
                marker=marker,
                markersize=3,
            )
        set_title(place, policy)
        place.xaxis.set_major_locator(MaxNLocator(integer=True))
        place.spines[["top", "right"]].set_visible(False)
    axes.flat[0].set_ylim(bottom=0)  # for all panels; only after everything is drawn
    figure.legend(*axes.flat[0].get_legend_handles_labels(), loc="outside upper right", fontsize=8)
    figure.supxlabel("iteration", fontsize=9)
    figure.supylabel(f"bandwidth [{unit}]", fontsize=9)
    if title:
        figure.suptitle(title, fontsize=11)
    return figure


def plot_bandwidth_over_time(
    cells: Sequence[Cell], rows: Sequence[Mapping[str, Any]], title: str = ""
) -> Figure | None:
    """Return the bandwidth over time by memory kind, one panel per policy.

    Parameters
    ----------
    cells : sequence of Cell
        Runs of one machine and workload; the first seed of each policy is simulated again.
    rows : sequence of mapping
        Their results.
    title : str
        Printed above.

    Returns
    -------
    Figure or None
        None when some run has several iterations, none moves bytes, or they have more than
        `MAX_POLICIES` policies or `MAX_EVENTS` events: pictures take no longer than the runs.
    """
    found = OverTime(cells, rows)
    return found.draw(title) if found.is_shown else None


class OverTime:
    """What :func:`plot_bandwidth_over_time` draws, simulated once however often it is drawn."""

    def __init__(self, cells: Sequence[Cell], rows: Sequence[Mapping[str, Any]]) -> None:
        self._first: dict[str, tuple[Cell, Mapping[str, Any]]] = {}
        for cell, row in zip(cells, rows, strict=True):
            self._first.setdefault(cell.policy, (cell, row))

    @property
    def is_shown(self) -> bool:
        """Whether there is a figure; nothing is simulated to know."""
        chosen = [row for _, row in self._first.values()]
        short = all(_iterations(row) < 2 for row in chosen)
        few = len(chosen) <= MAX_POLICIES and sum(row["events"] for row in chosen) <= MAX_EVENTS
        return short and few and any(_moves(chosen, kind) for kind in KINDS)

    @cached_property
    def _rates(self) -> dict[str, tuple[NDArray[np.float64], dict[str, Used]]]:
        """By policy, what :func:`bandwidth` draws; the events are not kept."""
        return {
            policy: rates(simulate_cell(cell, row), "kind", BINS)
            for policy, (cell, row) in self._first.items()
        }

    def draw(self, title: str) -> Figure:
        """Return the figure."""
        n_panels = len(self._first)
        figure = Figure(figsize=(8.5, 2.4 * n_panels + 0.5), layout="constrained")
        panels = figure.subplots(n_panels, sharex=True, sharey=True, squeeze=False)[:, 0]
        every = [each.bytes_per_s for _, used in self._rates.values() for each in used.values()]
        rate_axis(panels[0], max((float(used.max()) for used in every), default=0.0))
        for axes, (policy, found) in zip(panels, self._rates.items(), strict=True):
            draw_rates(*found, axes, "kind", policy)
            if axes is not panels[-1]:
                axes.set_xlabel("")
        panels[0].autoscale(axis="y")  # for all panels; only after everything is drawn
        panels[0].set_ylim(bottom=0)
        if title:
            figure.suptitle(title, fontsize=11)
        return figure


def _iterations(row: Mapping[str, Any]) -> int:
    """Return how many iterations a run has besides initialisation."""
    return len(row["iteration_s"]) - int(row["initialisation_s"] > 0)


def _used(row: Mapping[str, Any], kind: str) -> NDArray[np.float64]:
    """Return the bytes per second of every iteration that a memory kind carries."""
    length = np.maximum(np.array(row["iteration_s"]), 1e-12)
    used: NDArray[np.float64] = np.array(row[f"iteration_{kind}_bytes"], np.float64) / length
    return used


def _moves(rows: Any, kind: str) -> bool:
    """Return whether some row has moved bytes of a memory kind."""
    return any(sum(row.get(f"iteration_{kind}_bytes", ())) > 0 for row in rows)
