"""Measuring, calibrating and validating from Python: three calls, as many as commands."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from simsched.files.atomic import check_writable, write_text
from simsched.files.errors import ConfigurationError, expect
from simsched.files.yaml_reader import Document
from simsched.hardware.calibrate import calibrate_machine
from simsched.hardware.calibrate_document import machine_document
from simsched.hardware.calibrate_report import measured_rows
from simsched.hardware.calibration import Calibration
from simsched.hardware.kernels import CalibrationRun, Kernel, calibrate_kernels, calibration_runs
from simsched.hardware.measure import measure as measure_matrix
from simsched.hardware.measure_schema import Matrix, load_matrix, read_matrix
from simsched.hardware.measurements import MeasurementSet, read_measurements
from simsched.hardware.validation import Validation, validate_measurements
from simsched.machine import Machine, load_machine
from simsched.machine.written import document_yaml
from simsched.names.arguments import as_path, plain
from simsched.names.shown import Shown

if TYPE_CHECKING:
    import pandas as pd

#: Measured runs, or the directory where they are.
Measured = MeasurementSet | str | Path
SUFFIXES = (".yaml", ".yml")


@dataclass(frozen=True)
class CalibratedHost(Shown):
    """The host as a machine, and how it was measured.

    Parameters
    ----------
    machine : Machine
        The host, with the compute times of the programs it was calibrated on.
    path : Path
        Its file, in which every value has its source.
    calibration : Calibration
        What was measured.
    kernels : tuple of Kernel
        Compute times of programs.
    warnings : tuple of str
        What makes the values less trustworthy, such as a busy host.
    """

    machine: Machine
    path: Path
    calibration: Calibration
    kernels: tuple[Kernel, ...]
    warnings: tuple[str, ...]

    def table(self) -> pd.DataFrame:
        """Return one row per measured value: with its unit, how repeatable it was, and how.

        Returns
        -------
        DataFrame
            `value` (its name), `measured` (text, with the unit), `spread_percent`, `rounds`, `how`.
        """
        import pandas as pd

        return pd.DataFrame(
            {
                "value": row.name,
                "measured": row.text,
                "spread_percent": 100.0 * row.spread,
                "rounds": row.rounds,
                "how": row.how,
            }
            for row in measured_rows(self.calibration)
        )

    def __repr__(self) -> str:
        return (
            f"<CalibratedHost {self.machine.name}: {self.machine.n_cores} cores, "
            f"{len(self.kernels)} kernels, {len(self.warnings)} warnings>"
        )


def measure(
    programs: Any,
    policies: str | Sequence[str] | None = None,
    *,
    output: str | Path,
    workers: int | Sequence[int] | None = None,
    repetitions: int | None = None,
    warmup: int | None = None,
    seed: int | None = None,
    overwrite: bool = False,
) -> MeasurementSet:
    """Run programs under policies on this host and keep a trace of each run.

    Parameters
    ----------
    programs : str, mapping, Path, or sequence
        Programs by name, also with parameters (``"heat[rows=512]"``), or as mappings such as
        ``{"name": "heat", "rows": 512, "label": "small"}``; or, as a Path, a file that says all of
        this but where the results go.
    policies : str or sequence of str, optional
        Policies that the runtime can imitate; docs/measuring.md names them. By default ``cilk_a``.
    output : str or Path
        Directory of the recordings, after which the measurement is called.
    workers : int or sequence of int, optional
        Numbers of workers; one per core that may be used by default.
    repetitions, warmup : int, optional
        Runs of each program, policy and number of workers that are kept, 5 by default, and that
        come before, 1 by default.
    seed : int, optional
        Seed of the first repetition, 0 by default; the others follow.
    overwrite : bool
        Whether measurements that are there already are replaced.

    Returns
    -------
    MeasurementSet
        Its `warnings` say what disturbed the runs.

    Raises
    ------
    SimschedError
        Something is unknown or wrong, or is said beside a file, or this host cannot run it.
    """
    asked = {
        "policies": policies,
        "workers": workers,
        "repetitions": repetitions,
        "warmup": warmup,
        "seed": seed,
    }
    folder = as_path("measure: output", output, "the path of a directory")
    matrix = _matrix(programs, {key: value for key, value in asked.items() if value is not None})
    if not isinstance(programs, Path):
        # A directory that is there may be called what a file must not ask for: "my results".
        called = folder.resolve().name
        matrix = matrix.model_copy(update={"name": called or matrix.name})
    return measure_matrix(matrix, folder, overwrite=overwrite)


def _matrix(programs: Any, asked: Mapping[str, Any]) -> Matrix:
    """Return what to measure: a file, or programs with what is asked for beside them."""
    if isinstance(programs, Path):
        for key in asked:
            raise ConfigurationError(
                f"measure: {key}: found with the file {programs}, accepted: in the file"
            )
        return load_matrix(programs)
    one = isinstance(programs, str | Mapping)
    # Tuples and arrays are lists to whom calls; what is neither is refused like that of a file.
    document = {"policies": "cilk_a", **asked, "programs": [programs] if one else programs}
    return read_matrix(Document(None, plain({"name": "session", **document})))


def calibrate(
    output: str | Path,
    measured: Measured | Sequence[Measured] = (),
    *,
    cores: Sequence[int] | None = None,
    quick: bool = False,
) -> CalibratedHost:
    """Measure caches, memory and scheduling of this host and write it as a machine.

    Parameters
    ----------
    output : str or Path
        The machine file, ending in ``.yaml``; it is replaced.
    measured : MeasurementSet, str or Path, or several
        Runs on one core, or the directory where they are, that the compute times of programs come
        from. Without them the machine simulates generated workloads only.
    cores : sequence of int, optional
        Hardware threads that are measured; all that may be used by default.
    quick : bool
        Whether to take fewer rounds and smaller buffers, which is less accurate.

    Returns
    -------
    CalibratedHost
        Its `warnings` say what disturbed the measurements.

    Raises
    ------
    SimschedError
        The file cannot be written, or this host cannot be measured.
    """
    path = as_path("calibrate: output", output, "the path of a file")
    if path.suffix not in SUFFIXES:
        accepted = f"a name that ends in {' or '.join(SUFFIXES)}"
        raise ConfigurationError(f"calibrate: output: found {str(path)!r}, accepted: {accepted}")
    check_writable(path)
    if isinstance(measured, MeasurementSet | str | Path):
        measured = [measured]
    sets = [_set(each) for each in measured]
    runs = [run for each in sets for run in calibration_runs(each)]
    found = calibrate_machine(None if cores is None else list(cores), quick=quick)
    kernels = kernels_on(found, runs)
    document = machine_document(found, kernels, [run for each in sets for run in each.runs])
    write_text(path, document_yaml(document))
    texts = [*found.warnings, *(text for each in sets for text in each.warnings)]
    return CalibratedHost(load_machine(path), path, found, tuple(kernels), tuple(texts))


def kernels_on(found: Calibration, runs: Sequence[CalibrationRun]) -> list[Kernel]:
    """Return the compute times of programs on a calibrated host."""
    if not runs:
        return []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "host.yaml"
        path.write_text(document_yaml(machine_document(found)), encoding="utf-8")
        machine = load_machine(path)
    return calibrate_kernels(runs, machine)


def validate(measured: Measured, machine: CalibratedHost | Machine | str | Path) -> Validation:
    """Simulate what was measured and compare.

    Parameters
    ----------
    measured : MeasurementSet, str or Path
        Runs of other programs, or of other sizes, than the machine was calibrated on, or the
        directory where they are.
    machine : CalibratedHost, Machine, str or Path
        This host, as :func:`calibrate` has measured it, or its file.

    Returns
    -------
    Validation
        Measured and simulated times in seconds, and relative errors.

    Raises
    ------
    ConfigurationError
        The machine was calibrated on one of the runs, or has no compute times for a program; there
        is no such directory or file.
    """
    if isinstance(machine, CalibratedHost):
        machine = machine.machine
    target = load_machine(machine) if isinstance(machine, str | Path) else machine
    expect("validate: machine", target, Machine, "a machine, its name or its file")
    return validate_measurements(_set(measured), target)


def _set(measured: Measured) -> MeasurementSet:
    """Return runs that are given as such, or by their directory."""
    if isinstance(measured, MeasurementSet):
        return measured
    return read_measurements(as_path("measured", measured, "a MeasurementSet or its directory"))
