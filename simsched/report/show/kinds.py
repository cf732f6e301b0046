"""What there is of each kind by name.

Each kind imports what it lists, and not what others do.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping
from dataclasses import asdict, replace
from itertools import groupby
from typing import TYPE_CHECKING

from simsched.files.remembered import remembered
from simsched.files.resources import shipped
from simsched.report.description import Code, Description, Row, Table

if TYPE_CHECKING:
    from simsched.machine.caches import CacheLevel
    from simsched.machine.model import Machine
    from simsched.policy.contract.registry import PolicyInfo


def describe_kind(
    kind: str, full: bool = False, *, names: Container[str] | None = None
) -> Description:
    """Return what there is of one of `KINDS`, or what has some of the `names`.

    `full` says what documents have beside names and descriptions, for which workloads are built.
    """
    if full:
        gloss, tables = KINDS[kind](full)
    else:
        plain = remembered(kind, lambda: [asdict(table) for table in KINDS[kind](full)[1]])
        gloss, tables = "", [Table(**table) for table in plain]
    if names is not None:
        kept = [
            replace(table, rows=[row for row in table.rows if row["name"] in names])
            for table in tables
        ]
        tables = [table for table in kept if table.rows]
    rows = [row for table in tables for row in table.rows]
    return Description(kind.capitalize(), gloss, tables=tables, data=rows)


def _chosen(row: Row, full: bool, brief: str, detailed: str) -> Row:
    """Return the columns of a row that a list has, or a document."""
    return {key: row[key] for key in (detailed if full else brief).split()}


def _machines(full: bool) -> tuple[str, list[Table]]:
    gloss = (
        "`simsched show machine NAME` says where every value comes from. "
        "[adding-a-machine.md](adding-a-machine.md) says how to write one."
    )
    if not full:
        from simsched.report.show.outlines import machine_outlines

        return gloss, [Table(machine_outlines(), "machine")]
    from simsched.machine import list_machines, load_machine

    rows = [_machine(load_machine(name)) for name in list_machines()]
    return gloss, [Table(rows, "machine")]


def _machine(machine: Machine) -> Row:
    """Return the row of a machine: caches by capacity, memory nodes by kind and capacity."""
    from simsched.files.units import format_size

    shapes = [
        (node.kind, format_size(node.capacity_bytes), f"{node.bandwidth_bytes_per_s / 1e9:g} GB/s")
        for node in machine.nodes
    ]
    return {
        "name": machine.name,
        "description": machine.description,
        "sockets": machine.n_sockets,
        "domains": machine.n_domains,
        "cores": machine.n_cores,
        "threads": machine.n_threads,
        "caches": [f"{level.name} {_cache_sizes(machine, level)}" for level in machine.caches],
        "memory": [f"{shapes.count(shape)} x {' '.join(shape)}" for shape in dict.fromkeys(shapes)],
    }


def _cache_sizes(machine: Machine, level: CacheLevel) -> str:
    """Return the capacity of a level, and what kinds of core have instead."""
    from simsched.files.units import format_size

    others = machine.other_caches(level).items()
    sizes = [(kind, level.differing[number].capacity_bytes) for kind, number in others]
    own = [
        f"{format_size(size) if size else 'none'} ({kind})"
        for kind, size in sizes
        if size != level.capacity_bytes
    ]
    return ", ".join([format_size(level.capacity_bytes), *own])


def _workloads(full: bool) -> tuple[str, list[Table]]:
    from simsched.workload.presets import list_presets
    from simsched.workload.registry import list_workloads

    presets = [_preset(name, full) for name in list_presets()]
    generators = [
        {
            "name": item.name,
            "kind": "generator",
            "description": item.summary,
            "parameters": [*map(Code, item.parameters)],
        }
        for item in list_workloads()
    ]
    columns = "name kind description", "name description parameters"
    generators = [_chosen(row, full, *columns) for row in generators]
    gloss = (
        "A *preset* is a generator with parameters; experiments may override them. "
        "`simsched show workload NAME` describes both. Task graphs of your own, also in files, are "
        "in [a guide](task-graph-files.md)."
    )
    size = "Tasks and edges of one iteration, the initialisation not included."
    return gloss, [
        Table(presets, "preset", "Presets", size),
        Table(generators, "generator", "Generators"),
    ]


def _preset(name: str, full: bool) -> Row:
    """Return the row of a preset; in documents with the sizes of what it is."""
    from simsched.workload.presets import load_preset, make_workload

    preset = load_preset(name)
    if not full:
        return {"name": name, "kind": "preset", "description": preset.description}
    workload = make_workload(name)
    return {
        "name": name,
        "description": preset.description,
        "generator": Code(preset.generator),
        "tasks": workload.graph.n_tasks,
        "edges": workload.graph.n_edges,
        "data": _data_size(int(workload.graph.block_bytes.sum())),
        "iterations": workload.iterations,
    }


def _data_size(size_bytes: int) -> str:
    """Return a size to a tenth of its unit."""
    power = max(size_bytes.bit_length() - 1, 0) // 10
    unit = ("B", "KiB", "MiB", "GiB", "TiB", "PiB")[power]
    return f"{round(size_bytes / 1024**power, 1):g} {unit}"


def _policies(full: bool) -> tuple[str, list[Table]]:
    from simsched.policy.contract.registry import list_policies

    gloss = (
        "Every policy by the name that experiments and commands use. A *preset* is a policy with "
        "the parameters that the last column names; `simsched show policy NAME` describes all of "
        "them. [adding-a-policy.md](adding-a-policy.md) says how to write one."
    )
    tables = []
    for family, members in groupby(list_policies(), lambda info: info.family):
        infos = list(members)
        references = dict.fromkeys(info.references for info in infos if info.references)
        rows = [_policy(info, full) for info in infos]
        tables.append(Table(rows, "policy", family, notes=[*references]))
    return gloss, tables


def _policy(info: PolicyInfo, full: bool) -> Row:
    if full:
        from simsched.names.specs import format_spec

        of = Code(format_spec(info.cls.name, info.params)) if info.is_preset else ""
        return {"name": info.name, "description": info.description, "preset of": of}
    kind = "preset" if info.is_preset else "policy"
    about = {"family": info.family, "description": info.description}
    return {"name": info.name, "kind": kind, **about}


def _metrics(full: bool) -> tuple[str, list[Table]]:
    from simsched.analysis.columns import COLUMNS

    del full
    gloss = (
        "Every column of results that is measured, by the name that `metrics`, claims and queries "
        "use. Names carry their units; `<kind>` stands for a kind of memory of the machine "
        "(`remote_hbm_bytes`), `<level>` for a level of caches (`l2_hits`). `simsched list "
        "metrics` prints the same list. Definitions with their sources are in "
        "`simsched/analysis`, at the functions that compute the columns."
    )
    return gloss, [Table(_rows(group), "column", title) for title, group in COLUMNS.items()]


def _formats(full: bool) -> tuple[str, list[Table]]:
    from simsched.trace.exporters import exporters
    from simsched.trace.importers import trace_importers
    from simsched.workload.importers import importers

    gloss = (
        "Files of other programs. [task-graph-files.md](task-graph-files.md), "
        "[importing-traces.md](importing-traces.md) and "
        "[exporting-traces.md](exporting-traces.md) say what is made of them."
    )
    tables = []
    for title, kind, known in (
        ("Task graphs, a file in place of a workload", "graph", importers()),
        ("Traces, simsched import", "trace", trace_importers()),
        ("Runs, simsched export", "export", exporters()),
    ):
        rows = [
            {
                "name": item.name,
                "kind": kind,
                "endings": [*map(Code, item.suffixes)] if full else ", ".join(item.suffixes),
                "description": item.summary,
                "options": [*map(Code, item.parameters)],
            }
            for item in known.values()
        ]
        columns = "name kind endings description", "name endings description options"
        tables.append(Table([_chosen(row, full, *columns) for row in rows], "format", title))
    return gloss, tables


def _placements() -> Mapping[str, str]:
    from simsched.policy.parts.placement import list_placements

    return list_placements()


def _probes() -> Mapping[str, str]:
    from simsched.reproduction.probes import probes

    return probes()


def _glossed(noun: str, texts: Callable[[], Mapping[str, str]]) -> Kind:
    """Return a kind of which there are names and texts only."""
    return lambda _: ("", [Table(_rows(texts()), noun)])


def _rows(texts: Mapping[str, str]) -> list[Row]:
    return [{"name": name, "description": text} for name, text in texts.items()]


def _files(folder: str) -> Callable[[], dict[str, str]]:
    """Return a function that returns the descriptions of YAML files by name."""

    def texts() -> dict[str, str]:
        from simsched.files.yaml_reader import read_document

        files = shipped("experiments", folder)
        data = {name: read_document(file).data for name, file in files.items()}
        return {name: str(each.get("description", "")).strip() for name, each in data.items()}

    return texts


#: Returns an introduction, and tables of names.
Kind = Callable[[bool], tuple[str, list[Table]]]
KINDS: dict[str, Kind] = {
    "machines": _machines,
    "workloads": _workloads,
    "policies": _policies,
    "placements": _glossed("placement", _placements),
    "experiments": _glossed("experiment", _files("")),
    "measurements": _glossed("measurement", _files("hardware")),
    "claims": _glossed("family", _files("claims")),
    "metrics": _metrics,
    "probes": _glossed("probe", _probes),
    "formats": _formats,
}
