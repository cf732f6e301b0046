"""Bandwidth of every iteration, policies side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from simsched.report.plots.common import COLOURS
from simsched.report.plots.titles import set_title


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
        set_title(place, policy)
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
