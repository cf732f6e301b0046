"""Titles, and labels of horizontal axes, as wide as their axes."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from matplotlib.axes import Axes
from matplotlib.text import Text
from matplotlib.transforms import Bbox

#: The space between a number and its unit.
_NUMBER_AND_UNIT = re.compile(
    r"(?<=\d) (?=(?:%|[mnpu]?s|[kMGT]?i?B(?:/s)?|[kMG]?Hz|[GT]?FLOP/s|[mnu]?J|k?W)(?![\w/]))"
)


class _Fitted(Text):
    """A text that is broken where its axes end, whenever it is measured or drawn.

    How wide axes are is known no earlier: layouts make room for labels, legends and neighbours.
    """

    within: Axes
    whole: str  #: what the text says, in one line or as many as the caller has given it
    broken: str  #: what is shown of it; something else is a text that somebody else has set

    def get_window_extent(self, *args: Any, **kwargs: Any) -> Bbox:
        """Break the text; return the rectangle that it covers, in pixels."""
        self._break()
        return super().get_window_extent(*args, **kwargs)

    def draw(self, *args: Any, **kwargs: Any) -> None:
        """Break the text and draw it."""
        self._break()
        super().draw(*args, **kwargs)

    def _break(self) -> None:
        if self.get_text() != self.broken:
            return
        width = self.within.bbox.width
        ruler = Text(fontproperties=self.get_fontproperties())
        ruler.set_figure(self.within.figure)

        def fits(text: str) -> bool:
            ruler.set_text(text)
            return ruler.get_window_extent().width <= width

        self.broken = broken(self.whole, fits)
        self.set_text(self.broken)


def set_title(axes: Axes, text: str) -> None:
    """Give axes a title at their left, in as many lines as it takes to stay within their width."""
    _fit(axes.set_title(text, fontsize=10, loc="left"), axes)


def set_xlabel(axes: Axes, text: str) -> None:
    """Label a horizontal axis, in as many lines as it takes not to reach into other axes."""
    _fit(axes.set_xlabel(text, fontsize=9), axes)


def _fit(text: Any, axes: Axes) -> None:
    """Let a text be as wide as axes, which have made it themselves."""
    text.__class__ = _Fitted
    text.within = axes
    text.whole = text.broken = text.get_text()


def bound(text: str) -> str:
    r"""Return a text in which no line ends between a number and its unit.

    >>> bound("12.1 % of 3 GB/s in 4 workers").split(" ")[1:]
    ['of', '3\xa0GB/s', 'in', '4', 'workers']
    """
    return _NUMBER_AND_UNIT.sub("\N{NO-BREAK SPACE}", text)


def broken(text: str, fits: Callable[[str], bool]) -> str:
    """Return a text in lines that fit, broken at spaces where it can be, else inside words."""
    lines = []
    for line in bound(text).split("\n"):
        current = ""
        for word in line.split(" "):
            together = f"{current} {word}" if current else word
            if fits(together):
                current = together
                continue
            if current:
                lines.append(current)
            *full, current = _filled(word, fits)
            lines += full
        lines.append(current)
    return "\n".join(lines)


def _filled(word: str, fits: Callable[[str], bool]) -> list[str]:
    """Return a word in lines: broken after commas and brackets, else inside names."""
    parts: list[str] = []
    for part in re.split(r"(?<=[,\[])", word):
        parts += [part] if fits(part) else re.split(r"(?<=[_=])", part)
    lines = [""]
    for part in parts:
        if lines[-1] and not fits(lines[-1] + part):
            lines.append("")
        lines[-1] += part
    return lines
