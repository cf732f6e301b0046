"""A comparison of two runs as a table."""

from __future__ import annotations

from rich.table import Table

from simsched.experiment.compare import Difference
from simsched.report.terminal import plain_table


def difference_table(found: Difference) -> Table:
    """Return the parts of both makespans and their differences, which add up."""
    first, second = found.first, found.second
    sides = (f"A: {first.label} [s]", f"B: {second.label} [s]")
    whole = first.makespan_s or 1.0
    rows = []
    for name, change in found.seconds.items():
        values = [found.cleared(side.seconds.get(name, 0.0)) for side in (first, second)]
        if any(values):
            rows.append((name, *map(_number, values), _signed(change), _percent(change / whole)))
    table = plain_table(
        ("part", *sides, "B - A [s]", "of A's makespan"),
        rows,
        left=("part",),
        fold=sides,
        title="Where the time went, per worker",
    )
    table.add_section()
    row = (_number(first.makespan_s), _number(second.makespan_s), _signed(found.change_s))
    table.add_row("makespan", *row, _percent(found.change_s / whole), style="bold")
    return table


def _number(value: float) -> str:
    return f"{value:.4g}"


def _signed(value: float) -> str:
    return f"{value:+.4g}" if value else "0"


def _percent(share: float) -> str:
    return f"{100 * share:+.1f} %" if share else "0 %"
