"""Sets of measured runs: a directory with one recording per run and ``measurements.json``.

`simsched measure` writes a set, `simsched validate` reads it. Nothing in it refers to another
place, so that a set can be moved, packed and kept.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from simsched.files.atomic import write_text
from simsched.files.bounded import member, parse_json, read_text
from simsched.files.errors import ConfigurationError
from simsched.files.yaml_reader import Section, validate
from simsched.hardware.program import programs
from simsched.trace.recording import Recording, read_recording

if TYPE_CHECKING:
    import pandas as pd

FORMAT = 1
INDEX = "measurements.json"


@dataclass(frozen=True)
class Measurement:
    """One measured run."""

    #: The recording, relative to the directory of the set.
    file: str
    program: str
    params: dict[str, Any]
    #: What tables call the program with these parameters.
    label: str
    #: The simulated policy that schedules as the run did, as text: ``cilk_a``.
    policy: str
    workers: int
    #: Seed of the victims that workers draw, and which of the repetitions it is, from 0.
    seed: int
    repetition: int
    #: Times of all iterations from the first one on, added up, without the initialisation.
    makespan_s: float
    #: CPU time of the workers divided by the time they were there: less than 1 when the host took
    #: cores away, when workers outnumber the cores, or when they wait for the lock of a central
    #: queue.
    cpu_share: float

    @property
    def cell(self) -> tuple[str, str, int]:
        """What the repetitions of a run have in common: label, policy, workers."""
        return self.label, self.policy, self.workers

    @property
    def spec(self) -> str:
        """The program as text, with what differs from its defaults: ``heat[columns=256, rows=64]``.

        Two runs of the same have the same text, whether or not a default was written out.
        """
        defaults: dict[str, object] = {}
        if self.program in programs():
            accepted = programs()[self.program].parameters
            defaults = {name: parameter.default for name, parameter in accepted.items()}
        differing = {
            key: value
            for key, value in self.params.items()
            if key not in defaults or value != defaults[key]
        }
        inside = ", ".join(f"{key}={differing[key]}" for key in sorted(differing))
        return f"{self.program}[{inside}]"


@dataclass(frozen=True)
class MeasurementSet:
    """Measured runs and what is known about how they were made."""

    directory: Path
    name: str
    #: In the order in which they were made.
    runs: tuple[Measurement, ...]
    #: Plain data: host, start, duration, tracing overhead, hardware counters.
    about: dict[str, Any] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()

    def recording(self, run: Measurement) -> Recording:
        """Return the recording of a run."""
        return read_recording(member(self.directory, run.file))

    def table(self) -> pd.DataFrame:
        """Return one row per run: which it is, `makespan_s`, and `cpu_percent`.

        The latter is the share of their time in which the workers had their cores.
        """
        import pandas as pd

        return pd.DataFrame(
            {
                "program": run.label,
                "policy": run.policy,
                "workers": run.workers,
                "repetition": run.repetition,
                "makespan_s": run.makespan_s,
                "cpu_percent": 100.0 * run.cpu_share,
            }
            for run in self.runs
        )

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
    """Write the index of a set beside its recordings."""
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

    Parameters
    ----------
    directory : Path
        Where ``simsched measure`` has written.

    Returns
    -------
    MeasurementSet
        Its runs; their traces are read when they are asked for.

    Raises
    ------
    ConfigurationError
        There is no set, or its index is malformed; the message names the file and what is wrong.
    """
    path = directory / INDEX
    try:
        document = parse_json(read_text(path))
    except (ValueError, RecursionError) as error:
        raise ConfigurationError(f"{path}: no JSON document: {error}") from error
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise ConfigurationError(f"{path}: format: accepted {FORMAT}")
    index = validate(document, _Index, str(path))
    runs = tuple(Measurement(**run.model_dump()) for run in index.runs)
    return MeasurementSet(directory, index.name, runs, index.about, tuple(index.warnings))


def _inside(data: object) -> object:
    """Refuse the name of a file outside the set."""
    if isinstance(data, str) and (Path(data).is_absolute() or ".." in Path(data).parts):
        raise ValueError(f"found {data!r}, accepted: a file of the set")
    return data


class _Run(Section):
    """One entry of the index, see :class:`Measurement`."""

    file: Annotated[str, BeforeValidator(_inside), Field(min_length=1)]
    program: str
    params: dict[str, Any]
    label: str
    policy: str
    workers: Annotated[int, Field(gt=0)]
    seed: int
    repetition: int
    makespan_s: Annotated[float, Field(gt=0)]
    cpu_share: float


class _Index(Section):
    """The index of a set."""

    format: Literal[1]
    name: str
    about: dict[str, Any]
    warnings: list[str]
    runs: list[_Run]
