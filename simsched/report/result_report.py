"""A result as one HTML file that needs nothing else, or as the figures of a paper."""

from __future__ import annotations

import platform
import re
import shlex
from base64 import b64encode
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from hashlib import sha256
from importlib.metadata import version
from importlib.resources import files
from io import StringIO
from pathlib import Path
from typing import Any

from jinja2 import Environment, StrictUndefined
from rich.table import Table
from ruamel.yaml import YAML

from simsched.experiment.compare import Difference
from simsched.experiment.study import Study
from simsched.files.atomic import write_text
from simsched.files.errors import ConfigurationError, SimschedError, unknown_name
from simsched.files.yaml_reader import Document
from simsched.report.claims import plain_claim
from simsched.report.compare import tables
from simsched.report.plots.widths import parse_width
from simsched.report.result_data import ResultData
from simsched.report.result_pictures import (
    FIGURES,
    Drawing,
    chosen_drawings,
    difference_title,
    differences,
    picture,
    write_pages,
)
from simsched.report.show import describe, html
from simsched.report.tables import comparison_cells, cost_notes, fit_notes
from simsched.report.terminal import text

#: A longer comparison is cut in the table.
MAX_LINES = 400
SUFFIXES = (".html", ".pdf")
#: Packages whose version can change results or their presentation.
PACKAGES = ("simsched", "numpy", "scipy", "simpy", "networkx", "pandas", "matplotlib")


def check_figures(path: Path, figures: Sequence[str], width: str | None) -> float | None:
    """Refuse figures that do not exist and widths that pages cannot have; return it in mm."""
    for kind in figures:
        if kind not in FIGURES:
            raise ConfigurationError(f"report: {unknown_name('figure', kind, FIGURES)}")
    if width is not None and path.suffix != ".pdf":
        raise ConfigurationError("report: width: found without a PDF, accepted: with one")
    return None if width is None else parse_width(width, "report: width")


def write_report(
    result: ResultData,
    path: Path,
    command: Sequence[str] = (),
    *,
    figures: Sequence[str] = (),
    width: str | None = None,
) -> list[str]:
    """Write the report of a result as HTML, or its figures as PDF, completely or not at all.

    Return the sentences that explain the differences in it.

    `command` has the words of the command that makes it; without, the report says how to repeat the
    experiment from its description. `figures` are the kinds of figures to have, all by default;
    `width`, that of the pages of a PDF, is such as ``85 mm``.
    """
    if path.suffix not in SUFFIXES:
        accepted = f"a name in {' or '.join(SUFFIXES)}"
        raise ConfigurationError(f"report: found {str(path)!r}, accepted: {accepted}")
    if not result.rows:
        raise ConfigurationError("report: found no runs, accepted at least one")
    width_mm = check_figures(path, figures, width)
    found = [*differences(result)]
    drawn = chosen_drawings(result, found, figures, width_mm)
    single = [each for of_place in found for each in of_place]
    if path.suffix == ".html":
        write_text(path, _html(result, single, drawn, command))
    else:
        write_pages(path, drawn, result.experiment.name, width_mm)
    titled = len(single) > 1
    return [
        f"{difference_title(each)}: {sentence}" if titled else sentence
        for each in single
        for sentence in each.remarks
    ] or result.remarks


def _html(
    result: ResultData,
    found: Sequence[Difference],
    drawn: Sequence[Drawing],
    command: Sequence[str],
) -> str:
    # What is inserted as it is comes from simsched's own HTML, which escapes all text.
    environment = Environment(
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["pieces"] = _pieces
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
        remarks=result.explained(found),
        explanations=[_explanation(difference) for difference in found],
        notes=[
            *fit_notes(result.lines[:MAX_LINES]),
            *cost_notes((cell.policy, cell.policy_model) for cell in cells),
        ],
        n_names=head.index("policy") + 1,
        left_out=max(0, len(result.lines) - MAX_LINES),
        claims=[plain_claim(verdict) for verdict in result.claims],
        pictures=[picture(each.title, each.draw) for each in drawn],
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


def _pieces(text: str) -> list[str]:
    """Return the text of a cell in pieces between which lines may end: parts of names.

    They may also end before ``±``, but not behind it, nor inside numbers such as 1,024.
    """
    held = text.replace("± ", "±\N{NO-BREAK SPACE}")
    return re.split(r"(?<=,)(?=[^\W\d])|(?<=_)(?=\w)|(?<=\w\[)(?=\w)", held)


def _explanation(found: Difference) -> dict[str, Any]:
    """Return a difference in sentences and tables."""
    return {
        "title": difference_title(found),
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
