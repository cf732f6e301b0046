"""Memory controllers that several nodes share, from a machine file."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from simsched.files.errors import unknown_name
from simsched.files.yaml_reader import FieldError
from simsched.machine.model import Controller, MemoryNode
from simsched.machine.schema import MachineFile
from simsched.machine.values import expanded, value_or


def with_controllers(
    file: MachineFile, nodes: Sequence[MemoryNode]
) -> tuple[list[MemoryNode], tuple[Controller, ...]]:
    """Return the nodes with the controllers that they share, and these.

    A :class:`FieldError` names a node that is not there, or is behind two controllers.
    """
    found = list(nodes)
    place = {node.name: index for index, node in enumerate(found)}
    controllers: list[Controller] = []
    for name, spec in file.controllers.items():
        for position, node in enumerate(spec.nodes.value):
            loc = ("controllers", name, "nodes", 0, position)
            if node not in place:
                raise FieldError(loc, unknown_name("memory node", node, place))
            index = place[node]
            if found[index].controller is not None:
                raise FieldError(
                    loc, f"found {node} a second time, accepted: one controller for each node"
                )
            found[index] = replace(found[index], controller=len(controllers))
        curve = expanded(spec.bandwidth_by_flows)
        peak = value_or(spec.peak_bandwidth, 0.0)
        controllers.append(Controller(name, spec.bandwidth.value, curve, peak))
        _share_peak(found, [place[node] for node in spec.nodes.value], controllers[-1])
    return found, tuple(controllers)


def _share_peak(nodes: list[MemoryNode], behind: list[int], controller: Controller) -> None:
    """Let policies see of each node what it has when all nodes of its controller are in use."""
    whole = controller.peak_bandwidth_bytes_per_s or controller.bandwidth_bytes_per_s
    peaks = math.fsum(nodes[index].peak_bandwidth_bytes_per_s for index in behind)
    for index in behind if peaks > whole else ():
        part = nodes[index].peak_bandwidth_bytes_per_s / peaks
        nodes[index] = replace(nodes[index], peak_bandwidth_bytes_per_s=part * whole)
