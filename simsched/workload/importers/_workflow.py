"""Workflows: tasks that hand files to each other, whatever the format that describes them.

How costs, edges and accesses follow from tasks and files is told in
:mod:`~simsched.workload.importers.wfformat`.
"""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from simsched.files.errors import GraphError
from simsched.names.parameters import OpsPerS
from simsched.workload.builder import Accesses, adjacency, build_graph, listed_accesses
from simsched.workload.graph import TaskGraph
from simsched.workload.importers._file_edges import file_edges
from simsched.workload.importers._given_costs import DEFAULT_SPEED, TaskCost, given_ops, ops_per_s
from simsched.workload.importers._naming import check_named
from simsched.workload.importers._source import number

MAX_FILE_BYTES = 2**53


class Place(Protocol):
    """A value of a document that knows where it stands."""

    @property
    def where(self) -> str:
        """File and place, as messages name them."""

    def text(self) -> str:
        """Return a text that is not empty."""

    def error(self, accepted: str) -> GraphError:
        """Return the error for a value of the wrong kind."""


@dataclass
class Task:
    """One task as the file describes it."""

    place: Place
    key: str
    name: str
    runtime_s: float | None
    category: str
    inputs: list[str] = field(default_factory=list)
    outputs: list[str] = field(default_factory=list)
    parents: Sequence[Place] = field(default_factory=list)
    children: Sequence[Place] = field(default_factory=list)
    several_cores: bool = False


@dataclass
class Workflow:
    """What a file says: tasks, sizes in bytes, stated clock speeds, the unit of sizes and why."""

    tasks: list[Task]
    file_bytes: dict[str, int]
    #: how many files have several sizes
    several_sizes: int
    speeds_hz: list[float]
    unit: str
    unit_source: str


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
    if not tasks:
        raise GraphError(f"{path}: found no tasks, accepted at least one")
    speed, speed_source = _speed(path, workflow, reference_speed)
    pairs, edge_counts = _edges(workflow, ids_first)
    used, accessed, file_counts = _accesses(workflow)
    class_of, class_names = _classes(tasks)
    ops, about = _ops(tasks, [class_names[i] for i in class_of], speed, task_cost, path)
    graph = build_graph(
        ops,
        task_class=class_of,
        class_names=class_names,
        successors=adjacency([p[0] for p in pairs], [p[1] for p in pairs], len(tasks)),
        accessed=accessed,
        block_bytes=used,
        task_names=_names(tasks),
    )
    check_named(graph, [task.key for task in tasks], path)
    return graph, {
        "reference_speed": speed,
        "reference_speed_source": speed_source,
        **about,
        "size_unit": workflow.unit,
        "size_unit_source": workflow.unit_source,
        "tasks_with_several_cores": sum(task.several_cores for task in tasks),
        **edge_counts,
        **file_counts,
    }


def check_unique(tasks: list[Task]) -> None:
    """Check that no two tasks have the same id."""
    first: dict[str, Task] = {}
    for task in tasks:
        other = first.setdefault(task.key, task)
        if other is not task:
            raise GraphError(
                f"{task.place.where}: found task {task.key!r} a second time, "
                f"the first is {other.place.where.rpartition(': ')[2]}"
            )


def file_size(found: float, place: Place) -> int:
    """Return the bytes of a file."""
    if found > MAX_FILE_BYTES:  # before it is rounded: it may be infinite
        raise place.error(f"a file of at most {MAX_FILE_BYTES} bytes")
    return round(found)


def _ops(
    tasks: list[Task], labels: list[str], speed: float, task_cost: TaskCost | None, path: Path
) -> tuple[list[float], dict[str, object]]:
    """Return the operations of tasks, and what is recorded of costs that the user gives."""
    ops, missing = [0.0] * len(tasks), []
    for i, task in enumerate(tasks):
        if task.runtime_s is not None:
            ops[i] = number(task.runtime_s * speed, f"{task.place.where}: ops")
        elif task_cost is not None:
            missing.append(i)
        else:
            raise GraphError(
                f"{task.place.where}: task {task.name!r}: found no run time, accepted runtime "
                "(WfFormat from 1.4: runtimeInSeconds), or the option task_cost"
            )
    if task_cost is None:
        return ops, {}
    given = given_ops(task_cost, [labels[i] for i in missing], labels, speed, str(path))
    for i, value in zip(missing, given, strict=True):
        ops[i] = value
    return ops, {"task_cost": task_cost, "tasks_of_task_cost": len(missing)}


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


def _references(tasks: list[Task], ids_first: bool) -> dict[str, int]:
    """Return what tasks may be called: ids, and names that only one task has.

    Before 1.5 tasks refer to each other by name, since then by id.
    """
    times = Counter(task.name for task in tasks)
    ids = {task.key: i for i, task in enumerate(tasks)}
    names = {task.name: i for i, task in enumerate(tasks) if times[task.name] == 1}
    return {**names, **ids} if ids_first else {**ids, **names}


def _edges(workflow: Workflow, ids_first: bool) -> tuple[list[tuple[int, int]], dict[str, object]]:
    """Return all edges, ascending, and how declared edges and files compare."""
    tasks = workflow.tasks
    known = _references(tasks, ids_first)

    def lookup(reference: Place) -> int:
        task = known.get(reference.text())
        if task is None:
            raise reference.error("the id of a task")
        return task

    declared: set[tuple[int, int]] = set()
    for i, task in enumerate(tasks):
        declared.update((lookup(parent), i) for parent in task.parents)
        declared.update((i, lookup(child)) for child in task.children)
    versions = file_edges(
        declared, [task.inputs for task in tasks], [task.outputs for task in tasks]
    )
    by_files = {(writer, reader) for writer, reader, _ in versions}
    carrying = {(u, v) for u, v, file in versions if workflow.file_bytes[file]}
    counts: dict[str, object] = {
        "edges_without_bytes": len(declared | by_files) - len(carrying),
        "edges_only_declared": len(declared - by_files),
        "edges_only_by_files": len(by_files - declared),
    }
    return sorted(declared | by_files), counts


def _accesses(workflow: Workflow) -> tuple[list[int], Accesses, dict[str, object]]:
    """Return the blocks' sizes, the accesses and how many files were left out."""
    block_of: dict[str, int] = {}
    rows: list[tuple[int, ...]] = []
    touched: set[str] = set()
    for i, task in enumerate(workflow.tasks):
        for files, writes in ((task.inputs, 0), (task.outputs, 1)):
            for file in dict.fromkeys(files):
                touched.add(file)
                size = workflow.file_bytes[file]
                if size:
                    block = block_of.setdefault(file, len(block_of))
                    rows.append((i, block, size * (1 - writes), size * writes, 0))
    counts: dict[str, object] = {
        "files": len(workflow.file_bytes),
        "files_of_size_zero": sum(not size for size in workflow.file_bytes.values()),
        "files_unused": len(workflow.file_bytes) - len(touched),
        "files_of_several_sizes": workflow.several_sizes,
    }
    used = [workflow.file_bytes[file] for file in block_of]
    return used, listed_accesses(rows, len(workflow.tasks)), counts


def _classes(tasks: list[Task]) -> tuple[list[int], list[str]]:
    """Return the class of each task and the names of the classes, in order of appearance."""
    index: dict[str, int] = {}
    class_of = [index.setdefault(task.category or task.name, len(index)) for task in tasks]
    return class_of, list(index)


def _names(tasks: list[Task]) -> list[str]:
    """Return the names of the tasks, their ids if several have one name."""
    names = [task.name for task in tasks]
    return names if len(set(names)) == len(names) else [task.key for task in tasks]
