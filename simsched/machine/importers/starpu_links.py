"""Links that transfers share, as StarPU's own model of a bus has them.

One link of the host is crossed by all transfers, in either direction. It is as wide as the fastest
transfer between main memory and a device. If the PCI tree is known, transfers between devices of
one root do not cross the host's link, and those between two roots cross it twice. Then every
device, every switch and every root has a link up and a link down, as wide as the fastest transfer
out of and into what is below it. Switches and roots have a third one for all that passes through
them, twice as wide as the wider one of these. What stays below a switch does not cross it; what
stays below a root does.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from simsched.files.errors import ConfigurationError
from simsched.machine.importers.starpu_bus import Bus

_GROUP = r"(\d{1,9}|\(\d{1,9}(,\d{1,9})*\))"
_TREE = re.compile(rf"{_GROUP}(,{_GROUP})*(\|{_GROUP}(,{_GROUP})*)*")
_SWITCH = re.compile(r"\(([^)]*)\)|(\d+)")


@dataclass(frozen=True)
class PciTree:
    """Which devices are below which switches and roots."""

    #: Of each device the switches and roots above it that have more than one device, from below.
    above: tuple[tuple[str, ...], ...]
    #: Devices below each of them.
    members: dict[str, tuple[int, ...]]
    #: Of each device.
    root: tuple[int, ...]


def parse_roots(text: str, n_devices: int) -> PciTree:
    """Return a PCI tree from devices by root, each of `n_devices` once.

    Commas stand within a root, bars between roots, switches in parentheses.

    >>> parse_roots("(0,1),2|3", 4).above
    (('switch0', 'root0'), ('switch0', 'root0'), ('root0',), ())
    """
    accepted = f"accepted: devices 0 to {n_devices - 1}, each once, such as '0|1,2' or '(0,1),2|3'"
    if not _TREE.fullmatch(text):
        raise ConfigurationError(f"roots: found {text!r}, {accepted}")
    members: dict[str, tuple[int, ...]] = {}
    root_of: dict[int, int] = {}
    for root, part in enumerate(text.split("|")):
        for group, single in _SWITCH.findall(part):
            devices = tuple(map(int, (group or single).split(",")))
            for device in devices:
                if device in root_of:
                    raise ConfigurationError(f"roots: found device {device} twice, {accepted}")
                root_of[device] = root
            if len(devices) > 1:
                members[f"switch{len(members)}"] = devices
    if sorted(root_of) != list(range(n_devices)):
        raise ConfigurationError(f"roots: found devices {sorted(root_of)}, {accepted}")
    for root in range(text.count("|") + 1):
        below = tuple(device for device in range(n_devices) if root_of[device] == root)
        if len(below) > 1:
            members[f"root{root}"] = below
    return PciTree(
        tuple(
            tuple(name for name, below in members.items() if device in below)
            for device in range(n_devices)
        ),
        members,
        tuple(root_of[device] for device in range(n_devices)),
    )


def crossed_links(source: int, target: int, tree: PciTree | None) -> list[str]:
    """Return the links that a transfer crosses, as often as it crosses them.

    Source and target are 0 for main memory, 1 + i for device i.

    >>> crossed_links(1, 2, parse_roots("0|1", 2))
    ['device1_up', 'host', 'host', 'device2_down']
    """
    if tree is None:
        return ["host"]
    shared: list[str] = []
    if source and target and tree.root[source - 1] == tree.root[target - 1]:
        shared = [name for name in tree.above[source - 1] if name in tree.above[target - 1]]
        middle = [f"{shared[0]}_through"] if shared[0].startswith("root") else []
    else:
        middle = ["host"] * ((source > 0) + (target > 0))
    return [*_way(source, "up", shared, tree), *middle, *_way(target, "down", shared, tree)[::-1]]


def _way(end: int, direction: str, shared: list[str], tree: PciTree) -> list[str]:
    """Return the links between a device and what both ends share, from below."""
    if end == 0:
        return []
    links = [f"device{end}_{direction}"]
    for name in tree.above[end - 1]:
        if name not in shared:
            links += [f"{name}_through", f"{name}_{direction}"]
    return links


def link_lines(bus: Bus, nodes: list[int], tree: PciTree | None) -> str:
    """Return the section of links of a machine file; `nodes` are the devices' memory nodes."""
    if not nodes:
        return ""
    rate = bus.bandwidth_mb_per_s
    fastest = max(max(float(rate[node, 0]), float(rate[0, node])) for node in nodes)
    widths = {"host": (fastest, "the fastest transfer between main memory and a device")}
    below = {f"device{i + 1}": (i,) for i in range(len(nodes))}
    for name, devices in {**below, **tree.members}.items() if tree is not None else ():
        here = [nodes[device] for device in devices]
        there = [node for node in (0, *nodes) if node not in here]
        up = max(float(rate[node, other]) for node in here for other in there)
        down = max(float(rate[other, node]) for node in here for other in there)
        widths[f"{name}_up"] = up, "the fastest transfer out of what is below"
        widths[f"{name}_down"] = down, "the fastest transfer into what is below"
        if name not in below:
            through = 2.0 * max(up, down)
            widths[f"{name}_through"] = through, "twice the wider one of its links up and down"
    lines = ["links:"]
    for name, (width, remark) in widths.items():
        lines += [
            f"  {name}:",
            "    crossed_by: listed",
            f'    bandwidth: [{width:.6f} MB/s, "sampling: {remark}"]',
        ]
    return "\n".join(lines) + "\n"
