"""Measures a matrix of programs, policies and numbers of workers on this host."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path
from typing import Any

import simsched
from simsched.files.atomic import discard, discard_abandoned, make_directory, refuse_existing
from simsched.files.errors import ConfigurationError, HardwareError, SimschedError
from simsched.files.interruptions import is_interruption
from simsched.hardware.disturbance import MAX_SLOWER, MIN_CPU_SHARE, disturbances
from simsched.hardware.host import Host, Load
from simsched.hardware.measure_schema import Matrix
from simsched.hardware.measurements import (
    INDEX,
    Measurement,
    MeasurementSet,
    read_measurements,
    write_measurements,
)
from simsched.hardware.mode import Mode, mode_of
from simsched.hardware.overhead import tracing_overhead
from simsched.hardware.program import make_program
from simsched.hardware.runtime import execute
from simsched.policy.contract.registry import make_policy
from simsched.trace.recording import Recording, write_recording

#: How long the host is watched before the first and after the last run.
WATCH_S = 0.5

#: How often a run is repeated whose workers have lacked their cores, or had slow ones before it.
MAX_REPEATS = 3

Progress = Callable[[], None]
"""Is called after each run, those of the warm-up included."""


class Interrupted(KeyboardInterrupt):
    """The user has interrupted a measurement; `kept` of `total` runs are in the set."""

    def __init__(self, kept: int, total: int, directory: Path) -> None:
        where = f" in {directory}" if kept else ""
        super().__init__(f"interrupted; {kept} of {total} runs are kept{where}")


@dataclass(frozen=True)
class Cell:
    """One cell of the matrix."""

    label: str
    program: str
    params: dict[str, Any]
    policy: str
    mode: Mode
    workers: int


def cells_of(matrix: Matrix, default_workers: int) -> list[Cell]:
    """Return the cells of a matrix: those of a program stand together."""
    return [
        Cell(label, entry.name, entry.parameters, policy, mode_of(make_policy(policy)), workers)
        for label, entry in zip(matrix.labels(), matrix.programs, strict=True)
        for policy in matrix.policies
        for workers in matrix.workers or [default_workers]
    ]


def in_round(cells: list[Cell], number: int) -> list[Cell]:
    """Return the cells in the order in which a round goes through them, below 0 for the warm-up.

    The cells of a program take turns at being its first, which does not find the memory that it
    gets in the caches.
    """
    order: list[Cell] = []
    for _, group in itertools.groupby(cells, key=lambda cell: cell.label):
        own = list(group)
        first = number % len(own)
        order += own[first:] + own[:first]
    return order


def round_robin(rounds: Sequence[int]) -> list[int]:
    """Return the order in which matrices are measured: for each round, the number of its matrix.

    The middles of a matrix's rounds are evenly spread over the whole; of rounds with the same
    middle, the first matrix's comes first.

    >>> round_robin([2, 4])
    [1, 0, 1, 1, 0, 1]
    """
    middles = sorted(
        (Fraction(2 * number + 1, 2 * count), matrix)
        for matrix, count in enumerate(rounds)
        for number in range(count)
    )
    return [matrix for _, matrix in middles]


def number_of_runs(matrix: Matrix) -> int:
    """Return how many runs a matrix asks for, those of the warm-up included."""
    return len(cells_of(matrix, 1)) * (matrix.warmup + matrix.repetitions)


def measure(
    matrix: Matrix,
    directory: Path,
    *,
    overwrite: bool = False,
    progress: Progress | None = None,
    host: Host | None = None,
) -> MeasurementSet:
    """Measure a matrix on this host and return the set, which is then in a directory.

    A set that is there is replaced if `overwrite` says so, as soon as the warm-up is over. After
    Ctrl-C the runs that have ended are in the set, if there are any. The index never names a run
    whose recording is not there.
    """
    return measure_alternately(
        [(matrix, directory)], overwrite=overwrite, progress=progress, host=host
    )[0]


def measure_alternately(
    matrices: Sequence[tuple[Matrix, Path]],
    *,
    overwrite: bool = False,
    progress: Progress | None = None,
    host: Host | None = None,
) -> list[MeasurementSet]:
    """Measure several matrices together, the rounds of each spread over the whole."""
    refuse_existing([directory / INDEX for _, directory in matrices], overwrite=overwrite)
    here, hears = host or Host(), progress or (lambda: None)
    sessions = [_Session(matrix, directory, here, hears) for matrix, directory in matrices]
    created: list[Path] = []
    try:
        for _, directory in matrices:
            created += make_directory(directory)
            discard_abandoned(directory)
        for number in round_robin([session.n_rounds for session in sessions]):
            sessions[number].measure_round()
        return [session.finish() for session in sessions]
    except BaseException as error:
        for session in sessions:
            session.save_early()
        if not is_interruption(error):
            raise
        kept = sum(len(session.runs) for session in sessions)
        planned = sum(session.planned for session in sessions)
        where = sessions[0].directory if len(sessions) == 1 else sessions[0].directory.parent
        raise Interrupted(kept, planned, where) from None
    finally:
        for path in sorted(created, key=lambda each: len(each.parts), reverse=True):
            with suppress(OSError):
                path.rmdir()


@dataclass(frozen=True)
class _Run:
    """A run, what the host did meanwhile, and the speed probe before it."""

    recording: Recording
    load: Load
    probe_s: float


@dataclass
class _Session:
    """A measurement under way: what is measured so far."""

    matrix: Matrix
    directory: Path
    host: Host
    progress: Progress
    runs: list[Measurement] = field(default_factory=list)
    counters: list[dict[str, Any]] = field(default_factory=list)
    probes: list[float] = field(default_factory=list)
    loads: dict[str, Load] = field(default_factory=dict)
    about: dict[str, Any] = field(default_factory=dict)
    repeated: int = 0

    def __post_init__(self) -> None:
        self.cells = cells_of(self.matrix, len(self.host.cores))
        self.n_rounds = self.matrix.warmup + self.matrix.repetitions
        self.planned = len(self.cells) * self.matrix.repetitions
        self._begin = datetime.now(UTC)
        self._fastest_s = math.inf
        self._next_round = -self.matrix.warmup

    def measure_round(self) -> None:
        """Measure the next round."""
        number = self._next_round
        self._next_round += 1
        if number == -self.matrix.warmup:
            self._begin_first_round()
        for cell in in_round(self.cells, number):
            run = self._execute_undisturbed(cell, number)
            if number >= 0:
                self.probes.append(run.probe_s)
                self._keep(cell, number, run.recording, run.load)
            self.progress()
        if number >= 0:
            write_measurements(self.result())

    def _begin_first_round(self) -> None:
        """Note what the host is and does, and what tracing costs."""
        self.about["host"] = self.host.describe()
        self.loads["before"] = self.host.idle_load(WATCH_S)
        most = min(max(cell.workers for cell in self.cells), len(self.host.cores))
        self.about["tracing_overhead"] = tracing_overhead(most)

    def finish(self) -> MeasurementSet:
        """Return the set as it is written at the end."""
        self.loads["after"] = self.host.idle_load(WATCH_S)
        result = self.result()
        write_measurements(result)
        return result

    def _execute_undisturbed(self, cell: Cell, number: int) -> _Run:
        """Run a cell until nothing disturbs it, some times at most; keep the best."""
        best = self._execute(cell, number)
        for _ in range(MAX_REPEATS if number >= 0 else 0):
            if self._quality(best, cell) == (1.0, 1.0):
                break
            self.repeated += 1
            again = self._execute(cell, number)
            best = max(best, again, key=lambda run: self._quality(run, cell))
        return best

    def _quality(self, run: _Run, cell: Cell) -> tuple[float, float]:
        """Return how far a run had its cores, and their speed before it; 1 is good enough."""
        share, speed = _cpu_share(run.recording), self._fastest_s / run.probe_s
        is_shared = cell.workers > len(self.host.cores)
        return (
            1.0 if is_shared or share >= MIN_CPU_SHARE else share,
            1.0 if speed >= 1.0 / (1.0 + MAX_SLOWER) else speed,
        )

    def _execute(self, cell: Cell, number: int) -> _Run:
        """Run a cell once; the first time, check what it has computed."""
        program = make_program(cell.program, cell.params)
        probe_s = self.host.probe()
        self._fastest_s = min(self._fastest_s, probe_s)
        before = self.host.sample()
        seed = self.matrix.seed + max(number, 0)
        recording = execute(program, cell.mode, workers=cell.workers, seed=seed)
        load = before.until(self.host.sample())
        if number == -self.matrix.warmup:
            error = program.check()
            # Written so that an error that is no number is one, too.
            if not error <= 1.0:
                raise HardwareError(
                    f"program {cell.program} ({cell.label}, {cell.policy}, {cell.workers} "
                    f"workers): wrong result, {error:.3g} times the accepted error"
                )
        return _Run(recording, load, probe_s)

    def _keep(self, cell: Cell, number: int, recording: Recording, load: Load) -> None:
        """Write the recording of a run and note the run."""
        if not self.runs:
            _remove_set(self.directory)
        details = recording.details
        policy = re.sub(r"[^A-Za-z0-9_.-]+", "-", cell.policy).strip("-")[:60]
        name = f"{len(self.runs):04d}_{cell.label}_{policy}_w{cell.workers}_r{number}.parquet"
        # The first iteration is the initialisation, if there is one.
        first = 0 if recording.workload is None or recording.workload.init is None else 1
        run = Measurement(
            file=name,
            program=cell.program,
            params=cell.params,
            label=cell.label,
            policy=cell.policy,
            workers=cell.workers,
            seed=details["seed"],
            repetition=number,
            makespan_s=sum(details["iteration_s"][first:]),
            cpu_share=_cpu_share(recording),
        )
        own = {"label": cell.label, "policy": cell.policy, "repetition": number}
        recording = replace(recording, details={**details, "measurement": own})
        write_recording(self.directory / name, recording)
        self.counters.append(
            {
                "tasks": sum(details["tasks"]),
                "steals": sum(details["steals"]),
                "idle_share": sum(details["idle_s"]) / sum(details["present_s"]),
                "elapsed_s": load.elapsed_s,
                "others_s": load.others_s,
                "stolen_s": load.stolen_s,
            }
        )
        self.loads["during"] = self.loads.get("during", Load(0.0, 0.0, 0.0)) + load
        counted, error = details["processor_events"][0], details["processor_events_error"]
        self.about.setdefault("processor_events", {"counted": sorted(counted), "error": error})
        self.runs.append(run)

    def result(self) -> MeasurementSet:
        """Return what is measured so far as a set."""
        loads = {
            when: {
                "watched_s": load.elapsed_s,
                "others_cores": load.others_cores,
                "stolen_cores": load.stolen_cores,
            }
            for when, load in self.loads.items()
        }
        n = len(self.runs)
        about = {
            "simsched": simsched.__version__,
            "description": self.matrix.description,
            "started": self._begin.isoformat(timespec="seconds"),
            "duration_s": (datetime.now(UTC) - self._begin).total_seconds(),
            **self.about,
            "matrix": self.matrix.model_dump(),
            "load": loads,
            "repeated_runs": self.repeated,
            "speed_probe_s": self.probes[:n],
            "counters": self.counters[:n],
        }
        warnings = disturbances(
            self.runs,
            loads=self.loads,
            probes=self.probes[:n],
            overhead=self.about.get("tracing_overhead"),
            threads=self.host.threads,
            cores=len(self.host.cores),
        )
        if n < self.planned:
            warnings.append(f"incomplete: {n} of {self.planned} runs")
        return MeasurementSet(
            self.directory, self.matrix.name, tuple(self.runs), about, tuple(warnings)
        )

    def save_early(self) -> None:
        """Write the index of what there is, as far as that is possible."""
        if self.runs:
            with suppress(SimschedError):
                write_measurements(self.result())


def _remove_set(directory: Path) -> None:
    """Remove a set: its index first, then what that names."""
    old: tuple[Measurement, ...] = ()
    with suppress(ConfigurationError):
        old = read_measurements(directory).runs
    discard(directory / INDEX)
    for run in old:
        discard(directory / run.file)


def _cpu_share(recording: Recording) -> float:
    """Return the CPU time of the workers by the time they were there."""
    details = recording.details
    return float(sum(details["cpu_s"]) / sum(details["present_s"]))
