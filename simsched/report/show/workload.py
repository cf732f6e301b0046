"""Workloads and task graphs for notebooks."""

from __future__ import annotations

import numpy as np

from simsched.names.markup import facts, table
from simsched.workload.graph import TaskGraph, Workload


def graph_html(graph: TaskGraph) -> str:
    """Return the sizes of a task graph, and of each class of its tasks."""
    return facts("task graph", _sizes(graph)) + _classes(graph)


def workload_html(workload: Workload) -> str:
    """Return the sizes of a workload, its parameters, and its classes of tasks."""
    rows: list[tuple[str, object]] = [("iterations", f"{workload.iterations:,}")]
    if workload.init is not None:
        rows.append(("initialisation", f"{workload.init.n_tasks:,} tasks"))
    rows += _sizes(workload.graph)
    given = {key: value for key, value in workload.parameters.items() if value is not None}
    if given:
        rows.append(("parameters", ", ".join(f"{key}={value}" for key, value in given.items())))
    return facts(f"workload {workload.name}", rows) + _classes(workload.graph)


def _sizes(graph: TaskGraph) -> list[tuple[str, object]]:
    spawned = int((graph.parent >= 0).sum())
    return [
        ("tasks", f"{graph.n_tasks:,} ({spawned:,} spawned by others)"),
        ("dataflow edges", f"{graph.n_edges:,}"),
        ("data", f"{_size(int(graph.block_bytes.sum()))} in {graph.n_blocks:,} blocks"),
        ("accesses", f"{graph.n_accesses:,}, {_size(graph.access_bytes)} read and written"),
    ]


def _size(size_bytes: int) -> str:
    """Return a size in whole bytes when it is small, rounded otherwise."""
    exponent = min(4, max(0, (size_bytes.bit_length() - 1) // 10))
    unit = ("B", "KiB", "MiB", "GiB", "TiB")[exponent]
    return f"{size_bytes / 1024**exponent:.4g} {unit}"


def _classes(graph: TaskGraph) -> str:
    """Return a table with the tasks, operations and bytes of each class."""
    n = len(graph.class_names)
    count = np.bincount(graph.task_class, minlength=n)
    owner = graph.task_class[np.repeat(np.arange(graph.n_tasks), np.diff(graph.access_ptr))]
    moved = np.bincount(owner, weights=graph.read_bytes + graph.written_bytes, minlength=n)
    heads = [f"operations per task ({kind})" for kind in graph.kinds]
    rows = []
    for index in np.flatnonzero(count).tolist():
        chosen = graph.task_class == index
        ops = graph.ops[:, chosen] + graph.join_ops[:, chosen]
        means = [
            f"{row[np.isfinite(row)].mean():.4g}" if np.isfinite(row).any() else "-" for row in ops
        ]
        rows.append(
            (graph.class_names[index], f"{count[index]:,}", *means, _size(int(moved[index])))
        )
    return table(("class", "tasks", *heads, "bytes read and written"), rows)
