"""What StarPU traces have in common: rows of tasks become a recording."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from simsched.files.errors import TraceError
from simsched.files.units import PER_PS, plural
from simsched.trace.importers._events import Steals, make_trace, overlapping
from simsched.trace.importers._rows import LINE, SetAside, numbers
from simsched.trace.importers._starpu_graph import (
    SPEED,
    Timings,
    contract,
    handle_accesses,
    operations,
)
from simsched.trace.importers._starpu_transfers import PS_PER_MS, Message, StealLink, transfers
from simsched.trace.recording import Recording
from simsched.workload.builder import adjacency, build_graph
from simsched.workload.graph import Workload
from simsched.workload.importers._naming import check_named

REQUIRED = ("JobId", "StartTime", "EndTime", "WorkerId")
OPTIONAL = (
    "Control",
    "Name",
    "Model",
    "MPIRank",
    "SubmitOrder",
    "Priority",
    "SubmitTime",
    "ReadyTime",
    "MemoryNode",
    "Footprint",
    "Handles",
    "Modes",
    "Sizes",
    "DependsOn",
)
LATEST_MS = 2**53 / PS_PER_MS
NO_TIME = f"is not a time in milliseconds below {LATEST_MS:.0f}"
MAIN_MEMORY = "cpu"
INT32_MAX = 2**31 - 1
WORKER_KIND = re.compile(r"(?:\d+_)?([A-Za-z]+)")


@dataclass
class StarpuTrace:
    """Rows of tasks with what surrounds them."""

    #: The file of the tasks.
    path: Path
    name: str
    #: The columns of `REQUIRED` and `OPTIONAL` as text, and ``line``.
    rows: pd.DataFrame
    #: What was left out so far.
    aside: SetAside
    #: Dependencies beyond ``DependsOn``: predecessor, successor.
    pairs: list[tuple[str, str]] = field(default_factory=list)
    #: By MPI rank and ``WorkerId``; others are called after these two.
    worker_names: dict[tuple[str, str], str] = field(default_factory=dict)
    #: Workers without tasks.
    idle_workers: list[str] = field(default_factory=list)
    #: Processor kinds of workers by ``WorkerId``, from a description of the platform.
    kinds: dict[str, str] = field(default_factory=dict)
    timings: Timings = field(default_factory=lambda: Timings({}))
    #: Between nodes, by the names of their jobs.
    messages: dict[str, Message] = field(default_factory=dict)
    #: Steals, and the file that has them.
    steals: list[StealLink] = field(default_factory=list)
    links: Path = Path()
    #: Further entries of `Recording.details`.
    details: dict[str, Any] = field(default_factory=dict)


def natural(text: str) -> tuple[tuple[int, int, str], ...]:
    """Return a sort key in which numbers inside a name count as numbers.

    >>> sorted(["0_CPU10", "0_CPU9"], key=natural)
    ['0_CPU9', '0_CPU10']
    """
    parts = [(p.lstrip("0") if p.isdecimal() else None, p) for p in re.split(r"(\d+)", text) if p]
    return tuple((1, 0, p) if number is None else (0, len(number), number) for number, p in parts)


def starpu_recording(trace: StarpuTrace) -> Recording:
    """Return the recording of a StarPU trace, whose rows may come in any order."""
    tasks = _executed(trace)
    names, worker = _workers(trace, tasks)
    tasks["worker"] = worker
    start, end = _picoseconds(tasks["start_ms"]), _picoseconds(tasks["end_ms"])
    wrong = overlapping(worker, start, end)
    why = "the task starts before an earlier one on the same worker has ended"
    tasks = trace.aside.without(trace.path, tasks, wrong, why).reset_index(drop=True)
    start, end = start[~wrong], end[~wrong]
    submit = tasks["submit_ms"].to_numpy()
    early = np.fmin(submit, tasks["start_ms"].to_numpy())
    origin = int(_picoseconds(pd.Series([np.nanmin(early)]))[0])
    arrival = np.where(np.isnan(submit), 0, _picoseconds(pd.Series(submit).fillna(0.0)) - origin)
    _check_submission(trace, tasks)
    workload = _workload(trace, tasks, arrival.astype(np.int64), start, end)
    if trace.messages:
        trace.details["transfers"] = _transfers(trace, tasks, origin)
    ready_ms = tasks["ready_ms"].to_numpy()
    ready = np.where(np.isnan(ready_ms), -1, _picoseconds(tasks["ready_ms"].fillna(0.0)) - origin)
    every = np.arange(len(tasks), dtype=np.int64)
    placed = tasks["worker"].to_numpy(np.int64), start - origin
    events = make_trace(
        every,
        *placed,
        end - origin,
        ready_ps=ready.astype(np.int64),
        steals=_steals(trace, names, *placed, origin),
    )
    return Recording(
        name=trace.name,
        trace=events,
        task_class=workload.graph.task_class,
        class_names=workload.graph.class_names,
        worker_names=tuple(names),
        worker_core=np.full(len(names), -1, dtype=np.int32),
        workload=workload,
        details={
            **trace.details,
            "unit_of_times": "ms",
            "origin_ms": origin / PS_PER_MS,
            "tasks_with_ready_time": int((ready >= 0).sum()),
            **trace.aside.details(),
        },
    )


def _executed(trace: StarpuTrace) -> pd.DataFrame:
    """Return the rows of tasks that ran, checked and in an order that follows from the tasks."""
    path, without = trace.path, trace.aside.without
    rows = trace.rows[trace.rows["Control"] == ""]
    trace.details["control_records"] = len(trace.rows) - len(rows)
    stated = rows[["StartTime", "EndTime", "WorkerId"]] != ""
    trace.details["tasks_on_no_worker"] = int((~stated.any(axis=1)).sum())
    rows = rows[stated.any(axis=1)].copy()
    rows["rank"] = rows["MPIRank"].where(rows["MPIRank"] != "", "0")
    for column, name in (("StartTime", "start_ms"), ("EndTime", "end_ms")):
        rows[name] = numbers(rows[column])
        rows = without(path, rows, ~(rows[name].abs() < LATEST_MS), f"{column} {NO_TIME}")
    for column, name in (("SubmitTime", "submit_ms"), ("ReadyTime", "ready_ms")):
        rows[name] = numbers(rows[column])
        bad = (rows[column] != "") & ~(rows[name].abs() < LATEST_MS)
        rows = without(path, rows, bad, f"{column} {NO_TIME}")
    rows = without(path, rows, rows["JobId"] == "", "the task has no JobId")
    rows = without(path, rows, rows["WorkerId"] == "", "the task has no WorkerId")
    backwards = rows["end_ms"] < rows["start_ms"]
    rows = without(path, rows, backwards, "EndTime is before StartTime")
    rows = _unique(trace, rows)
    if rows.empty:
        left = f"; {trace.aside.total} rows set aside" if trace.aside.total else ""
        why = "".join(f"; {text}" for text in trace.aside.details()["warnings"][:1])
        raise TraceError(f"{path}: found no task that was executed{left}{why}")
    first = rows["submit_ms"].fillna(rows["start_ms"])
    jobs = map(natural, rows["JobId"].tolist())
    keys = list(zip(first.tolist(), rows["start_ms"].tolist(), jobs, strict=True))
    order = sorted(range(len(rows)), key=keys.__getitem__)
    return rows.iloc[order].reset_index(drop=True)


def _unique(trace: StarpuTrace, rows: pd.DataFrame) -> pd.DataFrame:
    """Return the rows without repetitions; two rows that contradict each other are an error."""
    same = rows.drop(columns=LINE).duplicated()
    rows = trace.aside.without(trace.path, rows, same, "the row repeats another one")
    again = rows["JobId"].duplicated(keep=False)
    if again.any():
        job = rows["JobId"][again].iloc[0]
        lines = sorted(rows[LINE][rows["JobId"] == job].tolist())
        raise TraceError(
            f"{trace.path}:{lines[1]}: found job {job!r} a second time with other values, "
            f"the first is line {lines[0]}"
        )
    return rows


def _picoseconds(values_ms: pd.Series[float]) -> NDArray[np.int64]:
    rounded: NDArray[np.float64] = np.rint(values_ms.to_numpy(np.float64) * PS_PER_MS)
    return rounded.astype(np.int64)


def _workers(trace: StarpuTrace, tasks: pd.DataFrame) -> tuple[list[str], NDArray[np.int64]]:
    """Return the names of workers, naturally ordered, and each task's; adds the column ``kind``."""
    keys = list(zip(tasks["rank"].tolist(), tasks["WorkerId"].tolist(), strict=True))
    named = trace.worker_names
    label = {key: named.get(key, f"{key[0]}_worker{key[1]}") for key in dict.fromkeys(keys)}
    if len(set(label.values())) < len(label):
        raise TraceError(f"{trace.path}: found two workers of one name: {sorted(label.values())}")
    names = sorted({*label.values(), *trace.idle_workers}, key=natural)
    index = {name: i for i, name in enumerate(names)}
    node = tasks["MemoryNode"].where(tasks["MemoryNode"] != "", "0")
    kind: dict[tuple[str, str], str] = {}
    by_node: list[str] = []
    for key, where in zip(keys, node.tolist(), strict=True):
        match = WORKER_KIND.match(named.get(key, ""))
        if key in kind:
            continue
        kind[key] = match[1].lower() if match else trace.kinds.get(key[1], "")
        if not kind[key]:
            kind[key] = MAIN_MEMORY if where == "0" else f"node{where}"
            by_node.append(label[key])
    if by_node:
        trace.aside.note(
            f"{trace.path}: {len(by_node)} workers have no stated processor kind; those whose "
            f"tasks ran on memory node 0 are taken as {MAIN_MEMORY!r}, others are called after "
            "their node"
        )
    tasks["kind"] = [kind[key] for key in keys]
    return names, np.array([index[label[key]] for key in keys], dtype=np.int64)


def _check_submission(trace: StarpuTrace, tasks: pd.DataFrame) -> None:
    """Note tasks that started before they were submitted: their clocks do not agree."""
    early = (tasks["submit_ms"] > tasks["start_ms"]).to_numpy(bool)
    if early.any():
        line = int(tasks[LINE].to_numpy()[early].min())
        trace.aside.note(
            f"{trace.path}:{line}: StartTime is before SubmitTime; "
            f"{plural(int(early.sum()), 'task')} kept as given"
        )


def _workload(
    trace: StarpuTrace,
    tasks: pd.DataFrame,
    arrival: NDArray[np.int64],
    start: NDArray[np.int64],
    end: NDArray[np.int64],
) -> Workload:
    path = trace.path
    kept = {job: i for i, job in enumerate(tasks["JobId"].tolist())}
    edges, loose = contract(_pairs(trace), kept, set(trace.rows["JobId"].tolist()), path)
    first, second = (np.array([e[k] for e in edges], dtype=np.int64) for k in (0, 1))
    if loose:
        trace.aside.note(f"{path}: {loose} jobs that others depend on have no row")
    early = int((start[second] < end[first]).sum()) if edges else 0
    if early:
        trace.aside.note(
            f"{path}: {early} of {len(edges)} dependencies were not kept by the run itself: "
            "the successor started before its predecessor had ended"
        )
    named = tasks["Name"].where(tasks["Name"] != "", tasks["Model"])
    tasks["Name"] = named.where(named != "", "task")
    class_names = sorted(set(tasks["Name"]))
    number = {name: i for i, name in enumerate(class_names)}
    kinds = tuple(sorted(set(tasks["kind"]), key=lambda kind: (kind != MAIN_MEMORY, kind)))
    tasks["duration_s"] = (end - start) * PER_PS
    ops, counts = operations(tasks, kinds, trace.timings)
    block_bytes, accessed, scratch = handle_accesses(tasks, str(path), trace.aside)
    graph = build_graph(
        ops,
        kinds=kinds,
        task_class=[number[name] for name in tasks["Name"].tolist()],
        class_names=class_names,
        successors=adjacency(first, second, len(tasks)),
        accessed=accessed,
        block_bytes=block_bytes,
        arrival_ps=arrival,
        priority=_priorities(trace, tasks),
    )
    check_named(graph, tasks["JobId"].tolist(), path)
    return Workload(
        name=trace.name,
        graph=graph,
        parameters={
            "reference_speed": SPEED,
            "reference_speed_source": "default: one operation is one measured nanosecond",
            **counts,
            "scratch_buffers": scratch,
            "jobs_without_row": loose,
            "edges_not_kept_by_the_run": early,
        },
    )


def _priorities(trace: StarpuTrace, tasks: pd.DataFrame) -> NDArray[np.int32] | None:
    """Return the urgency of each task, None where no task has one; larger goes first."""
    stated = numbers(tasks["Priority"].where(tasks["Priority"] != "", "0"))
    wrong = ~((np.abs(stated) <= INT32_MAX) & (stated == np.rint(stated)))
    if wrong.any():
        line = int(tasks[LINE].to_numpy()[wrong].min())
        trace.aside.note(
            f"{trace.path}:{line}: Priority is no whole number from -{INT32_MAX} to {INT32_MAX}; "
            f"{plural(int(wrong.sum()), 'task')} kept with 0"
        )
    found = np.where(wrong, 0.0, stated).astype(np.int32)
    return found if found.any() else None


def _steals(
    trace: StarpuTrace,
    names: list[str],
    worker: NDArray[np.int64],
    start_ps: NDArray[np.int64],
    origin_ps: int,
) -> Steals:
    """Return the steals, each of the task that the thief begins next."""
    links = pd.DataFrame(trace.steals, columns=[f.name for f in fields(StealLink)])
    links = links.rename(columns={"line": LINE})
    number = {name: i for i, name in enumerate(names)}
    for column in ("thief", "victim"):
        links[column] = [number.get(name, -1) for name in links[column].tolist()]
    wrong = (links["thief"] < 0) | (links["victim"] < 0) | (links["thief"] == links["victim"])
    links = trace.aside.without(trace.links, links, wrong, "the steal is not between two workers")
    late = ~(links["time_ms"].abs() < LATEST_MS)
    links = trace.aside.without(trace.links, links, late, f"the time of the steal {NO_TIME}")
    time = _picoseconds(links["time_ms"].astype(np.float64)) - origin_ps
    task = np.full(len(links), -1, dtype=np.int64)
    thief = links["thief"].to_numpy(np.int64)
    for each in np.unique(thief).tolist():
        own = np.flatnonzero(worker == each)
        own = own[np.argsort(start_ps[own], kind="stable")]
        place = np.searchsorted(start_ps[own], time[thief == each])
        task[thief == each] = np.append(own, -1)[place]
    lost = (task < 0) | (time < 0)
    why = "the steal is before the run, or no task of the thief follows"
    links = trace.aside.without(trace.links, links, lost, why)
    return Steals(time[~lost], thief[~lost], task[~lost], links["victim"].to_numpy(np.int64))


def _transfers(trace: StarpuTrace, tasks: pd.DataFrame, origin_ps: int) -> list[dict[str, Any]]:
    """Return the messages between nodes that tasks wait for."""
    kept = {job: i for i, job in enumerate(tasks["JobId"].tolist())}
    present = set(trace.rows["JobId"].tolist())
    found = transfers(trace.messages, _pairs(trace), kept, present, origin_ps, trace.path)
    if len(found) < len(trace.messages):
        trace.aside.note(
            f"{trace.path}: {len(trace.messages) - len(found)} of {len(trace.messages)} messages "
            "are waited for by no task"
        )
    return found


def _pairs(trace: StarpuTrace) -> Iterable[tuple[str, str]]:
    """Yield all dependencies: predecessor, successor."""
    rows = trace.rows[(trace.rows["Control"] == "") & (trace.rows["DependsOn"] != "")]
    for job, before in zip(rows["JobId"].tolist(), rows["DependsOn"].tolist(), strict=True):
        for predecessor in before.split():
            yield predecessor, job
    yield from trace.pairs
