"""The smallest granularities of tasks as a table, files and a figure."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rich.table import Table

from simsched.experiment.metg import Metg
from simsched.experiment.summary import estimate
from simsched.report.plots import save
from simsched.report.plots.metg import plot_metg
from simsched.report.tables import scaled, with_interval
from simsched.report.terminal import plain_table, with_sections
from simsched.trace.parquet import write_rows

#: What a search writes into a directory.
FILES = ("metg.parquet", "metg_trials.parquet", "metg.png")
_NEVER = "never"


def metg_table(found: Sequence[Metg]) -> Table:
    """Return a line for each machine, program, number of workers and policy.

    Times are means over the seeds with their 95 % confidence intervals.
    """
    groups = by_seeds(found)
    several = len({each.cell.machine for each in found}) > 1
    swept = list(dict.fromkeys(key for each in found for key in each.cell.sweep))
    titles = {
        name: scaled(name, [float(each.row()[name] or 0.0) for each in found])
        for name in ("metg_s", "task_s")
    }
    percent = f"{100 * found[0].target:g} %"
    heads = ["machine"] * several + ["workload", "workers", "policy", *swept]
    numbers = [f"METG({percent}) {titles['metg_s'][0].partition(' ')[2]}", titles["task_s"][0]]
    rows = []
    for members in groups:
        cell = members[0].cell
        row = [cell.machine] * several + [cell.workload, str(members[0].workers), cell.policy]
        row += [str(cell.sweep.get(key, "")) for key in swept]
        row += [_mean(members, name, factor) for name, (_, factor) in titles.items()]
        best = estimate([float(each.row()["best_efficiency"]) for each in members])
        rows.append([*row, with_interval(best, 0.01), _remark(members)])
    made = plain_table(
        [*heads, *numbers, "best efficiency [%]", ""],
        rows,
        left=[*heads, ""],
        whole=[*heads, *numbers],
        title=f"Smallest granularity of tasks with an efficiency of {percent}",
    )
    made.columns[heads.index("workers")].justify = "right"
    places = [(each[0].cell.machine, each[0].cell.workload, each[0].workers) for each in groups]
    return with_sections(made, places)


def by_seeds(found: Sequence[Metg]) -> list[list[Metg]]:
    """Return what differs in nothing but the seed, together."""
    groups: dict[tuple[str, ...], list[Metg]] = {}
    for each in found:
        cell = each.cell
        place = cell.machine, cell.workload, cell.policy, str(cell.sweep), str(each.workers)
        groups.setdefault(place, []).append(each)
    return list(groups.values())


def _mean(members: Sequence[Metg], name: str, factor: float) -> str:
    values = [each.row()[name] for each in members]
    if None in values:
        return _NEVER
    at_most = "<= " if any(each.is_bound for each in members) else ""
    return at_most + with_interval(estimate(values), factor)


def _remark(members: Sequence[Metg]) -> str:
    return "" if all(each.is_monotone for each in members) else "coarser tasks are less efficient"


def write_metg(found: Sequence[Metg], directory: Path) -> list[Path]:
    """Write what was found, all trials, and a figure into a directory; return the files."""
    table, trials, picture = (directory / name for name in FILES)
    write_rows(table, [each.row() for each in found])
    write_rows(trials, [row for each in found for row in each.curve()])
    save(plot_metg(found), picture)
    return [table, trials, picture]
