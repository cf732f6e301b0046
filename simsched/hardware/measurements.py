"""Sets of measured runs: a directory with one recording per run and ``measurements.json``.

`simsched measure` writes a set, `simsched validate` reads it. Nothing in it refers to another
place, so that a set can be moved, packed and kept.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

from simsched.atomic import write_text
from simsched.errors import ConfigurationError
from simsched.trace.recording import Recording, read_recording

FORMAT = 1
INDEX = "measurements.json"


@dataclass(frozen=True)
class Measurement:
    """One measured run.

    Parameters
    ----------
    file : str
        The recording, relative to the directory of the set.
    program, params : str, dict
        What ran; see :func:`simsched.hardware.program.make_program`.
    label : str
        What tables call the program with these parameters.
    policy : str
        The simulated policy that schedules as the run did, as text: ``cilk_a``.
    workers : int
        Number of workers.
    seed, repetition : int
        Seed of the victims that workers draw, and which of the repetitions it is, from 0.
    makespan_s : float
        Times of all iterations from the first one on, added up. The initialisation, in which pages
        are first touched, is not part of it, nor are the meetings of the workers in between.
    cpu_share : float
        CPU time of the workers divided by the time they were there: less than 1 when the host took
        cores away, when workers outnumber the cores, or when they wait for the lock of a central
        queue.
    """

    file: str
    program: str
    params: dict[str, Any]
    label: str
    policy: str
    workers: int
    seed: int
    repetition: int
    makespan_s: float
    cpu_share: float

    @property
    def cell(self) -> tuple[str, str, int]:
        """What the repetitions of a run have in common: label, policy, workers."""
        return self.label, self.policy, self.workers

    @property
    def spec(self) -> str:
        """The program with its parameters as text: ``heat[columns=512, rows=1024]``."""
        inside = ", ".join(f"{key}={self.params[key]}" for key in sorted(self.params))
        return f"{self.program}[{inside}]"


@dataclass(frozen=True)
class MeasurementSet:
    """Measured runs and what is known about how they were made.

    Parameters
    ----------
    directory : Path
        Where the recordings are.
    name : str
        Name of the experiment.
    runs : tuple of Measurement
        In the order in which they were made.
    about : dict
        Plain data: host, start, duration, tracing overhead, hardware counters.
    warnings : tuple of str
        What makes the figures less trustworthy, such as a busy host.
    """

    directory: Path
    name: str
    runs: tuple[Measurement, ...]
    about: dict[str, Any] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()

    def recording(self, run: Measurement) -> Recording:
        """Return the recording of a run.

        Raises
        ------
        ConfigurationError
            The file is missing or is no recording.
        """
        return read_recording(self.directory / run.file)

    def cells(self) -> dict[tuple[str, str, int], list[Measurement]]:
        """Return the repetitions of every cell, in the order of their first run."""
        found: dict[tuple[str, str, int], list[Measurement]] = {}
        for run in self.runs:
            found.setdefault(run.cell, []).append(run)
        return found


def specs(runs: Iterable[Measurement]) -> list[str]:
    """Return the programs with their parameters, each once, in the order of their first run."""
    return list(dict.fromkeys(run.spec for run in runs))


def write_measurements(measured: MeasurementSet) -> None:
    """Write the index of a set beside its recordings.

    Raises
    ------
    ConfigurationError
        The file cannot be written.
    """
    document = {
        "format": FORMAT,
        "name": measured.name,
        "about": measured.about,
        "warnings": list(measured.warnings),
        "runs": [asdict(run) for run in measured.runs],
    }
    write_text(measured.directory / INDEX, json.dumps(document, indent=1) + "\n")


def read_measurements(directory: Path) -> MeasurementSet:
    """Return the set in a directory.

    Raises
    ------
    ConfigurationError
        There is no set, or its index is malformed; the message names the file and what is wrong.
    """
    path = directory / INDEX
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigurationError(f"{path}: {error.strerror}, accepted: a set of runs") from error
    except ValueError as error:
        raise ConfigurationError(f"{path}: no JSON document: {error}") from error
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise ConfigurationError(f"{path}: format: accepted {FORMAT}")
    missing = {"name", "about", "warnings", "runs"} - document.keys()
    if missing:
        raise ConfigurationError(f"{path}: found no {min(missing)}")
    runs = tuple(_run(path, number, item) for number, item in enumerate(document["runs"]))
    warnings = tuple(str(text) for text in document["warnings"])
    return MeasurementSet(directory, str(document["name"]), runs, document["about"], warnings)


def _run(path: Path, number: int, item: Any) -> Measurement:
    """Return one entry of the index."""
    names = {each.name for each in fields(Measurement)}
    if not isinstance(item, dict) or item.keys() != names:
        found = sorted(names ^ set(item)) if isinstance(item, dict) else [type(item).__name__]
        raise ConfigurationError(
            f"{path}: run {number}: missing or unknown: {', '.join(map(str, found))}"
        )
    try:
        run = Measurement(
            file=str(item["file"]),
            program=str(item["program"]),
            params=dict(item["params"]),
            label=str(item["label"]),
            policy=str(item["policy"]),
            workers=int(item["workers"]),
            seed=int(item["seed"]),
            repetition=int(item["repetition"]),
            makespan_s=float(item["makespan_s"]),
            cpu_share=float(item["cpu_share"]),
        )
    except (TypeError, ValueError) as error:
        raise ConfigurationError(f"{path}: run {number}: {error}") from error
    if Path(run.file).is_absolute() or ".." in Path(run.file).parts:
        where = f"{path}: run {number}: file"
        raise ConfigurationError(f"{where}: found {run.file!r}, accepted: a file of the set")
    if not (run.makespan_s > 0 and run.workers > 0):
        raise ConfigurationError(f"{path}: run {number}: makespan_s and workers: accepted above 0")
    return run
