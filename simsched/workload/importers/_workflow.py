"""Workflows: tasks that hand files to each other, whatever the format that describes them.

How costs, edges and accesses follow from tasks and files is told in
:mod:`~simsched.workload.importers.wfformat`.
"""

from __future__ import annotations

import statistics
from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

import numpy as np

from simsched.files.errors import GraphError
from simsched.names.parameters import OpsPerS
from simsched.workload.arrays import FloatArray, Int64Array
from simsched.workload.builder import adjacency, build_graph, distinct
from simsched.workload.graph import TaskGraph
from simsched.workload.importers._file_edges import file_edges
from simsched.workload.importers._given_costs import DEFAULT_SPEED, TaskCost, given_ops, ops_per_s
from simsched.workload.importers._naming import check_named
from simsched.workload.importers._source import number
from simsched.workload.importers._used_files import Files

MAX_FILE_BYTES = 2**53


class Place(Protocol):
    """A value of a document that knows where it stands."""

    def error(self, accepted: str) -> GraphError:
        """Return the error for a value of the wrong kind."""


class Tasks:
    """Tasks in columns; `where` says how messages name a task by its number."""

    def __init__(self, where: Callable[[int], str]) -> None:
        self.where = where
        self.keys: list[str] = []
        self.names: list[str] = []
        self.runtime_s = array("d")  #: NaN where none is stated
        self.class_of = array("i")
        self.classes: dict[str, int] = {}
        self.several_cores = 0

    def __len__(self) -> int:
        return len(self.keys)

    def add(self, key: str, name: str, runtime_s: float | None, category: str) -> int:
        """Add a task, whose class is its name unless it has a category; return its number."""
        self.keys.append(key)
        self.names.append(name)
        self.runtime_s.append(np.nan if runtime_s is None else runtime_s)
        self.class_of.append(self.classes.setdefault(category or name, len(self.classes)))
        return len(self.keys) - 1

    def check_unique(self) -> None:
        """Check that no two tasks have the same id."""
        if len(set(self.keys)) == len(self.keys):
            return
        first: dict[str, int] = {}
        for task, key in enumerate(self.keys):
            other = first.setdefault(key, task)
            if other != task:
                raise GraphError(
                    f"{self.where(task)}: found task {key!r} a second time, "
                    f"the first is {self.where(other).rpartition(': ')[2]}"
                )

    def numbers(self, ids_first: bool) -> dict[str, int]:
        """Return what tasks may be called: ids, and names that only one task has.

        Before WfFormat 1.5 tasks refer to each other by name, since then by id.
        """
        times = Counter(self.names)
        ids = {key: task for task, key in enumerate(self.keys)}
        names = {name: task for task, name in enumerate(self.names) if times[name] == 1}
        return {**names, **ids} if ids_first else {**ids, **names}


class References:
    """Names by which owners, such as tasks, refer to tasks; each name is kept once.

    `place` returns that of a reference, which is `accepted`.
    """

    def __init__(self, place: Callable[[int], Place], accepted: str = "the id of a task") -> None:
        self._place, self._accepted = place, accepted
        self.names: dict[str, int] = {}
        self.owners, self._named = array("i"), array("i")

    def add(self, owner: int, names: Iterable[str]) -> None:
        """Add what an owner refers to."""
        known = self.names
        self._named.extend([known.setdefault(name, len(known)) for name in names])
        self.owners.extend([owner] * (len(self._named) - len(self.owners)))

    def name(self, reference: int) -> str:
        """Return a name, for messages."""
        return list(self.names)[self._named[reference]]

    def tasks(self, known: Mapping[str, int]) -> Int64Array:
        """Return the task of each reference by what tasks are called."""
        found = np.array([known.get(name, -1) for name in self.names], dtype=np.int64)
        tasks: Int64Array = found[np.asarray(self._named)]
        if len(tasks) and tasks.min() < 0:
            raise self._place(int(np.argmax(tasks < 0))).error(self._accepted)
        return tasks


@dataclass
class Workflow:
    """What a file says: tasks, edges, files, stated clock speeds, the unit of sizes and why."""

    tasks: Tasks
    #: References of tasks to those before and behind them.
    parents: References
    children: References
    unit: str
    unit_source: str
    files: Files = field(default_factory=Files)
    speeds_hz: list[float] = field(default_factory=list)


def workflow_graph(
    workflow: Workflow,
    path: Path,
    *,
    ids_first: bool,
    reference_speed: OpsPerS | None,
    task_cost: TaskCost | None,
) -> tuple[TaskGraph, dict[str, object]]:
    """Return the graph of a workflow, and choices and counts for `Workload.parameters`.

    Tasks refer to each other by id, or by name unless `ids_first`.
    """
    tasks = workflow.tasks
    if not len(tasks):
        raise GraphError(f"{path}: found no tasks, accepted at least one")
    speed, speed_source = _speed(path, workflow, reference_speed)
    size_bytes = workflow.files.sizes()
    edges, edge_counts = _edges(workflow, size_bytes, ids_first)
    used, accessed = workflow.files.accesses(size_bytes, len(tasks))
    ops, about = _ops(tasks, speed, task_cost, path)
    unique = len(set(tasks.names)) == len(tasks)
    graph = build_graph(
        ops,
        task_class=np.asarray(tasks.class_of),
        class_names=list(tasks.classes),
        successors=adjacency(edges >> 32, edges & 0xFFFFFFFF, len(tasks)),
        accessed=accessed,
        block_bytes=used,
        task_names=tasks.names if unique else tasks.keys,
    )
    check_named(graph, tasks.keys, path)
    return graph, {
        "reference_speed": speed,
        "reference_speed_source": speed_source,
        **about,
        "size_unit": workflow.unit,
        "size_unit_source": workflow.unit_source,
        "tasks_with_several_cores": tasks.several_cores,
        **edge_counts,
        **workflow.files.counts(size_bytes),
    }


def file_size(found: float, place: Place) -> int:
    """Return the bytes of a file."""
    if found > MAX_FILE_BYTES:  # before it is rounded: it may be infinite
        raise place.error(f"a file of at most {MAX_FILE_BYTES} bytes")
    return round(found)


def _ops(
    tasks: Tasks, speed: float, task_cost: TaskCost | None, path: Path
) -> tuple[FloatArray, dict[str, object]]:
    """Return the operations of tasks, and what is recorded of costs that the user gives."""
    runtime_s = np.asarray(tasks.runtime_s)
    with np.errstate(over="ignore", invalid="ignore"):
        ops = runtime_s * speed
    missing = np.isnan(runtime_s)
    wrong = ~np.isfinite(ops) if task_cost is None else ~missing & ~np.isfinite(ops)
    if wrong.any():
        task = int(np.argmax(wrong))
        where = tasks.where(task)
        if not missing[task]:
            number(float(ops[task]), f"{where}: ops")
        raise GraphError(
            f"{where}: task {tasks.names[task]!r}: found no run time, accepted runtime "
            "(WfFormat from 1.4: runtimeInSeconds), or the option task_cost"
        )
    if task_cost is None:
        return ops, {}
    labels = list(tasks.classes)
    without = np.flatnonzero(missing)
    needed = [labels[tasks.class_of[task]] for task in without.tolist()]
    ops[without] = given_ops(task_cost, needed, labels, speed, str(path))
    return ops, {"task_cost": task_cost, "tasks_of_task_cost": len(without)}


def _speed(path: Path, workflow: Workflow, given: OpsPerS | None) -> tuple[float, str]:
    """Return operations per second and where the number comes from."""
    if given is not None:
        return ops_per_s(given, f"{path}: option reference_speed"), "option"
    if workflow.speeds_hz:
        found = len(workflow.speeds_hz)
        return statistics.median(
            workflow.speeds_hz
        ), f"median clock of {found} machines in the file"
    return DEFAULT_SPEED, "default, the file states no clock"


def _edges(
    workflow: Workflow, size_bytes: Int64Array, ids_first: bool
) -> tuple[Int64Array, dict[str, object]]:
    """Return all edges, ascending, and how declared edges and files compare.

    An edge is a number: the earlier task in its upper half, the later one in the lower.
    """
    known = workflow.tasks.numbers(ids_first)
    parents, children = workflow.parents, workflow.children
    before, behind = parents.tasks(known), children.tasks(known)
    declared = distinct(
        np.concatenate(
            (
                (before << 32) | np.asarray(parents.owners),
                (np.asarray(children.owners, dtype=np.int64) << 32) | behind,
            )
        )
    )
    reads, writes = (workflow.files.used(written) for written in (False, True))
    edge, file = file_edges(declared, reads, writes, len(workflow.tasks))
    by_files, carrying = distinct(edge), distinct(edge[size_bytes[file] > 0])
    every = distinct(np.concatenate((declared, by_files)))
    return every, {
        "edges_without_bytes": len(every) - len(carrying),
        "edges_only_declared": len(every) - len(by_files),
        "edges_only_by_files": len(every) - len(declared),
    }
