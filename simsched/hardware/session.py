"""Measuring, calibrating and validating from Python: three calls, as many as commands."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from simsched.atomic import check_writable, write_text
from simsched.errors import ConfigurationError
from simsched.hardware.calibrate import Calibration, calibrate_machine
from simsched.hardware.calibrate_document import machine_document, machine_yaml
from simsched.hardware.calibrate_report import measured_rows
from simsched.hardware.kernels import CalibrationRun, Kernel, calibrate_kernels, calibration_runs
from simsched.hardware.measure import measure as measure_matrix
from simsched.hardware.measure_schema import Matrix, load_matrix
from simsched.hardware.measurements import MeasurementSet
from simsched.hardware.validation import Validation, validate_measurements
from simsched.machine import Machine, load_machine
from simsched.markup import facts
from simsched.yaml_reader import Document, validate_document

if TYPE_CHECKING:
    import pandas as pd

#: What a machine file ends in.
SUFFIXES = (".yaml", ".yml")
#: Measured values that are only steps on the way to others.
DERIVED_FROM = ("latency in ", "step ")


@dataclass(frozen=True)
class CalibratedHost:
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

    def _repr_html_(self) -> str:
        """Return what was measured, and warnings, for Jupyter."""
        measured = measured_rows(self.calibration)
        # What other values are derived from is in the table.
        kept = [row for row in measured if not row.name.startswith(DERIVED_FROM)]
        rows = [("warning", text) for text in self.warnings]
        rows += [(row.name, f"{row.text}, spread {row.spread:.1%}") for row in kept]
        rows.append((f"{len(measured) - len(kept)} more", ".table()"))
        return facts(f"{self.machine.name}: {self.calibration.host.processor}", rows)


def measure(
    programs: Any,
    policies: Any = "cilk_a",
    *,
    output: str | Path,
    workers: int | Sequence[int] | None = None,
    repetitions: int = 5,
    warmup: int = 1,
    seed: int = 0,
    overwrite: bool = False,
) -> MeasurementSet:
    """Run programs under policies on this host and keep a trace of each run.

    Parameters
    ----------
    programs : str, mapping, Path, or sequence
        Programs by name, also with parameters (``"heat[rows=512]"``), or as mappings such as
        ``{"name": "heat", "rows": 512, "label": "small"}``; or a file that says all of this but
        where the results go.
    policies : str or sequence of str
        Policies that the runtime can imitate; docs/measuring.md names them.
    output : str or Path
        Directory of the recordings.
    workers : int or sequence of int, optional
        Numbers of workers; one per core that may be used by default.
    repetitions, warmup : int
        Runs of each program, policy and number of workers that are kept, and that come before.
    seed : int
        Seed of the first repetition; the others follow.
    overwrite : bool
        Whether measurements that are there already are replaced.

    Returns
    -------
    MeasurementSet
        Its `warnings` say what disturbed the runs.

    Raises
    ------
    SimschedError
        Something is unknown or wrong, or this host cannot run it.
    """
    folder = Path(output)
    if isinstance(programs, Path):
        return measure_matrix(load_matrix(programs), folder, overwrite=overwrite)
    one = isinstance(programs, str | Mapping)
    data: dict[str, Any] = {
        "name": folder.name,
        "programs": [programs] if one else list(programs),
        "policies": policies if isinstance(policies, str) else list(policies),
        "repetitions": repetitions,
        "warmup": warmup,
        "seed": seed,
    }
    if workers is not None:
        data["workers"] = workers if isinstance(workers, int) else list(workers)
    matrix = validate_document(Document(None, data), Matrix)
    return measure_matrix(matrix, folder, overwrite=overwrite)


def calibrate(
    output: str | Path,
    measured: MeasurementSet | Sequence[MeasurementSet] = (),
    *,
    cores: Sequence[int] | None = None,
    quick: bool = False,
) -> CalibratedHost:
    """Measure caches, memory and scheduling of this host and write it as a machine.

    Parameters
    ----------
    output : str or Path
        The machine file, ending in ``.yaml``; it is replaced.
    measured : MeasurementSet, or several
        Runs on one core that the compute times of programs come from. Without them the machine
        simulates generated workloads only.
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
    path = Path(output)
    check_machine_file(path, "calibrate: output")
    sets = [measured] if isinstance(measured, MeasurementSet) else list(measured)
    runs = [run for each in sets for run in calibration_runs(each)]
    found = calibrate_machine(None if cores is None else list(cores), quick=quick)
    kernels = kernels_on(found, runs)
    document = machine_document(found, kernels, [run for each in sets for run in each.runs])
    write_text(path, machine_yaml(document))
    texts = [*found.warnings, *(text for each in sets for text in each.warnings)]
    return CalibratedHost(load_machine(path), path, found, tuple(kernels), tuple(texts))


def check_machine_file(path: Path, where: str) -> None:
    """Refuse a file that could not be written after the measurements, which take a while.

    Parameters
    ----------
    path : Path
        The file.
    where : str
        What messages say who has named it.

    Raises
    ------
    ConfigurationError
        Another ending than that of YAML, or a place that nothing can be written to.
    """
    if path.suffix not in SUFFIXES:
        accepted = f"a name that ends in {' or '.join(SUFFIXES)}"
        raise ConfigurationError(f"{where}: found {str(path)!r}, accepted: {accepted}")
    check_writable(path)


def kernels_on(found: Calibration, runs: Sequence[CalibrationRun]) -> list[Kernel]:
    """Return the compute times of programs on a calibrated host.

    Parameters
    ----------
    found : Calibration
        The host.
    runs : sequence of CalibrationRun
        Measured runs on one core; none give no kernels.
    """
    if not runs:
        return []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "host.yaml"
        path.write_text(machine_yaml(machine_document(found)), encoding="utf-8")
        machine = load_machine(path)
    return calibrate_kernels(runs, machine)


def validate(measured: MeasurementSet, machine: Machine) -> Validation:
    """Simulate what was measured and compare.

    Parameters
    ----------
    measured : MeasurementSet
        Runs of other programs, or of other sizes, than the machine was calibrated on.
    machine : Machine
        This host, as :func:`calibrate` has measured it.

    Returns
    -------
    Validation
        Measured and simulated times in seconds, and relative errors.

    Raises
    ------
    ConfigurationError
        The machine was calibrated on one of the runs, or has no compute times for a program.
    """
    return validate_measurements(measured, machine)
