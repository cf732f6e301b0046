"""Running an experiment: which cells are stored already, which are to be run, and their rows."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from types import NoneType
from typing import Any

from simsched.experiment.cell_run import events_path
from simsched.experiment.cells import JOINT, Cell
from simsched.experiment.cluster import execute_on_cluster
from simsched.experiment.fingerprint import is_in_files
from simsched.experiment.pool import Listener, available_cores, execute
from simsched.experiment.progress import Silent
from simsched.experiment.rehearsal import Misfit, check_runs, refuse, said
from simsched.experiment.schema import Experiment
from simsched.experiment.store import Store
from simsched.experiment.study import Study
from simsched.files.atomic import discard_abandoned, make_directory
from simsched.files.errors import ConfigurationError, expect
from simsched.files.interruptions import is_interruption
from simsched.files.units import plural
from simsched.names.parameters import Bounds, Parameter
from simsched.trace.parquet import write_rows

Row = dict[str, Any]
MakeListener = Callable[[int], AbstractContextManager[Listener]]


@dataclass(frozen=True)
class RunOptions:
    """How a study is run; nothing of it changes a result."""

    #: Number of processes; by default up to one per core that may be used, as far as runs take
    #: longer than starting processes.
    jobs: int | None = None
    #: Scheduler of a Dask cluster that runs the cells instead: its address, or its scheduler file.
    dask: str | None = None
    #: Directory of the results instead of the study's.
    output: Path | None = None
    #: Whether to write the event trace of every run.
    events: bool = False
    #: Whether to ignore stored rows.
    recompute: bool = False
    #: Whether runs that say little of their policy are refused.
    strict: bool = False
    #: Hears of such runs before the first one begins; nobody by default.
    warn: Callable[[list[str]], None] | None = None
    #: Makes a context manager that hears of progress, given the number of runs; quiet by default.
    progress: MakeListener | None = None

    def __post_init__(self) -> None:
        for option in _OPTIONS:
            option.checked(getattr(self, option.name), f"run: {option.name}")
        expect("run: progress", self.progress, (Callable, NoneType), "a function of one number")


_OPTIONS = (
    Parameter("jobs", int, None, Bounds(1), optional=True),
    Parameter("dask", str, None, optional=True),
    Parameter("events", bool, False),
    Parameter("recompute", bool, False),
    Parameter("strict", bool, False),
)


@dataclass(frozen=True)
class Outcome:
    """What an experiment has given."""

    experiment: Experiment
    #: One per cell that was run or is stored, in the order of the cells.
    rows: list[dict[str, Any]]
    #: Directory of the results; None when they are in memory only.
    output: Path | None
    #: File with all rows.
    parquet: Path | None
    computed: int
    #: Cells that had been stored before.
    reused: int
    #: Wall time of the whole.
    elapsed_s: float
    #: What was simulated, one per row.
    cells: list[Cell]


class Interrupted(KeyboardInterrupt):
    """The user has interrupted an experiment after some of its cells were stored."""

    def __init__(self, stored: int, total: int, output: Path | None) -> None:
        kept = (
            f"{stored} of {plural(total, 'run')} {'is' if total == 1 else 'are'} stored in {output}"
        )
        super().__init__(
            f"interrupted; {kept if output else 'without output=DIRECTORY no run is stored'}"
        )
        self.stored, self.total, self.output = stored, total, output


def run_study(
    study: Study, options: RunOptions, chosen: Callable[[Cell], bool] | None = None
) -> Outcome:
    """Run the cells of a study as far as their results are not stored yet.

    The file with all rows is written only if there is one for every cell, chosen or not. Everything
    that can be known beforehand is raised before the first run; on Ctrl-C, what has finished is
    stored and :class:`Interrupted` is raised.
    """
    directory = options.output or study.directory
    if directory is not None:
        return _run(study, directory, options, chosen)
    if options.events:
        raise ConfigurationError("run: events: accepted only with output, a directory for them")
    try:
        with TemporaryDirectory() as folder:
            outcome = _run(study, Path(folder), options, chosen)
    except Interrupted as stop:
        raise Interrupted(0, stop.total, None) from None
    return replace(outcome, output=None, parquet=None)


def _run(
    study: Study, directory: Path, options: RunOptions, chosen: Callable[[Cell], bool] | None
) -> Outcome:
    """Run cells whose results are not in a directory yet."""
    begin = time.perf_counter()
    store = Store(directory / "cells")
    events = directory / "events" if options.events else None
    rows = {} if options.recompute else _stored(study, store, events)
    cells = {cell.key: cell for cell in study.cells if chosen is None or chosen(cell)}
    missing = [cell for key, cell in cells.items() if key not in rows]
    with _interruptions(store, cells, directory):
        keys = {cell.key for cell in missing}
        misfits = check_runs(study, keys, shipped_only=True, complete=options.strict)
        if options.strict:
            refuse([*misfits, *_known_misfits(cells.values(), rows)])
        elif options.warn is not None:
            options.warn(said(misfits))
    with (
        _interruptions(store, cells, directory),
        directories(directory, store.directory, events),
    ):
        with options.progress(len(missing)) if options.progress else nullcontext(Silent()) as heard:
            if options.dask is None:
                jobs, at_once = options.jobs or available_cores(), options.jobs is not None
                running = execute(missing, jobs, store, events, heard, at_once=at_once)
            else:
                running = execute_on_cluster(missing, options.dask, store, events, heard)
            with closing(running):
                rows |= {cell.key: row for cell, row in running}
        if options.strict:  # code of the user's is not tried before it runs
            refuse(_known_misfits(cells.values(), rows))
        found = [cell for cell in study.cells if cell.key in rows]
        complete = [{**cell.identity(), **rows[cell.key]} for cell in found]
        _name_events(complete, found, events)
        parquet = directory / "runs.parquet"
        if len(found) == len(study.cells):
            write_rows(parquet, complete)
    return Outcome(
        study.experiment,
        complete,
        directory,
        parquet,
        len(missing),
        len(cells) - len(missing),
        time.perf_counter() - begin,
        found,
    )


def _known_misfits(cells: Iterable[Cell], rows: Mapping[str, Row]) -> Iterator[Misfit]:
    """Yield what rows say of runs that say little of their policy."""
    for cell in cells:
        for reason in filter(None, str(rows.get(cell.key, {}).get("misfits", "")).split(JOINT)):
            yield Misfit(cell.machine, cell.workload, cell.policy, reason)


@contextmanager
def _interruptions(store: Store, keys: Collection[str], directory: Path) -> Iterator[None]:
    """Say on Ctrl-C how many runs are stored, from before there is a directory."""
    try:
        yield
    except BaseException as error:
        if not is_interruption(error):
            raise
        stored = len(store.keys().intersection(keys))
        raise Interrupted(stored, len(keys), directory) from None


@contextmanager
def directories(*paths: Path | None) -> Iterator[None]:
    """Make directories, tidy them up, and remove new ones that nothing has been written to."""
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


def _stored(study: Study, store: Store, events: Path | None) -> dict[str, dict[str, Any]]:
    """Return the stored rows; where events are wanted, only those whose events are there too."""
    rows: dict[str, dict[str, Any]] = {}
    known, in_files = store.keys(), {}
    for cell in study.cells:
        if cell.key in rows or cell.key not in known:
            continue
        policy = cell.policy_model
        if id(policy) not in in_files:
            in_files[id(policy)] = is_in_files(policy)
        if not (in_files[id(policy)] and cell.workload_source.in_files):
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
