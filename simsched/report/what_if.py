"""What changes would gain, as a table."""

from __future__ import annotations

from rich.table import Table

from simsched.experiment.what_if import Gain, WhatIf
from simsched.files.units import plural
from simsched.report.tables import percent_with_interval, scaled, with_interval
from simsched.report.terminal import plain_table


def what_if_table(found: WhatIf) -> Table:
    """Return the changes that have an effect by their gain, and the unchanged runs among them."""
    shown = [gain for gain in found.gains if gain.has_effect and not gain.impossible]
    shorter = [gain for gain in shown if gain.gain_s > 0.0]
    rest = [gain for gain in shown if gain.gain_s <= 0.0]
    ranked = [*shorter, found.unchanged, *rest]
    title, factor = scaled("makespan_s", [gain.makespan_s.mean for gain in ranked])
    heads = ("changed", "to", title, "shorter by [%]", "predicted [%]")
    table = plain_table(
        heads,
        (_cells(gain, factor) for gain in ranked),
        left=heads[:2],
        fold=heads[:1],
        title=f"What if: {found.label}, {plural(len(found.seeds), 'seed')}",
    )
    table.rows[len(shorter)].style = "bold"
    return table


def _cells(gain: Gain, factor: float) -> tuple[str, ...]:
    return (
        gain.what,
        gain.to,
        with_interval(gain.makespan_s, factor),
        percent_with_interval(gain.shorter_percent),
        percent_with_interval(gain.predicted_percent) if gain.predicted_ps else "",
    )


def what_if_notes(found: WhatIf) -> list[str]:
    """Return what the table leaves out, and how exact the unchanged runs are repeated."""
    without = [
        f"{gain.what} {gain.to}"
        for gain in found.gains
        if not gain.has_effect and not gain.impossible
    ]
    notes = [f"unchanged, simulated again: differs by {found.drift_ps} ps"]
    simulated, whole = found.iterations
    if simulated < whole:
        notes.append(
            f"simulated: the first {simulated} of {whole} iterations; --iterations {whole} for all"
        )
    if without:
        notes.append(f"without any effect: {', '.join(without)}")
    notes += [
        f"impossible: {gain.what} {gain.to}: {gain.impossible}"
        for gain in found.gains
        if gain.impossible
    ]
    notes += [f"does not apply: {each.what}: {each.why}" for each in found.missing]
    return notes
