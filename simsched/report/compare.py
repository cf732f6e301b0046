"""A comparison of two runs as table and waterfall."""

from __future__ import annotations

from matplotlib.figure import Figure
from rich import box
from rich.table import Table

from simsched.experiment.compare import Difference
from simsched.report.plots import COLOURS

#: Parts below this share of the longer makespan are left out of the picture.
LEAST_SHARE = 1e-3


def difference_table(found: Difference) -> Table:
    """Return the parts of both makespans and their differences, which add up."""
    first, second = found.first, found.second
    table = Table(
        title="Where the time went, per worker", box=box.SIMPLE_HEAD, title_justify="left"
    )
    table.add_column("part")
    table.add_column(f"A: {first.label} [s]", justify="right", overflow="fold")
    table.add_column(f"B: {second.label} [s]", justify="right", overflow="fold")
    table.add_column("B - A [s]", justify="right")
    table.add_column("of A's makespan", justify="right")
    whole = first.makespan_s or 1.0
    for name, change in found.seconds.items():
        values = (first.seconds.get(name, 0.0), second.seconds.get(name, 0.0))
        if any(values):
            table.add_row(name, *map(_number, values), _signed(change), _percent(change / whole))
    table.add_section()
    change = second.makespan_s - first.makespan_s
    row = (_number(first.makespan_s), _number(second.makespan_s), _signed(change))
    table.add_row("makespan", *row, _percent(change / whole), style="bold")
    return table


def _number(value: float) -> str:
    return f"{value:.4g}"


def _signed(value: float) -> str:
    return f"{value:+.4g}"


def _percent(share: float) -> str:
    return f"{100 * share:+.1f} %"


def draw_difference(found: Difference) -> Figure:
    """Return a waterfall from the makespan of A to that of B."""
    longest = max(found.first.makespan_s, found.second.makespan_s)
    parts = {n: s for n, s in found.seconds.items() if abs(s) >= LEAST_SHARE * longest}
    figure = Figure(figsize=(8.0, 1.6 + 0.36 * (len(parts) + 3)), layout="constrained")
    axes = figure.add_subplot()
    names = [f"A: {found.first.label}", *parts, "smaller parts", f"B: {found.second.label}"]
    level = found.first.makespan_s
    axes.barh(0, level, color=COLOURS[-1])
    rest = found.second.makespan_s - level - sum(parts.values())
    for place, change in enumerate([*parts.values(), rest], start=1):
        axes.barh(place, change, left=level, color=COLOURS[2] if change < 0 else COLOURS[3])
        edge = max(level, level + change)
        axes.annotate(
            _signed(change), (edge, place), xytext=(4, 0), textcoords="offset points", va="center"
        )
        level += change
    axes.barh(len(parts) + 2, found.second.makespan_s, color=COLOURS[-1])
    axes.set_yticks(range(len(names)), names, fontsize=9)
    axes.invert_yaxis()
    axes.set_xlim(0, longest * 1.2)
    axes.set_xlabel("seconds of the mean worker")
    axes.spines[["top", "right"]].set_visible(False)
    return figure
