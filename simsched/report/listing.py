"""What simsched knows by name, as text: lists and single descriptions."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any

from rich import box
from rich.table import Table
from rich.text import Text

from simsched.analysis.columns import columns
from simsched.files.resources import data_dir
from simsched.files.yaml_reader import read_document
from simsched.machine import list_machines, load_machine
from simsched.names.parameters import REQUIRED
from simsched.names.specs import parse_spec
from simsched.policy.contract.registry import (
    list_policies,
    make_policy,
    parse_policy_spec,
    policy_info,
)
from simsched.policy.parts.placement import list_placements
from simsched.report.descriptions import policy_figures
from simsched.reproduction.probes import probes
from simsched.workload.graph import TaskGraph, Workload
from simsched.workload.graph_files import is_graph_file
from simsched.workload.importers.remarks import facts
from simsched.workload.presets import list_presets, load_preset, resolve_workload
from simsched.workload.registry import find_workload, list_workloads

KINDS = (
    "machines",
    "workloads",
    "policies",
    "placements",
    "experiments",
    "measurements",
    "claims",
    "metrics",
    "probes",
)
Entry = dict[str, Any]


def entries(kind: str) -> list[Entry]:
    """Return what there is of one kind, each with `name` and `description`.

    Parameters
    ----------
    kind : str
        One of `KINDS`.
    """
    if kind == "machines":
        return [_machine(name) for name in list_machines()]
    if kind == "workloads":
        presets = [
            {"name": name, "kind": "preset", "description": load_preset(name).description}
            for name in list_presets()
        ]
        return presets + [
            {"name": item.name, "kind": "generator", "description": item.summary}
            for item in list_workloads()
        ]
    if kind == "policies":
        return [
            {
                "name": info.name,
                "kind": "preset" if info.params else "policy",
                "family": info.family,
                "description": info.description,
            }
            for info in list_policies()
        ]
    if kind == "placements":
        return [{"name": n, "description": text} for n, text in list_placements().items()]
    if kind == "metrics":
        return [{"name": name, "description": text} for name, text in columns().items()]
    if kind == "probes":
        return [{"name": name, "description": text} for name, text in probes().items()]
    folder = data_dir("experiments")
    if kind in ("measurements", "claims"):
        folder = folder / {"measurements": "hardware", "claims": "claims"}[kind]
    return [_experiment(path) for path in sorted(folder.glob("*.yaml"))]


def _machine(name: str) -> Entry:
    """Return the entry of a machine."""
    machine = load_machine(name)
    return {
        "name": name,
        "cores": machine.n_cores,
        "threads": machine.n_threads,
        "domains": machine.n_domains,
        "nodes": len(machine.nodes),
        "description": machine.description,
    }


def _experiment(path: Any) -> Entry:
    """Return the entry of an experiment or a measurement."""
    data = read_document(path).data
    return {"name": path.stem, "description": str(data.get("description", "")).strip()}


def listing_table(kind: str, found: Sequence[Entry]) -> Table:
    """Return entries as a table."""
    table = Table(box=box.SIMPLE_HEAD)
    names = list(dict.fromkeys(name for entry in found for name in entry)) or ["name"]
    for name in names:
        number = any(isinstance(entry.get(name), int) for entry in found)
        title = kind if name == "name" else name
        style = {"no_wrap": True} if name == "name" else {"overflow": "fold"}
        table.add_column(title, justify="right" if number else "left", **style)
    for entry in found:
        table.add_row(*(Text(str(entry.get(name, ""))) for name in names))
    return table


def describe_policy(name: str) -> str:
    """Return a policy's documentation and its parameters with their present values.

    Raises
    ------
    ConfigurationError
        The name is unknown, or the file is wrong.
    """
    name, given = parse_policy_spec(name)
    info = policy_info(name)
    cls, params = info.cls, make_policy(name, given).parameters() if given else info.params
    lines = [f"{cls.name or cls.__name__} ({info.source})", ""]
    if info.params:
        preset = name.rpartition(":")[2]
        lines = [f"{preset}: {info.description}", f"Preset of {cls.name}:", ""]
    lines += [inspect.cleandoc(cls.__doc__ or ""), "", "Values", "------"]
    for name, parameter in info.parameters.items():
        value = params.get(name, parameter.default)
        shown = "required" if value is REQUIRED else repr(value)
        lines.append(f"{name} = {shown}  ({parameter.accepted})")
    if figures := policy_figures(cls, params):
        lines += ["", "Figures", "-------", *(f"{k} = {v:.4g}" for k, v in figures.items())]
    return "\n".join(lines)


def describe_workload(name: str) -> str:
    """Return the parameters of a preset, generator or task graph file and the size of what it is.

    Raises
    ------
    ConfigurationError
        The name is unknown.
    """
    workload = resolve_workload(name)
    if is_graph_file(name):
        given = [f"  {key} = {value}" for key, value in workload.parameters.items()]
        lines = [f"{name}: task graph file", *facts(workload), "", "what was read", *given]
        return "\n".join([*lines, "", *describe_graph(workload)])
    name = parse_spec("workload", name).name
    lines = [f"{name}: "]
    generator = name
    if name in list_presets():
        preset = load_preset(name)
        generator = preset.generator
        lines = [f"{name}: {preset.description}", f"source: {preset.source.strip()}"]
    chosen = find_workload(generator)
    if generator == name:
        lines = [f"{name}: {chosen.summary}"]
    lines += ["", f"parameters of {generator}"]
    for parameter in chosen.parameters.values():
        value = workload.parameters.get(parameter.name, parameter.default)
        lines.append(f"  {parameter.name} = {value}  ({parameter.accepted})")
    return "\n".join([*lines, "", *describe_graph(workload)])


def describe_graph(workload: Workload) -> list[str]:
    """Return the size of a workload in lines of text."""
    lines = [f"{workload.iterations} iteration(s) of {_size(workload.graph)}"]
    if workload.init is not None:
        lines.insert(0, f"initialisation of {_size(workload.init)}")
    blocks = workload.graph.block_bytes
    lines.append(f"{len(blocks):,} blocks, {int(blocks.sum()):,} bytes of data")
    return lines


def _size(graph: TaskGraph) -> str:
    """Return the size of a graph as text."""
    return (
        f"{graph.n_tasks:,} tasks ({len(graph.leaves):,} without children), {graph.n_edges:,} "
        f"edges, {graph.n_accesses:,} accesses to {graph.access_bytes:,} bytes"
    )
