"""How much of their bandwidth the links of machines are in use."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_hex

from simsched.files.errors import ConfigurationError
from simsched.report.plots.common import axes_for, finish, groups_of, row_name
from simsched.report.plots.matrix import MAX_COLUMNS, NOTHING, SHORTER, draw_cells
from simsched.report.plots.titles import set_xlabel

MOST_LINKS = 24  #: those that are in use most are drawn


def links(rows: Sequence[Mapping[str, Any]], ax: Axes | None = None) -> Axes:
    """Draw the share of their bandwidth that links carry, by policy; means over seeds.

    Parameters
    ----------
    rows : sequence of mapping
        One per run.
    ax : Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    Axes
        With a row per link, a column per run or group of runs, and percentages.

    Raises
    ------
    ConfigurationError
        No machine has links, or there are more than `MAX_COLUMNS` columns.
    """
    groups = groups_of(rows, "links", MAX_COLUMNS)
    used: dict[str, dict[int, list[float]]] = {}
    for column, members in enumerate(groups):
        for row in members:
            for name, percent in zip(row["link_name"], row["link_percent"], strict=True):
                used.setdefault(name, {}).setdefault(column, []).append(percent)
    if not used:
        raise ConfigurationError("links: found no machine with links, accepted one that has some")
    means = {n: {c: float(np.mean(v)) for c, v in each.items()} for n, each in used.items()}
    kept = set(sorted(means, key=lambda name: -max(means[name].values()))[:MOST_LINKS])
    names = [name for name in means if name in kept]
    shape = len(names), len(groups)
    texts, colours = np.full(shape, "", object), np.full(shape, NOTHING, object)
    for number, name in enumerate(names):
        for column, percent in means[name].items():
            texts[number, column] = f"{percent:.3g}" if percent >= 1 else f"{percent:.1f}"
            colours[number, column] = to_hex(SHORTER(min(1.0, percent / 100.0)))
    labels = [row_name(members[0], rows) for members in groups]
    axes = axes_for(ax, 2.5 + 0.7 * len(groups), 1.8 + 0.26 * len(names))
    draw_cells(axes, names, labels, texts, colours, np.zeros(shape, np.bool_))
    left_out = len(means) - len(names)
    note = f"; {left_out} links that are in use less are left out" if left_out else ""
    set_xlabel(axes, f"mean over the whole run{note}")
    return finish(axes, "Links in use [%]")
