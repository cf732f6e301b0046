"""Simulated makespans beside those of others, as text tables."""

from __future__ import annotations

from collections.abc import Sequence

from rich.table import Table

from simsched.report.terminal import plain_table
from simsched.reproduction.references import Row, by_policy


def reference_table(rows: Sequence[Row]) -> Table:
    """Return one line per reference; with several seeds, how far the makespans are apart."""
    spread = any(row.deviation_s is not None for row in rows)
    over_seeds = ("std. dev. [ms]", "range [ms]") if spread else ()
    names = ("tiles", "simulated [ms]", *over_seeds, "reference [ms]", "error [%]", "took [s]")
    lines = []
    for row in rows:
        given = row.reference
        cells = [given.machine, given.policy, "-" if given.tiles is None else str(given.tiles)]
        reference = "-" if given.makespan_s is None else f"{given.makespan_s * 1e3:,.1f}"
        if row.problem:
            cells += ["-", *["-"] * len(over_seeds), reference, "-", "-"]
        else:
            cells.append(f"{row.makespan_s * 1e3:,.1f}")
            if row.deviation_s is not None:
                shortest, longest = (f"{edge(row.makespans_s) * 1e3:,.1f}" for edge in (min, max))
                cells += [f"{row.deviation_s * 1e3:,.1f}", f"{shortest} to {longest}"]
            cells += [reference, f"{row.error_percent:+.1f}", f"{row.wall_s:.2f}"]
        lines.append(cells)
    return plain_table(("machine", "policy", *names), lines, left=("machine", "policy"))


def policy_table(rows: Sequence[Row]) -> Table:
    """Return one line per policy: how large the errors are."""
    lines = [
        (
            line["policy"],
            str(line["rows"]),
            f"{line['median_error_percent']:.1f}",
            f"{line['largest_error_percent']:.1f}",
            str(line["within_5_percent"]),
            str(line["within_10_percent"]),
        )
        for line in by_policy(list(rows))
    ]
    columns = ("policy", "rows", "median error [%]", "largest [%]", "within 5 %", "within 10 %")
    return plain_table(columns, lines, left=("policy",))
