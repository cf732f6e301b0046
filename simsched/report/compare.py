"""A comparison of two runs as tables."""

from __future__ import annotations

from collections.abc import Iterator

from rich.table import Table

from simsched.analysis.supply import BETWEEN
from simsched.analysis.waterfall import group_of
from simsched.experiment.compare import Difference, Side
from simsched.files.units import PER_PS
from simsched.report.tables import in_millionths, scaled
from simsched.report.terminal import plain_table

#: Idle time with a detail that is shorter than this part of the makespan is not shown.
LEAST_SHARE = 1e-3


def difference_table(found: Difference) -> Table:
    """Return the parts of both makespans and their differences, which add up.

    Parts of one group are below the sum of the group.
    """
    first, second = found.first, found.second
    title, factor = scaled("time_s", [first.makespan_s, second.makespan_s])
    unit = title.partition(" ")[2]
    where, *names = found.names
    sides = tuple(f"{side}: {name} {unit}" for side, name in zip("AB", names, strict=True))

    def row(name: str, before: float, after: float) -> tuple[str, ...]:
        change = found.cleared(after - before)
        values = (in_millionths(found.cleared(value) / factor) for value in (before, after))
        return (
            name,
            *values,
            in_millionths(change / factor, "+"),
            _percent(change / (first.makespan_s or 1.0)),
        )

    table = plain_table(
        ("part", *sides, f"B - A {unit}", "of A's makespan"),
        (row(*each) for each in _grouped(found)),
        left=("part",),
        fold=sides,
        whole=("part",),
        title=f"Where the time went, per worker{f': {where}' if where else ''}",
    )
    table.add_section()
    table.add_row(*row("makespan", first.makespan_s, second.makespan_s), style="bold")
    return table


def _shown(found: Difference, seconds: float) -> float:
    """Return a time, but 0 where it is below half a picosecond, the unit of simulated time."""
    return 0.0 if abs(seconds) < 0.5 * PER_PS else found.cleared(seconds)


def _grouped(found: Difference) -> Iterator[tuple[str, float, float]]:
    """Yield the parts that are not empty, each group of several after its sum."""
    groups: dict[str, list[tuple[str, float, float]]] = {}
    for name in found.seconds:
        before, after = (side.seconds.get(name, 0.0) for side in (found.first, found.second))
        if _shown(found, before) or _shown(found, after):
            groups.setdefault(group_of(name), []).append((name, before, after))
    for group, parts in groups.items():
        if parts[0][0] == group:
            yield parts[0]
            continue
        yield group, sum(part[1] for part in parts), sum(part[2] for part in parts)
        for name, before, after in parts:
            yield name.replace(f"{group}: ", "  "), before, after


def pools_table(found: Difference) -> Table | None:
    """Return in which pools tasks were ready while workers were idle, and what else is known.

    None where that is less than a thousandth of the makespan on both sides.
    """
    sides = found.first, found.second
    longest = max(side.makespan_s for side in sides)
    keys = dict.fromkeys(key for side in sides for key in side.idle_s)
    values = {
        (cause, detail): [side.idle_s.get((cause, detail), 0.0) for side in sides]
        for cause, detail in keys
        if detail and cause != BETWEEN
    }
    values = {key: pair for key, pair in values.items() if max(pair) >= LEAST_SHARE * longest}
    if not values:
        return None
    title, factor = scaled("time_s", [value for pair in values.values() for value in pair])
    unit = title.partition(" ")[2]
    rows = [
        (*key, *(in_millionths(value / factor) for value in pair)) for key, pair in values.items()
    ]
    heads = ("idle because", "more exactly", f"A {unit}", f"B {unit}")
    return plain_table(
        heads, rows, left=heads[:2], fold=heads[1:2], title="Idle time in detail, per worker"
    )


_EFFICIENCIES = {
    "parallel": "parallel efficiency",
    "load_balance": "  load balance",
    "serialisation": "  x serialisation",
    "transfer": "  x transfer",
    "work_time_inflation": "work-time inflation",
}
_STEALS = {
    "steals_same_core": "steals in the core",
    "steals_same_domain": "steals in the domain",
    "steals_remote": "steals from other domains",
}


def efficiency_table(found: Difference) -> Table | None:
    """Return efficiencies by their POP names and steals by distance; None without any."""
    sides = found.first, found.second
    rows = [
        (title, *(_efficiency(side, name) for side in sides))
        for name, title in _EFFICIENCIES.items()
        if any(name in side.efficiencies for side in sides)
    ]
    for name, title in _STEALS.items():
        counts = [side.metrics.get(name, 0.0) for side in sides]
        if any(counts):
            rows.append((title, *(f"{count:,.0f}" for count in counts)))
    if not rows:
        return None
    heads = ("efficiency", "A", "B")
    return plain_table(heads, rows, left=heads[:1], title="Efficiencies, and steals by distance")


def _efficiency(side: Side, name: str) -> str:
    return f"{side.efficiencies[name]:.3f}" if name in side.efficiencies else "-"


def tables(found: Difference) -> list[Table]:
    """Return all tables of a comparison."""
    every = difference_table(found), pools_table(found), efficiency_table(found)
    return [table for table in every if table is not None]


def _percent(share: float) -> str:
    share = round(100 * share, 1)
    return f"{share:+.1f} %" if share else "0 %"
