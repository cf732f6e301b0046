"""Figures as wide as a column of a paper: with smaller text, down to what can still be read."""

from __future__ import annotations

import math
import re
import warnings
from collections.abc import Callable

import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.text import Text

from simsched.files.errors import ConfigurationError, nearest_hint
from simsched.report.plots.titles import bound

MM = 1.0 / 25.4  #: inches
#: Widths by what publishers call them, in millimetres.
NAMED_MM = {"single_column": 85.0, "double_column": 180.0}
UNITS_MM = {"mm": 1.0, "cm": 10.0, "in": 25.4}
LEAST_MM, MOST_MM, STEP_MM = 40.0, 1000.0, 5.0
LEAST_PT = 6.0  #: size of the smallest text
LEAST_AXES = 0.6  #: inches that are left between the names and numbers of a chart
LEAST_SHARE = 0.3  #: of the width of a chart that is left to its bars
TOLERANCE = 0.02  #: inches; texts are measured a little differently from how they are written
_LENGTH = re.compile(r"(\d+\.?\d*)\s*([a-z]+)")

Sized = tuple[float, Callable[[float], object]]  #: points of a text, and what sets them


def parse_width(text: str, where: str) -> float:
    """Return a width such as ``85 mm``, ``3.5 in`` or ``single_column`` in millimetres."""
    found = _LENGTH.fullmatch(text.strip())
    value = NAMED_MM.get(text.strip(), 0.0)
    if found is not None and found[2] in UNITS_MM:
        value = float(found[1]) * UNITS_MM[found[2]]
    if not LEAST_MM <= value <= MOST_MM:
        names = ", ".join(f"{name} ({mm:g} mm)" for name, mm in NAMED_MM.items())
        raise ConfigurationError(
            f"{where}: found {text!r}{nearest_hint(text, NAMED_MM)}; accepted: {LEAST_MM:g} mm to "
            f"{MOST_MM:g} mm, also in cm and in, or {names}"
        )
    return value


def fit(figure: Figure, width_mm: float, where: str) -> None:
    """Make a figure as wide as asked for, its text no smaller than `LEAST_PT`.

    ConfigurationError where the text would not fit; it says from which width on it does.
    """
    FigureCanvasAgg(figure)
    figure.draw_without_rendering()  # text that is set when it is drawn is there now
    texts, natural, heights = _sized(figure), tuple(figure.get_size_inches()), _heights(figure)
    ranges = [axes.get_xlim() for axes in figure.axes]

    def fits(mm: float) -> bool:
        wanted = min(1.0, mm * MM / natural[0])
        for size, put in texts:
            put(max(LEAST_PT, wanted * size))
        scale = max(wanted, LEAST_PT / min(size for size, _ in texts))
        figure.set_size_inches(mm * MM, scale * natural[1])
        if not _lay_out(figure):
            return False
        for axes, limits in zip(figure.axes, ranges, strict=True):
            _make_room(axes, limits)
        # Titles in more lines take from the height of charts.
        lack = [scale * old - new for old, new in zip(heights, _heights(figure), strict=True)]
        figure.set_figheight(figure.get_figheight() + max(0.0, *lack) * _rows(figure))
        return _lay_out(figure) and _is_legible(figure)

    if fits(width_mm):
        return
    wider = STEP_MM * math.ceil(width_mm / STEP_MM + 0.5)
    while wider < natural[0] / MM and not fits(wider):
        wider += STEP_MM
    raise ConfigurationError(
        f"{where}: found {width_mm:g} mm, accepted: {wider:g} mm or more, for text of "
        f"{LEAST_PT:g} points to fit"
    )


def _sized(figure: Figure) -> list[Sized]:
    """Return all sizes of text; labels of ticks are made anew, their axis keeps the size."""
    found: list[Sized] = []
    ticks = set()
    for axes in figure.axes:
        for name, axis in (("x", axes.xaxis), ("y", axes.yaxis)):
            labels = axis.get_ticklabels()
            ticks |= set(labels)
            if labels:

                def put(size: float, axes=axes, name=name) -> None:  # type: ignore[no-untyped-def]
                    axes.tick_params(axis=name, labelsize=size)

                found.append((float(labels[0].get_fontsize()), put))
    for text in figure.findobj(Text):
        assert isinstance(text, Text)
        if text not in ticks and text.get_text():
            found.append((float(text.get_fontsize()), text.set_fontsize))
    for text in (figure._suptitle, figure._supxlabel):  # type: ignore[attr-defined]
        if text is not None:
            text.set_text(bound(text.get_text()))
            text.set_wrap(True)
    return found


def _lay_out(figure: Figure) -> bool:
    """Lay a figure out; say whether there is room for its charts."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        try:
            figure.draw_without_rendering()
        except UserWarning:
            return False
    return all(axes.bbox.width >= LEAST_AXES * figure.dpi for axes in figure.axes)


def _heights(figure: Figure) -> list[float]:
    """Return the heights of charts in inches."""
    return [float(axes.bbox.height / figure.dpi) for axes in figure.axes]


def _rows(figure: Figure) -> int:
    """Return how many rows of charts there are."""
    return len({round(axes.get_position().y0, 3) for axes in figure.axes})


def _is_legible(figure: Figure) -> bool:
    """Say whether all text is on the page, and in charts none over another one."""
    box = figure.get_tightbbox()
    on_page = box.x0 >= -TOLERANCE and box.x1 <= figure.get_figwidth() + TOLERANCE
    return on_page and not any(map(_overlap, figure.axes))


def _overlap(axes: Axes) -> bool:
    """Say whether a text in a chart, or in the legend beside it, covers another one."""
    legend = axes.get_legend()
    texts = [*axes.texts, *([] if legend is None else legend.get_texts())]
    found = [each.get_window_extent() for each in texts if each.get_visible() and each.get_text()]
    if not found:
        return False
    left, low, right, high = np.array([box.extents for box in found]).T[:, :, None] + 0.0
    slack = TOLERANCE * axes.figure.dpi
    beside = (right - slack <= left.T) | (right.T - slack <= left)
    above = (high - slack <= low.T) | (high.T - slack <= low)
    return int((~(beside | above)).sum()) > len(found)  # each covers itself


def _make_room(axes: Axes, limits: tuple[float, float]) -> None:
    """Let what is written beside bars end where a legend begins."""
    axes.set_xlim(limits)
    if axes.get_legend() is None or not axes.texts:
        return
    over = max(text.get_window_extent().x1 for text in axes.texts) - axes.bbox.x1
    share = 1.0 - over / axes.bbox.width
    if LEAST_SHARE < share < 1.0:
        low, high = limits
        axes.set_xlim(low, low + (high - low) / share)
