"""Tables of a calibration of this host."""

from __future__ import annotations

from collections.abc import Sequence

from rich.table import Table

from simsched.hardware.calibrate_report import measured_rows, time_text
from simsched.hardware.calibration import Calibration
from simsched.hardware.kernels import Kernel
from simsched.report.terminal import plain_table


def calibration_table(found: Calibration) -> Table:
    """Return a table with a row per measured value: its size, its spread, how it was measured."""
    rows = [
        (row.name, row.text, f"{row.spread:.1%}", str(row.rounds), row.how)
        for row in measured_rows(found)
    ]
    columns = ("value", "measured", "spread", "rounds", "how")
    return plain_table(columns, rows, left=("value", "how"))


def check_table(found: Calibration) -> Table:
    """Return a table of runs without data: time per task, and what the costs amount to."""
    rows = [
        (
            f"{check.shape}, {check.mode}",
            time_text(check.measured_s),
            time_text(check.charged_s),
            f"{check.charged_s / check.measured_s - 1:+.1%}",
            "derived from this run" if check.is_fitted else "predict this run",
        )
        for check in found.checks
    ]
    columns = ("empty tasks", "measured", "as charged", "error", "costs")
    return plain_table(columns, rows, left=("empty tasks", "costs"))


def kernel_table(kernels: Sequence[Kernel]) -> Table:
    """Return the compute times of task classes, one row per size of the data."""
    rows = []
    for kernel in kernels:
        points = zip(kernel.time.data_bytes, kernel.time.seconds, strict=True)
        for number, (size, seconds) in enumerate(points):
            name = kernel.name if number == 0 else ""
            rest = f"{kernel.residual:.1%}" if number == 0 else ""
            rows.append((name, f"{size / 2**20:.1f} MiB", f"{seconds * 1e9:.4g}", rest))
    columns = ("class", "data", "time [ns]", "residual")
    return plain_table(columns, rows, left=("class",), title="kernels, per operation")
