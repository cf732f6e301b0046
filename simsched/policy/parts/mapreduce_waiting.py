"""What waits for the job tracker: ready tasks by kind and job, reduce tasks until they may start.

The edges of a job say that its reduce tasks start after certain map tasks. Hadoop asks only how
many have ended: a tracker takes the edges away and counts (:func:`without_slowstart`).
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field, fields, replace
from operator import itemgetter

import numpy as np

from simsched.workload.builder import adjacency, distinct
from simsched.workload.graph import Int32Array, Workload
from simsched.workload.mapreduce_job import MAP, REDUCE, JobTasks

Nodes = tuple[int, ...]

ANYWHERE: Nodes = (-1,)  #: in place of the nodes that hold the input of a task that has none


@dataclass(eq=False)
class Waiting:
    """Ready tasks that nobody executes, by kind and job in the order of becoming ready."""

    #: for each kind the waiting tasks of the jobs that have some, with the nodes that hold their
    #: input. Ordered dictionaries, because the first of very many is found at once however many
    #: have gone before it
    tasks: tuple[dict[int, OrderedDict[int, Nodes]], dict[int, OrderedDict[int, Nodes]]] = field(
        default_factory=lambda: ({}, {})
    )
    #: by kind, job and node the tasks with their input there, with the numbers of their arrivals;
    #: under `ANYWHERE` those without input. Nodes find local work however much others have
    _local: dict[tuple[int, int, int], OrderedDict[int, int]] = field(default_factory=dict)
    _arrivals: int = 0  # number so far

    def __bool__(self) -> bool:
        return any(self.tasks)

    def jobs(self, kind: int) -> list[int]:
        """Return the jobs that have waiting tasks of a kind, ascending."""
        return sorted(self.tasks[kind])

    def add(self, kind: int, job: int, task: int, nodes: Nodes = ()) -> None:
        """Let a task wait whose input some nodes hold; without input it is local to all."""
        self.tasks[kind].setdefault(job, OrderedDict())[task] = nodes
        self._arrivals += 1
        for node in nodes or ANYWHERE:
            self._local.setdefault((kind, job, node), OrderedDict())[task] = self._arrivals

    def remove(self, kind: int, job: int, task: int) -> None:
        nodes = self.tasks[kind][job].pop(task)
        if not self.tasks[kind][job]:
            del self.tasks[kind][job]
        for node in nodes or ANYWHERE:
            del self._local[kind, job, node][task]

    def first(self, kind: int, job: int) -> int:
        """Return the first task of a kind in a job, which has some."""
        return next(iter(self.tasks[kind][job]))

    def first_local(self, kind: int, job: int, node: int) -> int | None:
        """Return the first task of a kind in a job that is local to a node; None without one."""
        found = (self._local.get((kind, job, place)) for place in (node, *ANYWHERE))
        firsts = (next(iter(tasks.items())) for tasks in found if tasks)
        return min(firsts, key=itemgetter(1), default=(None, 0))[0]

    def of_job(self, kind: int, job: int) -> Collection[int]:
        """Return the tasks of a kind in a job, which has some."""
        return self.tasks[kind][job].keys()

    def of_kind(self, kind: int) -> Iterator[int]:
        """Yield the tasks of a kind, by job."""
        for job in self.jobs(kind):
            yield from self.tasks[kind][job]

    def clear(self) -> None:
        for kind in (MAP, REDUCE):
            self.tasks[kind].clear()
        self._local.clear()


@dataclass(frozen=True, eq=False)
class CountedWorkload(Workload):
    """A program whose reduce tasks the tracker holds back until enough map tasks have ended."""

    #: shape (n_tasks,): number of map tasks of its job that end before each task of `graph` starts;
    #: 0 where edges say it
    early_maps: Int32Array = field(default_factory=lambda: np.empty(0, np.int32), kw_only=True)


def without_slowstart(workload: Workload) -> Workload:
    """Return the program without the edges that only say how early reduce tasks start.

    They are those of a reduce task whose copies wait for every map task of its job anyway and that
    starts after some of them. Where it starts after all of them the edges stay: all are any.
    """
    early = early_maps(JobTasks(workload.graph))
    if not early.any():
        return workload
    graph = workload.graph
    source = np.repeat(np.arange(graph.n_tasks), np.diff(graph.succ_ptr))
    stays = early[graph.succ] == 0
    edges = adjacency(source[stays], graph.succ[stays], graph.n_tasks)
    made = {item.name: getattr(workload, item.name) for item in fields(Workload)}
    made["graph"] = replace(graph, succ_ptr=edges.ptr, succ=edges.target)
    return CountedWorkload(**made, early_maps=early)


def early_maps(tasks: JobTasks) -> Int32Array:
    """Return after how many map tasks of its job each task starts, 0 where edges have to say it."""
    graph, n = tasks.graph, tasks.graph.n_tasks
    if graph.access_after is None or not (tasks.kind == REDUCE).any():
        return np.zeros(n, np.int32)
    waiter = np.repeat(np.arange(n), np.diff(graph.access_ptr))[graph.access_after >= 0]
    awaited = graph.access_after[graph.access_after >= 0].astype(np.int64)
    is_map = tasks.kind == MAP
    pairs = distinct(waiter[is_map[awaited]] * n + awaited[is_map[awaited]])
    copied = np.bincount(pairs // n, minlength=n)
    of_job = tasks.counts[MAP][tasks.job]
    source = np.repeat(np.arange(n), np.diff(graph.succ_ptr))
    maps_before = np.bincount(graph.succ[is_map[source]], minlength=n)
    counts = (tasks.kind == REDUCE) & (copied == of_job) & (maps_before < of_job)
    counts &= maps_before == graph.in_degree
    early: Int32Array = np.where(counts, maps_before, 0).astype(np.int32)
    return early
