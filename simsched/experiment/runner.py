"""Running an experiment: which cells are stored already, which are to be run, and their rows."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from simsched.experiment.cell_run import events_path
from simsched.experiment.cells import Cell, PlannedExperiment, plan_experiment
from simsched.experiment.cluster import execute_on_cluster
from simsched.experiment.fingerprint import is_in_files
from simsched.experiment.overrides import apply_assignments
from simsched.experiment.pool import Listener, available_cores, execute
from simsched.experiment.progress import Silent
from simsched.experiment.rehearsal import check_runs
from simsched.experiment.schema import Experiment
from simsched.experiment.store import Store
from simsched.files.atomic import discard_abandoned, make_directory
from simsched.files.yaml_reader import Document
from simsched.trace.parquet import write_rows

MakeListener = Callable[[int], AbstractContextManager[Listener]]


@dataclass(frozen=True)
class Outcome:
    """What an experiment has given.

    Parameters
    ----------
    experiment : Experiment
        The experiment.
    rows : list of dict
        One per cell that was run or is stored, in the order of the cells.
    output : Path or None
        Directory of the results; None when they are in memory only.
    parquet : Path or None
        File with all rows.
    computed, reused : int
        Cells that were run, and that had been stored before.
    elapsed_s : float
        Wall time of the whole.
    cells : list of Cell
        What was simulated, one per row.
    """

    experiment: Experiment
    rows: list[dict[str, Any]]
    output: Path | None
    parquet: Path | None
    computed: int
    reused: int
    elapsed_s: float
    cells: list[Cell]


class Interrupted(KeyboardInterrupt):
    """The user has interrupted an experiment.

    Parameters
    ----------
    stored, total : int
        Cells whose rows are stored, and all cells.
    output : Path or None
        Directory of the results; None where they were to be in memory only.
    """

    def __init__(self, stored: int, total: int, output: Path | None) -> None:
        kept = f"{stored} of {total} runs are stored in {output}"
        super().__init__(
            f"interrupted; {kept if output else 'without output=DIRECTORY no run is stored'}"
        )
        self.stored, self.total, self.output = stored, total, output


def run_experiment(
    document: Document,
    *,
    assignments: Sequence[str] = (),
    backend: str | None = None,
    jobs: int | None = None,
    dask: str | None = None,
    output: Path | None = None,
    events: bool = False,
    recompute: bool = False,
    chosen: Callable[[Cell], bool] | None = None,
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
    dask : str, optional
        Scheduler of a Dask cluster that runs the cells instead: its address, or its scheduler file.
    output : Path, optional
        Directory of the results instead of the experiment's.
    events : bool
        Whether to write the event trace of every run.
    recompute : bool
        Whether to ignore stored rows.
    chosen : callable, optional
        Says of a cell whether it is to be run; all are by default. The file with all rows is
        written only if there is a row for every cell.
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
    return run_planned(
        planned,
        output or planned.experiment.directory(),
        jobs=jobs,
        dask=dask,
        events=events,
        recompute=recompute,
        chosen=chosen,
        listener=listener,
        begin=begin,
    )


def run_planned(
    planned: PlannedExperiment,
    directory: Path,
    *,
    jobs: int | None = None,
    dask: str | None = None,
    events: bool = False,
    recompute: bool = False,
    chosen: Callable[[Cell], bool] | None = None,
    listener: MakeListener | None = None,
    begin: float | None = None,
) -> Outcome:
    """Run the cells of an experiment as far as their results are not in a directory yet.

    Parameters
    ----------
    planned : PlannedExperiment
        What to run.
    directory : Path
        Directory of the results.
    jobs, dask, events, recompute, chosen, listener
        See :func:`run_experiment`.
    begin : float, optional
        When the whole began, as :func:`time.perf_counter` counts; now by default.

    Raises
    ------
    SimschedError
        A run is impossible, or the results cannot be written.
    Interrupted
        On Ctrl-C; what has finished is stored.
    """
    begin = time.perf_counter() if begin is None else begin
    store = Store(directory / "cells")
    events_directory = directory / "events" if events else None
    rows = {} if recompute else _stored(planned, store, events_directory)
    wanted = [cell for cell in planned.cells if chosen is None or chosen(cell)]
    cells = {cell.key: cell for cell in wanted}
    missing = [cell for key, cell in cells.items() if key not in rows]
    with _interruptions(store, cells, directory):
        check_runs(planned, {cell.key for cell in missing}, shipped_only=True)
    with (
        _interruptions(store, cells, directory),
        _directories(directory, store.directory, events_directory),
    ):
        with listener(len(missing)) if listener else nullcontext(Silent()) as heard:
            running = (
                execute(missing, jobs or available_cores(), store, events_directory, heard)
                if dask is None
                else execute_on_cluster(missing, dask, store, events_directory, heard)
            )
            with closing(running):
                rows |= {cell.key: row for cell, row in running}
        found = [cell for cell in planned.cells if cell.key in rows]
        complete = [{**cell.identity(), **rows[cell.key]} for cell in found]
        _name_events(complete, found, events_directory)
        parquet = directory / "runs.parquet"
        if len(found) == len(planned.cells):
            write_rows(parquet, complete)
    return Outcome(
        planned.experiment,
        complete,
        directory,
        parquet,
        len(missing),
        len(cells) - len(missing),
        time.perf_counter() - begin,
        found,
    )


@contextmanager
def _interruptions(store: Store, keys: Collection[str], directory: Path) -> Iterator[None]:
    """Say on Ctrl-C how many runs are stored, from before there is a directory."""
    try:
        yield
    except KeyboardInterrupt:
        stored = sum(store.path(key).exists() for key in keys)
        raise Interrupted(stored, len(keys), directory) from None


@contextmanager
def _directories(*paths: Path | None) -> Iterator[None]:
    """Make directories, tidy them up, and remove those that nothing has been written to."""
    created: list[Path] = []
    try:
        for path in filter(None, paths):
            created = [*make_directory(path), *created]
            discard_abandoned(path)
        yield
    finally:
        for path in created:
            with suppress(OSError):
                path.rmdir()


def _stored(
    planned: PlannedExperiment, store: Store, events: Path | None
) -> dict[str, dict[str, Any]]:
    """Return the stored rows; where events are wanted, only those whose events are there too."""
    rows: dict[str, dict[str, Any]] = {}
    for cell in planned.cells:
        if cell.key in rows or not (
            is_in_files(cell.policy_model) and cell.workload_source.in_files
        ):
            continue  # nobody knows what else the code in a notebook's cells uses
        if events is not None and not events_path(events, cell.key).exists():
            continue
        row = store.load(cell.key)
        if row is not None:
            rows[cell.key] = row
    return rows


def _name_events(rows: list[dict[str, Any]], cells: list[Cell], events: Path | None) -> None:
    """Add the file of the event trace to every row."""
    if events is not None:
        for row, cell in zip(rows, cells, strict=True):
            row["events_file"] = str(events_path(events, cell.key))
