"""How many times as fast as the baseline runs are."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from simsched.experiment.summary import Estimate, beside_baseline, estimate, grouped
from simsched.files.errors import ConfigurationError, unknown_name
from simsched.report.plots.common import (
    add_legend,
    axes_for,
    estimate_text,
    finish,
    label_bar,
    name_rows,
    new_figure,
    row_name,
    set_limits,
)
from simsched.report.plots.facets import (
    Panels,
    by_place,
    panels_for,
    place_names,
    place_of,
)
from simsched.report.plots.looks import Look, like, looks
from simsched.report.plots.titles import set_xlabel

Row = Mapping[str, Any]
MAX_BARS = 120


def speedup(
    rows: Sequence[Row],
    baseline: str,
    ax: Axes | None = None,
    *,
    x: str | None = None,
    others: Sequence[Row] = (),
) -> Axes | Panels:
    """Draw speed-ups over the baseline, with 95 % confidence intervals over seeds.

    Parameters
    ----------
    rows : sequence of mapping
        One per run.
    baseline : str
        Label of the policy that all are compared with.
    ax : Axes, optional
        Where to draw; by default a new figure, for bars with a panel per machine and workload.
    x : str, optional
        Column of numbers for the horizontal axis, one line per policy and workload; by default the
        only swept key with numbers, if there is one, else bars.
    others : sequence of mapping
        Further runs among which the baseline is looked for.

    Returns
    -------
    Axes or array of Axes
        With bars, or with lines over `x`; an array where there are several panels.

    Raises
    ------
    ConfigurationError
        No run of the baseline, an unknown column, or too many bars.
    """
    values = [
        estimate([other / mine for mine, other in pairs if mine > 0])
        for _, pairs in beside_baseline(rows, baseline, others)
    ]
    firsts = [members[0] for members in grouped(rows).values()]
    if all(math.isnan(value.mean) for value in values):
        names = dict.fromkeys(str(row["policy"]) for row in (*others, *rows))
        hint = unknown_name("policy", baseline, names) if baseline not in names else "no seed alike"
        raise ConfigurationError(f"baseline: {hint}")
    x = x or _only_numbers(firsts)
    if x is None:
        return _bars(firsts, values, baseline, ax)
    for row in firsts:
        if not isinstance(row.get(x), int | float):
            known = [k for k, v in row.items() if isinstance(v, int | float)]
            raise ConfigurationError(f"x: {unknown_name('column of numbers', x, known)}")
    return _lines(firsts, values, baseline, ax, x)


def _only_numbers(rows: Sequence[Row]) -> str | None:
    """Return the swept key that has several numbers, if there is just one."""
    keys = [
        key
        for key in (rows[0] if rows else {})
        if key.startswith("sweep.")
        and len({row.get(key) for row in rows}) > 1
        and all(isinstance(row.get(key), int | float) for row in rows)
    ]
    return keys[0] if len(keys) == 1 else None


def _bars(
    rows: Sequence[Row], values: Sequence[Estimate], baseline: str, ax: Axes | None
) -> Axes | Panels:
    if len(rows) > MAX_BARS:
        raise ConfigurationError(
            f"speedup: found {len(rows)} bars, accepted up to {MAX_BARS}: choose some, such as "
            "result['workload=NAME'], or give a column of numbers as x"
        )
    look = looks(str(row["policy"]) for row in rows)
    longest = np.nanmax([value.mean + np.nan_to_num(value.half_width) for value in values])
    places = by_place(list(zip(rows, values, strict=True)), lambda bar: place_of(bar[0]))
    if ax is not None or len(places) == 1:
        axes = axes_for(ax, 7.5, 1.3 + 0.3 * len(rows))
        _draw(axes, rows, values, [row_name(row, rows) for row in rows], look, longest)
        return finish(axes, f"Speed-up over {baseline}")
    bars = {
        place: [row_name(row, [other for other, _ in own]) for row, _ in own]
        for place, own in places.items()
    }
    figure, titles = new_figure(), place_names(list(places))
    panels = panels_for(figure, bars)
    for place, axes in panels.items():
        own = places[place]
        _draw(axes, [r for r, _ in own], [v for _, v in own], bars[place], look, longest)
        finish(axes, titles[place])
    figure.suptitle(f"Speed-up over {baseline}")
    return np.array([panels[place] for place in places], object)


def _draw(
    axes: Axes,
    rows: Sequence[Row],
    values: Sequence[Estimate],
    names: Sequence[str],
    look: Mapping[str, Look],
    longest: float,
) -> None:
    """Draw bars on one axis, which ends beyond the longest bar of all axes."""
    name_rows(axes, names)
    means = np.array([value.mean for value in values])
    widths = np.nan_to_num([value.half_width for value in values])
    set_limits(axes, (0.0, longest * 1.15))
    axes.barh(
        np.arange(len(rows)),
        np.nan_to_num(means),
        xerr=widths,
        height=0.7,
        **like(look[str(row["policy"])] for row in rows),
        error_kw={"elinewidth": 1, "capsize": 2},
    )
    for place, (mean, width) in enumerate(zip(means.tolist(), widths.tolist(), strict=True)):
        text = "no run of the baseline" if math.isnan(mean) else estimate_text(mean, width)
        edge = 0.0 if math.isnan(mean) else mean + width
        label_bar(axes, edge, place, text)
    axes.axvline(1.0, color="#555555", linewidth=0.9, linestyle="--")
    set_xlabel(axes, "times as fast (dashed: equal; with 95 % confidence over seeds)")


def _lines(
    rows: Sequence[Row], values: Sequence[Estimate], baseline: str, ax: Axes | None, x: str
) -> Axes:
    axes = axes_for(ax, 6.5, 4.0)
    lines: dict[str, list[tuple[float, Estimate]]] = {}
    for row, value in zip(rows, values, strict=True):
        lines.setdefault(_line_name(row, rows, x), []).append((float(row[x]), value))
    for look, (name, points) in zip(looks(lines).values(), lines.items(), strict=True):
        points.sort(key=lambda point: point[0])
        axes.errorbar(
            [at for at, _ in points],
            [value.mean for _, value in points],
            yerr=np.nan_to_num([value.half_width for _, value in points]),
            color=look.colour,
            linestyle=look.dashes,
            marker=look.marker,
            markersize=4,
            linewidth=1.3,
            capsize=2,
            label=name,
        )
    axes.axhline(1.0, color="#555555", linewidth=0.9, linestyle="--")
    axes.set_ylim(bottom=0.0)
    set_xlabel(axes, x)
    axes.set_ylabel(f"speed-up over {baseline}", fontsize=9)
    add_legend(axes)
    return finish(axes, f"Speed-up over {baseline} (dashed: equal)")


def _line_name(row: Row, rows: Sequence[Row], x: str) -> str:
    """Return the name of a line: what its points have in common."""
    label = row_name({k: v for k, v in row.items() if k != x}, rows)
    # The parameter on the horizontal axis is part of the policy's label.
    parameter = x.removeprefix("policy.") if x.startswith("policy.") else ""
    return label.replace(f"{parameter}={row[x]}", f"{parameter}") if parameter else label
