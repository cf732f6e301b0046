"""Headlines of a source: simulated cases beside the published range."""

from __future__ import annotations

import math
from collections.abc import Sequence

from matplotlib.axes import Axes
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
    shown = [
        v
        for v in verdicts
        if v.claim.headline and v.claim.kind == "comparative" and v.claim.over not in REDUCTIONS
    ]
    if not shown:
        return None
    heights = [0.9 + 0.28 * len(verdict.cases) for verdict in shown]
    figure = Figure(figsize=(7.5, sum(heights)), layout="constrained")
    panels = figure.subplots(len(shown), squeeze=False, gridspec_kw={"height_ratios": heights})
    for axes, verdict in zip(panels[:, 0], shown, strict=True):
        _panel(axes, verdict)
    return figure


def _panel(axes: Axes, verdict: Verdict) -> None:
    claim, cases = verdict.claim, verdict.cases
    values = [case.simulated[""][0] for case in cases]
    name_rows(axes, [_case_name(case.where, [other.where for other in cases]) for case in cases])
    equal = NO_EFFECT[str(claim.as_)]
    low, high = interval(claim, 0)
    bound = max([abs(end) for end in (low, high) if math.isfinite(end)] + list(map(abs, values)))
    inside = max(low, -2 * bound), min(high, 2 * bound)
    axes.axvspan(*inside, color=COLOURS[1], alpha=0.3, label="published", linewidth=2)
    widths = [value - equal for value in values]
    axes.barh(
        range(len(cases)), widths, left=equal, color=COLOURS[0], height=0.7, label="simulated"
    )
    axes.axvline(equal, color="black", linewidth=0.8)
    ends = [*values, equal, *(end for end in (low, high) if math.isfinite(end))]
    margin = 0.05 * (max(ends) - min(ends) or 1.0)
    axes.set_xlim(min(ends) - margin, max(ends) + margin)
    axes.set_xlabel(UNITS[str(claim.as_)])
    set_title(axes, claim.headline)
    axes.spines[["top", "right"]].set_visible(False)


def _case_name(where: dict[str, str], cases: Sequence[dict[str, str]]) -> str:
    """Return the labels in which cases differ."""
    differing = [key for key in where if len({case.get(key) for case in cases}) > 1]
    return " ".join(where[key] for key in differing) or " ".join(where.values())
