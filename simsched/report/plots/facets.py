"""Panels of machines and workloads: no axis has more bars than one machine and workload give."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

Place = tuple[str, str]  #: a machine and a workload
Panels = NDArray[np.object_]  #: axes; shape (n_panels,)
Item = TypeVar("Item")
MOST_COLUMNS = 3


def by_place(items: Sequence[Item], place: Callable[[Item], Place]) -> dict[Place, list[Item]]:
    """Return items of each machine and workload together."""
    found: dict[Place, list[Item]] = {}
    for item in items:
        found.setdefault(place(item), []).append(item)
    return found


def place_of(row: Mapping[str, Any]) -> Place:
    """Return machine and workload of a run."""
    return str(row["machine"]), str(row["workload"])


def place_names(places: Sequence[Place]) -> dict[Place, str]:
    """Return what titles call places: by the workload alone where there is one machine."""
    several = len({machine for machine, _ in places}) > 1
    return {(m, w): f"{w} on {m}" if several else w for m, w in places}


def rows_of_panels(places: Sequence[Place], most: int = MOST_COLUMNS) -> list[list[Place]]:
    """Return places as they are laid out: a row per machine and a column per workload.

    It is the other way round where there are more than `most` workloads. With so many of both, or
    one machine or workload, rows are filled one after the other.
    """
    machines, workloads = (list(dict.fromkeys(names)) for names in zip(*places, strict=True))
    if min(len(machines), len(workloads)) > 1 and len(places) == len(machines) * len(workloads):
        if len(workloads) <= most:
            return [[(machine, workload) for workload in workloads] for machine in machines]
        if len(machines) <= most:
            return [[(machine, workload) for machine in machines] for workload in workloads]
    return [list(places[at : at + most]) for at in range(0, len(places), most)]


def panels_for(
    figure: Figure,
    bars: Mapping[Place, Sequence[str]],
    line_height: float = 0.16,
    most_columns: int = MOST_COLUMNS,
) -> dict[Place, Axes]:
    """Return one axes per place on a figure that is made as large as the names of bars ask for.

    Panels beside each other whose bars have the same names show them once. `line_height` is that of
    a line of a name in inches. There are no more than `most_columns` panels beside each other.
    """
    rows = rows_of_panels(list(bars), most_columns)
    columns = max(map(len, rows))
    alike = all(len({tuple(bars[place]) for place in row}) == 1 for row in rows)
    lines = [name.split("\n") for names in bars.values() for name in names]
    longest = max((len(line) for name in lines for line in name), default=0)
    tallest = max(map(len, lines), default=1)
    # Names that cannot be broken take what they need, beside bars of two inches and a half.
    beside = 0.07 * longest + 0.3
    width = beside + 3.0 * columns if alike else max(5.0, 2.5 + beside) * columns
    bar = max(0.34, 0.04 + line_height * tallest)
    heights = [1.1 + bar * max(1, *(len(bars[place]) for place in row)) for row in rows]
    figure.set_size_inches(max(5.5, width), sum(heights) + 0.4)
    grid = figure.add_gridspec(len(rows), columns, height_ratios=heights)
    found = {}
    for number, row in enumerate(rows):
        for column, place in enumerate(row):
            found[place] = axes = figure.add_subplot(grid[number, column])
            axes.tick_params(labelleft=column == 0 or not alike)
    return found
