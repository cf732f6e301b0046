"""Links that transfers share, as StarPU's own model of a bus has them.

One link of the host is crossed by all transfers, in either direction. It is as wide as the fastest
transfer between main memory and a device. If the roots of the PCI tree are known, transfers between
devices of one root do not cross it and those between two roots cross it twice; and every root has a
link in each direction, as wide as the fastest transfer of its devices to or from main memory, for
all that passes between the root and the host.
"""

from __future__ import annotations

import re

from simsched.errors import ConfigurationError
from simsched.machine.importers.starpu_bus import Bus

_ROOTS = re.compile(r"\d+(,\d+)*(\|\d+(,\d+)*)*")


def parse_roots(text: str, n_devices: int) -> list[int]:
    """Return the root of each device.

    Parameters
    ----------
    text : str
        Devices by root: commas within a root, bars between roots.
    n_devices : int
        Number of devices.

    Raises
    ------
    ConfigurationError
        Text of another form, or one that does not have each device once.

    Examples
    --------
    >>> parse_roots("0|1,2", 3)
    [0, 1, 1]
    """
    accepted = f"accepted: devices 0 to {n_devices - 1}, each once, such as '0|1,2'"
    if not _ROOTS.fullmatch(text):
        raise ConfigurationError(f"roots: found {text!r}, {accepted}")
    root_of: dict[int, int] = {}
    for root, part in enumerate(text.split("|")):
        for device in map(int, part.split(",")):
            if device in root_of:
                raise ConfigurationError(f"roots: found device {device} twice, {accepted}")
            root_of[device] = root
    if sorted(root_of) != list(range(n_devices)):
        raise ConfigurationError(f"roots: found devices {sorted(root_of)}, {accepted}")
    return [root_of[device] for device in range(n_devices)]


def crossed_links(source: int, target: int, root_of: list[int] | None) -> list[str]:
    """Return the links that a transfer crosses, as often as it crosses them.

    Parameters
    ----------
    source, target : int
        0 for main memory, 1 + i for device i.
    root_of : list of int or None
        Root of each device, None where it is not known.

    Examples
    --------
    >>> crossed_links(1, 2, [0, 1])
    ['root0_up', 'host', 'host', 'root1_down']
    """
    if root_of is None:
        return ["host"]
    if source and target and root_of[source - 1] == root_of[target - 1]:
        return []
    up = [f"root{root_of[source - 1]}_up", "host"] if source else []
    down = ["host", f"root{root_of[target - 1]}_down"] if target else []
    return up + down


def link_lines(bus: Bus, nodes: list[int], root_of: list[int] | None) -> str:
    """Return the section of links of a machine file.

    Parameters
    ----------
    bus : Bus
        The sampling.
    nodes : list of int
        Memory nodes of the devices.
    root_of : list of int or None
        Root of each device, None where it is not known.
    """
    if not nodes:
        return ""
    rate = bus.bandwidth_mb_per_s
    up = {node: float(rate[node, 0]) for node in nodes}
    down = {node: float(rate[0, node]) for node in nodes}
    widths = {"host": max(*up.values(), *down.values())}
    remark = {"host": "the fastest transfer between main memory and a device"}
    for root in sorted(set(root_of or ())):
        here = [node for node, own in zip(nodes, root_of or (), strict=True) if own == root]
        widths[f"root{root}_up"] = max(up[node] for node in here)
        widths[f"root{root}_down"] = max(down[node] for node in here)
        remark[f"root{root}_up"] = "the fastest transfer of its devices to main memory"
        remark[f"root{root}_down"] = "the fastest transfer from main memory to its devices"
    lines = ["links:"]
    for name, width in widths.items():
        lines += [
            f"  {name}:",
            "    crossed_by: listed",
            f'    bandwidth: [{width:.6f} MB/s, "sampling: {remark[name]}"]',
        ]
    return "\n".join(lines) + "\n"
