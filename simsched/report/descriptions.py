"""One machine, workload or policy as plain data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import numpy as np

from simsched.machine.model import Machine
from simsched.names.docstrings import parameter_texts
from simsched.names.parameters import REQUIRED
from simsched.names.registry import Entry
from simsched.names.specs import parse_spec
from simsched.policy.contract.base import Policy
from simsched.policy.contract.registry import make_policy, parse_policy_spec, policy_info
from simsched.workload.graph import TaskGraph, Workload
from simsched.workload.graph_files import is_graph_file
from simsched.workload.presets import list_presets, load_preset, resolve_workload
from simsched.workload.registry import find_workload

Document = dict[str, Any]


def machine_document(machine: Machine) -> Document:
    """Return a machine: cores, domains, caches, memory nodes; units are in the names of keys."""
    groups = np.bincount(machine.core_group, minlength=len(machine.core_groups)).tolist()
    return {
        "name": machine.name,
        "description": machine.description,
        "sockets": machine.n_sockets,
        "domains": machine.n_domains,
        "cores": machine.n_cores,
        "threads": machine.n_threads,
        "core_groups": [
            {
                "name": group.name,
                "processor": group.kind,
                "cores": count,
                "ops_per_s": group.ops_per_s,
                "smt_throughput": list(group.smt_throughput),
            }
            for group, count in zip(machine.core_groups, groups, strict=True)
        ],
        "caches": [
            {
                "name": level.name,
                "instances": len(np.unique(level.core_instance)),
                "capacity_bytes": level.capacity_bytes,
                "bandwidth_bytes_per_s": level.bandwidth_bytes_per_s,
                "latency_ps": level.latency_ps,
                "effective_capacities_bytes": level.effective_capacities_bytes,
                "shared_by": level.shared_by,
                "cores": {
                    kind: {
                        **asdict(level.differing[number]),
                        "shared_by": int(np.count_nonzero(level.core_instance == number)),
                    }
                    for kind, number in machine.other_caches(level).items()
                },
            }
            for level in machine.caches
        ],
        "nodes": [
            {
                "name": node.name,
                "kind": node.kind,
                "domain": node.domain,
                "capacity_bytes": node.capacity_bytes,
                "bandwidth_bytes_per_s": node.bandwidth_bytes_per_s,
                "page_bytes": node.page_bytes,
            }
            for node in machine.nodes
        ],
        "links": [
            {"name": link.name, "bandwidth_bytes_per_s": link.bandwidth_bytes_per_s}
            for link in machine.links
        ],
        "sources": dict(machine.sources),
    }


def policy_figures(cls: type[Policy], params: Mapping[str, Any]) -> dict[str, float]:
    """Return what a policy says in numbers about itself, see :meth:`Policy.figures`."""
    return {} if cls.figures is Policy.figures else dict(cls(**params).figures())


def policy_document(name: str) -> Document:
    """Return a policy, a preset or a spec: documentation and parameters with their values.

    Raises
    ------
    ConfigurationError
        The name or a parameter is unknown, or the file is wrong.
    """
    name, given = parse_policy_spec(name)
    info = policy_info(name)
    cls, values = info.cls, make_policy(name, given).parameters() if given else info.params
    about = {
        "description": info.description,
        "family": info.family,
        "references": info.references,
        "source": info.source,
    }
    return {
        "name": name,
        "policy": cls.name or cls.__name__,
        **about,
        "parameters": _parameters(info, values),
        "figures": policy_figures(cls, values),
    }


def workload_document(name: str) -> Document:
    """Return a preset, a generator, a spec or a graph file: parameters with values, and sizes.

    Raises
    ------
    ConfigurationError
        The name or a parameter is unknown.
    """
    workload = resolve_workload(name)
    if is_graph_file(name):
        read = [{"name": key, "value": value} for key, value in workload.parameters.items()]
        return {"name": name, "generator": None, "parameters": read, **_workload_sizes(workload)}
    name = parse_spec("workload", name).name
    preset = load_preset(name) if name in list_presets() else None
    chosen = find_workload(name if preset is None else preset.generator)
    return {
        "name": name,
        "generator": chosen.name,
        "description": chosen.summary if preset is None else preset.description,
        "source": "" if preset is None else preset.source.strip(),
        "parameters": _parameters(chosen, workload.parameters),
        **_workload_sizes(workload),
    }


def _parameters(entry: Entry[Any], values: Mapping[str, object]) -> list[Document]:
    """Return the parameters of a policy or workload with their values."""
    texts = parameter_texts(entry.function)
    found = []
    for name, parameter in entry.parameters.items():
        default = None if parameter.default is REQUIRED else parameter.default
        found.append(
            {
                "name": name,
                "value": values.get(name, default),
                "default": default,
                "type": parameter.type.__name__,
                "choices": [*parameter.choices] or None,
                "low": parameter.bounds.low,
                "high": parameter.bounds.high,
                "accepted": parameter.accepted,
                "description": texts.get(name, ""),
            }
        )
    return found


def _workload_sizes(workload: Workload) -> Document:
    """Return how large a workload is."""
    return {
        "iterations": workload.iterations,
        "initialisation": None if workload.init is None else _sizes(workload.init),
        "iteration": _sizes(workload.graph),
        "blocks": len(workload.graph.block_bytes),
        "data_bytes": int(workload.graph.block_bytes.sum()),
    }


def _sizes(graph: TaskGraph) -> Document:
    """Return how large a task graph is."""
    return {
        "tasks": graph.n_tasks,
        "leaves": len(graph.leaves),
        "edges": graph.n_edges,
        "accesses": graph.n_accesses,
        "access_bytes": int(graph.access_bytes),
    }
