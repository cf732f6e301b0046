"""Executions of scientific workflows in WfFormat JSON as recordings.

The graph is that of :mod:`simsched.workload.importers.wfformat`. The execution:

* A task starts at its ``executedAt`` (ISO 8601; all with a time zone or all without) and lasts its
  run time in seconds. Time begins with the first start.
* A task runs on the machine that it names; when it names none and the file has one machine, on
  that. A task that names several machines is set aside.
* A machine runs several tasks at once, a worker of a recording only one. So each machine becomes as
  many workers as it ran tasks at one time, called ``NODE/0``, ``NODE/1``, ...: a task takes the
  lowest that is free when it starts. A machine with more workers than ``coreCount`` is noted.
* Tasks without a start are set aside: they stay in the graph and have no events.

**Files without any ``executedAt``** (all that WfCommons publishes) do not say when tasks ran. With
the option ``starts=earliest`` every task starts when the last of its predecessors has ended: what
the run would have been without waiting for processors or data. That is no measurement;
``details["starts"]`` says so, and ``details["stated_makespan_s"]`` has what the file says.
"""

from __future__ import annotations

import heapq
from datetime import datetime
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from simsched.files.errors import ConfigurationError, TraceError, unknown_name
from simsched.files.json_members import has_member
from simsched.files.units import PS_PER_S
from simsched.trace.importers._chrome_json import EVENTS
from simsched.trace.importers._events import make_trace
from simsched.trace.importers.registry import trace_importer
from simsched.trace.recording import Recording
from simsched.workload.graph import TaskGraph
from simsched.workload.importers import import_workload
from simsched.workload.importers._json import Value, read_json
from simsched.workload.importers.remarks import doubts

STARTS = ("executedAt", "earliest")
LIMIT_PS = 2**61  #: the sum of a start and a run time still fits a trace
ACCEPTED = f"accepted less than {LIMIT_PS // PS_PER_S} s, which a trace can hold"
NO_START = "tasks without executedAt"
BAD_START = "tasks whose executedAt is no ISO 8601 time"
NO_MACHINE = "tasks that name no machine or several"


def _looks_like_wfformat(path: Path) -> bool:
    """Say whether a file is an object with a workflow and no events."""
    return not path.is_dir() and has_member(path, "workflow", "{", TraceError, unless=(EVENTS,))


@trace_importer("wfformat", recognises=_looks_like_wfformat)
def import_wfformat_recording(path: Path, *, starts: str = "executedAt") -> Recording:
    """Scientific workflow executions in WfFormat JSON, versions 1.0 to 1.6.

    Parameters
    ----------
    path : Path
        The file, gzip or not.
    starts : {"executedAt", "earliest"}
        Where starts come from: the file, or the ends of predecessors, which is an inference.
    """
    if starts not in STARTS:
        raise ConfigurationError(unknown_name("starts", starts, STARTS))
    workload = import_workload(path, format="wfformat")
    graph = workload.graph
    speed = workload.parameters["reference_speed"]
    assert isinstance(speed, float)
    top = read_json(path)
    runs, machines, stated = _execution(top)
    length = _lengths(graph.ops[0] / speed, runs)
    aside: dict[str, int] = {}
    names = _machine_of(runs, machines, aside)
    inferred = starts == "earliest"
    start = earliest_starts(graph, length, path) if inferred else _stated_starts(runs, aside)
    placed = np.flatnonzero((start >= 0) & np.array([n is not None for n in names]))
    if not len(placed):
        raise TraceError(
            f"{path}: found no task with a start (executedAt) and a machine; with the option "
            "starts=earliest tasks start when their predecessors have ended, which is an inference"
        )
    start = start - start[placed].min()
    on = [str(names[task]) for task in placed.tolist()]
    workers, worker = _lanes(on, start[placed], start[placed] + length[placed])
    return Recording(
        name=workload.name,
        trace=make_trace(
            placed, worker, start[placed], start[placed] + length[placed], n_tasks=graph.n_tasks
        ),
        task_class=graph.task_class,
        class_names=graph.class_names,
        worker_names=tuple(workers),
        worker_core=np.full(len(workers), -1, dtype=np.int32),
        workload=workload,
        details={
            "unit_of_times": "s",
            "starts": "inferred (earliest)" if inferred else "stated (executedAt)",
            "stated_makespan_s": stated,
            "set_aside": aside,
            "warnings": [
                *_warnings(path, aside, workers, machines, inferred),
                *(f"{path}: {text}" for text in doubts(workload)),
            ],
        },
    )


def _lengths(seconds: NDArray[np.float64], runs: list[Value]) -> NDArray[np.int64]:
    """Return run times in picoseconds."""
    long = np.flatnonzero(seconds * PS_PER_S >= LIMIT_PS)
    if len(long):
        run, found = runs[long[0]], seconds[long[0]]
        raise TraceError(f"{run.where}: found a run time of {found:g} s, {ACCEPTED}")
    return np.rint(seconds * PS_PER_S).astype(np.int64)


def _execution(top: Value) -> tuple[list[Value], dict[str, float | None], float | None]:
    """Return each task's execution in the order of the graph, cores by machine, the makespan."""
    workflow = top.member("workflow")
    execution = workflow.get("execution") or workflow
    specification = workflow.get("specification")
    entries = (specification or workflow).member("tasks", "jobs").items()
    runs = entries
    if specification is not None:
        by_id = {run.member("id").text(): run for run in execution.member("tasks").items()}
        runs = [by_id[entry.member("id").text()] for entry in entries]
    machines: dict[str, float | None] = {}
    for machine in execution.elements("machines"):
        cpu = machine.get("cpu")
        cores = None if cpu is None else (cpu.get("coreCount") or cpu.get("count"))
        machines[machine.member("nodeName").text()] = None if cores is None else cores.number()
    makespan = execution.get("makespanInSeconds") or execution.get("makespan")
    return runs, machines, None if makespan is None else makespan.number()


def _machine_of(
    runs: list[Value], machines: dict[str, float | None], aside: dict[str, int]
) -> list[str | None]:
    """Return the machine of each task, None where that is open."""
    only = next(iter(machines)) if len(machines) == 1 else None
    found: list[str | None] = []
    for run in runs:
        old = run.get("machine")
        names = [name.text() for name in run.elements("machines")] or (
            [] if old is None else [old.text()]
        )
        found.append(names[0] if len(set(names)) == 1 else only if not names else None)
    open_tasks = found.count(None)
    if open_tasks:
        aside[NO_MACHINE] = open_tasks
    return found


def _stated_starts(runs: list[Value], aside: dict[str, int]) -> NDArray[np.int64]:
    """Return starts in picoseconds from the first one, -1 where there is none."""
    times: dict[int, datetime] = {}
    for task, run in enumerate(runs):
        given = run.get("executedAt")
        if given is None:
            aside[NO_START] = aside.get(NO_START, 0) + 1
            continue
        try:
            times[task] = datetime.fromisoformat(given.text())
        except ValueError:
            aside[BAD_START] = aside.get(BAD_START, 0) + 1
    zoned = {task: time.tzinfo is not None for task, time in times.items()}
    if len(set(zoned.values())) > 1:
        task = next(t for t, has in zoned.items() if not has)
        raise TraceError(
            f"{runs[task].where}: executedAt: found no time zone, accepted: one, as other tasks "
            "of the file have it"
        )
    starts = np.full(len(runs), -1, dtype=np.int64)
    if times:
        first = min(times.values())
        for task, time in times.items():
            since = time - first
            ps = ((since.days * 86400 + since.seconds) * 10**6 + since.microseconds) * 10**6
            if ps >= LIMIT_PS:
                found = f"executedAt: found a start {since} after the first one"
                raise TraceError(f"{runs[task].where}: {found}, {ACCEPTED}")
            starts[task] = ps
    return starts


def earliest_starts(
    graph: TaskGraph, length_ps: NDArray[np.int64], source: Path | str = "graph"
) -> NDArray[np.int64]:
    """Return when each task of data-flow edges can start if it only waits for its predecessors."""
    start, length = [0] * graph.n_tasks, length_ps.tolist()
    missing = graph.in_degree.copy()
    ready = np.flatnonzero(missing == 0).tolist()
    while ready:
        task = ready.pop()
        end = start[task] + length[task]
        if end >= LIMIT_PS:
            found = f"found run times of {end // PS_PER_S} s one after the other"
            raise TraceError(f"{source}: {found}, {ACCEPTED}")
        for successor in graph.succ[graph.succ_ptr[task] : graph.succ_ptr[task + 1]].tolist():
            start[successor] = max(start[successor], end)
            missing[successor] -= 1
            if missing[successor] == 0:
                ready.append(successor)
    return np.array(start, dtype=np.int64)


def _lanes(
    machine: list[str], start: NDArray[np.int64], end: NDArray[np.int64]
) -> tuple[list[str], NDArray[np.int64]]:
    """Return workers by name and each task's, so that no worker runs two tasks at once."""
    lane: list[tuple[str, int]] = [("", 0)] * len(machine)
    free: dict[str, list[int]] = {}
    busy: dict[str, list[tuple[int, int]]] = {}
    count: dict[str, int] = {}
    for task in np.lexsort((end, start)).tolist():
        name = machine[task]
        running, idle = busy.setdefault(name, []), free.setdefault(name, [])
        while running and running[0][0] <= start[task]:
            heapq.heappush(idle, heapq.heappop(running)[1])
        if not idle:
            heapq.heappush(idle, count.get(name, 0))
            count[name] = count.get(name, 0) + 1
        number = heapq.heappop(idle)
        heapq.heappush(running, (int(end[task]), number))
        lane[task] = (name, number)
    names = sorted(set(lane))
    index = {key: i for i, key in enumerate(names)}
    workers = [f"{name}/{number}" for name, number in names]
    return workers, np.array([index[key] for key in lane], dtype=np.int64)


def _warnings(
    path: Path,
    aside: dict[str, int],
    workers: list[str],
    machines: dict[str, float | None],
    inferred: bool,
) -> list[str]:
    """Return remarks: tasks set aside, machines unlisted or beyond their cores, inference."""
    found = [f"{path}: {why}; {count} set aside" for why, count in aside.items()]
    on = dict.fromkeys(worker.rpartition("/")[0] for worker in workers)
    unknown = [name for name in on if name not in machines] if machines else []
    if unknown:
        found.append(
            f"{path}: tasks ran on {', '.join(unknown[:8])}{', ...' * (len(unknown) > 8)}, "
            f"which the file does not list among its machines ({', '.join(list(machines)[:8])})"
        )
    for name, cores in machines.items():
        at_once = sum(worker.rpartition("/")[0] == name for worker in workers)
        if cores is not None and at_once > cores:
            found.append(f"{path}: {name} ran {at_once} tasks at once but states {cores:g} cores")
    if inferred:
        found.append(f"{path}: starts are inferred from the ends of predecessors, not measured")
    return found
