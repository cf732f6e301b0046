"""What there is to say about workloads and task graphs."""

from __future__ import annotations

from typing import Any

import numpy as np

from simsched.files.units import plural
from simsched.names.specs import parse_spec
from simsched.report.description import Description, Fact, Row, Table, parameter_rows
from simsched.workload.durations import KEY, durations_text
from simsched.workload.graph import TaskGraph, Workload
from simsched.workload.graph_files import is_graph_file
from simsched.workload.importers.remarks import facts as remarks
from simsched.workload.presets import (
    is_preset_file,
    list_presets,
    load_preset,
    make_workload,
)
from simsched.workload.registry import WorkloadGenerator, find_workload, generator_of


def graph_description(graph: TaskGraph) -> Description:
    """Return the sizes of a task graph, and of each class of its tasks."""
    facts = [Fact("tasks", _size(graph)), Fact("data", _data(graph))]
    return Description("task graph", facts=facts, tables=[_classes(graph)], data=_sizes(graph))


def workload_description(workload: Workload) -> Description:
    """Return a workload: its parameters, its sizes and its classes of tasks."""
    return _described(workload.name, workload, generator_of(workload))


def named_workload(text: str) -> Description:
    """Return a preset, a generator, a spec or a task graph file."""
    workload = make_workload(text)
    if is_graph_file(text):
        facts = [Fact("read", remark) for remark in remarks(workload)]
        return _described(text, workload, None, "task graph file", facts)
    name = parse_spec("workload", text).name
    preset = load_preset(name) if name in list_presets() or is_preset_file(name) else None
    chosen = find_workload(name if preset is None else preset.generator)
    gloss = chosen.summary if preset is None else preset.description
    source = "" if preset is None else preset.source.strip()
    facts = [] if preset is None else [Fact("source", source), Fact("preset of", chosen.name)]
    return _described(name, workload, chosen, gloss, facts, description=gloss, source=source)


def _described(
    name: str,
    workload: Workload,
    chosen: WorkloadGenerator | None,
    gloss: str = "",
    facts: list[Fact] | None = None,
    **about: str,
) -> Description:
    graph, init, given = workload.graph, workload.init, workload.parameters
    rows: list[Row] = [{"name": key, "value": value} for key, value in given.items()]
    if chosen is not None:
        rows = parameter_rows(chosen, given)
    return Description(
        f"workload {name}",
        gloss,
        [
            *(facts or ()),
            *([] if init is None else [Fact("initialisation", _size(init))]),
            *(
                [Fact("random durations", durations_text(given[KEY]))]
                if chosen is not None and KEY in given
                else []
            ),
            Fact("iterations", f"{workload.iterations:,} of {_size(graph)}"),
            Fact("data", _data(graph)),
        ],
        parameters=rows,
        tables=[_classes(graph)],
        data={
            "name": name,
            "generator": None if chosen is None else chosen.name,
            **about,
            "parameters": rows,
            "iterations": workload.iterations,
            "initialisation": None if init is None else _sizes(init),
            "iteration": _sizes(graph),
            "blocks": graph.n_blocks,
            "data_bytes": int(graph.block_bytes.sum()),
        },
    )


def _size(graph: TaskGraph) -> str:
    """Return the size of a graph as text."""
    found = _sizes(graph)
    return (
        f"{plural(found['tasks'], 'task')} ({found['leaves']:,} without children), "
        f"{plural(found['edges'], 'edge')}, {plural(found['accesses'], 'access', 'accesses')} to "
        f"{plural(found['access_bytes'], 'byte')}"
    )


def _data(graph: TaskGraph) -> str:
    return f"{plural(graph.n_blocks, 'block')}, {int(graph.block_bytes.sum()):,} bytes of data"


def _sizes(graph: TaskGraph) -> dict[str, Any]:
    return {
        "tasks": graph.n_tasks,
        "leaves": len(graph.leaves),
        "edges": graph.n_edges,
        "accesses": graph.n_accesses,
        "access_bytes": int(graph.access_bytes),
    }


def _classes(graph: TaskGraph) -> Table:
    """Return tasks, operations and bytes of each class of tasks."""
    n = len(graph.class_names)
    count = np.bincount(graph.task_class, minlength=n)
    owner = graph.task_class[np.repeat(np.arange(graph.n_tasks), np.diff(graph.access_ptr))]
    moved = np.bincount(owner, weights=graph.read_bytes + graph.written_bytes, minlength=n)
    rows = []
    for index in np.flatnonzero(count).tolist():
        row = {"class": graph.class_names[index], "tasks": f"{count[index]:,}"}
        chosen = graph.task_class == index
        ops = graph.ops[:, chosen] + graph.join_ops[:, chosen]
        for kind, each in zip(graph.kinds, ops, strict=True):
            known = each[np.isfinite(each)]
            row[f"operations per task ({kind})"] = f"{known.mean():.4g}" if len(known) else "-"
        rows.append(row | {"bytes read and written": f"{int(moved[index]):,}"})
    return Table(rows)
