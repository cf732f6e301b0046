"""The table that `make bench` prints, and the files that it writes."""

from __future__ import annotations

import datetime as dt
import json
import os
import platform
from pathlib import Path

import numpy as np

from benchmarks.cases import TOLERANCE
from benchmarks.rows import Row, growth
from simsched.engine.native import build_config

HEADER = (
    ("case", -24),
    ("workers", 7),
    ("tasks", 11),
    ("tasks/s", 8),
    ("CPU s", 8),
    ("engine", 8),
    ("peak RSS", 9),
    ("B/task", 7),
    ("makespan s", 15),
    ("as expected", 11),
    ("sim s/s", 8),
    ("x simpy", 8),
    ("x SimGrid", 9),
    ("budget", -6),
)
LEGEND = """\
tasks/s      per CPU second of one call of simulate(), fastest of {repeat} processes
engine       CPU seconds of it inside the backend; the rest is validation and set-up in Python
peak RSS     of the process, building of the workload included
B/task       resident bytes that the run adds to what was there before it, per task of the graphs
as expected  makespan within 1e-8 of the known one, number of trace events exact; "events": only
             the latter is known; "to": relative error where 1e-8 is out of reach for doubles
sim s/s      simulated seconds per CPU second
x simpy      CPU seconds of both backends on the same run of the case's small size
x SimGrid    tasks per CPU second, against benchmarks/simgrid/peer.cpp on its own number of tasks"""


def heading() -> str:
    """Return the first line of the table."""
    return "  ".join(_pad(name, width) for name, width in HEADER)


def line(row: Row) -> str:
    """Return the line of a case."""
    cells = (
        row.case,
        str(row.workers),
        f"{row.tasks:,}",
        _si(row.tasks_per_cpu_s),
        f"{row.cpu_s:.3f}",
        f"{row.engine_cpu_s:.3f}",
        _bytes(row.peak_rss_bytes),
        f"{row.bytes_per_task:.0f}",
        f"{row.makespan_s:.11g}",
        _verdict(row),
        f"{row.simulated_per_cpu_s:.3g}",
        "" if row.ratio_to_simpy is None else f"{row.ratio_to_simpy:.0f}",
        "" if row.ratio_to_simgrid is None else f"{row.ratio_to_simgrid:.0f}",
        "missed" if row.missed else "",
    )
    padded = (_pad(cell, width) for cell, (_, width) in zip(cells, HEADER, strict=True))
    return "  ".join(padded).rstrip()


def closing(rows: list[Row], *, quick: bool, repeat: int) -> str:
    """Return what stands below the table: legend, other figures, budgets, mistakes."""
    parts = [LEGEND.format(repeat=repeat)]
    parts += [
        f"{row.case}: {_si(row.decisions_per_cpu_s)} decisions of hooks per CPU second"
        for row in rows
        if row.decisions_per_cpu_s is not None
    ]
    parts += [
        f"{row.case}: SimGrid {_si(row.simgrid_tasks_per_cpu_s)} tasks/s with {row.simgrid_tasks:,}"
        f" tasks, makespan {row.simgrid_makespan_s!r} s"
        for row in rows
        if row.simgrid_tasks_per_cpu_s is not None
    ]
    for item, factors in [] if quick else growth(rows):
        names = ", ".join(
            f"{name} {factor:.2f}" for name, factor in zip(item.cases, factors, strict=True)
        )
        verdict = "" if max(factors) <= item.limit else ": missed"
        parts.append(f"cost per task, {item.what} (at most {item.limit}): {names}{verdict}")
    parts += [f"missed: {text}" for row in rows for text in row.missed]
    parts += [f"WRONG: {text}" for row in rows for text in row.wrong]
    return "\n".join(parts)


def write_results(folder: Path, rows: list[Row]) -> None:
    """Write `latest.json`, one object per case, and `machine.json`, where they were measured."""
    folder.mkdir(exist_ok=True)
    for name, content in (
        ("latest.json", [row.as_json() for row in rows]),
        ("machine.json", describe_machine()),
    ):
        text = json.dumps(content, indent=1)
        (folder / name).write_text(text + "\n", encoding="utf-8")


def describe_machine() -> dict[str, object]:
    """Return processor, compiler, versions and date; nothing that names the machine."""
    return {
        "cpu": _cpu_model(),
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "numpy": np.__version__,
        "kernel": build_config(),
        "date": dt.datetime.now(tz=dt.UTC).date().isoformat(),
    }


def _cpu_model() -> str:
    """Return the name of the processor."""
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    except OSError:
        return platform.processor()
    names = (line.split(":", 1)[1] for line in text.splitlines() if line.startswith("model name"))
    return next(names, platform.processor()).strip()


def _verdict(row: Row) -> str:
    if row.wrong:
        return "WRONG"
    if row.error is None:
        return "events"
    return "yes" if row.tolerance <= TOLERANCE else f"to {row.error:.0e}"


def _pad(text: str, width: int) -> str:
    return text.ljust(-width) if width < 0 else text.rjust(width)


def _si(value: float | None) -> str:
    assert value is not None
    for limit, unit in ((1e6, "M"), (1e3, "k")):
        if value >= limit:
            return f"{value / limit:.3g} {unit}"
    return f"{value:.3g}"


def _bytes(value: int) -> str:
    return f"{value / 1e9:.2f} GB" if value >= 1e9 else f"{value / 1e6:.0f} MB"
