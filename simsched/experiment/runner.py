"""Running an experiment: which cells are stored already, which are to be run, and their rows."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, closing, nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from simsched.atomic import make_directory
from simsched.experiment.cell_run import events_path
from simsched.experiment.cells import Cell, PlannedExperiment, plan_experiment
from simsched.experiment.overrides import apply_assignments
from simsched.experiment.pool import Listener, available_cores, execute
from simsched.experiment.progress import Silent
from simsched.experiment.schema import Experiment
from simsched.experiment.store import Store
from simsched.trace.parquet import write_rows
from simsched.yaml_reader import Document

MakeListener = Callable[[int], AbstractContextManager[Listener]]


@dataclass(frozen=True)
class Outcome:
    """What an experiment has given.

    Parameters
    ----------
    experiment : Experiment
        The experiment.
    rows : list of dict
        One per cell, in the order of the cells.
    output : Path
        Directory of the results.
    parquet : Path
        File with all rows.
    computed, reused : int
        Cells that were run, and that had been stored before.
    elapsed_s : float
        Wall time of the whole.
    """

    experiment: Experiment
    rows: list[dict[str, Any]]
    output: Path
    parquet: Path
    computed: int
    reused: int
    elapsed_s: float


class Interrupted(KeyboardInterrupt):
    """The user has interrupted an experiment.

    Parameters
    ----------
    stored, total : int
        Cells whose rows are stored, and all cells.
    output : Path
        Directory of the results.
    """

    def __init__(self, stored: int, total: int, output: Path) -> None:
        super().__init__(f"interrupted; {stored} of {total} runs are stored in {output}")
        self.stored, self.total, self.output = stored, total, output


def run_experiment(
    document: Document,
    *,
    assignments: Sequence[str] = (),
    backend: str | None = None,
    jobs: int | None = None,
    output: Path | None = None,
    events: bool = False,
    recompute: bool = False,
    listener: MakeListener | None = None,
) -> Outcome:
    """Run an experiment as far as its results are not stored yet.

    Parameters
    ----------
    document : Document
        The experiment's plain data.
    assignments : sequence of str
        ``KEY=VALUE`` that replace values of the document.
    backend : str, optional
        Engine to use instead of the experiment's.
    jobs : int, optional
        Number of processes; by default one per core that may be used.
    output : Path, optional
        Directory of the results instead of the experiment's.
    events : bool
        Whether to write the event trace of every run.
    recompute : bool
        Whether to ignore stored rows.
    listener : callable, optional
        Makes a context manager that hears of progress, given the number of runs.

    Raises
    ------
    SimschedError
        Something in the experiment is wrong, or the results cannot be written. Everything that can
        be known beforehand is raised before the first run.
    Interrupted
        On Ctrl-C; what has finished is stored.
    """
    begin = time.perf_counter()
    planned = plan_experiment(apply_assignments(document, list(assignments)), backend)
    name = planned.experiment.name
    directory = output or Path(planned.experiment.output or Path("results") / name)
    store = Store(directory / "cells")
    events_directory = directory / "events" if events else None
    created = make_directory(directory)
    try:
        for inner in (store.directory, events_directory):
            created = [*(make_directory(inner) if inner else []), *created]
        rows = {} if recompute else _stored(planned, store, events_directory)
        missing = list({cell.key: cell for cell in planned.cells if cell.key not in rows}.values())
        reused = len({cell.key for cell in planned.cells}) - len(missing)
        with listener(len(missing)) if listener else nullcontext(Silent()) as heard:
            workers = jobs or available_cores()
            try:
                with closing(execute(missing, workers, store, events_directory, heard)) as running:
                    for cell, row in running:
                        rows[cell.key] = row
            except KeyboardInterrupt:
                total = reused + len(missing)
                raise Interrupted(len(rows), total, directory) from None
        complete = [{**cell.identity(), **rows[cell.key]} for cell in planned.cells]
        _name_events(complete, planned.cells, events_directory)
        parquet = directory / "runs.parquet"
        write_rows(parquet, complete)
    finally:
        _remove_empty(created)
    elapsed = time.perf_counter() - begin
    return Outcome(planned.experiment, complete, directory, parquet, len(missing), reused, elapsed)


def _stored(
    planned: PlannedExperiment, store: Store, events: Path | None
) -> dict[str, dict[str, Any]]:
    """Return the stored rows; where events are wanted, only those whose events are there too."""
    rows = {}
    for cell in planned.cells:
        if events is not None and not events_path(events, cell).exists():
            continue
        row = store.load(cell.key)
        if row is not None:
            rows[cell.key] = row
    return rows


def _name_events(rows: list[dict[str, Any]], cells: list[Cell], events: Path | None) -> None:
    """Add the file of the event trace to every row."""
    if events is not None:
        for row, cell in zip(rows, cells, strict=True):
            row["events_file"] = str(events_path(events, cell))


def _remove_empty(created: list[Path]) -> None:
    """Remove directories that were made for nothing."""
    for path in created:
        with suppress(OSError):
            path.rmdir()
