"""Writes the figures in docs/performance.md: ``python -m benchmarks.document``.

The page contains tables between markers; they are made from results/latest.json, so that page and
results cannot differ.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from benchmarks.cases import CASES
from benchmarks.rows import ROOT, Row, growth

PAGE = ROOT / "docs" / "performance.md"
RESULTS = ROOT / "benchmarks" / "results"
_UNITS = {
    "tasks_per_cpu_s": "tasks per CPU second",
    "simulated_per_cpu_s": "simulated seconds per CPU second",
    "decisions_per_cpu_s": "decisions per CPU second",
    "bytes_per_task": "bytes per task above the input",
    "cpu_s": "CPU seconds, at most",
    "ratio_to_simpy": "times as fast as `simpy`",
}


def read_results(folder: Path = RESULTS) -> tuple[list[Row], dict[str, Any]]:
    """Return the rows of the last complete run and the description of its machine."""
    rows = json.loads((folder / "latest.json").read_text(encoding="utf-8"))
    machine: dict[str, Any] = json.loads((folder / "machine.json").read_text(encoding="utf-8"))
    return [Row(**row) for row in rows], machine


def sections(rows: Sequence[Row], machine: dict[str, Any]) -> dict[str, str]:
    """Return the text of every marked section by name."""
    return {
        "machine": _machine(machine),
        "budgets": _budgets(rows),
        "comparison": _comparison(rows),
        "growth": _growth(rows),
        "memory": _memory(rows),
        "results": _results(rows),
    }


def render(page: str, texts: dict[str, str]) -> str:
    """Return a page with the text between ``<!-- begin NAME -->`` and ``<!-- end -->`` replaced."""

    def replace(match: re.Match[str]) -> str:
        return f"{match[1]}\n{texts[match[2]]}\n{match[3]}"

    pattern = r"(<!-- begin (\w+) -->)\n.*?(<!-- end -->)"
    return re.sub(pattern, replace, page, flags=re.DOTALL)


def update() -> None:
    """Bring the page up to date."""
    page = PAGE.read_text(encoding="utf-8")
    PAGE.write_text(render(page, sections(*read_results())), encoding="utf-8")


def _machine(machine: dict[str, Any]) -> str:
    kernel = machine["kernel"]
    return (
        f"{machine['cpu']}, {machine['cores']} cores; {kernel['compiler']} with\n"
        f"`{kernel['flags']}`; Python {machine['python']}, NumPy {machine['numpy']};"
        f" {machine['date']}."
    )


def _budgets(rows: Sequence[Row]) -> str:
    of = {case.name: case.budgets for case in CASES}
    lines = []
    for row in rows:
        for budget in of[row.case]:
            value = getattr(row, budget.figure)
            verdict = "yes" if budget.is_met(value) else "**no**"
            figure = _UNITS[budget.figure]
            lines.append((row.case, figure, _number(budget.limit), _number(value), verdict))
    return _table(("case", "figure", "budget", "measured", "met"), lines)


def _comparison(rows: Sequence[Row]) -> str:
    lines = [
        (
            row.case,
            _number(row.tasks_per_cpu_s),
            _number(row.same_run_tasks),
            _number(row.ratio_to_simpy),
            _number(row.simgrid_tasks),
            _number(row.simgrid_tasks_per_cpu_s),
            _number(row.ratio_to_simgrid),
        )
        for row in rows
        if row.ratio_to_simpy is not None or row.ratio_to_simgrid is not None
    ]
    header = (
        "case",
        "tasks/s",
        "tasks of the same run",
        "x `simpy`",
        "tasks in SimGrid",
        "SimGrid tasks/s",
        "x SimGrid",
    )
    return _table(header, lines)


def _growth(rows: Sequence[Row]) -> str:
    lines = []
    for item, factors in growth(list(rows)):
        cases = ", ".join(
            f"{name} {factor:.2f}" for name, factor in zip(item.cases, factors, strict=True)
        )
        verdict = "yes" if max(factors) <= item.limit else "**no**"
        lines.append((item.what, cases, f"{item.limit}", verdict))
    return _table(("what grows", "cost per task, relative", "at most", "met"), lines)


def _memory(rows: Sequence[Row]) -> str:
    lines = [
        (
            row.case,
            f"{row.graph_tasks:,}",
            f"{row.graph_edges:,}",
            f"{row.input_bytes / row.graph_tasks:.1f}",
            f"{row.engine_bytes_per_task:.1f}",
            f"{row.bytes_per_task:.1f}",
            f"{row.peak_rss_bytes / 1e6:,.0f} MB",
        )
        for row in rows
        if row.graph_tasks >= 10**6
    ]
    header = ("case", "tasks", "edges", "input B/task", "after the run", "at the peak", "peak RSS")
    return _table(header, lines)


def _results(rows: Sequence[Row]) -> str:
    lines = [
        (
            row.case,
            str(row.workers),
            f"{row.tasks:,}",
            f"{row.cpu_s:.3f}",
            f"{row.engine_cpu_s:.3f}",
            _number(row.tasks_per_cpu_s),
            f"{row.makespan_s:.11g}",
            "" if row.expected_makespan_s is None else f"{row.expected_makespan_s:.12g}",
            "" if row.error is None else f"{row.error:.0e}",
            f"{row.events:,}{' (recorded)' if row.events_recorded else ''}",
        )
        for row in rows
    ]
    header = ("case", "workers", "tasks", "CPU s", "in the engine", "tasks/s", "makespan s")
    return _table((*header, "expected", "error", "trace events"), lines)


def _number(value: float | None) -> str:
    """Return a number with three digits that count."""
    if value is None:
        return ""
    if value >= 1e6:
        return f"{value / 1e6:.3g} M"
    if value >= 1e4:
        return f"{value / 1e3:.3g} k"
    return f"{value:,.0f}" if value >= 1e3 else f"{value:.3g}"


def _table(header: Sequence[str], lines: Iterable[Sequence[str]]) -> str:
    """Return a Markdown table."""
    rows = [header, ["---"] * len(header), *lines]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


if __name__ == "__main__":
    update()
