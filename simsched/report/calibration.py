"""Tables of a calibration of this host."""

from __future__ import annotations

from collections.abc import Sequence

from rich import box
from rich.table import Table
from rich.text import Text

from simsched.hardware.calibrate_report import measured_rows, time_text
from simsched.hardware.calibration import Calibration
from simsched.hardware.kernels import Kernel


def calibration_table(found: Calibration) -> Table:
    """Return a table with a row per measured value: its size, its spread, how it was measured."""
    table = Table(box=box.SIMPLE_HEAD)
    table.add_column("value")
    table.add_column("measured", justify="right")
    table.add_column("spread", justify="right")
    table.add_column("rounds", justify="right")
    table.add_column("how")
    for row in measured_rows(found):
        cells = (row.name, row.text, f"{row.spread:.1%}", str(row.rounds), row.how)
        table.add_row(*map(Text, cells))
    return table


def check_table(found: Calibration) -> Table:
    """Return a table of runs without data: time per task, and what the costs amount to."""
    table = Table(box=box.SIMPLE_HEAD)
    table.add_column("empty tasks")
    table.add_column("measured", justify="right")
    table.add_column("as charged", justify="right")
    table.add_column("error", justify="right")
    table.add_column("costs")
    for check in found.checks:
        error = check.charged_s / check.measured_s - 1
        cells = (
            f"{check.shape}, {check.mode}",
            time_text(check.measured_s),
            time_text(check.charged_s),
            f"{error:+.1%}",
            "derived from this run" if check.is_fitted else "predict this run",
        )
        table.add_row(*map(Text, cells))
    return table


def kernel_table(kernels: Sequence[Kernel]) -> Table:
    """Return the compute times of task classes, one row per size of the data."""
    table = Table(title=Text("kernels, per operation"), box=box.SIMPLE_HEAD, title_justify="left")
    table.add_column("class")
    for name in ("data", "time [ns]", "residual"):
        table.add_column(name, justify="right")
    for kernel in kernels:
        points = zip(kernel.time.data_bytes, kernel.time.seconds, strict=True)
        for number, (size, seconds) in enumerate(points):
            name = kernel.name if number == 0 else ""
            rest = f"{kernel.residual:.1%}" if number == 0 else ""
            row = (name, f"{size / 2**20:.1f} MiB", f"{seconds * 1e9:.4g}", rest)
            table.add_row(*map(Text, row))
    return table
