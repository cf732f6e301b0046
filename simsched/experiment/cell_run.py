"""Running one cell and storing its row."""

from __future__ import annotations

import importlib
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from simsched.engine.run import Run, simulate
from simsched.errors import SimschedError
from simsched.experiment.blame import explained
from simsched.experiment.cells import Cell
from simsched.experiment.measure import peak_rss_bytes, reset_peak_rss
from simsched.experiment.store import Store
from simsched.trace.metrics import run_metrics
from simsched.trace.parquet import write_events

Progress = Callable[[float], None]
REPORT_EVERY_S = 0.2
BACKEND_MODULES = {
    "native": "simsched.engine.native",
    "simpy": "simsched.engine.reference.backend",
}


def events_path(directory: Path, cell: Cell) -> Path:
    """Return the file for the event trace of a cell."""
    return directory / f"{cell.key}.parquet"


def run_cell(
    cell: Cell, store: Store, events: Path | None = None, progress: Progress | None = None
) -> dict[str, Any]:
    """Simulate a cell, store its row and return it.

    Parameters
    ----------
    cell : Cell
        The run.
    store : Store
        Where its row goes.
    events : Path, optional
        Directory for the event trace, if it is to be kept.
    progress : callable, optional
        Receives the finished part of the run, from 0 to 1, a few times a second.

    Returns
    -------
    dict
        The row: metrics, `wall_s` (time in the engine and the policy) and `peak_rss_bytes` (largest
        resident size of the process meanwhile, interpreter and libraries included).

    Raises
    ------
    SimschedError
        The run is impossible or stalls, or the row cannot be stored.
    """
    workload = cell.workload_source.build()
    importlib.import_module(BACKEND_MODULES[cell.backend])  # loading it is no part of the run
    reset_peak_rss()
    begin = time.perf_counter()
    try:
        with explained(cell.policy_model):
            run = simulate(
                cell.machine_model,
                workload,
                cell.policy_model,
                workers=cell.workers,
                pinning=cell.pinning,
                seed=cell.seed,
                backend=cell.backend,
                events=events is not None,
                progress=_throttled(progress, begin) if progress else None,
            )
    except SimschedError as error:
        raise type(error)(f"{cell.label}: {error}") from error
    wall, peak = time.perf_counter() - begin, peak_rss_bytes()
    policy = cell.policy_model
    moved = policy.overrides("on_idle") or policy.overrides("on_timer")
    row = run_metrics(run.summary, run.machine, run.workload, run.worker_thread, moved=moved)
    row |= {"wall_s": wall, "peak_rss_bytes": peak}
    row["simulated_per_wall_s"] = row["makespan_s"] / wall
    if events is not None:
        _write_events(run, events_path(events, cell), cell)
    store.save(cell.key, row)
    return row


def _write_events(run: Run, path: Path, cell: Cell) -> None:
    """Write the event trace."""
    assert run.trace is not None
    write_events(path, run.trace, {"run": cell.label, "key": cell.key})


def _throttled(progress: Progress, begin: float) -> Callable[[int, int], None]:
    """Return a callback for the engine that passes on a few reports a second."""
    last = begin

    def report(done: int, total: int) -> None:
        nonlocal last
        now = time.perf_counter()
        if now - last >= REPORT_EVERY_S:
            last = now
            progress(done / max(1, total))

    return report
