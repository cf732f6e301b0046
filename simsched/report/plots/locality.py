"""Where the bytes that tasks move come from, policy by policy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from simsched.files.errors import ConfigurationError
from simsched.report.plots.common import (
    COLOURS,
    add_legend,
    axes_for,
    finish,
    groups_of,
    name_rows,
    row_name,
)
from simsched.report.plots.titles import set_xlabel
from simsched.report.tables import number

KINDS = ("dram", "hbm", "nvm", "gpu")
MAX_GROUPS = 60


def locality(rows: Sequence[Mapping[str, Any]], ax: Axes | None = None) -> Axes:
    """Draw the share of bytes from and to the own and other domains, by memory kind.

    Parameters
    ----------
    rows : sequence of mapping
        One per run; bars are sums over runs that differ in nothing but their seed. Bytes that
        caches serve are not part of it.
    ax : Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    Axes
        With one bar per run or group of runs, in percent.

    Raises
    ------
    ConfigurationError
        No run moves bytes, or there are more than `MAX_GROUPS` bars.
    """
    groups = groups_of(rows, "locality", MAX_GROUPS)
    parts = {
        (place, kind): np.array([_total(members, f"{place}_{kind}_bytes") for members in groups])
        for kind in KINDS
        for place in ("local", "remote")
    }
    parts = {key: values for key, values in parts.items() if values.any()}
    if not parts:
        raise ConfigurationError("locality: found no run that moves bytes, accepted one that does")
    total = np.sum(list(parts.values()), axis=0)
    axes = axes_for(ax, 8.0, 1.3 + 0.4 * len(groups))
    means = [total[index] / len(members) / 1e9 for index, members in enumerate(groups)]
    names = [
        f"{row_name(members[0], rows)}\n{number(mean)} GB"
        for members, mean in zip(groups, means, strict=True)
    ]
    name_rows(axes, names, fontsize=8)
    left = np.zeros(len(groups))
    for (place, kind), values in parts.items():
        share = 100.0 * values / np.maximum(total, 1.0)
        axes.barh(
            np.arange(len(groups)),
            share,
            left=left,
            height=0.7,
            color=COLOURS[KINDS.index(kind)],
            alpha=1.0 if place == "local" else 0.45,
            hatch=None if place == "local" else "////",
            edgecolor="white",
            linewidth=0.5,
            label=f"{place} {kind.upper()}",
        )
        left += share
    axes.set_xlim(0.0, 100.0)
    set_xlabel(axes, "share of the bytes that go to memory [%]")
    add_legend(axes)
    return finish(axes, "Where data are accessed: own domain (local) or others (remote)")


def _total(rows: Sequence[Mapping[str, Any]], column: str) -> float:
    return float(sum(row.get(column) or 0 for row in rows))
