"""Batch jobs of Alibaba's cluster trace of 2018: rows of ``batch_task.csv``.

Columns, with or without a line that names them: task_name, instance_num, job_name, task_type,
status, start_time, end_time, plan_cpu, plan_mem. A row is a task of a job, and its name says what
it waits for: ``R3_1_2`` is task 3 and follows tasks 1 and 2 of its job; ``M1`` follows nobody, as
do names of another form (``task_NjU5``, ``MergeTask``). The letters before the number are its
class.

* **Cost.** A task lasts from its start to its end in whole seconds, queueing of its instances
  included; one row is one task, however many instances it has. They are counted.
* **Arrivals.** Several jobs are one program whose tasks arrive when the first task of their job has
  started, counted from the first job. With the option `job` only that job is read.
* **Left out**, and counted by reason: whole jobs with a task that has not terminated, lacks a time
  or ends before it starts, and jobs that use a number twice or whose tasks wait for each other.
  Numbers that no task of the job has, of which the trace has many, are counted, too; nothing waits
  for them.
* **Data.** The trace has none.
"""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import NamedTuple

import numpy as np

from simsched.files.bounded import read_text
from simsched.files.errors import ConfigurationError, GraphError, nearest_hint, shown
from simsched.files.units import PS_PER_S
from simsched.names.parameters import OpsPerS
from simsched.workload.builder import LAST_ARRIVAL_S
from simsched.workload.graph import Workload
from simsched.workload.importers._columns import NamedGraph
from simsched.workload.importers._foreign import Meaning, read_foreign
from simsched.workload.importers._source import number
from simsched.workload.importers.registry import importer

COLUMNS = (
    *("task_name", "instance_num", "job_name", "task_type", "status"),
    *("start_time", "end_time", "plan_cpu", "plan_mem"),
)
HEAD = re.compile(rb"\s*+(?:task_name,|[A-Za-z][^,\n]*,\d*,j_\d+,[^,\n]*,[A-Za-z]+,\d*,\d*,)")
NAME = re.compile(r"([A-Za-z]+)(\d+)((?:_\d+)*)(?:_[A-Za-z]\w*)?")
ENDED = "Terminated"
NOT_ENDED = "jobs with a task that has not terminated"
NO_TIMES = "jobs with a task whose times are missing or contradict each other"
TWICE = "jobs with two tasks of one number or name"
CYCLE = "jobs whose tasks wait for each other"


class _Task(NamedTuple):
    """A node of the graph, which text alone would not tell from one of another job."""

    job: str | None  # where there are several
    name: str

    def __str__(self) -> str:
        return self.name if self.job is None else f"{self.job}/{self.name}"


@dataclass
class _Row:
    """One task."""

    line: int
    name: str
    instances: int
    start_s: float
    end_s: float
    several_cores: bool

    @property
    def parts(self) -> tuple[str, int | None, list[int]]:
        """Class, number, and the numbers of the tasks that it waits for."""
        match = NAME.fullmatch(self.name)
        if match is None or len(match[2]) > 9:
            return self.name.partition("_")[0] or "task", None, []
        before = [int(n) if len(n) <= 9 else -1 for n in match[3].split("_") if n]  # -1: no task
        return match[1], int(match[2]), before


@dataclass
class _Job:
    """The tasks of one job, and why it is left out if it is."""

    rows: list[_Row] = field(default_factory=list)
    problem: str | None = None


def _looks_like_batch_tasks(head: bytes) -> bool:
    """Say whether a file begins with the columns' names or with a task of a job."""
    return HEAD.match(head) is not None


@importer("alibaba", suffixes=(".csv", ".csv.gz"), recognises=_looks_like_batch_tasks)
def import_alibaba(
    path: Path, *, job: str | None = None, reference_speed: OpsPerS | None = None
) -> Workload:
    """Batch jobs of Alibaba's cluster trace of 2018 (batch_task.csv).

    Parameters
    ----------
    path : Path
        The file or some of its rows, gzip or not.
    job : str, optional
        The only job that is read; by default all arrive as they did.
    reference_speed : float or str, optional
        Operations per second that turn seconds into operations, 10**9 by default.
    """
    jobs = _jobs(path, job)
    left_out = Counter(found.problem for found in jobs.values() if found.problem is not None)
    if job is not None and left_out:
        raise GraphError(f"{path}: job {job}: left out: {next(iter(left_out))}")
    kept = {name: found.rows for name, found in jobs.items() if found.problem is None}
    if not kept:
        raise GraphError(f"{path}: found no whole job, accepted at least one ({_listed(left_out)})")
    first_s = min(row.start_s for rows in kept.values() for row in rows)
    graph = NamedGraph(job or path.name.partition(".")[0], several=False)
    arrivals, absent = [], 0
    for name, rows in kept.items():
        since_s = min(row.start_s for row in rows) - first_s
        if since_s > LAST_ARRIVAL_S:
            raise GraphError(
                f"{path}:{rows[0].line}: job {name}: found a start {since_s:g} s after the first "
                f"one, accepted at most {LAST_ARRIVAL_S:.4g} s"
            )
        arrivals += [round(since_s * PS_PER_S)] * len(rows)
        absent += _add(graph, name, rows, alone=job is not None)
    workload = read_foreign(
        graph,
        Meaning("seconds", "s", reference_speed, task_class="kind"),
        str(path),
    )
    about = {
        "format": "alibaba",
        "jobs": len(kept),
        "left_out": dict(left_out),
        "instances": sum(row.instances for rows in kept.values() for row in rows),
        "tasks_with_several_cores": sum(r.several_cores for rows in kept.values() for r in rows),
        "dependences_on_absent_tasks": absent,
    }
    del workload.parameters["edge_bytes"]  # no option of this format
    return replace(
        workload,
        graph=replace(workload.graph, arrival_ps=np.array(arrivals, np.int64)),
        parameters={**workload.parameters, **about},
    )


def _jobs(path: Path, only: str | None) -> dict[str, _Job]:
    """Return the jobs of a file by name, in the order of their first rows."""
    jobs: dict[str, _Job] = {}
    others: dict[str, None] = {}
    for line, fields in _lines(path):
        task, instances, name, _, status, start, end, cores, _ = fields
        if not task or not name:
            raise GraphError(f"{path}:{line}: found {shown(','.join(fields))}, accepted a task")
        if only not in (None, name):
            others[name] = None
            continue
        job = jobs.setdefault(name, _Job())
        where = f"{path}:{line}: task {shown(task)}"
        times = [None if not text else number(text, f"{where}: time") for text in (start, end)]
        if status != ENDED:
            job.problem = NOT_ENDED
        elif None in times or times[1] == 0 or times[0] > times[1]:  # type: ignore[operator]
            job.problem = job.problem or NO_TIMES
        else:
            count = int(number(instances or 1, f"{where}: instance_num"))
            several = number(cores or 0, f"{where}: plan_cpu") > 100
            job.rows.append(_Row(line, task, count, times[0] or 0.0, times[1] or 0.0, several))
    for job in jobs.values():
        job.problem = job.problem or _problem(job.rows)
    if only is not None and not jobs:
        hint = nearest_hint(only, others)
        raise ConfigurationError(f"{path}: option job: found no job {only!r}{hint}")
    return jobs


def _problem(rows: list[_Row]) -> str | None:
    """Return why tasks that are whole one by one make no job."""
    parts = [row.parts for row in rows]
    numbered = {number: before for _, number, before in parts if number is not None}
    unnumbered = sum(number is None for _, number, _ in parts)
    if min(len(numbered) + unnumbered, len({row.name for row in rows})) < len(rows):
        return TWICE
    try:
        TopologicalSorter(numbered).prepare()
    except CycleError:
        return CYCLE
    return None


def _lines(path: Path) -> Iterator[tuple[int, list[str]]]:
    """Yield the rows of a file with their lines; the columns' names are none."""
    rows = csv.reader(io.StringIO(read_text(path, GraphError)))
    is_first = True
    try:
        for fields in rows:
            fields = [text.strip() for text in fields]
            if not any(fields):
                continue
            is_header, is_first = is_first and fields[0] == COLUMNS[0], False
            if is_header:
                continue
            if len(fields) != len(COLUMNS):
                raise GraphError(
                    f"{path}:{rows.line_num}: found {len(fields)} fields, accepted "
                    f"{len(COLUMNS)}: {', '.join(COLUMNS)}"
                )
            yield rows.line_num, fields
    except csv.Error as error:
        raise GraphError(f"{path}:{rows.line_num}: not CSV: {error}") from error


def _add(graph: NamedGraph, job: str, rows: list[_Row], *, alone: bool) -> int:
    """Add the tasks of a job and their edges; return how many of these lead to no task."""
    known = {row.parts[1]: row for row in rows}
    number_of: dict[str, int] = {}
    for row in rows:
        about = {"seconds": row.end_s - row.start_s, "kind": row.parts[0]}
        number_of[row.name] = graph.node(_Task(None if alone else job, row.name), about)
    absent = 0
    for row in rows:
        for before in row.parts[2]:
            if before in known:
                graph.edge(number_of[known[before].name], number_of[row.name])
            else:
                absent += 1
    return absent


def _listed(counts: Counter[str]) -> str:
    """Return counts as text."""
    return ", ".join(f"{count} {what}" for what, count in counts.items()) or "no rows"
