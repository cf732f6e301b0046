"""The command that measures this host and writes it as a machine."""

from __future__ import annotations

import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from simsched.cli import names
from simsched.cli.options import OverwriteOption
from simsched.cli.output import JsonOption, QuietOption, check_output, print_json, say, warn
from simsched.files.errors import ConfigurationError

if TYPE_CHECKING:
    from simsched.hardware.calibration import Calibration
    from simsched.hardware.kernels import CalibrationRun, Kernel
    from simsched.hardware.measurements import Measurement, MeasurementSet


def calibrate_command(
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FILE", help="Machine file to write (.yaml)."),
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Fewer rounds, smaller buffers: less accurate.")
    ] = False,
    cores: Annotated[
        str | None,
        typer.Option("--cores", metavar="LIST", help="Hardware threads, such as 0-3,8."),
    ] = None,
    programs: Annotated[
        str,
        typer.Option(
            "--programs",
            metavar="FILE",
            help="Runs on one core that kernels come from.",
            autocompletion=names.measurement,
        ),
    ] = "calibration",
    runs: Annotated[
        list[Path] | None,
        typer.Option("--runs", metavar="DIR", help="Runs that are measured already; repeatable."),
    ] = None,
    kernels: Annotated[
        bool, typer.Option("--kernels/--no-kernels", help="Whether to calibrate programs.")
    ] = True,
    overwrite: OverwriteOption = False,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Measure this host (caches, memory, scheduling, programs) and write it as a machine."""
    from simsched.files.atomic import write_text
    from simsched.hardware.calibrate import calibrate_machine
    from simsched.hardware.calibrate_document import machine_document
    from simsched.hardware.calibrate_report import calibration_document
    from simsched.hardware.measure import measure
    from simsched.hardware.measure_schema import load_matrix
    from simsched.hardware.measurements import read_measurements
    from simsched.hardware.session import SUFFIXES, kernels_on
    from simsched.machine.written import document_yaml

    if output is not None:
        check_output(output, *SUFFIXES, overwrite=overwrite)
    chosen = None if cores is None else _cores(cores)

    def progress(what: str) -> None:
        if not quiet and sys.stderr.isatty():
            sys.stderr.write(f"measuring {what}\n")

    # What is wrong with given runs, or with what is to be run, shows before anything is measured.
    calibrated = ProgramRuns()
    for directory in (runs or []) if kernels else []:
        calibrated.add(read_measurements(directory))
    matrix = load_matrix(programs) if kernels and not runs else None
    found = calibrate_machine(chosen, quick=quick, progress=progress)
    if matrix is not None:
        progress("programs")
        with tempfile.TemporaryDirectory() as folder:
            calibrated.add(measure(matrix, Path(folder)))
    times = kernels_on(found, calibrated.runs)
    document = machine_document(found, times, calibrated.measurements)
    if output is not None:
        write_text(output, document_yaml(document))
    if as_json:
        file = None if output is None else str(output)
        kernel_values = document.get("kernels", {})
        whole = {**calibration_document(found), "kernels": kernel_values, "file": file}
        print_json(whole)
        return
    warn([*found.warnings, *calibrated.warnings], quiet=quiet)
    _print(found, times)
    if output is not None:
        sys.stdout.write(f"{output}\n")


@dataclass
class ProgramRuns:
    """Measured runs of programs on one core."""

    runs: list[CalibrationRun] = field(default_factory=list)
    measurements: list[Measurement] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    def add(self, measured: MeasurementSet) -> None:
        """Add the runs of a set, whose directory is not needed afterwards."""
        from simsched.hardware.kernels import calibration_runs

        self.runs += calibration_runs(measured)
        self.measurements += measured.runs
        self.warnings += measured.warnings


def _cores(text: str) -> list[int]:
    """Return the hardware threads of a list."""
    from simsched.hardware.topology import parse_list

    try:
        return parse_list(text)
    except ValueError:
        raise ConfigurationError(
            f"--cores: found {text!r}, accepted: numbers and ranges such as 0-3,8"
        ) from None


def _print(found: Calibration, kernels: list[Kernel]) -> None:
    """Print what was measured, how repeatable it was and how long it took."""
    from simsched.report.calibration import calibration_table, check_table, kernel_table

    say(calibration_table(found))
    say(check_table(found))
    if kernels:
        say(kernel_table(kernels))
    sys.stdout.write(
        f"took {found.duration_s:.1f} s; spread: how much longer the middle round took than the "
        "best one\n"
    )
