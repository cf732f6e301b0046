"""A comparison of two runs as a table."""

from __future__ import annotations

from rich import box
from rich.table import Table

from simsched.experiment.compare import Difference


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
        values = [found.cleared(side.seconds.get(name, 0.0)) for side in (first, second)]
        if any(values):
            table.add_row(name, *map(_number, values), _signed(change), _percent(change / whole))
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
