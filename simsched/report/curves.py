"""Simulated memory benchmarks beside measured ones: tables, and a plot of each curve."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from matplotlib.figure import Figure
from rich.table import Table

from simsched.files.atomic import write_atomically
from simsched.report.terminal import plain_table
from simsched.reproduction.curves import GB_PER_S, Compared, by_machine

UNITS = {GB_PER_S: "GB/s", "ns": "ns", "ms": "ms"}
QUANTITIES = {GB_PER_S: "rate", "ns": "latency", "ms": "time"}


def curve_table(rows: Sequence[Compared]) -> Table:
    """Return one line per point."""
    left = ("machine", "kernel", "placement")
    names = ("threads", "measured", "simulated", "error [%]", "min(n c, b) [%]", "used")
    lines = []
    for row in rows:
        point, unit = row.point, UNITS[row.point.unit]
        cells = [point.machine, point.kernel, point.placement, str(point.threads)]
        cells.append(f"{point.value:,.1f} {unit}")
        cells.append("-" if row.simulated is None else f"{row.simulated:,.1f} {unit}")
        cells += [_signed(row.error_percent), _signed(row.yardstick_error_percent)]
        lines.append([*cells, "yes" if point.is_used else ""])
    return plain_table((*left, *names), lines, left=left)


def machine_table(rows: Sequence[Compared]) -> Table:
    """Return one line per machine: how large the errors of predicted points are."""
    columns = (
        "machine",
        "points used",
        "predicted",
        "median |error| [%]",
        "90 % below [%]",
        "min(n c, b) median [%]",
    )
    lines = [
        (
            line["machine"],
            str(line["used"]),
            str(line["predicted"]),
            _plain(line["median_error_percent"]),
            _plain(line["p90_error_percent"]),
            _plain(line["yardstick_median_error_percent"]),
        )
        for line in by_machine(rows)
    ]
    return plain_table(columns, lines, left=("machine",))


def curve_file(curve: tuple[str, ...], folder: Path) -> Path:
    """Return the file that a curve is drawn into."""
    return folder / (re.sub(r"[^A-Za-z0-9_.-]+", "_", "-".join(curve)) + ".png")


def draw_curves(rows: Sequence[Compared], folder: Path) -> list[Path]:
    """Draw a file for each curve; return their paths."""
    found = []
    folder.mkdir(parents=True, exist_ok=True)
    for curve in dict.fromkeys(row.point.curve for row in rows):
        own = [row for row in rows if row.point.curve == curve and row.simulated is not None]
        own.sort(key=lambda row: row.point.threads)
        if not own:
            continue
        figure = Figure(figsize=(6.0, 4.0), layout="constrained")
        axes = figure.subplots()
        threads = [row.point.threads for row in own]
        axes.plot(threads, [row.point.value for row in own], "o", label="measured", color="#333333")
        axes.plot(
            threads, [row.simulated or 0.0 for row in own], "-", label="simulated", color="#4c78a8"
        )
        used = [row.point for row in own if row.point.is_used]
        axes.plot(
            [point.threads for point in used],
            [point.value for point in used],
            "o",
            label="used for the model",
            color="#e45756",
        )
        axes.set_title(" ".join(curve))
        axes.set_xlabel("threads")
        axes.set_ylabel(f"{QUANTITIES[own[0].point.unit]} [{UNITS[own[0].point.unit]}]")
        axes.set_ylim(bottom=0.0)
        axes.legend()
        path = curve_file(curve, folder)
        write_atomically(path, partial(_save, figure))
        found.append(path)
    return found


def _save(figure: Figure, path: Path) -> None:
    figure.savefig(path, format="png")


def _signed(value: float | None) -> str:
    return "-" if value is None else f"{value:+.1f}"


def _plain(value: float | None) -> str:
    return "-" if value is None else f"{value:.1f}"
