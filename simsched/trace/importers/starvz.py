"""StarPU traces in the directory layout of StarVZ: one CSV file per kind of thing.

**Files.** ``rec.tasks.csv`` has the tasks, ``paje.worker_state.csv`` what each worker did,
``dag.csv`` dependencies, ``paje.link.csv`` messages between nodes and steals, ``platform_file.rec``
the machine with its performance model; each may have ``.gz`` appended. One of the first two is
needed.
A file ``rec.tasks.csv`` alone is read too, without looking at its neighbours.

**Units.** Times are milliseconds, sizes bytes, the performance model's means microseconds.

**Tasks.** Every row with a ``StartTime`` is one task. Rows of the kind ``Control`` are no tasks.
Rows without a start, an end and a worker are StarPU's own (synchronisation, acquired data) and run
nowhere; they are left out, and whatever depends on them depends on what they depend on. The same
holds for the nodes ``mpi_...`` of ``dag.csv``. Tasks are numbered by ``SubmitTime``.

**Dependencies** are those of ``DependsOn`` and those of ``dag.csv``, where the column called
``Dependent`` names the job that comes *first*: every ``DependsOn`` of the published trace is found
there this way round, none the other.

**Workers** are called as in ``paje.worker_state.csv`` (``0_CPU3``: MPI rank 0), found by the jobs
that both files name; else after rank and ``WorkerId``. Their processor kind is in that name; else
it follows from the memory node. The core is not recorded.

**Graph.** Durations are operations at `reference_speed` 10**9 per second: on the kind that ran a
task what was measured, on others what the performance model says, or the mean of tasks with the
same name and footprint, or nothing (the task cannot run there). `arrival_ps` is ``SubmitTime``,
`priority` is ``Priority``.
Handles are blocks, one per MPI rank and handle; modes ``R`` read and ``W`` write all of their size,
``X`` (reduction) and ``C`` (commuting) both, ``S`` (scratch) neither.

**Events**: starts and ends; ``TASK_READY`` only where there is a ``ReadyTime``; ``STEAL`` of each
link ``Work steal``. Time begins with the first submission or start. How long workers were in states
that are no tasks, from the first start to the last end of a task, is in
``details["worker_states_s"]``; ``details["waiting_states"]`` has the names of those in which a
worker has nothing to do. Messages with the tasks before and after them are in
``details["transfers"]``.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from simsched.files.bounded import header_of, member, read_head
from simsched.files.errors import TraceError
from simsched.trace.importers._recutils import read_records
from simsched.trace.importers._rows import LINE, SetAside, numbers, read_rows
from simsched.trace.importers._starpu import (
    OPTIONAL,
    REQUIRED,
    StarpuTrace,
    starpu_recording,
)
from simsched.trace.importers._starpu_graph import Timings
from simsched.trace.importers._starpu_transfers import read_links
from simsched.trace.importers.registry import trace_importer
from simsched.trace.recording import Recording

STATES = "paje.worker_state.csv"
TASKS = "rec.tasks.csv"
DAG = "dag.csv"
LINKS = "paje.link.csv"
PLATFORM = "platform_file.rec"
SAME_MS = 1e-6  # both files print six decimals
WAITING = ["Idle", "Sleeping"]  # states in which a worker has nothing to do


def _looks_like_starvz(path: Path) -> bool:
    """Say whether a directory has the files of StarVZ, or a file the columns of its tasks."""
    if path.is_dir():
        return find(path, TASKS) is not None or find(path, STATES) is not None
    names, _ = header_of(read_head(path, TraceError))
    return {b"JobId", b"StartTime", b"EndTime"} <= set(names)


def find(directory: Path, name: str) -> Path | None:
    """Return a file of a directory by its name without ``.gz``, compressed or not."""
    for candidate in (directory / name, directory / f"{name}.gz"):
        if candidate.is_file():
            member(directory, candidate.name, TraceError)
            return candidate
    return None


@trace_importer("starvz", recognises=_looks_like_starvz)
def import_starvz(path: Path) -> Recording:
    """StarPU traces in StarVZ's directory of CSV files, or its ``rec.tasks.csv`` alone.

    Parameters
    ----------
    path : Path
        The directory, or the file of the tasks.
    """
    aside = SetAside()
    if not path.is_dir():
        rows = read_rows(path, REQUIRED, OPTIONAL, aside)
        _note_missing(path, rows, [DAG, LINKS], aside)
        return starpu_recording(StarpuTrace(path, path.name.partition(".")[0], rows, aside))
    files = [find(path, name) for name in (TASKS, STATES, DAG, LINKS, PLATFORM)]
    tasks, states, dag, links, platform = files
    source = tasks or states
    if source is None:
        raise TraceError(f"{path}: found neither {TASKS} nor {STATES} (or these with .gz)")
    entries = None if states is None else _states(states, aside)
    if tasks is not None:
        rows = read_rows(tasks, REQUIRED, OPTIONAL, aside)
    else:
        assert entries is not None
        rows = _rows_of_states(entries)
    trace = StarpuTrace(source, path.resolve().name, rows, aside)
    if entries is not None:
        _add_states(trace, entries, states)
    if dag is not None:
        listed = read_rows(dag, ("JobId", "Dependent"), (), aside)
        listed = listed[(listed["JobId"] != "") & (listed["Dependent"] != "")]
        trace.pairs = list(zip(listed["Dependent"], listed["JobId"], strict=True))
    if links is not None:
        messages, trace.steals = read_links(links, aside)
        trace.messages = {} if dag is None else messages
        trace.links = links
    absent = [name for name, file in ((DAG, dag), (LINKS, links)) if file is None]
    _note_missing(path, rows, absent, aside)
    if platform is not None:
        trace.timings = Timings.read(platform, aside)
        trace.kinds = worker_kinds(platform)
    trace.details["files"] = [f.name for f in files if f is not None]
    return starpu_recording(trace)


def _note_missing(path: Path, rows: pd.DataFrame, absent: list[str], aside: SetAside) -> None:
    """Say so if tasks of several nodes come without what passed between these."""
    nodes = set(rows["MPIRank"]) - {""}
    if absent and len(nodes) > 1:
        aside.note(
            f"{path}: tasks of {len(nodes)} MPI ranks without {' and '.join(absent)} of StarVZ's "
            "directory, which say which tasks wait for messages between them, and how long"
        )


def worker_kinds(path: Path) -> dict[str, str]:
    """Return processor kinds by ``WorkerId`` from the memory nodes that a platform file lists.

    It is the output of ``starpu_perfmodel_recdump``; memory nodes are ``NUMA 0``, ``CUDA 1``, ...
    """
    kinds: dict[str, str] = {}
    for record in read_records(path):
        if record.kind == "memory_workers":
            first = (record.fields.get("Name", "").split() or [""])[0].lower()
            kind = "cpu" if first in ("numa", "ram", "cpu") else first
            for worker in record.fields.get("Workers", "").split():
                kinds[worker] = kind
    return kinds


def _states(path: Path, aside: SetAside) -> pd.DataFrame:
    """Return the states of workers with their times in milliseconds."""
    required = ("ResourceId", "Start", "End", "Value")
    optional = ("JobId", "Footprint", "SubmitOrder")
    rows = read_rows(path, required, optional, aside)
    for column, name in (("Start", "start_ms"), ("End", "end_ms")):
        rows[name] = numbers(rows[column])
        why = f"{column} is not a time in milliseconds"
        rows = aside.without(path, rows, rows[name].isna(), why)
    backwards = rows["end_ms"] < rows["start_ms"]
    return aside.without(path, rows, backwards, "End is before Start").reset_index(drop=True)


def _rows_of_states(states: pd.DataFrame) -> pd.DataFrame:
    """Return rows of tasks made of worker states, where there is no other file."""
    rows = states[states["JobId"] != ""]
    table = pd.DataFrame(index=rows.index)
    first = rows["ResourceId"].str.extract("^([^_]*)", expand=False)
    given = {
        "JobId": rows["JobId"],
        "StartTime": rows["Start"],
        "EndTime": rows["End"],
        "WorkerId": rows["ResourceId"],
        "MPIRank": first.where(first.str.isdecimal(), "0"),
        "Name": rows["Value"],
        "Footprint": rows["Footprint"],
        LINE: rows[LINE],
    }
    for name in (*REQUIRED, *OPTIONAL, LINE):
        table[name] = given.get(name, "")
    return table.reset_index(drop=True)


def _add_states(trace: StarpuTrace, states: pd.DataFrame, path: Path | None) -> None:
    """Name the workers, add up their other states in the run, compare the times of tasks."""
    ran = states[states["JobId"] != ""]
    tasks = trace.rows[trace.rows["WorkerId"] != ""]
    tasks = tasks.drop_duplicates("JobId")  # of jobs given twice every pair would be joined
    joined = tasks.merge(ran, on="JobId", how="inner", suffixes=("", "_state"))
    rank = joined["MPIRank"].where(joined["MPIRank"] != "", "0")
    pairs = zip(rank, joined["WorkerId"], joined["ResourceId"], strict=True)
    for number, worker, name in sorted(set(pairs)):
        known = trace.worker_names.setdefault((number, worker), name)
        if known != name:
            raise TraceError(
                f"{path}: found worker {worker} of rank {number} as {known!r} and as {name!r}"
            )
    used = set(trace.worker_names.values())
    trace.idle_workers = sorted(set(states["ResourceId"]) - used)
    apart = np.maximum(
        np.abs(numbers(joined["StartTime"]) - joined["start_ms"].to_numpy()),
        np.abs(numbers(joined["EndTime"]) - joined["end_ms"].to_numpy()),
    )
    differing = int((apart > SAME_MS).sum())
    if differing:
        trace.aside.note(
            f"{path}: {differing} tasks have other times than in {trace.path.name}, which counts"
        )
    # What is simulated begins and ends with a task.
    first = float(np.nanmin(numbers(tasks["StartTime"]), initial=np.inf))
    last = float(np.nanmax(numbers(tasks["EndTime"]), initial=-np.inf))
    others = states[states["JobId"] == ""].copy()
    within = others["end_ms"].clip(upper=last) - others["start_ms"].clip(lower=first)
    others["s"] = within.clip(lower=0.0) * 1e-3
    total = others.groupby(["ResourceId", "Value"])["s"].sum()
    found: dict[str, dict[str, float]] = {}
    total = total[total > 0]
    workers, names = (total.index.get_level_values(level).tolist() for level in (0, 1))
    for worker, state, seconds in zip(workers, names, total.tolist(), strict=True):
        found.setdefault(worker, {})[state] = round(seconds, 12)
    trace.details["worker_states_s"] = found
    trace.details["waiting_states"] = WAITING
