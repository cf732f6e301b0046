"""Running one cell."""

from __future__ import annotations

import importlib
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simsched.analysis.jobs import JobTimes, job_metrics
from simsched.analysis.metrics import run_metrics
from simsched.analysis.recordings import simulated_recording
from simsched.analysis.services import TaskTimes, service_metrics
from simsched.engine.fit import rehearse, stated
from simsched.engine.run import simulate
from simsched.experiment.blame import NO_MEMORY, explained
from simsched.experiment.cells import JOINT, Cell
from simsched.experiment.measure import peak_rss_bytes, reset_peak_rss
from simsched.files.errors import ModelError, SimschedError
from simsched.trace.recording import recording_metadata
from simsched.trace.run import Run
from simsched.trace.sink import EventSink, KeptEvents
from simsched.workload.graph import Workload
from simsched.workload.mapreduce_job import has_jobs

Progress = Callable[[float], None]
REPORT_EVERY_S = 0.2
BACKEND_MODULES = {
    "native": "simsched.engine.native",
    "simpy": "simsched.engine.reference.backend",
}


def events_path(directory: Path, key: str) -> Path:
    """Return the file for the event trace of the cell with a key."""
    return directory / f"{key}.parquet"


def run_cell(
    cell: Cell, events: Path | None = None, progress: Progress | None = None
) -> dict[str, Any]:
    """Simulate a cell and return its row; event traces are kept if there is a directory for them.

    Beside metrics it has `wall_s` (time in the engine and the policy, and for writing the event
    trace) and `peak_rss_bytes` (largest resident size of the process meanwhile, interpreter and
    libraries included).
    """
    policy = cell.policy_model
    importlib.import_module(BACKEND_MODULES[cell.backend])  # loading it is no part of the run
    with named(cell):
        workload = _built(cell)
        reset_peak_rss()
        with explained(policy, cell.policy), _sink(cell, events) as file:
            times = _times(cell, workload, file)
            begin = time.perf_counter()
            run = _simulated(
                cell,
                workload,
                file if times is None else times,
                _throttled(progress, begin) if progress else None,
            )
    wall, peak = time.perf_counter() - begin, peak_rss_bytes()
    moved = any(policy.overrides(hook) for hook in ("on_idle", "on_timer", "on_wake"))
    row = run_metrics(
        run.summary,
        run.machine,
        run.workload,
        run.worker_thread,
        program=run.program,
        moved=moved,
    )
    if isinstance(times, TaskTimes):
        row |= service_metrics(run.workload, times)
    elif times is not None:
        row |= job_metrics(times)
    row |= {"misfits": JOINT.join(run.misfits), "decisions_hash": run.decisions}
    row |= {"wall_s": wall, "peak_rss_bytes": peak}
    row["simulated_per_wall_s"] = row["makespan_s"] / wall
    return row


def repeated_run(cell: Cell, events: EventSink | bool) -> Run:
    """Simulate a cell once more for the sake of its events; True keeps all of them in memory."""
    with named(cell):
        return _again(cell, events)


def varied_run(cell: Cell) -> Run:
    """Simulate a variation of a cell; who varies it says of errors of which one they are."""
    return _again(cell, events=False)


@contextmanager
def named(cell: Cell) -> Iterator[None]:
    """Say of errors of which run they are."""
    try:
        yield
    except SimschedError as error:
        raise type(error)(f"{cell.label}: {error}") from error


def _again(cell: Cell, events: EventSink | bool) -> Run:
    with explained(cell.policy_model, cell.policy):
        return _simulated(cell, cell.workload_source.build(), events)


def _simulated(
    cell: Cell,
    workload: Workload,
    events: EventSink | bool,
    progress: Callable[[int, int], None] | None = None,
) -> Run:
    return simulate(
        cell.machine_model,
        workload,
        cell.policy_model,
        workers=cell.workers,
        pinning=cell.pinning,
        progress_limit_s=cell.progress_limit_s,
        seed=cell.seed,
        backend=cell.backend,
        events=events,
        progress=progress,
    )


def rehearse_cell(cell: Cell, most: int | None) -> tuple[str, ...]:
    """Try a cell up to its first event; return why the run will say little of its policy.

    Schedules that are made beforehand take time: where tasks times workers are more than `most`,
    the policy is only asked for what it needs.
    """
    policy = cell.policy_model
    with named(cell):
        workload = _built(cell)
        workers = len(cell.machine_model.place_workers(cell.workers, cell.pinning))
        if most is not None and workload.graph.n_tasks * workers > most:
            return stated(
                cell.machine_model, workload, policy, workers=cell.workers, pinning=cell.pinning
            )
        with explained(policy, cell.policy):
            return rehearse(
                cell.machine_model,
                workload,
                policy,
                workers=cell.workers,
                pinning=cell.pinning,
                seed=cell.seed,
            )


def _built(cell: Cell) -> Workload:
    try:
        return cell.workload_source.build()
    except MemoryError as error:
        raise ModelError(NO_MEMORY) from error


def _times(cell: Cell, workload: Workload, file: EventSink | bool) -> TaskTimes | JobTimes | None:
    """Return what collects times where applications share a device, or the work is jobs."""
    others = None if isinstance(file, bool) else file
    if workload.applications is not None:
        return TaskTimes(workload.graph.n_tasks, others)
    if has_jobs(workload.graph):
        return JobTimes(cell.machine_model, others)
    return None


def _sink(cell: Cell, events: Path | None) -> AbstractContextManager[EventSink | bool]:
    """Return the file in a directory that takes the event trace, False without a directory."""
    if events is None:
        return nullcontext(False)
    from simsched.trace.parquet import event_file  # PyArrow takes a tenth of a worker's start

    path, metadata = events_path(events, cell.key), {"run": cell.label, "key": cell.key}
    return event_file(path, metadata, about=partial(_about, cell))


def _about(
    cell: Cell, workload: Workload, worker_thread: NDArray[np.int32]
) -> dict[str, str | bytes]:
    """Return what makes the event trace of a cell a recording."""
    details = {"policy": cell.policy, "backend": cell.backend, "seed": cell.seed}
    return recording_metadata(
        simulated_recording(
            cell.label, KeptEvents().trace(), cell.machine_model, workload, worker_thread, details
        )
    )


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
