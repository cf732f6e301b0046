"""A result as one HTML file that needs nothing else."""

from __future__ import annotations

import platform
import shlex
from base64 import b64encode
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from functools import partial
from hashlib import sha256
from importlib.metadata import version
from importlib.resources import files
from io import BytesIO, StringIO
from pathlib import Path
from typing import Any

import matplotlib as mpl
from jinja2 import Environment, StrictUndefined
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from rich.table import Table
from ruamel.yaml import YAML

from simsched.experiment.cells import Cell
from simsched.experiment.compare import Difference, measure_side
from simsched.experiment.study import Study
from simsched.experiment.summary import Row
from simsched.files.atomic import write_text
from simsched.files.errors import ConfigurationError, SimschedError
from simsched.files.yaml_reader import Document
from simsched.report.claims import plain_claim
from simsched.report.compare import tables
from simsched.report.plots import (
    draw_matrix,
    plot_bandwidth,
    plot_bandwidth_over_time,
    plot_comparison,
)
from simsched.report.result_data import ResultData
from simsched.report.show import describe, html
from simsched.report.tables import comparison_cells, fit_notes
from simsched.report.terminal import text

#: A longer comparison is cut in the table, and not drawn.
MAX_LINES = 400
MAX_BARS = 120
#: More pictures of single machines and workloads are not drawn.
MAX_PICTURES = 12
#: Packages whose version can change results or their presentation.
PACKAGES = ("simsched", "numpy", "scipy", "simpy", "networkx", "pandas", "matplotlib")
DPI = 110
#: Of runs that are simulated again to say where their time went, at most; a minute for all of them.
MAX_EVENTS = 3_000_000

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


def write_report(result: ResultData, path: Path, command: Sequence[str] = ()) -> None:
    """Write the report of a result as HTML, completely or not at all.

    `command` has the words of the command that makes it; without, the report says how to repeat the
    experiment from its description.
    """
    if path.suffix != ".html":
        raise ConfigurationError(f"report: found {str(path)!r}, accepted: a name in .html")
    if not result.rows:
        raise ConfigurationError("report: found no runs, accepted at least one")
    write_text(path, report_html(result, command))


def report_html(result: ResultData, command: Sequence[str] = ()) -> str:
    """Return the text of a report; see :func:`write_report`."""
    # What is inserted as it is comes from simsched's own HTML, which escapes all text.
    environment = Environment(
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    head, rows = comparison_cells(result.lines[:MAX_LINES])
    cells = result.cells
    machines = _different(cells, lambda cell: text(describe(cell.machine_model)))
    workloads = _different(cells, lambda cell: (cell.workload, str(cell.sweep)))
    policies = _different(cells, lambda cell: cell.policy_content or str(cell.policy))
    own = files("simsched.report")
    template = own.joinpath("report.html.jinja").read_text("utf-8")
    script = own.joinpath("report.js").read_text("utf-8")
    return environment.from_string(template).render(
        script=script,
        # The page allows this script and no other.
        script_hash="sha256-" + b64encode(sha256(script.encode()).digest()).decode(),
        name=result.experiment.name,
        description=result.experiment.description.strip(),
        remark=result.experiment.remark.strip(),
        n_runs=len(result.rows),
        seeds=sorted({cell.seed for cell in cells}),
        backends=sorted({cell.backend for cell in cells}),
        head=head,
        rows=rows,
        remarks=result.remarks,
        explanations=list(_explanations(result)),
        marks=fit_notes(result.lines[:MAX_LINES]),
        n_names=head.index("policy") + 1,
        left_out=max(0, len(result.lines) - MAX_LINES),
        claims=[plain_claim(verdict) for verdict in result.claims],
        pictures=list(_pictures(result)),
        machines=[
            (c.machine, html(c.machine_model), text(describe(c.machine_model))) for c in machines
        ],
        workloads=[(c.workload, html(c.workload_source.build())) for c in workloads],
        policies=[(c.policy, html(c.policy_model)) for c in policies],
        command=shlex.join(command),
        experiment=_yaml(result),
        versions=[(name, version(name)) for name in PACKAGES]
        + [("Python", platform.python_version()), ("system", platform.platform(terse=True))],
        made=datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
    )


def _explanations(result: ResultData) -> Iterator[dict[str, Any]]:
    """Yield where the time of the baseline and of the shortest policy went, place by place.

    Runs are simulated again with their events, as long as these are no more than `MAX_EVENTS`.
    """
    places: dict[tuple[str, str, str], dict[str, list[tuple[Cell, Row]]]] = {}
    for cell, row in zip(result.cells, result.rows, strict=True):
        place = places.setdefault((cell.machine, cell.workload, str(cell.sweep)), {})
        place.setdefault(cell.policy, []).append((cell, row))
    room = MAX_EVENTS
    for policies in places.values():
        base = policies.pop(result.baseline, None)
        if base is None or not policies:
            continue
        best = min(policies.values(), key=lambda runs: sum(row["makespan_s"] for _, row in runs))
        room -= sum(int(row["events"]) for _, row in (*base, *best))
        if room < 0:
            return
        found = Difference(*(measure_side([cell for cell, _ in runs]) for runs in (base, best)))
        yield {
            "title": "{}: {} and {}".format(*found.names),
            "remarks": found.remarks,
            "tables": [_plain(table) for table in tables(found)],
        }


def _plain(table: Table) -> dict[str, Any]:
    """Return a table of the terminal as plain text."""
    columns = [[str(cell) for cell in column.cells] for column in table.columns]
    heads = [str(column.header) for column in table.columns]
    return {
        "title": str(table.title or ""),
        "head": heads,
        "rows": list(zip(*columns, strict=True)),
    }


def _different(cells: Sequence[Any], key: Callable[[Any], str | tuple[str, ...]]) -> list[Any]:
    """Return the first cell of each kind."""
    return list({key(cell): cell for cell in reversed(cells)}.values())[::-1]


def _yaml(result: ResultData) -> str:
    """Return the experiment as the text of a file that gives the same runs; empty if none does."""
    data = result.experiment.model_dump(mode="json", exclude_defaults=True)
    for entry in (*data["workloads"], *data["policies"]):
        entry |= entry.pop("parameters", {})  # which a file has beside the name
    try:
        study = Study.from_yaml(Document(None, data))
    except SimschedError:
        return ""  # it has objects that only exist in the program which has run it
    if {cell.key for cell in study.cells} != {cell.key for cell in result.cells}:
        return ""
    yaml = YAML()
    yaml.width = 100
    yaml.indent(mapping=2, sequence=4, offset=2)
    text = StringIO()
    yaml.dump(data, text)
    return text.getvalue()


def _pictures(result: ResultData) -> Iterator[dict[str, Any]]:
    name = result.experiment.name
    if len(result.lines) <= MAX_BARS:
        yield _picture(f"Makespans of {name}", lambda: plot_comparison(result.lines))
    if draw_matrix(result.lines) is not None:
        title = f"Policies of {name}, by machine and workload"
        yield _picture(title, lambda: draw_matrix(result.lines))
    places: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for row in result.rows:
        places.setdefault((row["machine"], row["workload"]), []).append(row)
    for (machine, workload), rows in list(places.items())[:MAX_PICTURES]:
        title = f"{workload} on {machine}"
        cells = [
            cell for cell in result.cells if (cell.machine, cell.workload) == (machine, workload)
        ]
        for draw in (
            partial(plot_bandwidth, rows, title),
            partial(plot_bandwidth_over_time, cells, rows, title),
        ):
            if draw() is not None:
                yield _picture(title, draw)


def _picture(title: str, draw: Callable[[], Figure | None]) -> dict[str, Any]:
    """Return a figure for light and for dark surroundings, as ``data:`` addresses of PNG files.

    The title is also for those who cannot see it; the width is in CSS pixels.
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
