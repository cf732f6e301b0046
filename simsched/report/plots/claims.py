"""Headlines of a source: simulated cases beside the published range."""

from __future__ import annotations

import math
from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.colors import to_rgba
from matplotlib.figure import Figure

from simsched.report.plots.common import COLOURS, name_rows
from simsched.report.plots.titles import set_title
from simsched.reproduction.judge import Verdict
from simsched.reproduction.nearness import NO_EFFECT, interval
from simsched.reproduction.schema import REDUCTIONS

UNITS = {
    "reduction_percent": "shorter by [%]",
    "speedup_percent": "faster by [%]",
    "ratio": "ratio",
    "difference": "difference",
}


def headlines(verdicts: Sequence[Verdict]) -> Figure | None:
    """Return one panel per headline that compares numbers, None where no source has one.

    Parameters
    ----------
    verdicts : sequence of Verdict
        Verdicts on the claims of one source.

    Returns
    -------
    Figure or None
        A bar per case in the unit of the comparison, and the published range as a band.
    """
    shown = [v for v in verdicts if v.claim.headline and v.parts and v.claim.as_]
    if not shown:
        return None
    heights = [0.9 + 0.28 * len(verdict.parts) for verdict in shown]
    figure = Figure(figsize=(7.5, sum(heights)), layout="constrained")
    panels = figure.subplots(len(shown), squeeze=False, gridspec_kw={"height_ratios": heights})
    for axes, verdict in zip(panels[:, 0], shown, strict=True):
        _panel(axes, verdict)
    return figure


def _panel(axes: Axes, verdict: Verdict) -> None:
    claim = verdict.claim
    labels, values = [where for where, _ in verdict.parts], [value for _, value in verdict.parts]
    name_rows(axes, [_name(where, labels) for where in labels])
    equal = NO_EFFECT[str(claim.as_)]
    ends = [end for end in interval(claim, 0) if math.isfinite(end)]
    low, high = min([*values, *ends, equal]), max([*values, *ends, equal])
    margin = 0.05 * (high - low or 1.0)
    begin, end = interval(claim, 0)
    axes.axvspan(
        max(begin, low - margin),
        min(end, high + margin),
        facecolor=to_rgba(COLOURS[1], 0.3),
        edgecolor=COLOURS[1],
    )
    axes.barh(
        range(len(values)),
        [value - equal for value in values],
        left=equal,
        color=COLOURS[0],
        height=0.7,
    )
    axes.axvline(equal, color="black", linewidth=0.8)
    if claim.over in REDUCTIONS:
        axes.axvline(verdict.cases[0].simulated[""][0], color=COLOURS[0], linestyle="--")
    axes.set_xlim(low - margin, high + margin)
    axes.set_xlabel(UNITS[str(claim.as_)])
    set_title(axes, claim.headline)
    axes.spines[["top", "right"]].set_visible(False)


def _name(where: dict[str, str], cases: Sequence[dict[str, str]]) -> str:
    """Return the labels in which cases differ."""
    differing = [key for key in where if len({case.get(key) for case in cases}) > 1]
    return " ".join(where[key] for key in differing) or " ".join(where.values())
