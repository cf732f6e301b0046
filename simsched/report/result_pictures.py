"""The figures of a report: pictures of a page that is light or dark, or pages of a PDF file."""

from __future__ import annotations

import itertools
from base64 import b64encode
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from io import BytesIO
from pathlib import Path
from typing import Any, NamedTuple

import matplotlib as mpl
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.backends.backend_pdf import PdfPages
from matplotlib.figure import Figure

from simsched.experiment.cells import Cell
from simsched.experiment.compare import Difference, measure_side
from simsched.experiment.remarks import against_baseline
from simsched.experiment.summary import Row
from simsched.files.atomic import write_atomically
from simsched.files.errors import ConfigurationError
from simsched.report.plots import (
    draw_differences,
    draw_matrix,
    plot_bandwidth,
    plot_comparison,
)
from simsched.report.plots.facets import MOST_COLUMNS
from simsched.report.plots.iterations import OverTime
from simsched.report.plots.widths import fit
from simsched.report.result_data import ResultData

#: Of more lines no bars are drawn.
MAX_BARS = 120
#: More pictures of single machines and workloads are not drawn.
MAX_PICTURES = 12
#: Of runs that are simulated again to say where their time went, at most; a minute for all of them.
MAX_EVENTS = 3_000_000
DPI = 110

#: Kinds of figures, as users choose them.
FIGURES = ("makespan", "matrix", "waterfall", "bandwidth", "bandwidth_over_time")
#: From which width on there are two panels beside each other, and from which three.
COLUMNS_MM = (120.0, 200.0)


#: Runs that differ in nothing but their seed, with their rows.
Runs = list[tuple[Cell, Row]]


class Drawing(NamedTuple):
    """A figure: its kind, a title, also for those who cannot see it, and what draws it."""

    kind: str
    title: str
    draw: Callable[[], Figure | None]


_DARK: dict[Any, str] = {
    "text.color": "#e6e6e6",
    "axes.labelcolor": "#e6e6e6",
    "axes.edgecolor": "#9a9a9a",
    "xtick.color": "#e6e6e6",
    "ytick.color": "#e6e6e6",
    "grid.color": "#555555",
    "legend.labelcolor": "#e6e6e6",
    "legend.facecolor": "#222222",
}


def differences(result: ResultData) -> Iterator[list[Difference]]:
    """Yield where the time of the baseline and of other policies went, place by place.

    The policies are those of :func:`simsched.experiment.remarks.against_baseline`. Their runs are
    simulated again with their events, as long as these are no more than `MAX_EVENTS`.
    """
    room = MAX_EVENTS
    for runs in compared(result):
        events = [sum(int(row["events"]) for _, row in own) for own in runs]
        fit = sum(total <= room for total in itertools.accumulate(events))
        if fit < 2:
            return
        room -= sum(events[:fit])
        yield measured(runs[:fit])


def compared(result: ResultData) -> Iterator[list[Runs]]:
    """Yield the runs of the baseline and of the policies to compare with it, place by place."""
    places: dict[tuple[str, str, str], dict[str, Runs]] = {}
    for cell, row in zip(result.cells, result.rows, strict=True):
        place = places.setdefault((cell.machine, cell.workload, str(cell.sweep)), {})
        place.setdefault(cell.policy, []).append((cell, row))
    for runs in places.values():
        rows = {label: [row for _, row in own] for label, own in runs.items()}
        base = rows.pop(result.baseline, None)
        pairs = against_baseline(result.baseline, base, rows) if base else []
        if pairs:
            yield [runs[result.baseline], *(runs[pair.second.label] for pair in pairs)]


def measured(runs: Sequence[Runs]) -> list[Difference]:
    """Return where the time of runs went, beside the first ones."""
    first, *others = (measure_side([cell for cell, _ in own]) for own in runs)
    return [Difference(first, other) for other in others]


def chosen_drawings(
    result: ResultData,
    found: Sequence[Sequence[Difference]],
    kinds: Sequence[str] = (),
    width_mm: float | None = None,
) -> list[Drawing]:
    """Return the figures of a result that are asked for, all of them by default."""
    drawn = [*_drawings(result, found, width_mm)]
    there = dict.fromkeys(each.kind for each in drawn)
    for kind in kinds:
        if kind not in there:
            raise ConfigurationError(
                f"report: found no figure {kind} of {result.experiment.name}, accepted: "
                f"{', '.join(there)}"
            )
    return [each for each in drawn if not kinds or each.kind in kinds]


def _drawings(
    result: ResultData, found: Sequence[Sequence[Difference]], width_mm: float | None
) -> Iterator[Drawing]:
    """Yield the figures of a result: makespans, their differences, bandwidths."""
    name, columns = result.experiment.name, MOST_COLUMNS
    if width_mm is not None:
        columns = 1 + sum(width_mm >= least for least in COLUMNS_MM)
    if len(result.lines) <= MAX_BARS:
        draw = partial(plot_comparison, result.lines, most_columns=columns)
        yield Drawing("makespan", f"Makespans of {name}", draw)
    if draw_matrix(result.lines) is not None:
        title = f"Policies of {name}, by machine and workload"
        yield Drawing("matrix", title, partial(draw_matrix, result.lines))
    for of_place in found[:MAX_PICTURES]:
        title = difference_title(*of_place)
        draw = partial(draw_differences, of_place, most_columns=columns)
        yield Drawing("waterfall", title, draw)
    places: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for row in result.rows:
        places.setdefault((row["machine"], row["workload"]), []).append(row)
    for (machine, workload), rows in list(places.items())[:MAX_PICTURES]:
        title = f"{workload} on {machine}"
        cells = [
            cell for cell in result.cells if (cell.machine, cell.workload) == (machine, workload)
        ]
        by_iteration = partial(plot_bandwidth, rows, title, most_columns=columns)
        if by_iteration() is not None:
            yield Drawing("bandwidth", title, by_iteration)
        over_time = OverTime(cells, rows)
        if over_time.is_shown:
            yield Drawing("bandwidth_over_time", title, partial(over_time.draw, title))


def difference_title(*found: Difference) -> str:
    """Return what a report calls differences: machine and workload, and all policies."""
    where, first, _ = found[0].names
    policies = [first, *(each.names[2] for each in found)]
    return f"{where}: {', '.join(policies[:-1])} and {policies[-1]}"


def picture(title: str, draw: Callable[[], Figure | None]) -> dict[str, Any]:
    """Return a figure for light and for dark surroundings, as ``data:`` addresses of PNG files.

    The width is in CSS pixels.
    """
    found: dict[str, Any] = {"title": title}
    light: dict[Any, str] = {}
    for name, colours in (("light", light), ("dark", _DARK)):
        with mpl.rc_context(colours):
            figure = draw()
            assert figure is not None
            FigureCanvasAgg(figure)
            data = BytesIO()
            figure.savefig(data, format="png", dpi=2 * DPI, transparent=True)
            found["width"] = round(figure.get_figwidth() * DPI)
        found[name] = "data:image/png;base64," + b64encode(data.getvalue()).decode()
    return found


def write_pages(
    path: Path, drawn: Sequence[Drawing], title: str, width_mm: float | None = None
) -> None:
    """Write figures as a PDF file with a title, each on a page as large as it; no date is in it.

    With `width_mm` all are as wide as that.
    """
    title = drawn[0].title if len(drawn) == 1 else title

    def write(file: Path) -> None:
        with PdfPages(file, metadata={"Title": title, "CreationDate": None}) as pages:
            for each in drawn:
                figure = each.draw()
                assert figure is not None
                if width_mm is not None:
                    fit(figure, width_mm, f"report: width of {each.kind} ({each.title})")
                pages.savefig(figure)

    write_atomically(path, write)
